#include "runtime/host_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

namespace gossamer::runtime {

namespace {
constexpr size_t alignment = 64;
constexpr size_t worth_asking = size_t{64} << 20;

// The number behind a word of a file of the system; `otherwise` where there is none.
uint64_t number_in(const char* file, std::string_view word, uint64_t otherwise) {
  std::ifstream stream(file);
  std::string key;
  uint64_t value = 0;
  while (stream && !word.empty() && key != word) stream >> key;
  return stream >> value ? value : otherwise;
}

// What the machine, and the group of processes that this one is in, have left.
uint64_t free_memory() {
  constexpr uint64_t any = std::numeric_limits<uint64_t>::max();
  const uint64_t kibibytes = number_in("/proc/meminfo", "MemAvailable:", any / 1024);
  const uint64_t most = number_in("/sys/fs/cgroup/memory.max", "", any);
  const uint64_t used = number_in("/sys/fs/cgroup/memory.current", "", 0);
  const uint64_t cache = number_in("/sys/fs/cgroup/memory.stat", "inactive_file", 0);
  return std::min(kibibytes * 1024,
                  most == any ? any : most - std::min(most, used - std::min(used, cache)));
}
}  // namespace

Result<> has_room(size_t bytes) {
  if (bytes < worth_asking) return {};
  const uint64_t left = free_memory();
  // Compilers leave out what is freed at once and take it for granted; not through a volatile.
  void* volatile const probe = bytes <= left ? std::malloc(bytes) : nullptr;
  std::free(probe);
  if (probe) return {};
  return fail(cat("would take ", bytes, " bytes, more than there is memory for"));
}

namespace {

class OwnBuffer : public HostBuffer {
 public:
  using HostBuffer::HostBuffer;
  OwnBuffer(const OwnBuffer&) = delete;
  OwnBuffer& operator=(const OwnBuffer&) = delete;
  ~OwnBuffer() override { std::free(data()); }
};

}  // namespace

Result<std::unique_ptr<Buffer>> HostBuffer::allocate(size_t bytes) {
  GS_TRY(has_room(bytes));
  const size_t rounded = (bytes + read_past_end + alignment - 1) / alignment * alignment;
  void* const data = std::aligned_alloc(alignment, rounded);
  if (!data) return fail(cat("would take ", bytes, " bytes, more than there is memory for"));
  // What is read there is never used: defined contents keep checkers of memory quiet.
  std::memset(static_cast<std::byte*>(data) + bytes, 0, read_past_end);
  return std::make_unique<OwnBuffer>(static_cast<std::byte*>(data), bytes);
}

bool may_read_past_end(const std::byte* data, size_t size) {
  constexpr uintptr_t page = 4096;  // at least: what begins in one can be read to its end
  const auto end = reinterpret_cast<uintptr_t>(data) + size;
  return size > 0 && (end - 1) / page == (end + read_past_end - 1) / page;
}

Result<> write_host(Buffer& to, size_t offset, std::span<const std::byte> bytes) {
  GS_TRY(check_range(to, offset, bytes.size()));
  if (!bytes.empty())
    std::memcpy(static_cast<HostBuffer&>(to).data() + offset, bytes.data(), bytes.size());
  return {};
}

Result<> read_host(std::span<const ReadArguments> reads) {
  for (const auto& [from, offset, bytes, storage] : reads) {
    GS_TRY(check_range(*from, offset, bytes.size()));
    if (bytes.empty()) continue;
    const std::byte* const data = static_cast<const HostBuffer*>(from)->data();
    std::memcpy(bytes.data(), data + offset, bytes.size());
  }
  return {};
}

}  // namespace gossamer::runtime
