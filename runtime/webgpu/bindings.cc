#include "runtime/webgpu/bindings.h"

#include <algorithm>

namespace gossamer::runtime::webgpu {

BindGroup Bindings::of(const Library& api, DeviceHandle device, const Pipeline& pipeline,
                       std::span<const Bound> buffers, const Bound& scalars) {
  key_.assign(1, pipeline.id);
  for (const Bound& buffer : buffers) key_.push_back(buffer.id);
  if (pipeline.scalar_bytes > 0) key_.push_back(scalars.id);
  BindGroup& group = groups_[key_];
  if (group) return group;
  std::vector<BindGroupEntry> entries;
  for (const Bound& bound : buffers) {
    BindGroupEntry& entry = entries.emplace_back();
    entry.binding = static_cast<uint32_t>(entries.size() - 1);
    entry.buffer = bound.buffer;
  }
  if (pipeline.scalar_bytes > 0) {
    BindGroupEntry& entry = entries.emplace_back();
    entry.binding = static_cast<uint32_t>(buffers.size());
    entry.buffer = scalars.buffer;
    entry.size = pipeline.scalar_bytes;
  }
  BindGroupDescriptor descriptor;
  descriptor.layout = pipeline.layout;
  descriptor.entry_count = entries.size();
  descriptor.entries = entries.data();
  return group = api.DeviceCreateBindGroup(device, &descriptor);
}

void Bindings::forget(const Library& api, uint64_t id) {
  std::erase_if(groups_, [&](const auto& entry) {
    if (std::ranges::find(entry.first, id) == entry.first.end()) return false;
    if (entry.second) api.BindGroupRelease(entry.second);
    return true;
  });
}

void Bindings::clear(const Library& api) {
  for (const auto& [key, group] : groups_)
    if (group) api.BindGroupRelease(group);
  groups_.clear();
}

}  // namespace gossamer::runtime::webgpu
