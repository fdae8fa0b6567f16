#include "runtime/wasm/device.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <limits>
#include <thread>
#include <utility>

#include "runtime/cpu/thread_pool.h"
#include "runtime/host_memory.h"
#include "runtime/wasm/instance.h"
#include "runtime/wasm/memory.h"

namespace gossamer::runtime {
namespace {

using namespace wasm;  // NOLINT(google-build-using-namespace): this is its face

constexpr int most_threads = 64;
// Of a launch: at most so many buffers and scalars each (package.md).
constexpr size_t argument_bytes = 2 * 1024 * sizeof(int32_t);

class WasmBuffer : public Buffer {
 public:
  explicit WasmBuffer(Block block) : block_(std::move(block)) {}
  size_t size() const override { return block_.size(); }
  std::span<const std::byte> mapped() const override { return block_.bytes(); }
  const Block& block() const { return block_; }

 private:
  Block block_;
};

// What a thread has of a program.
struct Worker {
  Instance instance;
  std::vector<Instance::Function> kernels;
  std::vector<Block> scratch = {};  // one, or none
  std::atomic_flag busy = {};

  Worker(Instance made) : instance(std::move(made)) {}  // NOLINT(google-explicit-constructor)
};

class WasmExecutable : public Executable {
 public:
  WasmExecutable(std::shared_ptr<LinearMemory> memory, std::vector<KernelEntry> kernels)
      : memory_(std::move(memory)), kernels_(std::move(kernels)) {}
  std::span<const KernelEntry> kernels() const override { return kernels_; }

  Result<> load(const Library& api, std::span<const std::byte> code, int threads, int segments) {
    GS_ASSIGN(const Importing given, with_shared_memory(code));
    GS_ASSIGN(const CompiledModule module, CompiledModule::compile(api, given.module));
    for (int thread = 0; thread < threads; ++thread) {
      GS_ASSIGN(Instance instance,
                Instance::make(api, module.get(), given.imports ? memory_->get() : nullptr));
      workers_.push_back(std::make_unique<Worker>(std::move(instance)));
      GS_TRY(find_kernels(*workers_.back()));
    }
    for (int segment = 0; segment < segments; ++segment) {
      GS_ASSIGN(Instance::Function found,
                workers_.front()->instance.function(segment == 0 ? "plan" : cat("plan_", segment),
                                                    kind_i32, 2, 0));
      segments_.push_back(found);
    }
    return {};
  }

  Result<> plan(int segment, std::span<const int64_t> dims,
                std::span<double> values) const override {
    if (segment < 0 || static_cast<size_t>(segment) >= segments_.size())
      return fail(cat("the code has no segment ", segment, " of a plan"));
    GS_ASSIGN(const Block block,
              Block::allocate(memory_, sizeof(double) * (dims.size() + values.size())));
    const std::vector<double> numbers(dims.begin(), dims.end());
    std::byte* const first = block.bytes().data();
    std::byte* const computed = first + sizeof(double) * dims.size();
    std::memcpy(first, numbers.data(), sizeof(double) * numbers.size());
    std::memcpy(computed, values.data(), values.size_bytes());
    RawValue given[2];
    given[0].i32 = static_cast<int32_t>(block.address());
    given[1].i32 = static_cast<int32_t>(block.address() + sizeof(double) * dims.size());
    if (auto done = workers_.front()->instance.call(segments_[static_cast<size_t>(segment)], given);
        !done)
      return fail(cat("the plan trapped: ", done.error().message));
    std::memcpy(values.data(), computed, values.size_bytes());
    return {};
  }

  // On whichever thread asks.
  Result<> run(int kernel, int64_t begin, int64_t end, uint32_t arguments) const {
    Worker& worker = take_worker();
    RawValue given[3];
    given[0].i32 = static_cast<int32_t>(begin);
    given[1].i32 = static_cast<int32_t>(end);
    given[2].i32 = static_cast<int32_t>(arguments);
    auto done = worker.instance.call(worker.kernels[static_cast<size_t>(kernel)], given);
    worker.busy.clear(std::memory_order_release);
    return done;
  }

 private:
  Result<> find_kernels(Worker& worker) {
    for (const KernelEntry& kernel : kernels_) {
      GS_ASSIGN(Instance::Function found, worker.instance.function(kernel.name, kind_i32, 3, 0));
      worker.kernels.push_back(found);
    }
    return worker.instance.give_scratch([&](size_t bytes) -> Result<uint32_t> {
      GS_ASSIGN(Block block, Block::allocate(memory_, bytes));
      worker.scratch.push_back(std::move(block));
      return worker.scratch.back().address();
    });
  }
  // No more threads ask at once than there are workers.
  Worker& take_worker() const {
    for (;;)
      for (const auto& worker : workers_)
        if (!worker->busy.test_and_set(std::memory_order_acquire)) return *worker;
  }

