// Devices of tests that do what another one does, but for the calls that a test overrides.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/device.h"

namespace gossamer::runtime {

class ForwardingQueue : public Queue {
 public:
  explicit ForwardingQueue(Queue& to) : to_(to) {}
  Result<> write(Buffer& to, size_t offset, std::span<const std::byte> bytes,
                 ir::DType storage) override {
    return to_.write(to, offset, bytes, storage);
  }
  Result<> read(std::span<const ReadArguments> reads) override { return to_.read(reads); }
  Result<> launch(const Executable& code, const LaunchArguments& arguments) override {
    return to_.launch(code, arguments);
  }
  Result<std::unique_ptr<Fence>> submit() override { return to_.submit(); }

 private:
  Queue& to_;
};

class ForwardingDevice : public Device {
 public:
  explicit ForwardingDevice(std::unique_ptr<Device> to) : to_(std::move(to)) {}
  std::string_view name() const override { return to_->name(); }
  std::string description() const override { return to_->description(); }
  Result<std::unique_ptr<Buffer>> allocate(size_t bytes) override { return to_->allocate(bytes); }
  Result<std::unique_ptr<Executable>> load(std::span<const std::byte> code,
                                           std::span<const KernelEntry> kernels,
                                           int plan_segments) override {
    return to_->load(code, kernels, plan_segments);
  }
  Queue& queue() override { return to_->queue(); }

 private:
  std::unique_ptr<Device> to_;
};

}  // namespace gossamer::runtime
