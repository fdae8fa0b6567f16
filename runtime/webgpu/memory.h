// Buffers of a device of webgpu.h.
#pragma once

#include <memory>

#include "runtime/device.h"
#include "runtime/webgpu/gpu.h"

namespace gossamer::runtime::webgpu {

// Goes when neither a tensor nor a launch that is still to be submitted has it.
class Memory {
 public:
  // Errors: the device has no room, or gives no buffer of that size.
  static Result<std::shared_ptr<Memory>> make(const std::shared_ptr<Gpu>& gpu, uint64_t bytes,
                                              Flags usage);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  Bound bound() const { return {id_, buffer_}; }
  DeviceBuffer buffer() const { return buffer_; }
  uint64_t bytes() const { return bytes_; }

 private:
  Memory(const std::shared_ptr<Gpu>& gpu, DeviceBuffer buffer, uint64_t bytes)
      : gpu_(gpu), buffer_(buffer), bytes_(bytes), id_(gpu->bindings().next_id()) {}
  std::shared_ptr<Gpu> gpu_;
  DeviceBuffer buffer_;
  uint64_t bytes_, id_;
};

class GpuBuffer : public runtime::Buffer {
 public:
  GpuBuffer(std::shared_ptr<Memory> memory, size_t size)
      : memory_(std::move(memory)), size_(size) {}
  size_t size() const override { return size_; }
  const std::shared_ptr<Memory>& memory() const { return memory_; }

 private:
  std::shared_ptr<Memory> memory_;  // whole vectors, and never nothing
  size_t size_;
};

}  // namespace gossamer::runtime::webgpu
