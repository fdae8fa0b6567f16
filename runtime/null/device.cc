#include "runtime/null/device.h"

#include <vector>

#include "runtime/host_memory.h"

namespace gossamer::runtime {
namespace {

class NullExecutable : public Executable {
 public:
  NullExecutable(std::span<const KernelEntry> kernels, int plan_segments)
      : kernels_(kernels.begin(), kernels.end()), plan_segments_(plan_segments) {}
  std::span<const KernelEntry> kernels() const override { return kernels_; }
  Result<> plan(int segment, std::span<const int64_t>, std::span<double> values) const override {
    if (segment < 0 || segment >= plan_segments_)
      return fail(cat("the code has no segment ", segment, " of a plan"));
    for (double& value : values) value = 0;
    return {};
  }

 private:
  std::vector<KernelEntry> kernels_;
  int plan_segments_;
};

class NullQueue : public Queue {
 public:
  Result<> write(Buffer& to, size_t offset, std::span<const std::byte> bytes,
                 ir::DType /*storage*/) override {
    return write_host(to, offset, bytes);
  }
  Result<> read(std::span<const ReadArguments> reads) override { return read_host(reads); }
  Result<> launch(const Executable& code, const LaunchArguments& arguments) override {
    return check_launch(code, arguments);
  }
  Result<std::unique_ptr<Fence>> submit() override { return std::make_unique<PassedFence>(); }
};

class NullDevice : public Device {
 public:
  std::string_view name() const override { return "null"; }
  std::string description() const override { return "null, computes nothing"; }
  bool computes() const override { return false; }
  Result<std::unique_ptr<Buffer>> allocate(size_t bytes) override {
    return HostBuffer::allocate(bytes);
  }
  Result<std::unique_ptr<Executable>> load(std::span<const std::byte>,
                                           std::span<const KernelEntry> kernels,
                                           int plan_segments) override {
    return std::make_unique<NullExecutable>(kernels, plan_segments);
  }
  Queue& queue() override { return queue_; }

 private:
  NullQueue queue_;
};

}  // namespace

std::unique_ptr<Device> make_null_device() { return std::make_unique<NullDevice>(); }

}  // namespace gossamer::runtime
