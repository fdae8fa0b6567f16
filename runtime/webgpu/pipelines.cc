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

Result<std::shared_ptr<const Pipeline>> build_one(const std::shared_ptr<Gpu>& gpu,
                                                  const KernelEntry& kernel,
                                                  const std::string& source) {
  const Library& api = gpu->api();
  const DeviceHandle device = gpu->device();
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
  const auto owned = std::make_shared<OwnPipeline>(gpu);
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
  auto compiled = gpu->check();
  if (compiled && module && whole) {
    ComputePipelineDescriptor pipeline;
    pipeline.layout = whole;
    pipeline.compute.module = module;
    pipeline.compute.entry = view_of(kernel.name);
    made.pipeline = api.DeviceCreateComputePipeline(device, &pipeline);
    compiled = gpu->check();
  }
  if (module) api.ShaderModuleRelease(module);
  if (whole) api.PipelineLayoutRelease(whole);
  if (!compiled) return refused(compiled.error());
  if (!made.pipeline) return refused({{}, "no reason is given", {}});
  return owned;
}

}  // namespace

Result<std::unique_ptr<Pipelines>> Pipelines::build(const std::shared_ptr<Gpu>& gpu,
                                                    Compiled<const Pipeline>& compiled,
                                                    std::span<const std::byte> code,
                                                    std::span<const KernelEntry> kernels) {
  GS_ASSIGN(const std::vector<std::string> sources, shader_sources(code, kernels));
  std::unique_ptr<Pipelines> made(new Pipelines());
  for (size_t at = 0; at < kernels.size(); ++at) {
    const KernelEntry& kernel = kernels[at];
    GS_TRY(check_limits(gpu->limits(), kernel));
    const std::string key = cat(kernel.name, " ", kernel.buffers, " ", kernel.scalars, " ",
                                kernel.writes, " ", sources[at]);
    GS_ASSIGN(auto pipeline,
              compiled.get(key, [&] { return build_one(gpu, kernel, sources[at]); }));
    made->kernels_.push_back(kernel);
    made->pipelines_.push_back(std::move(pipeline));
  }
  return made;
}

OwnPipeline::~OwnPipeline() {
  const Library& api = gpu_->api();
  gpu_->bindings().forget(api, id);
  if (pipeline) api.ComputePipelineRelease(pipeline);
  if (layout) api.BindGroupLayoutRelease(layout);
}

}  // namespace gossamer::runtime::webgpu
