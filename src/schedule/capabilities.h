// What a target and its adapter can do: the only thing schedules and passes know about targets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ir/type.h"

namespace gossamer::schedule {

enum class TargetKind : uint8_t { cpu, wasm, webgpu, webgl };

struct Capabilities {
  TargetKind kind = TargetKind::cpu;
  std::string name;             // "webgpu", or "webgpu-software" for a variant
  int vector_lanes = 4;         // f32 lanes of one vector register or texel
  int vector_registers = 16;    // what a register tile may use, minus what its loop needs
  bool fma = false;             // multiply-add is one operation (relaxed SIMD, native FMA)
  bool texture_memory = false;  // tensors are RGBA textures
  int max_textures = 16;        // samplers of a fragment program
  int max_layers = 8;           // render targets of a fragment program
  int max_texture_size = 4096;
  int max_storage_buffers = 8;  // of a compute kernel, output included
  int max_group_size = 256;     // invocations of a workgroup
  int max_group_bytes = 16384;
  bool group_memory_pays = false;  // staging through group memory gains (a real GPU)
  int threads = 1;
  bool has_i64 = true, has_f64 = true, has_f16 = false, has_small_ints = true;
};

Capabilities capabilities_of(TargetKind kind);
Result<TargetKind> target_named(std::string_view name);
std::string_view name_of(TargetKind kind);

}  // namespace gossamer::schedule
