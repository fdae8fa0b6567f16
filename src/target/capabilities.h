// What a target and its adapter can do: the only thing schedules and passes know about targets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/target.h"
#include "ir/type.h"

namespace gossamer::target {

struct Capabilities {
  TargetKind kind = TargetKind::cpu;
  int vector_lanes = 4;            // f32 lanes of one vector register or texel
  int vector_registers = 15;       // what a register tile and its operands may use
  int tile_rows = 6;               // rows of a register tile at most
  int tile_vectors = 2;            // vectors of a row at most
  bool join_rows = false;          // two axes as one row pay (an address a row is cheap)
  int unroll = 4;                  // iterations of a reduction in one straight piece
  int group_size = 1;              // invocations of a workgroup
  int64_t map_chunk = 1;           // points of one work item of a map at least
  int64_t scan_segment = 0;        // points of a scan that one invocation walks; 0: a whole axis
  int64_t max_rounds = 0;          // of all loops of an invocation; 0: as many as there are
  bool harmless_loads = false;     // a load outside of its buffer gives any value and does no harm
  bool scatters = true;            // a kernel may write where data says, one update after the other
  bool texture_memory = false;     // tensors are RGBA textures
  int max_textures = 16;           // samplers of a fragment program
  int max_layers = 8;              // render targets of a fragment program
  int max_texture_size = 4096;     // widths; heights are bounded by max_texture_height
  int max_texture_height = 32768;  // the tallest texture of any driver
  int max_storage_buffers = 8;     // of a compute kernel, output included
  int max_group_size = 256;        // invocations of a workgroup
  int64_t max_group_bytes = 0;     // of memory that a workgroup shares
  int64_t max_private_bytes = 0;   // memory of a work item in addition to its registers
  bool hardware = false;           // a GPU, not software that acts as one: sharing tiles pays
  int product_rows = 0;            // of tiles whose products take registers; 0: as tile_rows
  bool multiply_adds = false;      // wasm: with relaxed SIMD's
  int64_t max_binding_bytes = int64_t{4} << 30;  // of one tensor in a compute kernel
  bool has_f64 = true;                           // else the CPU beside it computes in 64-bit floats
  bool dots = false;                             // sums of two products of 16 bits in one step
  bool byte_dots = false;                        // and of four of bytes, unsigned and signed
  bool signed_bytes = false;                     // both sides of these are signed
  bool windows_in_halves = false;                // sums over a window read 16 bits instead of 32
  bool converts_halves = false;                  // f16 to and from f32 by an instruction
  bool masks_loads = false;  // machine code loads lanes of a select's arm only where it is taken
  int byte_lanes =
      0;  // bytes that code works on together before they are widened; 0: as vector_lanes
  bool has_ldexp = false;          // an instruction for ir::BinaryOp::ldexp
  bool floats_for_halves = false;  // no instruction, and memory for floats in their place
  bool has_f16 = false;            // f16 tensors are stored as such
  bool has_bytes = true;           // memory is addressed in bytes, else in words of 32 bits

  // A processor with vectors in registers (cpu, wasm), else invocations or fragments of a GPU.
  bool is_vector_unit() const { return group_size == 1 && !texture_memory; }
};

Capabilities capabilities_of(TargetKind kind);
// wasm with relaxed SIMD, where a multiply-add needs no register for the product.
Capabilities with_multiply_adds(Capabilities caps);
// Machine code for a processor with `registers` vector registers of `bits` bits: tiles that they
// hold.
Capabilities for_registers(Capabilities caps, int bits, int registers);
// Code for machines that are not known when it is made: small vectors and tiles, as of numbers one
// by one.
Capabilities for_any_machine(Capabilities caps);
// Whether elements of a type may share words, since memory has no smaller parts.
bool may_share_words(ir::DType dtype, const Capabilities& caps);
// Fails if tiles of this size exceed what a workgroup can share. The error states the limit.
Result<> check_group_bytes(int64_t bytes, const Capabilities& caps);
// Limits of the GPU targets that have a name: "mobile" is what every phone of recent years has
// (4096-texel textures, 8 storage buffers of 128 MiB, groups of 256), "es31" what OpenGL ES 3.1
// promises (4 storage buffers of 128 MiB, groups of 128); "" changes nothing.
Result<> apply_limits(std::string_view limits, Capabilities& caps);

}  // namespace gossamer::target
