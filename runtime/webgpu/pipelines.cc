#include "runtime/webgpu/pipelines.h"

#include "runtime/shader_sources.h"

namespace gossamer::runtime::webgpu {
namespace {

StringView view_of(const std::string& text) { return {text.data(), text.size()}; }

Result<> check_limits(const DeviceLimits& has, const KernelEntry& kernel) {
  const auto buffers = static_cast<uint32_t>(kernel.buffers);
  const auto group = static_cast<uint32_t>(kernel.group_size);
  if (buffers <= has.storage_buffers && group <= has.group_invocations) return {};
  return fail(
      cat("a kernel has ", buffers, " buffers and groups of ", group,
          " invocations, this device takes ", has.storage_buffers, " and ", has.group_invocations),
      "compile the model with --limits mobile");
}

}  // namespace

Result<std::unique_ptr<Pipelines>> Pipelines::build(const std::shared_ptr<Gpu>& gpu,
                                                    std::span<const std::byte> code,
                                                    std::span<const KernelEntry> kernels) {
  GS_ASSIGN(const std::vector<std::string> sources, shader_sources(code, kernels));
  std::unique_ptr<Pipelines> made(new Pipelines(gpu));
  for (size_t at = 0; at < kernels.size(); ++at) GS_TRY(made->add(kernels[at], sources[at]));
  return made;
}

OwnPipeline::~OwnPipeline() {
  const Library& api = gpu_->api();
  gpu_->bindings().forget(api, id);
  if (pipeline) api.ComputePipelineRelease(pipeline);
  if (layout) api.BindGroupLayoutRelease(layout);
}

Result<> Pipelines::add(const KernelEntry& kernel, const std::string& source) {
  GS_TRY(check_limits(gpu_->limits(), kernel));
  const Library& api = gpu_->api();
  const DeviceHandle device = gpu_->device();
  const auto refused = [&](const Diagnostic& said) {
    return fail(cat("the driver's compiler refuses a kernel: ", said.message));
  };

  // docs/specs/package.md, "Bindings"
  std::vector<BindGroupLayoutEntry> entries(
      static_cast<size_t>(kernel.buffers + (kernel.scalars > 0 ? 1 : 0)));
  for (size_t at = 0; at < entries.size(); ++at) {
    const int number = static_cast<int>(at);
    entries[at].binding = static_cast<uint32_t>(at);
    entries[at].buffer.type = number == kernel.buffers                   ? binding_uniform
                              : number >= kernel.buffers - kernel.writes ? binding_storage
                                                                         : binding_read_only;
    entries[at].buffer.has_dynamic_offset = number == kernel.buffers ? 1 : 0;
  }
  BindGroupLayoutDescriptor group;
  group.entry_count = entries.size();
  group.entries = entries.data();
  const auto owned = std::make_shared<OwnPipeline>(gpu_);
  Pipeline& made = *owned;
  made.scalar_bytes = static_cast<uint64_t>((kernel.scalars + 3) / 4) * 16;
  made.layout = api.DeviceCreateBindGroupLayout(device, &group);
  PipelineLayoutDescriptor layout;
  layout.layout_count = 1;
  layout.layouts = &made.layout;
  const PipelineLayout whole = api.DeviceCreatePipelineLayout(device, &layout);

  ShaderSourceWgsl wgsl;
  wgsl.code = view_of(source);
  const ShaderModuleDescriptor shader{&wgsl.chain, {}};
  const ShaderModule module =
      api.DeviceCreateShaderModuleTrusted
          ? api.DeviceCreateShaderModuleTrusted(device, &shader, checks_of_bounds)
          : api.DeviceCreateShaderModule(device, &shader);
  auto compiled = gpu_->check();
  if (compiled && module && whole) {
    ComputePipelineDescriptor pipeline;
    pipeline.layout = whole;
    pipeline.compute.module = module;
    pipeline.compute.entry = view_of(kernel.name);
    made.pipeline = api.DeviceCreateComputePipeline(device, &pipeline);
    compiled = gpu_->check();
  }
  if (module) api.ShaderModuleRelease(module);
  if (whole) api.PipelineLayoutRelease(whole);
  if (!compiled) return refused(compiled.error());
  if (!made.pipeline) return refused({{}, "no reason is given", {}});
  kernels_.push_back(kernel);
  pipelines_.push_back(owned);
  return {};
}

}  // namespace gossamer::runtime::webgpu
