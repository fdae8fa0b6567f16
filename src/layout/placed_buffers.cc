#include "layout/placed_buffers.h"

#include "layout/texture_layout.h"

namespace gossamer::layout {

using ir::Buffer;
using ir::Layout;

Layout PlacedBuffers::layout_of(const ir::BufferNode* buffer) const {
  const auto found = layouts_.find(buffer);
  return found != layouts_.end() ? found->second : port_layout(*buffer, caps_);
}

void PlacedBuffers::place(const Buffer& buffer, const Layout& layout) {
  if (by_old_.contains(buffer.get())) return;
  layouts_[buffer.get()] = layout;
  auto fresh = Buffer(new ir::BufferNode(*buffer));
  const_cast<ir::BufferNode*>(fresh.get())->layout = layout;
  fresh_.emplace_back(buffer, fresh);
  by_old_[buffer.get()] = fresh;
}

Buffer PlacedBuffers::fresh_of(const Buffer& buffer) {
  if (ports_.side.contains(buffer.get())) return buffer;
  if (!by_old_.contains(buffer.get())) place(buffer, port_layout(*buffer, caps_));
  return by_old_.at(buffer.get());
}

void PlacedBuffers::substitute_all(stages::Entry& entry) {
  ir::BufferMap map;
  for (const Buffer& input : entry.inputs()) map[input.get()] = fresh_of(input);
  if (entry.output()) entry.set_output(fresh_of(entry.output()));
  stages::replace_inputs(entry, map);
}

std::vector<std::pair<Buffer, Buffer>> PlacedBuffers::replaced() const { return fresh_; }

}  // namespace gossamer::layout
