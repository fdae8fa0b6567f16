// Buffers in this process's memory: what the cpu and null devices have.
#pragma once

#include "runtime/device.h"

namespace gossamer::runtime {

class HostBuffer : public Buffer {
 public:
  // Memory of another owner.
  HostBuffer(std::byte* data, size_t size) : data_(data), size_(size) {}
  // Allocates, at a 64-byte boundary, with `read_past_end` more.
  static Result<std::unique_ptr<Buffer>> allocate(size_t bytes);
  size_t size() const override { return size_; }
  std::span<const std::byte> mapped() const override { return {data_, size_}; }
  std::byte* data() const { return data_; }

 private:
  std::byte* data_;
  size_t size_;
};

// Bytes after a buffer's end that kernels may read, of any value: a vector of 16 64-bit elements.
inline constexpr size_t read_past_end = 128;
// Whether that many bytes after `size` bytes there can be read, whoever owns them.
bool may_read_past_end(const std::byte* data, size_t size);

// An error where there is no room for that many bytes more. Ask before making what would end the
// process, or have the system end it, where memory runs out.
Result<> has_room(size_t bytes);

Result<> write_host(Buffer& to, size_t offset, std::span<const std::byte> bytes);
Result<> read_host(std::span<const ReadArguments> reads);

// A fence of a queue that has done everything when a call returns.
class PassedFence : public Fence {
 public:
  bool passed() const override { return true; }
  Result<> wait() override { return {}; }
};

}  // namespace gossamer::runtime
