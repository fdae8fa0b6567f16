#include "runtime/webgpu/memory.h"

namespace gossamer::runtime::webgpu {

Result<std::shared_ptr<Memory>> Memory::make(const std::shared_ptr<Gpu>& gpu, uint64_t bytes,
                                             Flags usage) {
  BufferDescriptor descriptor;
  descriptor.usage = usage;
  descriptor.size = bytes;
  const DeviceBuffer buffer = gpu->api().DeviceCreateBuffer(gpu->device(), &descriptor);
  // An invalid one is an object, too, and goes with this.
  std::shared_ptr<Memory> memory;
  if (buffer) memory.reset(new Memory(gpu, buffer, bytes));
  GS_TRY(gpu->check());
  if (!memory) return fail(cat("WebGPU gives no buffer of ", bytes, " bytes"));
  return memory;
}

Memory::~Memory() {
  gpu_->bindings().forget(gpu_->api(), id_);
  gpu_->api().BufferDestroy(buffer_);
  gpu_->api().BufferRelease(buffer_);
}

}  // namespace gossamer::runtime::webgpu