  std::shared_ptr<LinearMemory> memory_;
  std::vector<KernelEntry> kernels_;
  std::vector<std::unique_ptr<Worker>> workers_;  // one a thread
  std::vector<Instance::Function> segments_;      // of the first worker
};

class WasmQueue : public Queue {
 public:
  WasmQueue(Block arguments, int threads) : arguments_(std::move(arguments)), pool_(threads) {}
  int threads() const { return pool_.threads(); }
  Result<> write(Buffer& to, size_t offset, std::span<const std::byte> bytes,
                 ir::DType /*storage*/) override {
    GS_TRY(check_range(to, offset, bytes.size()));
    std::ranges::copy(bytes, bytes_of(to).begin() + static_cast<ptrdiff_t>(offset));
    return {};
  }
  Result<> read(std::span<const ReadArguments> reads) override {
    for (const auto& [from, offset, bytes, storage] : reads) {
      GS_TRY(check_range(*from, offset, bytes.size()));
      std::ranges::copy(bytes_of(*from).subspan(offset, bytes.size()), bytes.begin());
    }
    return {};
  }
  Result<> copy(Buffer& to, const Buffer& from, size_t bytes, ir::DType storage) override {
    GS_TRY(check_range(from, 0, bytes));
    return write(to, 0, bytes_of(from).first(bytes), storage);
  }
  Result<> launch(const Executable& code, const LaunchArguments& arguments) override {
    GS_TRY(check_launch(code, arguments));
    if (arguments.range == 0) return {};
    const KernelEntry& kernel = code.kernels()[static_cast<size_t>(arguments.kernel)];
    if (arguments.range > std::numeric_limits<int32_t>::max())
      return fail_at(cat("kernel ", kernel.name),
                     cat("range ", arguments.range, " is more than 32 bits count"));
    words_.clear();
    for (const Buffer* buffer : arguments.buffers)
      words_.push_back(static_cast<const WasmBuffer*>(buffer)->block().address());
    for (const int64_t scalar : arguments.scalars) words_.push_back(static_cast<uint32_t>(scalar));
    if (words_.size() * sizeof(uint32_t) > arguments_.size())
      return fail_at(cat("kernel ", kernel.name), "takes too many arguments");
    std::ranges::copy(std::as_bytes(std::span(words_)), arguments_.bytes().begin());
    const Call call{static_cast<const WasmExecutable&>(code), arguments.kernel,
                    arguments_.address()};
    pool_.run(
        arguments.range,
        [](int64_t begin, int64_t end, const void* context) {
          static_cast<const Call*>(context)->run(begin, end);
        },
        &call);
    if (call.failed.test())
      return fail_at(cat("kernel ", kernel.name), cat("trapped: ", call.reason));
    return {};
  }
  Result<std::unique_ptr<Fence>> submit() override { return std::make_unique<PassedFence>(); }

 private:
  struct Call {
    const WasmExecutable& code;
    int kernel;
    uint32_t arguments;
    // The first one that trapped.
    mutable std::atomic_flag failed = {};
    mutable std::string reason = {};

    void run(int64_t begin, int64_t end) const {
      if (failed.test(std::memory_order_relaxed)) return;
      auto done = code.run(kernel, begin, end, arguments);
      if (!done && !failed.test_and_set()) reason = std::move(done.error().message);
    }
  };
  static std::span<std::byte> bytes_of(const Buffer& buffer) {
    return static_cast<const WasmBuffer&>(buffer).block().bytes();
  }

  Block arguments_;
  ThreadPool pool_;
  std::vector<uint32_t> words_;
};

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t at = line.find(": ");
    if (line.starts_with("model name") && at != line.npos) return line.substr(at + 2);
  }
  return "this processor";
}

class WasmDevice : public Device {
 public:
  WasmDevice(const Library& api, std::shared_ptr<LinearMemory> memory, Block arguments, int threads)
      : api_(api), memory_(std::move(memory)), queue_(std::move(arguments), threads) {}
  std::string_view name() const override { return "wasm"; }
  std::string description() const override {
    return cat("wasm, ", api_.about, " on ", processor_name(),
               api_.relaxed ? ", relaxed SIMD, " : ", ", queue_.threads(),
               queue_.threads() == 1 ? " thread" : " threads");
  }
  // Kernels with relaxed SIMD are the better ones.
  bool hardware() const override { return api_.relaxed; }
  bool exact_dots() const override { return api_.exact_dots; }
  bool has(std::string_view need) const override { return need == "wasm-simd"; }
  Result<std::unique_ptr<Buffer>> allocate(size_t bytes) override {
    GS_ASSIGN(Block block, Block::allocate(memory_, bytes));
    return std::make_unique<WasmBuffer>(std::move(block));
  }
  Result<std::unique_ptr<Executable>> load(std::span<const std::byte> code,
                                           std::span<const KernelEntry> kernels,
                                           int plan_segments) override {
    auto made = std::make_unique<WasmExecutable>(
        memory_, std::vector<KernelEntry>(kernels.begin(), kernels.end()));
    GS_TRY(made->load(api_, code, queue_.threads(), plan_segments));
    return made;
  }
  Queue& queue() override { return queue_; }

 private:
  const Library& api_;
  std::shared_ptr<LinearMemory> memory_;
  WasmQueue queue_;
};

}  // namespace

Result<std::unique_ptr<Device>> make_wasm_device(int threads) {
  GS_ASSIGN(const Library* const api, library());
  GS_ASSIGN(const std::shared_ptr<LinearMemory> memory, LinearMemory::make(*api));
  GS_ASSIGN(Block arguments, Block::allocate(memory, argument_bytes));
  if (threads <= 0) threads = static_cast<int>(std::thread::hardware_concurrency());
  return std::make_unique<WasmDevice>(*api, memory, std::move(arguments),
                                      std::clamp(threads, 1, most_threads));
}

std::string wasm_engine() {
  const auto found = library();
  return found ? (*found)->about : "";
}

}  // namespace gossamer::runtime
