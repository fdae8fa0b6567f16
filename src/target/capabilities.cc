#include "target/capabilities.h"

#include <algorithm>

namespace gossamer::target {
namespace {
// Mesa's drivers in software (llvmpipe, lavapipe) end the loops of an invocation there without a
// word.
constexpr int64_t mesa_rounds = 65'535;
}  // namespace

Capabilities capabilities_of(TargetKind kind) {
  Capabilities c;
  c.kind = kind;
  c.texture_memory = target_of(kind).memory == TargetMemory::textures;
  switch (kind) {
    case TargetKind::cpu:
      c.vector_lanes = 16;  // AVX-512: 32 registers; for_registers has smaller machines
      c.vector_registers = 31;
      c.tile_rows = 14;
      c.tile_vectors = 4;
      c.map_chunk = 1024;
      c.max_private_bytes = 1 << 20;  // half of what a core's cache holds
      break;
    case TargetKind::wasm:
      c.vector_lanes = 4;
      c.vector_registers = 15;  // V8 on x64 spills beyond
      c.join_rows = true;
      c.tile_rows = 5;  // six spill in V8 while products wait in registers of their own
      c.tile_vectors = 2;
      c.map_chunk = 1024;
      c.max_private_bytes = 512 << 10;
      c.dots = c.byte_dots = true;
      c.floats_for_halves = true;
      c.byte_lanes = 16;
      break;
    case TargetKind::webgpu:
    case TargetKind::opencl:
    case TargetKind::opengl:
      c.byte_dots = c.signed_bytes = kind == TargetKind::webgpu;
      c.vector_lanes = 4;
      c.vector_registers = 20;
      c.tile_rows = 8;
      c.tile_vectors = 2;
      c.group_size = 64;
      c.max_group_bytes = 16384;
      c.scan_segment = 64;
      c.max_rounds = mesa_rounds;
      c.has_f64 = false;
      c.has_bytes = false;
      c.harmless_loads = true;
      c.scatters = false;
      break;
    case TargetKind::webgl:
      c.vector_lanes = 4;
      c.vector_registers = 12;
      c.tile_rows = 1;
      c.tile_vectors = 1;
      c.scan_segment = 16;
      c.max_rounds = mesa_rounds;
      c.has_f64 = false;
      c.has_bytes = false;
      c.harmless_loads = true;
      c.scatters = false;
      break;
  }
  return c;
}

Capabilities with_multiply_adds(Capabilities caps) {
  caps.product_rows = caps.tile_rows;
  caps.tile_rows = 6;
  caps.multiply_adds = true;
  return caps;
}

Capabilities for_registers(Capabilities caps, int bits, int registers) {
  const bool many = registers >= 32;
  caps.vector_lanes = bits / 32;
  caps.masks_loads = bits >= 256;  // shorter vectors are loaded lane by lane
  caps.has_ldexp = bits == 512;    // AVX-512's scalef
  caps.vector_registers = registers - 1;
  caps.tile_rows = many ? 14 : 6;  // 6 rows of 2 vectors, a row's operand and 2 vectors: 15
  caps.tile_vectors = many ? 4 : 2;
  return caps;
}

Capabilities for_any_machine(Capabilities caps) {
  caps.dots = caps.byte_dots = caps.windows_in_halves = false;
  caps.converts_halves = caps.floats_for_halves = caps.has_ldexp = false;
  caps.vector_lanes = 4;
  caps.vector_registers = 15;
  caps.tile_rows = 4;
  caps.tile_vectors = 2;
  caps.max_private_bytes = 16 << 10;  // stacks may be small
  return caps;
}

bool may_share_words(ir::DType dtype, const Capabilities& caps) {
  return !caps.has_bytes && ir::byte_size(dtype) <= 2 && dtype != ir::DType::string &&
         !(caps.has_f16 && dtype == ir::DType::f16);
}

Result<> check_group_bytes(int64_t bytes, const Capabilities& caps) {
  if (bytes <= caps.max_group_bytes) return {};
  return fail(cat("tiles of ", bytes, " bytes; a workgroup of ", name_of(caps.kind), " shares ",
                  caps.max_group_bytes));
}

Result<> apply_limits(std::string_view limits, Capabilities& caps) {
  if (limits.empty()) return {};
  const bool es31 = limits == "es31";
  if (limits != "mobile" && !es31)
    return fail_at(cat("limits \"", limits, "\""), "there are none of that name",
                   "\"mobile\" or \"es31\"");
  caps.max_texture_size = std::min(caps.max_texture_size, 4096);
  caps.max_texture_height = std::min(caps.max_texture_height, 4096);
  caps.max_storage_buffers = std::min(caps.max_storage_buffers, es31 ? 4 : 8);
  caps.max_group_size = std::min(caps.max_group_size, es31 ? 128 : 256);
  caps.max_binding_bytes = std::min(caps.max_binding_bytes, int64_t{128} << 20);
  return {};
}

}  // namespace gossamer::target
