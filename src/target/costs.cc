#include "target/costs.h"

#include <array>

namespace gossamer::target {
namespace {

// Machines with vectors in registers. `join` was measured on wasm (V8 on x86-64), with convolutions
// whose rows are 7 and 14 long, `sums` with products of a row and a matrix that no cache holds (of
// 1, 2, 4 and 8, with and without fused multiply-adds), `transform` and `weight` by whole
// runs of ResNet-18, whose convolutions had either tile or none, `far` with 3 x 3 convolutions of
// 576 to 256 channels on an AMD EPYC with 1 MB of second-level cache, `kept_bytes`, `far_elements`
// and `far_rows` with 20 products of 64 x 512 x 512 to 2048^3 on an Intel Xeon with 2 MB of it; the
// rest was set with the first schedules on x86-64, cpu and wasm.
constexpr Costs vector_units{.operand = 0.6,
                             .tile = 0.8,
                             .join = 1.04,
                             .far = 6,
                             .near_bytes = 768 << 10,
                             .kept_bytes = 1 << 20,
                             .sums = 8,
                             .least_sums = 16,
                             .transform = 16,
                             .weight = 16,
                             .another = 0.9,
                             .contiguous = 2,
                             .still = 1,
                             .packable = 2,
                             .gather = -3,
                             .short_axis = -2,
                             .unit_axis = -1000,
                             .scale = 4,
                             .shared = 2,
                             .small_constant = 64,
                             .reuse = 8,
                             .far_elements = 1 << 18,
                             .far_rows = 128,
                             .copied = 32};

// Invocations and fragments of GPUs. Not measured apart: the values of vector units, on which
// adapters in software run.
constexpr Costs invocations = [] {
  Costs costs = vector_units;
  costs.far = 0;
  costs.least_group = 4;
  costs.groups = 16;
  costs.sums = 1;  // other invocations fill the time
  return costs;
}();

// GPUs in hardware. Measured on an NVIDIA H200: the best of 50 tiles for products of 4096^3 to 49 x
// 512 x 512, and of 20 with and without parts for the kernels of ResNet, MobileNetV2, SqueezeNet,
// BERT and GPT-2. Where tiles are few, parts give a processor more to do at a time; tiles of 16 and
// 8 rows give more processors something to do. `tiles` is the best of 16384 to 131072 for whole
// runs of ResNet-18 and -50, MobileNetV2 and SqueezeNet.
constexpr std::array<GroupTile, 12> group_tiles{{
    {8, 2, 16, 16, 16, 16, false, 1, 192, 16},
    {8, 2, 16, 8, 16, 16, false, 1, 192, 16, true},
    {4, 1, 16, 16, 16, 4, true, 1, 96, 16},
    {4, 1, 16, 8, 8, 4, true, 2, 96, 256},
    {4, 1, 8, 8, 16, 4, true, 1, 160, 16},
    {4, 1, 8, 8, 8, 4, true, 4, 80, 256},
    {4, 1, 8, 8, 8, 4, true, 2, 80, 64},
    {2, 1, 8, 8, 16, 4, true, 4, 80, 256},
    {2, 1, 8, 8, 8, 4, true, 4, 80, 64},
    {2, 1, 4, 4, 16, 4, true, 8, 160, 256},
    {2, 1, 4, 8, 8, 4, true, 8, 0, 64},
    {4, 1, 8, 8, 16, 4, true, 1, 0, 16},
}};
constexpr Costs hardware = [] {
  Costs costs = invocations;
  costs.group_tiles = group_tiles;
  costs.least_group_rows = 16;
  costs.least_group_reduction = 16;
  costs.row_threads = 128;
  costs.row_steps = 64;  // a step of few invocations takes 0.14 us, a launch some 10
  costs.busy = 16384;
  costs.copied = 0;  // a copy behind costs less than rows that do not begin at a vector
  costs.tiles = 65536;
  // By whole runs of ResNet-18, -50 and SqueezeNet on an H100, where one shape of four had each
  // algorithm.
  costs.transform = 4;
  costs.weight = 11;
  costs.another = 0.95;
  costs.launch = 9e6;
  return costs;
}();

}  // namespace

const Costs& costs_of(const Capabilities& capabilities) {
  if (capabilities.hardware) return hardware;
  return capabilities.is_vector_unit() ? vector_units : invocations;
}

}  // namespace gossamer::target
