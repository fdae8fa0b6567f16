#include "runtime/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/fields.h"

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

void MappedFile::release(std::span<const std::byte> bytes) {
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t begin = (at + page - 1) / page * page, end = (at + bytes.size()) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
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
  if (header.HasParseError()) return fail("the header is not JSON");
  std::string problem;
  const Fields root(header, "header", problem);
  if (!root.ok()) return fail(problem);
  const auto data = file.subspan(8 + length);
  const auto room = static_cast<int64_t>(data.size()) + 1;
  std::map<std::string, StoredTensor, std::less<>> tensors;
  for (const auto& member : header.GetObject()) {
    std::string name(member.name.GetString(), member.name.GetStringLength());
    if (name == "__metadata__" || name.starts_with("gossamer.padding.")) continue;
    const Fields entry(member.value, cat("header.", name), problem);
    StoredTensor tensor{entry.text("dtype"), {}, {}};
    entry.list("shape", [&](const Fields& list, rapidjson::SizeType at) {
      tensor.shape.push_back(list.count(at));
    });
    size_t offsets[2] = {};
    entry.list(
        "data_offsets",
        [&](const Fields& list, rapidjson::SizeType at) {
          offsets[at] = static_cast<size_t>(list.count(at, room));
        },
        2);
    if (offsets[1] < offsets[0]) entry.wrong("data_offsets", "in order");
    if (!problem.empty()) return fail(problem);
    tensor.bytes = data.subspan(offsets[0], offsets[1] - offsets[0]);
    tensors.insert_or_assign(std::move(name), std::move(tensor));
  }
  std::vector<std::pair<std::span<const std::byte>, std::string_view>> places;
  for (const auto& [name, tensor] : tensors) places.emplace_back(tensor.bytes, name);
  std::ranges::sort(places, {}, [](const auto& place) {
    return std::pair(place.first.data(), place.first.size());
  });
  const std::byte* end = data.data();
  for (const auto& [bytes, name] : places) {
    if (bytes.data() < end)
      return fail(cat("header.", name, ".data_offsets is not apart from those of others"));
    end = bytes.data() + bytes.size();
  }
  return tensors;
}

}  // namespace gossamer::runtime
