#include "runtime/webgpu/gpu.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <vector>

namespace gossamer::runtime::webgpu {
namespace {

#if defined(__APPLE__)
constexpr Enum backend = backend_metal;
#elif defined(_WIN32)
constexpr Enum backend = backend_d3d12;
#else
constexpr Enum backend = backend_vulkan;
#endif

constexpr size_t longest_text = 1000;

// What a request brings: a handle or a reason.
template <class Handle>
struct Answer {
  Handle handle = nullptr;
  std::string reason;
  Status status = 0;
  static void take(Enum status, Handle handle, StringView message, void* answer, void*) {
    auto& to = *static_cast<Answer*>(answer);
    if (status == succeeded) to.handle = handle;
    to.reason = text_of(message);
    to.status = status;
  }
};

bool is_software(const AdapterInfo& info) {
  if (info.type == adapter_is_cpu) return true;
  std::string text = text_of(info.architecture) + text_of(info.device) + text_of(info.description);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const char* name : {"llvmpipe", "lavapipe", "swiftshader", "basic render"})
    if (text.find(name) != std::string::npos) return true;
  return false;
}

}  // namespace

std::string text_of(StringView text) {
  if (!text.data) return {};
  const size_t length = text.length == SIZE_MAX ? std::strlen(text.data) : text.length;
  std::string line;
  for (const unsigned char c : std::string_view(text.data, length)) {
    if (line.size() >= longest_text) return line + " ...";
    if (!std::isspace(c))
      line += static_cast<char>(c);
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

Result<std::shared_ptr<Gpu>> Gpu::create() {
  GS_ASSIGN(const Library* const found, library());
  const std::shared_ptr<Gpu> gpu(new Gpu(*found));
  GS_TRY(gpu->open());
  return gpu;
}

Gpu::~Gpu() {
  bindings_.clear(api_);
  if (queue_) api_.QueueRelease(queue_);
  if (device_) {
    api_.DeviceDestroy(device_);
    api_.DeviceRelease(device_);
  }
  if (!instance_) return;
  api_.InstanceProcessEvents(instance_);
  api_.InstanceRelease(instance_);
}

Result<> Gpu::open() {
  InstanceDescriptor instance;
  NativeInstanceExtras extras;
  if (api_.DevicePoll) {
    instance.next = &extras.chain;
  } else {  // wgpu-native waits by a function of its own, and knows no such feature
    instance.feature_count = 1;
    instance.features = &instance_waits;
  }
  instance_ = api_.CreateInstance(&instance);
  if (!instance_) return fail(cat(api_.about, " gave no instance"));
  GS_ASSIGN(const Adapter adapter, request_adapter());
  describe(adapter);
  const auto made = request_device(adapter);
  api_.AdapterRelease(adapter);
  GS_TRY(made);
  queue_ = api_.DeviceGetQueue(device_);
  if (api_.DeviceGetLimits(device_, &limits_) != succeeded)
    return fail(cat(api_.about, " does not tell the limits of its device"));
  return check();
}

Result<Adapter> Gpu::request_adapter() {
  Answer<Adapter> answer;
  RequestAdapterOptions options;
  options.backend = backend;
  const Future future = api_.InstanceRequestAdapter(
      instance_, &options, {nullptr, allow_process_events, &Answer<Adapter>::take, &answer});
  GS_TRY(wait(future, answer.status));
  if (answer.handle) return answer.handle;
  return fail(cat("WebGPU has no adapter here: ", answer.reason),
              "install a driver of Vulkan: your GPU's, or mesa-vulkan-drivers for the CPU");
}

void Gpu::describe(Adapter adapter) {
  AdapterInfo info;
  if (api_.AdapterGetInfo(adapter, &info) != succeeded) return;
  software_ = is_software(info);
  // One of them has the name: which one differs from library to library.
  const std::string device = text_of(info.device), driver = text_of(info.description);
  about_ = cat(device.empty() ? text_of(info.vendor) : device, driver.empty() ? "" : ", ", driver,
               ", ", api_.about);
  api_.AdapterInfoFreeMembers(info);
}

Result<> Gpu::request_device(Adapter adapter) {
  DeviceLimits has;
  if (api_.AdapterGetLimits(adapter, &has) != succeeded)
    return fail(cat(api_.about, " does not tell the limits of its adapter"));
  // As in the page (web/runtime/src/devices/webgpu/adapter.ts): what models reach, whole.
  DeviceLimits wanted;
  wanted.buffer = has.buffer;
  wanted.storage_binding = has.storage_binding;
  wanted.storage_buffers = has.storage_buffers;
  wanted.group_bytes = has.group_bytes;
  wanted.group_invocations = has.group_invocations;
  wanted.group_x = has.group_x;
  std::vector<Enum> features;
  for (const Enum feature : {feature_f16, feature_subgroups, feature_timestamps})
    if (api_.AdapterHasFeature(adapter, feature)) features.push_back(feature);
  DeviceDescriptor descriptor;
  // Dawn rounds timestamps as in a page, to more than most kernels take.
  constexpr const char* rounding = "timestamp_quantization";
  DawnToggles toggles;
  toggles.disabled_count = 1;
  toggles.disabled = &rounding;
  if (!api_.DevicePoll) descriptor.next = &toggles.chain;
  descriptor.feature_count = features.size();
  descriptor.features = features.data();
  descriptor.limits = &wanted;
  descriptor.lost.mode = allow_spontaneous;
  descriptor.lost.callback = [](const DeviceHandle*, Enum, StringView message, void* gpu, void*) {
    auto& to = *static_cast<Gpu*>(gpu);
    const std::lock_guard lock(to.mutex_);
    to.lost_ = cat("the GPU was lost: ", text_of(message));
  };
  descriptor.lost.first = this;
  // Without it wgpu-native ends the process.
  descriptor.error.callback = [](const DeviceHandle*, Enum type, StringView message, void* gpu,
                                 void*) {
    auto& to = *static_cast<Gpu*>(gpu);
    const std::lock_guard lock(to.mutex_);
    if (!to.error_.empty()) return;  // others follow from the first
    to.error_ = cat(type == error_out_of_memory ? "the GPU is out of memory: " : "WebGPU says: ",
                    text_of(message));
  };
  descriptor.error.first = this;
  Answer<DeviceHandle> answer;
  const Future future = api_.AdapterRequestDevice(
      adapter, &descriptor, {nullptr, allow_process_events, &Answer<DeviceHandle>::take, &answer});
  GS_TRY(wait(future, answer.status));
  device_ = answer.handle;
  if (!device_) return fail(cat("WebGPU gave no device: ", answer.reason));
  return {};
}

Result<> Gpu::check() {
  const std::lock_guard lock(mutex_);
  if (!lost_.empty()) return fail(lost_);
  if (error_.empty()) return {};
  return fail(std::exchange(error_, {}));
}

void Gpu::poll() {
  if (api_.DevicePoll && device_)
    api_.DevicePoll(device_, 0, nullptr);
  else
    api_.InstanceProcessEvents(instance_);
}

Result<> Gpu::wait(Future future, const Status& status) {
  constexpr int most_turns = 10000;
  for (int turn = 0; status == 0; ++turn) {
    FutureWaitInfo info{future};
    if (!api_.DevicePoll)
      api_.InstanceWaitAny(instance_, 1, &info, undefined_u64);
    else if (device_)
      api_.DevicePoll(device_, 1, nullptr);
    else
      api_.InstanceProcessEvents(instance_);
    if (status != 0) break;
    const std::lock_guard lock(mutex_);
    if (!lost_.empty()) return fail(lost_);
    if (turn == most_turns) return fail(cat(api_.about, " does not answer"));
  }
  return {};
}

Future Gpu::when_done(const Completion& completion) {
  return api_.QueueOnSubmittedWorkDone(queue_, completion.callback());
}

Result<> Gpu::finish() {
  const Completion completion;
  GS_TRY(wait(when_done(completion), completion.status()));
  return check();
}

CallbackInfo<Enum, StringView> Completion::callback() const {
  const auto tell = [](Enum status, StringView, void* to, void*) {
    const std::unique_ptr<std::shared_ptr<Status>> kept(static_cast<std::shared_ptr<Status>*>(to));
    **kept = status;
  };
  return {nullptr, allow_process_events, tell, new std::shared_ptr<Status>(status_)};
}

}  // namespace gossamer::runtime::webgpu
