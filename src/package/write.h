// Writing the files of a package (docs/specs/package.md). Equal input gives equal bytes,
// everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
// stay the caller's and must outlive the call, or, where they are `viewed`, the file, which then
// has no copy of larger ones. Those of a `range` are not here.
struct Constant {
  std::string name;  // not empty, unique in the file
  ir::DType dtype;   // anything but index and string
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
  FileRange range = {};
  bool viewed = false;

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
// weights.HASH.safetensors by the first 16 digits of their SHA-256. Errors: those of
// write_safetensors.
struct WeightFiles {
  Files files;
  std::vector<int> file_of;  // by constant: its file
};
struct WeightOptions {
  uint64_t most;
  // Constants of 64 KiB and more lie above the package, in files that are named by their content,
  // for the packages of one model to share.
  bool shared = false;
  bool pieces = true;  // larger files have theirs
  // Called with bytes that were hashed and are not read again before the files are used.
  std::function<void(std::span<const std::byte>)> on_read = {};
};
Result<WeightFiles> write_weights(std::span<const Constant> constants,
                                  const WeightOptions& options);

// XXH3 of 64 bits as 16 lower-case hexadecimal digits.
std::string hash_text(uint64_t xxh3);
std::string content_hash(std::span<const std::byte> bytes);

}  // namespace gossamer::package
