#include "runtime/device_tensor.h"

#include <algorithm>
#include <iterator>

#include "runtime/host_memory.h"

namespace gossamer::runtime {
namespace {

// A training step's tensors come again with the next one; a few programs may take turns.
constexpr int runs_kept = 16;
constexpr std::string_view cpu_name = "cpu";

}  // namespace

bool BufferPool::Kind::operator==(const Kind& other) const {
  const bool same =
      device == other.device || (device->name() == cpu_name && other.device->name() == cpu_name);
  return same && width == other.width && layers == other.layers;
}

std::shared_ptr<Buffer> BufferPool::take(const Kind& kind, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      free_, [&](const Free& one) { return one.buffer->size() == bytes && one.kind == kind; });
  if (found == free_.end()) return nullptr;
  std::shared_ptr<Buffer> buffer = std::move(found->buffer);
  free_.erase(found);
  return buffer;
}

void BufferPool::give_back(Kind kind, std::shared_ptr<Buffer> buffer) {
  const std::lock_guard lock(mutex_);
  free_.push_back({std::move(kind), std::move(buffer)});
}

// What goes does so outside of the lock: drivers may wait.
void BufferPool::age() {
  std::vector<Free> gone;
  const std::lock_guard lock(mutex_);
  const auto old = std::ranges::partition(free_, [](Free& one) { return ++one.runs <= runs_kept; });
  std::ranges::move(old, std::back_inserter(gone));
  free_.erase(old.begin(), old.end());
}

void BufferPool::clear() {
  std::vector<Free> gone;
  const std::lock_guard lock(mutex_);
  gone.swap(free_);
}

Result<HostTensor> DeviceTensor::read() const {
  if (!memory) return host;
  size_t count = 1;
  for (int64_t extent : shape) count *= static_cast<size_t>(extent);
  const size_t bytes = count * static_cast<size_t>(ir::byte_size(storage));
  const size_t wanted = count * static_cast<size_t>(ir::byte_size(dtype));
  if (auto room = has_room(bytes + wanted); !room) return std::unexpected(room.error());
  HostTensor made{dtype, shape, {}};
  std::vector<std::byte> stored(bytes);
  const ReadArguments one{memory->buffer().get(), 0, stored, storage};
  GS_TRY(memory->kind().device->queue().read({&one, 1}));
  if (storage == dtype)
    made.bytes = std::move(stored);
  else
    take_elements(storage, stored, made);
  return made;
}

}  // namespace gossamer::runtime
