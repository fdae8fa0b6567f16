#include "runtime/host_memory.h"

#include <cstdlib>
#include <cstring>

namespace gossamer::runtime {

namespace {
constexpr size_t alignment = 64, slack = 128;
constexpr size_t largest = size_t{1} << 46;
}  // namespace

Result<std::unique_ptr<Buffer>> HostBuffer::allocate(size_t bytes) {
  void* data = nullptr;
  if (bytes <= largest) {
    const size_t rounded = (bytes + slack + alignment - 1) / alignment * alignment;
    data = std::aligned_alloc(alignment, rounded);
  }
  if (!data) return fail(cat("there is no memory for a buffer of ", bytes, " bytes"));
  // The slack is read, never used: defined contents keep checkers of memory quiet.
  std::memset(static_cast<std::byte*>(data) + bytes, 0, slack);
  return std::unique_ptr<Buffer>(new HostBuffer(static_cast<std::byte*>(data), bytes));
}

HostBuffer::~HostBuffer() { std::free(data_); }

Result<> write_host(Buffer& to, size_t offset, std::span<const std::byte> bytes) {
  GS_TRY(check_range(to, offset, bytes.size()));
  if (!bytes.empty())
    std::memcpy(static_cast<HostBuffer&>(to).data() + offset, bytes.data(), bytes.size());
  return {};
}

Result<> read_host(const Buffer& from, size_t offset, std::span<std::byte> bytes) {
  GS_TRY(check_range(from, offset, bytes.size()));
  if (!bytes.empty())
    std::memcpy(bytes.data(), static_cast<const HostBuffer&>(from).data() + offset, bytes.size());
  return {};
}

}  // namespace gossamer::runtime
