// Types that shading languages have: f32, i32, u32, boolean and index.
#pragma once

#include <unordered_map>

#include "ir/nodes.h"

namespace gossamer::codegen::text {

// What memory holds for a value type: f32, i32 or u32, and f16 where `f16` says that the device has
// it (docs/specs/package.md, "Binding").
ir::DType gpu_storage_of(ir::DType value_type, bool f16 = false);

// Gives every buffer its storage type, elements and operations a legal type: elements of buffers
// stored as f16 are f32.
// Narrow integers are kept in range by wrapping after arithmetic; 64-bit ones become 32-bit; f16,
// bf16 and f64 are f32. Fails for strings, bit casts of types that have no such bits here, and
// 64-bit constants that 32 bits cannot hold (unless they only bound a value).
Result<ir::Kernel> legalize_gpu_types(const ir::Kernel&, bool f16 = false);

}  // namespace gossamer::codegen::text
