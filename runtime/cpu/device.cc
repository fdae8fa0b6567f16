#include "runtime/cpu/device.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/cpu/limits.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/host_memory.h"

namespace gossamer::runtime {
namespace {

using Entry = void (*)(int64_t begin, int64_t end, void* const* args);
using Plan = void (*)(const double* dims, double* values);

constexpr int most_threads = 1024;  // that any machine of today runs at once, and any system starts

// A loaded file without a name. It stays open: the loader takes another file of the same name for
// the one that it has, and the name is the descriptor's number.
class Library {
 public:
  Library(void* handle, int file) : handle_(handle), file_(file) {}
  Library(Library&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), file_(std::exchange(other.file_, -1)) {}
  Library& operator=(Library&&) = delete;
  ~Library() {
    if (handle_) dlclose(handle_);
    if (file_ >= 0) close(file_);
  }
  void* find(const char* name) const { return dlsym(handle_, name); }

 private:
  void* handle_;
  int file_;
};

class CpuExecutable : public Executable {
 public:
  CpuExecutable(Library library, std::vector<KernelEntry> kernels, std::vector<Entry> entries,
                std::vector<Plan> segments)
      : library_(std::move(library)),
        kernels_(std::move(kernels)),
        entries_(std::move(entries)),
        segments_(std::move(segments)) {}
  std::span<const KernelEntry> kernels() const override { return kernels_; }
  Entry entry(int kernel) const { return entries_[static_cast<size_t>(kernel)]; }
  Result<> plan(int segment, std::span<const int64_t> dims,
                std::span<double> values) const override {
    if (segment < 0 || static_cast<size_t>(segment) >= segments_.size())
      return fail(cat("the code has no segment ", segment, " of a plan"));
    const std::vector<double> numbers(dims.begin(), dims.end());
    segments_[static_cast<size_t>(segment)](numbers.data(), values.data());
    return {};
  }

 private:
  Library library_;
  std::vector<KernelEntry> kernels_;
  std::vector<Entry> entries_;
  std::vector<Plan> segments_;
};

class CpuQueue : public Queue {
 public:
  explicit CpuQueue(int threads) : pool_(threads) {}
  int threads() const { return pool_.threads(); }
  ThreadPool& pool() { return pool_; }
  Result<> write(Buffer& to, size_t offset, std::span<const std::byte> bytes,
                 ir::DType /*storage*/) override {
    return write_host(to, offset, bytes);
  }
  Result<> read(std::span<const ReadArguments> reads) override { return read_host(reads); }
  Result<> copy(Buffer& to, const Buffer& from, size_t bytes, ir::DType /*storage*/) override {
    GS_TRY(check_range(from, 0, bytes));
    return write_host(to, 0, from.mapped().first(bytes));
  }
  Result<> launch(const Executable& code, const LaunchArguments& arguments) override {
    GS_TRY(check_launch(code, arguments));
    if (arguments.range == 0) return {};
    block_.clear();
    for (Buffer* buffer : arguments.buffers)
      block_.push_back(static_cast<HostBuffer*>(buffer)->data());
    for (int64_t scalar : arguments.scalars)
      block_.push_back(reinterpret_cast<void*>(static_cast<intptr_t>(scalar)));
    const Call call{static_cast<const CpuExecutable&>(code).entry(arguments.kernel), block_.data()};
    pool_.run(
        arguments.range,
        [](int64_t begin, int64_t end, const void* context) {
          const auto* called = static_cast<const Call*>(context);
          called->entry(begin, end, called->arguments);
        },
        &call);
    return {};
  }
  Result<std::unique_ptr<Fence>> submit() override { return std::make_unique<PassedFence>(); }

 private:
  struct Call {
    Entry entry;
    void* const* arguments;
  };
  ThreadPool pool_;
  std::vector<void*> block_;
};

// The loader wants a file: one without a name, where the system has such, else a temporary one.
Result<Library> open_library(std::span<const std::byte> code) {
  int file = memfd_create("kernels.so", MFD_CLOEXEC);
  std::string path = cat("/proc/self/fd/", file);
  char temporary[] = "/tmp/gossamer-kernels.XXXXXX";
  const bool named = file < 0;
  if (named) {
    file = mkstemp(temporary);
    path = temporary;
  }
  if (file < 0) return fail(cat("no temporary file: ", std::strerror(errno)));
  size_t at = 0;
  while (at < code.size()) {
    const ssize_t written = ::write(file, code.data() + at, code.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    at += static_cast<size_t>(written);
  }
  void* library = at == code.size() ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  const char* said = at == code.size() ? dlerror() : "no space";
  if (named) unlink(temporary);
  if (library) return Library(library, file);
  close(file);
  return fail(cat("the kernels cannot be loaded: ", said ? said : "unknown reason"));
}

class CpuDevice : public Device {
 public:
  explicit CpuDevice(int threads) : queue_(threads) {}
  std::string_view name() const override { return "cpu"; }
  std::string description() const override {
    return cat("cpu, ", queue_.threads(), queue_.threads() == 1 ? " thread" : " threads");
  }
  bool in_host_memory() const override { return true; }
  Result<std::unique_ptr<Buffer>> allocate(size_t bytes) override {
    return HostBuffer::allocate(bytes);
  }
  Result<std::unique_ptr<Executable>> load(std::span<const std::byte> code,
                                           std::span<const KernelEntry> kernels,
                                           int plan_segments) override {
    GS_ASSIGN(Library library, open_library(code));
    std::vector<Entry> entries;
    for (const KernelEntry& kernel : kernels) {
      entries.push_back(reinterpret_cast<Entry>(library.find(kernel.name.c_str())));
      if (!entries.back()) return fail(cat("the code has no kernel ", kernel.name));
    }
    std::vector<Plan> segments;
    for (int segment = 0; segment < plan_segments; ++segment) {
      const std::string name = segment == 0 ? "plan" : cat("plan_", segment);
      segments.push_back(reinterpret_cast<Plan>(library.find(name.c_str())));
      if (!segments.back()) return fail(cat("the code has no ", name));
    }
    return std::make_unique<CpuExecutable>(std::move(library),
                                           std::vector<KernelEntry>(kernels.begin(), kernels.end()),
                                           std::move(entries), std::move(segments));
  }
  Queue& queue() override { return queue_; }
  Limits limits() override { return measure_limits(queue_.pool()); }

 private:
  CpuQueue queue_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(int threads) {
  if (threads <= 0) threads = static_cast<int>(std::thread::hardware_concurrency());
  return std::make_unique<CpuDevice>(std::clamp(threads, 1, most_threads));
}

}  // namespace gossamer::runtime
