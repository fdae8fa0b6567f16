#include "schedule/placed_buffers.h"

#include "ir/rewrite.h"
#include "schedule/texture_layout.h"

namespace gossamer::schedule {

using ir::Buffer;
using ir::Layout;

namespace {

// Constants of one or two bytes an element that nothing but kernels of the target reads, and
// nothing writes.
std::unordered_set<const ir::BufferNode*> read_by_kernels_alone(const ops::Program& program,
                                                                const Ports& ports,
                                                                const Capabilities& caps) {
  std::unordered_set<const ir::BufferNode*> alone;
  for (const ir::BufferNode* constant : ports.constants) {
    if (may_share_words(constant->dtype, caps) && !ports.outputs.contains(constant) &&
        !ports.inputs.contains(constant) && !ports.side.contains(constant))
      alone.insert(constant);
  }
  for (const ops::Entry& entry : program) {
    alone.erase(entry.output().get());
    if (entry.stage() && entry.stage()->side.empty()) continue;
    for (const Buffer& read : entry.inputs()) alone.erase(read.get());
  }
  return alone;
}

}  // namespace

PlacedBuffers::PlacedBuffers(const ops::Program& program, const Ports& ports,
                             const Capabilities& caps)
    : ports_(ports), caps_(caps) {
  packed_ = read_by_kernels_alone(program, ports, caps);
}

Layout PlacedBuffers::layout_of(const ir::BufferNode* buffer) const {
  const auto found = layouts_.find(buffer);
  return found != layouts_.end() ? found->second : layout_of_port(*buffer);
}

Layout PlacedBuffers::layout_of_port(const ir::BufferNode& buffer) const {
  Layout layout = port_layout(buffer, caps_);
  return packed_.contains(&buffer) ? packed(layout, buffer, caps_) : layout;
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
  if (!by_old_.contains(buffer.get())) place(buffer, layout_of_port(*buffer));
  return by_old_.at(buffer.get());
}

void PlacedBuffers::substitute_all(ops::Entry& entry) {
  ir::BufferMap map;
  for (const Buffer& input : entry.inputs()) map[input.get()] = fresh_of(input);
  if (entry.output()) entry.set_output(fresh_of(entry.output()));
  ops::replace_inputs(entry, map);
}

std::vector<std::pair<Buffer, Buffer>> PlacedBuffers::replaced() const { return fresh_; }

}  // namespace gossamer::schedule
