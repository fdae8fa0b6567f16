#include "runtime/mapped_file.h"

#include <fcntl.h>
#include <rapidjson/document.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace gossamer::runtime {

Result<MappedFile> MappedFile::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return fail_at(path, errno == ENOENT ? std::string("no such file")
                                         : cat("cannot be read: ", std::strerror(errno)));
  struct stat status = {};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(file);
    return fail_at(path, "is not a file");
  }
  const auto size = static_cast<size_t>(status.st_size);
  void* data = size ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : nullptr;
  close(file);
  if (size && data == MAP_FAILED)
    return fail_at(path, cat("cannot be mapped: ", std::strerror(errno)));
  return MappedFile({static_cast<const std::byte*>(data), size});
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

Result<std::map<std::string, StoredTensor, std::less<>>> parse_safetensors(
    std::span<const std::byte> file) {
  if (file.size() < 8) return fail("the file is too short for a safetensors file");
  uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  if (length > file.size() - 8) return fail("the file ends within its header");
  rapidjson::Document header;
  header.Parse<rapidjson::kParseIterativeFlag>(reinterpret_cast<const char*>(file.data()) + 8,
                                               length);
  if (header.HasParseError() || !header.IsObject()) return fail("the header is not a JSON object");
  const auto data = file.subspan(8 + length);
  std::map<std::string, StoredTensor, std::less<>> tensors;
  for (const auto& entry : header.GetObject()) {
    const std::string name = entry.name.GetString();
    if (name == "__metadata__" || name.starts_with("gossamer.padding.")) continue;
    const auto bad = [&](const char* what) { return fail_at(cat("tensor \"", name, "\""), what); };
    if (!entry.value.IsObject() || !entry.value.HasMember("dtype") ||
        !entry.value.HasMember("shape") || !entry.value.HasMember("data_offsets"))
      return bad("its entry is incomplete");
    const auto& type = entry.value["dtype"];
    const auto& shape = entry.value["shape"];
    const auto& offsets = entry.value["data_offsets"];
    if (!type.IsString() || !shape.IsArray() || !offsets.IsArray() || offsets.Size() != 2 ||
        !offsets[0].IsUint64() || !offsets[1].IsUint64())
      return bad("its entry is malformed");
    const uint64_t begin = offsets[0].GetUint64(), end = offsets[1].GetUint64();
    if (begin > end || end > data.size()) return bad("lies beyond the end of the file");
    StoredTensor tensor{type.GetString(), {}, data.subspan(begin, end - begin)};
    for (const auto& extent : shape.GetArray()) {
      if (!extent.IsInt64() || extent.GetInt64() < 0) return bad("has a malformed shape");
      tensor.shape.push_back(extent.GetInt64());
    }
    tensors.emplace(name, std::move(tensor));
  }
  return tensors;
}

}  // namespace gossamer::runtime
