#include "runtime/wasm/memory.h"

#include <algorithm>

#include "runtime/host_memory.h"
#include "runtime/wasm/instance.h"

namespace gossamer::runtime::wasm {
namespace {

constexpr uint64_t page = 65536, most_pages = 65536;
// Vector loads may read this far past a tensor's end or before its start; also the alignment.
constexpr uint64_t slack = 64;

// (memory (export "m") 1 65536 shared)
constexpr uint8_t maker[] = {0, 'a', 's', 'm', 1, 0, 0, 0, 5,   6, 1, 3,
                             1, 128, 128, 4,   7, 5, 1, 1, 'm', 2, 0};

}  // namespace

Result<std::shared_ptr<LinearMemory>> LinearMemory::make(const Library& api) {
  GS_ASSIGN(const CompiledModule module,
            CompiledModule::compile(api, std::as_bytes(std::span(maker))));
  const auto instance = Instance::make(api, module.get(), nullptr);
  if (!instance) return fail(cat("no wasm memory: ", instance.error().message));
  SharedMemory* const memory = instance->take_memory("m");
  if (!memory) return fail("no wasm memory: this engine does not share any");
  return std::shared_ptr<LinearMemory>(new LinearMemory(api, memory));
}

LinearMemory::~LinearMemory() { api_->wasmtime_sharedmemory_delete(memory_); }

// Kernels may have grown it, too.
Result<> LinearMemory::reach(uint64_t end) {
  const uint64_t size = api_->wasmtime_sharedmemory_data_size(memory_);
  if (end <= size) return {};
  GS_TRY(has_room(end - size));
  uint64_t before = 0;
  return api_->check(
      api_->wasmtime_sharedmemory_grow(memory_, (end - size + page - 1) / page, &before));
}

Result<uint32_t> LinearMemory::allocate(size_t bytes) {
  const auto full = [&](const std::string& why) {
    return fail(cat("would take ", bytes, " bytes, ", why));
  };
  if (bytes > most_pages * page) return full("a wasm memory has 4 GiB");
  const uint64_t size = (uint64_t{bytes} + slack - 1) / slack * slack + slack;
  const std::lock_guard lock(mutex_);
  auto found = std::ranges::find_if(
      free_, [&](const auto& range) { return range.second - range.first >= size; });
  if (found == free_.end()) {
    const bool tail = !free_.empty() && free_.rbegin()->second == end_;
    // The first bytes are left alone.
    const uint64_t begin = tail ? free_.rbegin()->first : std::max(end_, slack);
    const uint64_t end = (begin + size + page - 1) / page * page;
    if (end > most_pages * page) return full("more than the 4 GiB of a wasm memory have left");
    if (const auto grown = reach(end); !grown) return full("more than there is memory for");
    found = free_.insert_or_assign(begin, end).first;
    end_ = end;
  }
  const auto [begin, end] = *found;
  free_.erase(found);
  if (begin + size < end) free_.emplace(begin + size, end);
  const auto address = static_cast<uint32_t>(begin);
  sizes_.emplace(address, size);
  return address;
}

void LinearMemory::free(uint32_t address) {
  const std::lock_guard lock(mutex_);
  const auto known = sizes_.find(address);
  if (known == sizes_.end()) return;
  auto range = free_.emplace(address, address + known->second).first;
  sizes_.erase(known);
  if (const auto next = std::next(range); next != free_.end() && next->first == range->second) {
    range->second = next->second;
    free_.erase(next);
  }
  if (range == free_.begin()) return;
  if (const auto before = std::prev(range); before->second == range->first) {
    before->second = range->second;
    free_.erase(range);
  }
}

Result<Block> Block::allocate(const std::shared_ptr<LinearMemory>& memory, size_t bytes) {
  GS_ASSIGN(const uint32_t address, memory->allocate(bytes));
  return Block(memory, address, bytes);
}

}  // namespace gossamer::runtime::wasm
