// Writing the files of a package (docs/specs/package.md). Equal input gives equal bytes,
// everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "package/package.h"

namespace gossamer::package {

// kernels.json: the module's shader sources, each once, in order of first use. Sets
// `code` of the kernels to these places.
File write_kernel_sources(Module& module);

// One constant for weights.safetensors. `bytes` are its elements row-major, little-endian; they
// stay the caller's and must outlive the call. Those of a `range` are not here.
struct Constant {
  std::string name;  // not empty, unique in the file
  ir::DType dtype;   // anything but index and string
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
  FileRange range = {};

  uint64_t size() const { return range.file.empty() ? bytes.size() : range.length; }
};

// weights.safetensors: the constants in the given order, each at a multiple of 64 bytes both in the
// file and in its data section. The format forbids holes, so gaps are entries "gossamer.padding.N"
// of type U8. Errors: a name that is empty, reserved or used twice, a type that the format lacks,
// and bytes that do not fit the shape.
Result<File> write_safetensors(std::span<const Constant> constants);

// The file with the defaults of inputs that a run may leave out, by the inputs' names.
constexpr std::string_view defaults_file = "defaults.safetensors";

// The constants as one file or several, in order, of at most `most` bytes of elements each; a
// larger constant has one of its own. One is weights.safetensors, several are called
// weights.HASH.safetensors by the first 16 digits of their SHA-256. `shared`: constants of 64 KiB
// and more lie above the package, in such files, for the packages of one model to share. `pieces`:
// larger files have theirs. Errors: those of write_safetensors.
struct WeightFiles {
  Files files;
  std::vector<int> file_of;  // by constant: its file
};
Result<WeightFiles> write_weights(std::span<const Constant> constants, uint64_t most, bool shared,
                                  bool pieces = true);

// XXH3 of 64 bits as 16 lower-case hexadecimal digits.
std::string content_hash(std::span<const std::byte> bytes);

}  // namespace gossamer::package
