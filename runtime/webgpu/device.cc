#include "runtime/webgpu/device.h"

#include <algorithm>

#include "runtime/host_memory.h"
#include "runtime/webgpu/queue.h"

namespace gossamer::runtime {
namespace {

using namespace webgpu;  // NOLINT(google-build-using-namespace): this is its face

class WebgpuDevice : public Device {
 public:
  explicit WebgpuDevice(const std::shared_ptr<Gpu>& gpu) : gpu_(gpu), queue_(gpu) {}
  std::string_view name() const override { return "webgpu"; }
  std::string description() const override { return cat("webgpu, ", gpu_->about()); }
  bool hardware() const override { return !gpu_->software(); }
  bool has(std::string_view need) const override {
    return (need == "webgpu-f16" && gpu_->has(feature_f16)) ||
           (need == "webgpu-subgroups" && gpu_->has(feature_subgroups));
  }
  Result<std::unique_ptr<Buffer>> allocate(size_t bytes) override {
    const uint64_t most = std::min(gpu_->limits().buffer, gpu_->limits().storage_binding);
    if (bytes > most)
      return fail(cat("needs ", bytes, " bytes, a WebGPU buffer here holds ", most));
    // A CPU that acts as a GPU takes this process's memory.
    if (gpu_->software()) GS_TRY(has_room(bytes));
    // Whole vectors, and never nothing.
    const uint64_t whole = std::max<uint64_t>((uint64_t{bytes} + 15) / 16 * 16, 16);
    GS_ASSIGN(auto memory,
              Memory::make(gpu_, whole, usage_storage | usage_copy_src | usage_copy_dst));
    return std::make_unique<GpuBuffer>(std::move(memory), bytes);
  }
  Result<std::unique_ptr<Executable>> load(std::span<const std::byte> code,
                                           std::span<const KernelEntry> kernels,
                                           int plan_segments) override {
    if (plan_segments > 0) return fail("shaders have no plan: it is the side's");
    GS_ASSIGN(std::unique_ptr<Executable> built, Pipelines::build(gpu_, compiled_, code, kernels));
    return built;
  }
  runtime::Queue& queue() override { return queue_; }

 private:
  std::shared_ptr<Gpu> gpu_;
  Compiled<const Pipeline> compiled_;
  GpuQueue queue_;
};

}  // namespace

Result<std::unique_ptr<Device>> make_webgpu_device() {
  GS_ASSIGN(const std::shared_ptr<Gpu> gpu, Gpu::create());
  return std::make_unique<WebgpuDevice>(gpu);
}

}  // namespace gossamer::runtime
