// Tensors that stay in a device's memory between runs: outputs of one model, feeds of others on the
// same device.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/device.h"
#include "runtime/tensor.h"

namespace gossamer::runtime {

// Memory of devices that nobody has any more, kept for outputs of the same size. Buffers come back
// from any thread; the other calls are for the one that uses the device.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  // The device that has the memory, and its form, as a slot of a package has it
  // (docs/specs/package.md).
  struct Kind {
    std::shared_ptr<Device> device;
    int width = 0, layers = 1;  // width 0: linear
    // Memory of the CPU is everybody's, however many threads use it.
    bool operator==(const Kind& other) const;
  };
  // Null where there is none of exactly that size in bytes.
  std::shared_ptr<Buffer> take(const Kind& kind, size_t bytes);
  void give_back(Kind kind, std::shared_ptr<Buffer> buffer);
  // Another run begins: what was not taken in the last ones goes.
  void age();
  void clear();

 private:
  struct Free {
    Kind kind;
    std::shared_ptr<Buffer> buffer;
    int runs = 0;  // that it has been here
  };
  std::mutex mutex_;
  std::vector<Free> free_;
};

// A piece of memory that goes back to its pool.
class Block {
 public:
  Block(std::shared_ptr<BufferPool> pool, BufferPool::Kind kind, std::shared_ptr<Buffer> buffer)
      : pool_(std::move(pool)), kind_(std::move(kind)), buffer_(std::move(buffer)) {}
  ~Block() { pool_->give_back(std::move(kind_), std::move(buffer_)); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  const BufferPool::Kind& kind() const { return kind_; }
  const std::shared_ptr<Buffer>& buffer() const { return buffer_; }

 private:
  std::shared_ptr<BufferPool> pool_;
  BufferPool::Kind kind_;
  std::shared_ptr<Buffer> buffer_;
};

// Its elements never change.
struct DeviceTensor {
  ir::DType dtype = ir::DType::f32;
  std::vector<int64_t> shape;
  ir::DType storage = ir::DType::f32;   // element type in the device's memory
  std::shared_ptr<const Block> memory;  // null: the elements are `host`
  HostTensor host = {};

  // Waits for the device. Errors: no room for it here, the device is lost.
  Result<HostTensor> read() const;
};

// A feed: in memory of the caller, or on a device.
struct DeviceFeed {
  TensorView view = {};
  const DeviceTensor* there = nullptr;
};

struct DeviceResults {
  std::vector<DeviceTensor> outputs;
  // Of feeds from the caller's memory that the device still has, what it has.
  std::vector<std::optional<DeviceTensor>> feeds;
};

}  // namespace gossamer::runtime
