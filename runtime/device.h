// The five nouns of the run time: Device, Buffer, Queue, Executable, Fence. A folder below this one
// implements them for a kind of device; conformance_test.cc says what all of them must do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gossamer/profile.hpp"
#include "ir/type.h"

namespace gossamer::runtime {

// A texture: rows of texels of four 32-bit elements, in one or several layers.
struct Extent {
  int width = 0;
  int64_t height = 0;
  int layers = 1;
};

// Device memory, linear or a texture. Kernels may read a vector's length past its end, which holds
// nothing.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual size_t size() const = 0;  // bytes
  // All of it, where the host sees it once a fence has passed; else empty.
  virtual std::span<const std::byte> mapped() const { return {}; }
};

// What a kernel takes: how many buffers (the last ones are written) and scalars.
struct KernelEntry {
  std::string name;
  int buffers = 0, scalars = 0;
  int64_t source = -1;  // its place in kernels.json; -1: the code is no shaders
  int group_size = 1;   // invocations of a workgroup
  int writes = 1;
};

// Loaded code: kernels by number, and the plan's segments where the package has any.
class Executable {
 public:
  virtual ~Executable() = default;
  virtual std::span<const KernelEntry> kernels() const = 0;
  // Computes the values of a segment from `dims` and leaves the others (docs/specs/host.md):
  // integers, exact below 2^53, NaN where none can be given. An error where the code has no such
  // segment.
  virtual Result<> plan(int segment, std::span<const int64_t> dims,
                        std::span<double> values) const = 0;
};

// Passed when everything submitted before it is done.
class Fence {
 public:
  virtual ~Fence() = default;
  virtual bool passed() const = 0;
  virtual Result<> wait() = 0;  // may be called again
};

// A texture holds elements of one type, so calls say which these are; i32 where nothing is said.
struct LaunchArguments {
  int kernel = 0;
  std::span<Buffer* const> buffers;
  std::span<const int64_t> scalars;
  int64_t range = 0;                        // 0 does nothing
  std::span<const ir::DType> storage = {};  // of each buffer; empty: i32
};

struct ReadArguments {
  const Buffer* from = nullptr;
  size_t offset = 0;
  std::span<std::byte> bytes;
  ir::DType storage = ir::DType::i32;
};

// Commands run in order. Host memory may be reused when a call returns.
class Queue {
 public:
  virtual ~Queue() = default;
  // Where memory is a texture, the rest of the last texel becomes zeros.
  virtual Result<> write(Buffer& to, size_t offset, std::span<const std::byte> bytes,
                         ir::DType storage) = 0;
  Result<> write(Buffer& to, size_t offset, std::span<const std::byte> bytes) {
    return write(to, offset, bytes, ir::DType::i32);
  }
  // What all commands before have left there. Several at once wait for the device once.
  virtual Result<> read(std::span<const ReadArguments> reads) = 0;
  Result<> read(const Buffer& from, size_t offset, std::span<std::byte> bytes) {
    const ReadArguments one{&from, offset, bytes};
    return read({&one, 1});
  }
  // From the beginning of one to that of the other; both are linear, or textures of one width.
  virtual Result<> copy(Buffer& to, const Buffer& from, size_t bytes, ir::DType storage);
  // Errors: no such kernel, another number of buffers or scalars, a negative range, the written
  // buffer also read.
  virtual Result<> launch(const Executable& code, const LaunchArguments& arguments) = 0;
  virtual Result<std::unique_ptr<Fence>> submit() = 0;
  // Times launches by the device's own clock from here on, or no longer; false where it has none.
  virtual bool time_launches(bool) { return false; }
  // Milliseconds of each launch since the last call whose range was not 0, in order, where they are
  // timed.
  virtual Result<std::vector<double>> take_times() { return std::vector<double>(); }
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;      // "cpu", "null", "opencl"
  virtual std::string description() const = 0;    // "cpu, 2 threads"
  virtual bool computes() const { return true; }  // false: launches do nothing
  // A GPU, not software that acts as one: variants of launches for hardware are better.
  virtual bool hardware() const { return false; }
  // wasm: relaxed SIMD's dot product of unsigned and signed bytes is exact.
  virtual bool exact_dots() const { return false; }
  // What packages may need of it: "webgpu-f16".
  virtual bool has(std::string_view) const { return false; }
  // Its buffers are HostBuffers (runtime/host_memory.h): kernels may use memory of the caller, too.
  virtual bool in_host_memory() const { return false; }
  // Calls are cheaper on the thread that keeps what this gives, which may be nothing.
  virtual std::shared_ptr<void> attach() { return {}; }
  // Contents undefined. Errors: more memory than there is.
  virtual Result<std::unique_ptr<Buffer>> allocate(size_t bytes) = 0;
  // Where kernels read textures. Errors: there are none here, one that is too large.
  virtual Result<std::unique_ptr<Buffer>> allocate_texture(const Extent&) {
    return fail("this device has no textures");
  }
  // The code file of a package for this device, with that many segments of a plan. Errors: not such
  // a file, an entry is missing.
  virtual Result<std::unique_ptr<Executable>> load(std::span<const std::byte> code,
                                                   std::span<const KernelEntry> kernels,
                                                   int plan_segments) = 0;
  virtual Queue& queue() = 0;
  // What it reaches at most, measured by this call: some tens of milliseconds.
  virtual Limits limits() { return {}; }
};

// What every queue checks before a launch and a copy.
Result<> check_launch(const Executable& code, const LaunchArguments& arguments);
Result<> check_range(const Buffer& buffer, size_t offset, size_t bytes);

}  // namespace gossamer::runtime
