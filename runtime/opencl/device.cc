#include "runtime/opencl/device.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/compiled.h"
#include "runtime/opencl/library.h"
#include "runtime/shader_sources.h"

namespace gossamer::runtime {
namespace {

using opencl::error_text;
using opencl::Library;

constexpr const char* build_options = "-cl-std=CL1.2 -cl-single-precision-constant";

// An object of OpenCL that goes with its owner.
template <class T>
class Owned {
 public:
  using Release = cl_int (*)(T);
  Owned() = default;
  Owned(T object, Release release) : object_(object), release_(release) {}
  Owned(Owned&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)), release_(other.release_) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Owned() {
    if (object_) release_(object_);
  }
  T get() const { return object_; }

 private:
  T object_ = nullptr;
  Release release_ = nullptr;
};

#define GS_CL(call) \
  if (const cl_int gs_code = cl.call; gs_code != CL_SUCCESS) return fail(error_text(#call, gs_code))

class ClBuffer : public Buffer {
 public:
  ClBuffer(Owned<cl_mem> memory, size_t size) : memory_(std::move(memory)), size_(size) {}
  size_t size() const override { return size_; }
  cl_mem memory() const { return memory_.get(); }

 private:
  Owned<cl_mem> memory_;
  size_t size_;
};

struct ClKernel {
  Owned<cl_program> program;
  Owned<cl_kernel> entry;
};

class ClExecutable : public Executable {
 public:
  ClExecutable(std::vector<KernelEntry> kernels, std::vector<std::shared_ptr<ClKernel>> entries)
      : kernels_(std::move(kernels)), entries_(std::move(entries)) {}
  std::span<const KernelEntry> kernels() const override { return kernels_; }
  cl_kernel entry(int kernel) const { return entries_[static_cast<size_t>(kernel)]->entry.get(); }
  Result<> plan(int segment, std::span<const int64_t>, std::span<double>) const override {
    return fail(cat("the code has no segment ", segment, " of a plan"));
  }

 private:
  std::vector<KernelEntry> kernels_;
  std::vector<std::shared_ptr<ClKernel>> entries_;
};

class ClFence : public Fence {
 public:
  ClFence(const Library& cl, cl_event event) : cl_(cl), event_(event, cl.clReleaseEvent) {}
  bool passed() const override {
    cl_int status = CL_QUEUED;
    cl_.clGetEventInfo(event_.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                       nullptr);
    return status <= CL_COMPLETE;
  }
  Result<> wait() override {
    const Library& cl = cl_;
    const cl_event event = event_.get();
    GS_CL(clWaitForEvents(1, &event));
    return {};
  }

 private:
  const Library& cl_;
  Owned<cl_event> event_;
};

struct ClContext {
  cl_device_id device;
  Owned<cl_context> context;
};

class ClQueue : public Queue {
 public:
  static Result<ClQueue> make(const Library& cl, std::shared_ptr<const ClContext> context) {
    GS_ASSIGN(Owned<cl_command_queue> plain, make_queue(cl, *context, 0));
    return ClQueue(cl, std::move(context), std::move(plain));
  }
  Result<> write(Buffer& to, size_t offset, std::span<const std::byte> bytes,
                 ir::DType /*storage*/) override {
    const Library& cl = cl_;
    GS_TRY(check_range(to, offset, bytes.size()));
    if (bytes.empty()) return {};
    GS_CL(clEnqueueWriteBuffer(queue(), static_cast<ClBuffer&>(to).memory(), CL_TRUE, offset,
                               bytes.size(), bytes.data(), 0, nullptr, nullptr));
    return {};
  }
  Result<> read(std::span<const ReadArguments> reads) override {
    const Library& cl = cl_;
    for (const auto& [from, offset, bytes, storage] : reads) {
      GS_TRY(check_range(*from, offset, bytes.size()));
      if (bytes.empty()) continue;
      GS_CL(clEnqueueReadBuffer(queue(), static_cast<const ClBuffer&>(*from).memory(), CL_TRUE,
                                offset, bytes.size(), bytes.data(), 0, nullptr, nullptr));
    }
    return {};
  }
  Result<> copy(Buffer& to, const Buffer& from, size_t bytes, ir::DType /*storage*/) override {
    const Library& cl = cl_;
    GS_TRY(check_range(to, 0, bytes));
    GS_TRY(check_range(from, 0, bytes));
    if (bytes == 0) return {};
    GS_CL(clEnqueueCopyBuffer(queue(), static_cast<const ClBuffer&>(from).memory(),
                              static_cast<ClBuffer&>(to).memory(), 0, 0, bytes, 0, nullptr,
                              nullptr));
    return {};
  }
  Result<> launch(const Executable& code, const LaunchArguments& arguments) override {
    const Library& cl = cl_;
    GS_TRY(check_launch(code, arguments));
    if (arguments.range == 0) return {};
    const auto& executable = static_cast<const ClExecutable&>(code);
    const cl_kernel kernel = executable.entry(arguments.kernel);
    cl_uint at = 0;
    for (Buffer* buffer : arguments.buffers) {
      const cl_mem memory = static_cast<ClBuffer*>(buffer)->memory();
      GS_CL(clSetKernelArg(kernel, at++, sizeof(cl_mem), static_cast<const void*>(&memory)));
    }
    for (const int64_t scalar : arguments.scalars) {
      const auto word = static_cast<cl_int>(scalar);
      GS_CL(clSetKernelArg(kernel, at++, sizeof word, &word));
    }
    const KernelEntry& entry = executable.kernels()[static_cast<size_t>(arguments.kernel)];
    const auto group = static_cast<size_t>(entry.group_size);
    const size_t all = group * static_cast<size_t>(arguments.range);
    cl_event event = nullptr;
    GS_CL(clEnqueueNDRangeKernel(queue(), kernel, 1, nullptr, &all, &group, 0, nullptr,
                                 timed_ ? &event : nullptr));
    if (event) launches_.emplace_back(event, cl.clReleaseEvent);
    return {};
  }
  Result<std::unique_ptr<Fence>> submit() override {
    const Library& cl = cl_;
    cl_event event = nullptr;
    GS_CL(clEnqueueMarkerWithWaitList(queue(), 0, nullptr, &event));
    auto fence = std::make_unique<ClFence>(cl, event);
    GS_CL(clFlush(queue()));
    return fence;
  }
  // Such launches are slower, so they have a queue of their own. Commands of the other one are done
  // first.
  bool time_launches(bool on) override {
    if (on && !timing_.get()) {
      auto made = make_queue(cl_, *context_, CL_QUEUE_PROFILING_ENABLE);
      if (!made) return false;
      timing_ = *std::move(made);
    }
    if (on != timed_) cl_.clFinish(queue());
    timed_ = on;
    launches_.clear();
    return timed_;
  }
  Result<std::vector<double>> take_times() override {
    const Library& cl = cl_;
    GS_CL(clFinish(queue()));
    std::vector<double> times;
    for (const Owned<cl_event>& launch : launches_) {
      cl_ulong begin = 0, end = 0;
      GS_CL(clGetEventProfilingInfo(launch.get(), CL_PROFILING_COMMAND_START, sizeof begin, &begin,
                                    nullptr));
      GS_CL(clGetEventProfilingInfo(launch.get(), CL_PROFILING_COMMAND_END, sizeof end, &end,
                                    nullptr));
      times.push_back(static_cast<double>(end - begin) / 1e6);
    }
    launches_.clear();
    return times;
  }

 private:
  ClQueue(const Library& cl, std::shared_ptr<const ClContext> context,
          Owned<cl_command_queue> plain)
      : cl_(cl), context_(std::move(context)), plain_(std::move(plain)) {}
  static Result<Owned<cl_command_queue>> make_queue(const Library& cl, const ClContext& context,
                                                    cl_command_queue_properties properties) {
    cl_int code = CL_SUCCESS;
    Owned<cl_command_queue> queue(
        cl.clCreateCommandQueue(context.context.get(), context.device, properties, &code),
        cl.clReleaseCommandQueue);
    if (code != CL_SUCCESS) return fail(error_text("clCreateCommandQueue", code));
    return queue;
  }
  cl_command_queue queue() const { return timed_ ? timing_.get() : plain_.get(); }

  const Library& cl_;
  std::shared_ptr<const ClContext> context_;
  Owned<cl_command_queue> plain_, timing_;
  std::vector<Owned<cl_event>> launches_;  // that are timed
  bool timed_ = false;
};

class ClDevice : public Device {
 public:
  ClDevice(const Library& cl, std::shared_ptr<const ClContext> context, ClQueue queue)
      : cl_(cl), device_(context->device), context_(std::move(context)), queue_(std::move(queue)) {}
  std::string_view name() const override { return "opencl"; }
  std::string description() const override {
    return cat("opencl, ", text(CL_DEVICE_NAME), ", driver ", text(CL_DRIVER_VERSION));
  }
  bool hardware() const override {
    return (number<cl_device_type>(CL_DEVICE_TYPE) & CL_DEVICE_TYPE_GPU) != 0;
  }
  Result<std::unique_ptr<Buffer>> allocate(size_t bytes) override {
    const auto most = static_cast<size_t>(number<cl_ulong>(CL_DEVICE_MAX_MEM_ALLOC_SIZE));
    if (bytes > std::numeric_limits<size_t>::max() - 16 || bytes > most)
      return fail(cat("needs ", bytes, " bytes, this device gives at most ", most, " at once"));
    // Whole vectors, and never nothing.
    const size_t whole = std::max<size_t>((bytes + 15) / 16 * 16, 16);
    cl_int code = CL_SUCCESS;
    const cl_mem memory =
        cl_.clCreateBuffer(context_->context.get(), CL_MEM_READ_WRITE, whole, nullptr, &code);
    if (code != CL_SUCCESS) return fail(error_text("clCreateBuffer", code));
    return std::make_unique<ClBuffer>(Owned<cl_mem>(memory, cl_.clReleaseMemObject), bytes);
  }
  Result<std::unique_ptr<Executable>> load(std::span<const std::byte> code,
                                           std::span<const KernelEntry> kernels,
                                           int plan_segments) override {
    if (plan_segments > 0) return fail("shaders have no plan: it is the side's");
    GS_ASSIGN(const std::vector<std::string> sources, shader_sources(code, kernels));
    std::vector<std::shared_ptr<ClKernel>> entries;
    for (size_t at = 0; at < kernels.size(); ++at) {
      const std::string& name = kernels[at].name;
      GS_ASSIGN(auto kernel, compiled_.get(cat(name, " ", sources[at]),
                                           [&] { return make_kernel(name, sources[at]); }));
      GS_TRY(check_group(kernel->entry.get(), kernels[at]));
      entries.push_back(std::move(kernel));
    }
    return std::make_unique<ClExecutable>(std::vector<KernelEntry>(kernels.begin(), kernels.end()),
                                          std::move(entries));
  }
  Queue& queue() override { return queue_; }

 private:
  std::string text(cl_device_info what) const {
    char value[256] = {};
    cl_.clGetDeviceInfo(device_, what, sizeof value - 1, value, nullptr);
    return value;
  }
  template <class T>
  T number(cl_device_info what) const {
    T value = 0;
    cl_.clGetDeviceInfo(device_, what, sizeof value, &value, nullptr);
    return value;
  }
  Result<std::shared_ptr<ClKernel>> make_kernel(const std::string& name,
                                                const std::string& source) {
    GS_ASSIGN(Owned<cl_program> program, build(source));
    cl_int result = CL_SUCCESS;
    Owned<cl_kernel> entry(cl_.clCreateKernel(program.get(), name.c_str(), &result),
                           cl_.clReleaseKernel);
    if (result != CL_SUCCESS) return fail(cat("the code has no kernel ", name));
    return std::make_shared<ClKernel>(std::move(program), std::move(entry));
  }
  Result<Owned<cl_program>> build(const std::string& source) {
    const char* data = source.c_str();
    const size_t length = source.size();
    cl_int code = CL_SUCCESS;
    Owned<cl_program> program(
        cl_.clCreateProgramWithSource(context_->context.get(), 1, &data, &length, &code),
        cl_.clReleaseProgram);
    if (code != CL_SUCCESS) return fail(error_text("clCreateProgramWithSource", code));
    code = cl_.clBuildProgram(program.get(), 1, &device_, build_options, nullptr, nullptr);
    if (code == CL_SUCCESS) return Result<Owned<cl_program>>(std::move(program));
    std::string log(4096, '\0');
    cl_.clGetProgramBuildInfo(program.get(), device_, CL_PROGRAM_BUILD_LOG, log.size(), log.data(),
                              nullptr);
    log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
    return fail(cat("the device's compiler refuses a kernel: ", error_text("clBuildProgram", code),
                    log.empty() ? "" : "\n", log));
  }
  Result<> check_group(cl_kernel kernel, const KernelEntry& entry) {
    size_t most = 0;
    cl_.clGetKernelWorkGroupInfo(kernel, device_, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most,
                                 nullptr);
    if (static_cast<size_t>(entry.group_size) <= most) return {};
    return fail(
        cat("a kernel has groups of ", entry.group_size, " invocations, this device takes ", most),
        "compile the model with --adapters software");
  }

  const Library& cl_;
  cl_device_id device_;
  std::shared_ptr<const ClContext> context_;
  Compiled<ClKernel> compiled_;
  ClQueue queue_;
};

// Every device of every driver.
std::vector<cl_device_id> devices_of(const Library& cl) {
  cl_uint count = 0;
  cl.clGetPlatformIDs(0, nullptr, &count);
  std::vector<cl_platform_id> platforms(count);
  if (count > 0) cl.clGetPlatformIDs(count, platforms.data(), nullptr);
  std::vector<cl_device_id> all;
  for (const cl_platform_id platform : platforms) {
    cl_uint here = 0;
    if (cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &here) != CL_SUCCESS) continue;
    all.resize(all.size() + here);
    cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, here, all.data() + all.size() - here, nullptr);
  }
  return all;
}

Result<std::shared_ptr<const ClContext>> make_context(const Library& cl) {
  const std::vector<cl_device_id> all = devices_of(cl);
  if (all.empty())
    return fail("there is no OpenCL device",
                "install a driver: your GPU's, or pocl-opencl-icd for the CPU");
  const auto is_gpu = [&](cl_device_id device) {
    cl_device_type type = 0;
    cl.clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, nullptr);
    return (type & CL_DEVICE_TYPE_GPU) != 0;
  };
  const auto gpu = std::ranges::find_if(all, is_gpu);
  const cl_device_id device = gpu == all.end() ? all.front() : *gpu;
  cl_int code = CL_SUCCESS;
  Owned<cl_context> context(cl.clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code),
                            cl.clReleaseContext);
  if (code != CL_SUCCESS) return fail(error_text("clCreateContext", code));
  return std::make_shared<const ClContext>(device, std::move(context));
}

// One a process while somebody has it: drivers take tens of megabytes for each.
Result<std::shared_ptr<const ClContext>> context_of(const Library& cl) {
  static std::mutex one;
  static std::weak_ptr<const ClContext> known;
  const std::lock_guard lock(one);
  if (auto here = known.lock()) return here;
  auto made = make_context(cl);
  if (made) known = *made;
  return made;
}

}  // namespace

Result<std::unique_ptr<Device>> make_opencl_device() {
  GS_ASSIGN(const Library* const cl, opencl::library());
  GS_ASSIGN(const std::shared_ptr<const ClContext> context, context_of(*cl));
  GS_ASSIGN(ClQueue queue, ClQueue::make(*cl, context));
  return std::make_unique<ClDevice>(*cl, context, std::move(queue));
}

}  // namespace gossamer::runtime
