// Buffers in this process's memory: what the cpu and null devices have.
#pragma once

#include "runtime/device.h"

namespace gossamer::runtime {

class HostBuffer : public Buffer {
 public:
  // At a 64-byte boundary, with room at the end for a vector of 16 64-bit elements.
  static Result<std::unique_ptr<Buffer>> allocate(size_t bytes);
  ~HostBuffer() override;
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  size_t size() const override { return size_; }
  std::span<const std::byte> mapped() const override { return {data_, size_}; }
  std::byte* data() const { return data_; }

 private:
  HostBuffer(std::byte* data, size_t size) : data_(data), size_(size) {}
  std::byte* data_;
  size_t size_;
};

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
