#include "schedule/costs.h"

namespace gossamer::schedule {
namespace {

// Machines with vectors in registers. `join` was measured on wasm (V8 on x86-64), with convolutions
// whose rows are 7 and 14 long; the rest was set with the first schedules on x86-64, cpu and wasm.
constexpr Costs vector_units{.operand = 0.6,
                             .tile = 0.8,
                             .join = 1.04,
                             .contiguous = 2,
                             .still = 1,
                             .packable = 2,
                             .gather = -3,
                             .short_axis = -2,
                             .unit_axis = -1000,
                             .scale = 4,
                             .shared = 2,
                             .small_constant = 64,
                             .reuse = 8};

// Invocations and fragments of GPUs. Not measured apart: the values of vector units, on which
// adapters in software run.
constexpr Costs invocations = vector_units;

}  // namespace

const Costs& costs_of(const Capabilities& capabilities) {
  return capabilities.group_size > 1 || capabilities.texture_memory ? invocations : vector_units;
}

}  // namespace gossamer::schedule
