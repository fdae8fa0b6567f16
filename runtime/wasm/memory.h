// One linear memory that all modules of a device import, and blocks of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/device.h"
#include "runtime/wasm/library.h"

namespace gossamer::runtime::wasm {

// First fit over a memory that grows and never moves: few, large and long-lived blocks, as in
// web/runtime/src/devices/wasm/arena.ts. Any thread may call it.
class LinearMemory {
 public:
  // Empty, of 4 GiB at most. Errors: the system has not so many addresses.
  static Result<std::shared_ptr<LinearMemory>> make(const Library& api);
  ~LinearMemory();
  LinearMemory(const LinearMemory&) = delete;
  LinearMemory& operator=(const LinearMemory&) = delete;

  SharedMemory* get() const { return memory_; }
  // At a multiple of 64, which is never 0. Errors: no room, in it or in the machine.
  Result<uint32_t> allocate(size_t bytes);
  void free(uint32_t address);
  // Of a block that lies in it.
  std::span<std::byte> bytes(uint32_t address, size_t size) const {
    return {data_ + address, size};
  }

 private:
  LinearMemory(const Library& api, SharedMemory* memory)
      : api_(&api),
        memory_(memory),
        data_(reinterpret_cast<std::byte*>(api.wasmtime_sharedmemory_data(memory))) {}
  Result<> reach(uint64_t end);

  const Library* api_;
  SharedMemory* memory_;
  std::byte* data_;
  std::mutex mutex_;
  std::map<uint64_t, uint64_t> free_;  // ends by beginnings; neighbours are one
  std::map<uint32_t, uint64_t> sizes_;
  uint64_t end_ = 0;  // what is divided into blocks
};

// A block that goes with its owner.
class Block {
 public:
  static Result<Block> allocate(const std::shared_ptr<LinearMemory>& memory, size_t bytes);
  Block(Block&&) noexcept = default;
  Block& operator=(Block&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(address_, other.address_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Block() {
    if (memory_) memory_->free(address_);
  }
  uint32_t address() const { return address_; }
  size_t size() const { return size_; }
  std::span<std::byte> bytes() const { return memory_->bytes(address_, size_); }

 private:
  Block(std::shared_ptr<LinearMemory> memory, uint32_t address, size_t size)
      : memory_(std::move(memory)), address_(address), size_(size) {}
  std::shared_ptr<LinearMemory> memory_;
  uint32_t address_;
  size_t size_;
};

// The module with its imported memory's limits replaced by those of a LinearMemory, as
// web/runtime/src/devices/wasm/memory_import.ts does; `imports`: whether it has one. Errors: it
// imports anything else.
struct Importing {
  std::vector<std::byte> module;
  bool imports = false;
};
Result<Importing> with_shared_memory(std::span<const std::byte> module);

}  // namespace gossamer::runtime::wasm
