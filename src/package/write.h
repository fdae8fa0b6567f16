// Writing the files of a package (docs/specs/package.md). Equal input gives equal bytes,
// everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "package/package.h"

namespace gossamer::package {

// kernels.json: the module's shader sources, each once, in order of first use. manifest.json refers
// to them by this order.
File write_kernel_sources(const Module& module);

// One constant for weights.safetensors. `bytes` are its elements row-major, little-endian; they
// stay the caller's and must outlive the call.
struct Constant {
  std::string name;  // not empty, unique in the file
  ir::DType dtype;   // anything but index and string
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

// weights.safetensors: the constants in the given order, each at a multiple of 64 bytes both in the
// file and in its data section. The format forbids holes, so gaps are entries "gossamer.padding.N"
// of type U8. Errors: a name that is empty, reserved or used twice, a type that the format lacks,
// and bytes that do not fit the shape.
Result<File> write_safetensors(std::span<const Constant> constants);

// XXH3 of 64 bits as 16 lower-case hexadecimal digits.
std::string content_hash(std::span<const std::byte> bytes);

}  // namespace gossamer::package
