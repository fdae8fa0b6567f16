// A device of webgpu.h with its queue, and what the library says about it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/webgpu/bindings.h"
#include "runtime/webgpu/library.h"

namespace gossamer::runtime::webgpu {

// What a callback said: a ...Status of webgpu.h, 0 until it was called.
using Status = std::atomic<Enum>;

// A status that outlives who asked for it, as a callback of a lost device may.
class Completion {
 public:
  // For one call that is answered so: of mapping, of work that is done.
  CallbackInfo<Enum, StringView> callback() const;
  const Status& status() const { return *status_; }

 private:
  std::shared_ptr<Status> status_ = std::make_shared<Status>(0);
};

class Gpu {
 public:
  // On the adapter that is fastest, with all that models can use of it. Errors: no library, none of
  // the machine's drivers has an adapter.
  static Result<std::shared_ptr<Gpu>> create();
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const Library& api() const { return api_; }
  DeviceHandle device() const { return device_; }
  QueueHandle queue() const { return queue_; }
  const DeviceLimits& limits() const { return limits_; }
  Bindings& bindings() { return bindings_; }
  bool has(Enum feature) const { return api_.DeviceHasFeature(device_, feature) != 0; }
  // The adapter is a CPU that acts as a GPU.
  bool software() const { return software_; }
  std::string about() const { return about_; }

  // What the library has complained about since the last call, or that the device is lost.
  Result<> check();
  // Calls back what is due; does not wait.
  void poll();
  // Until the callback came. Errors: the device is lost.
  Result<> wait(Future future, const Status& status);
  Future when_done(const Completion& completion);
  // Until all that was submitted is done.
  Result<> finish();

 private:
  explicit Gpu(const Library& api) : api_(api) {}
  Result<> open();
  Result<Adapter> request_adapter();
  Result<> request_device(Adapter adapter);
  void describe(Adapter adapter);

  const Library& api_;
  Instance instance_ = nullptr;
  DeviceHandle device_ = nullptr;
  QueueHandle queue_ = nullptr;
  DeviceLimits limits_;
  Bindings bindings_;
  bool software_ = false;
  std::string about_;
  // Written by callbacks, which come on any thread.
  std::mutex mutex_;
  std::string error_, lost_;
};

// A text of the library's on one line.
std::string text_of(StringView text);

}  // namespace gossamer::runtime::webgpu
