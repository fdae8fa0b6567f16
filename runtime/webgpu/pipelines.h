// A package's shaders as compute pipelines.
#pragma once

#include <memory>
#include <vector>

#include "runtime/compiled.h"
#include "runtime/device.h"
#include "runtime/webgpu/gpu.h"

namespace gossamer::runtime::webgpu {

// Goes when neither its package nor a launch that is still to be submitted has it.
class OwnPipeline : public Pipeline {
 public:
  explicit OwnPipeline(const std::shared_ptr<Gpu>& gpu) : gpu_(gpu) {
    id = gpu->bindings().next_id();
  }
  ~OwnPipeline();
  OwnPipeline(const OwnPipeline&) = delete;
  OwnPipeline& operator=(const OwnPipeline&) = delete;

 private:
  std::shared_ptr<Gpu> gpu_;
};

class Pipelines : public runtime::Executable {
 public:
  // Errors: kernels.json is damaged, the library refuses a shader, a kernel takes more than the
  // device has.
  static Result<std::unique_ptr<Pipelines>> build(const std::shared_ptr<Gpu>& gpu,
                                                  Compiled<const Pipeline>& compiled,
                                                  std::span<const std::byte> code,
                                                  std::span<const KernelEntry> kernels);
  std::span<const KernelEntry> kernels() const override { return kernels_; }
  const std::shared_ptr<const Pipeline>& pipeline(int kernel) const {
    return pipelines_[static_cast<size_t>(kernel)];
  }
  Result<> plan(int segment, std::span<const int64_t>, std::span<double>) const override {
    return fail(cat("the code has no segment ", segment, " of a plan"));
  }

 private:
  Pipelines() = default;

  std::vector<KernelEntry> kernels_;
  std::vector<std::shared_ptr<const Pipeline>> pipelines_;
};

}  // namespace gossamer::runtime::webgpu
