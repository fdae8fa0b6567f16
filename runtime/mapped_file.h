// A file's bytes, mapped rather than read, and the tensors of a mapped safetensors file.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/type.h"

namespace gossamer::runtime {

class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();
  std::span<const std::byte> bytes() const { return bytes_; }
  // Takes pages that lie wholly within bytes of a mapped file out of this process's memory; they
  // are read again when they are used.
  static void release(std::span<const std::byte> bytes);

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

struct StoredTensor {
  std::string type;  // the format's name, "F32"
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

// Views of the file. Errors: a header that is not one, data beyond the end of the file.
Result<std::map<std::string, StoredTensor, std::less<>>> parse_safetensors(
    std::span<const std::byte> file);

}  // namespace gossamer::runtime
