#include "runtime/wasm/relaxed.h"

#include <cmath>
#include <optional>
#include <utility>

#include "runtime/wasm/instance.h"

namespace gossamer::runtime::wasm {
namespace {

// (func (export "f") (param f32 f32 f32) (result f32 f32): relaxed_madd and relaxed_nmadd of the
// splatted arguments, of which relaxed_laneselect takes the first in the lowest lane, the second in
// the next)
constexpr uint8_t probe[] = {
    0,  97, 115, 109, 1,   0,   0,   0,   1,  9,   1,   96,  3,   125, 125, 125, 2,   125, 125, 3,
    2,  1,  0,   7,   5,   1,   1,   102, 0,  0,   10,  67,  1,   65,  1,   1,   123, 32,  0,   253,
    19, 32, 1,   253, 19,  32,  2,   253, 19, 253, 133, 2,   32,  0,   253, 19,  32,  1,   253, 19,
    32, 2,  253, 19,  253, 134, 2,   253, 12, 255, 255, 255, 255, 0,   0,   0,   0,   0,   0,   0,
    0,  0,  0,   0,   0,   253, 139, 2,   34, 3,   253, 31,  0,   32,  3,   253, 31,  1,   11};

// (func (export "f") (param i32 i32) (result i32): a lane of relaxed_dot_i8x16_i7x16_add_s of both,
// splatted, and 7)
constexpr uint8_t probe_of_dots[] = {0,   97,  115, 109, 1,   0,  0,   0,   1, 7,   1,  96, 2,
                                     127, 127, 1,   127, 3,   2,  1,   0,   7, 5,   1,  1,  102,
                                     0,   0,   10,  22,  1,   20, 0,   32,  0, 253, 17, 32, 1,
                                     253, 17,  65,  7,   253, 17, 253, 147, 2, 253, 27, 0,  11};

std::optional<std::pair<float, float>> of(const Instance& instance,
                                          const Instance::Function& function, float a, float b,
                                          float c) {
  RawValue values[3];
  values[0].f32 = a;
  values[1].f32 = b;
  values[2].f32 = c;
  if (!instance.call(function, values)) return std::nullopt;
  return std::pair(values[0].f32, values[1].f32);
}

// What `judge` says of function "f" of a module; false if the engine cannot run it.
template <typename Judge>
bool passes(const Library& api, std::span<const uint8_t> bytes, ValueKind kind, size_t arguments,
            size_t results, const Judge& judge) {
  const auto module = CompiledModule::compile(api, std::as_bytes(bytes));
  if (!module) return false;
  const auto instance = Instance::make(api, module->get(), nullptr);
  if (!instance) return false;
  const auto function = instance->function("f", kind, arguments, results);
  return function && judge(*instance, *function);
}

}  // namespace

bool has_relaxed_simd(const Library& api) {
  return passes(api, probe, kind_f32, 3, 2, [](const auto& instance, const auto& function) {
    const float a = 1 + 0x1p-12f;  // its square needs 25 bits
    const auto whole = of(instance, function, 3, 5, 7), rounded = of(instance, function, a, a, -1);
    return whole && rounded && *whole == std::pair(22.0f, -8.0f) &&
           std::abs(double{rounded->first} - double{a} * a + 1) < 1e-7;
  });
}

bool has_relaxed_dots(const Library& api) {
  return passes(api, probe_of_dots, kind_i32, 2, 1, [](const auto& instance, const auto& function) {
    const auto gives = [&](uint32_t bytes, int32_t sum) {
      RawValue values[2];
      values[0].i32 = static_cast<int32_t>(bytes);
      values[1].i32 = -1;
      return instance.call(function, values) && values[0].i32 == sum;
    };
    return gives(0x7f7f7f7f, 7 + 4 * 127 * 255) && gives(0x80808080, 7 - 4 * 128 * 255);
  });
}

}  // namespace gossamer::runtime::wasm
