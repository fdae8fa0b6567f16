#include "schedule/placed_buffers.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "schedule/texture_layout.h"

namespace gossamer::schedule {

using ir::Buffer;
using ir::Layout;

namespace {

// Whether a stage moves elements of constants in whole words along the last axis: vectors write
// these.
bool moves_words(const ops::Stage& stage, const Capabilities& caps) {
  const auto last = stage.extents.empty() ? std::nullopt : ir::as_int(stage.extents.back());
  bool moves = stage.kind == ops::StageKind::compute && !caps.texture_memory && last &&
               *last % caps.vector_lanes == 0;
  if (!moves) return false;
  ir::visit(stage.result, [&](const ir::Expr& e) {
    const bool place = e->type.dtype == ir::DType::index || e->type.dtype == ir::DType::boolean;
    moves = moves && (place || e->kind == ir::NodeKind::Load || e->kind == ir::NodeKind::Select);
    return moves && e->kind != ir::NodeKind::Load;
  });
  return moves;
}

// Constants of one or two bytes an element that nothing but kernels of the target reads, and
// nothing writes, or that stages join from such constants.
std::unordered_set<const ir::BufferNode*> read_by_kernels_alone(const ops::Program& program,
                                                                const Ports& ports,
                                                                const Capabilities& caps) {
  std::unordered_set<const ir::BufferNode*> alone;
  const auto may_pack = [&](const ir::BufferNode* buffer) {
    return may_share_words(buffer->dtype, caps) && !ports.outputs.contains(buffer) &&
           !ports.inputs.contains(buffer) && !ports.side.contains(buffer);
  };
  for (const ir::BufferNode* constant : ports.constants)
    if (may_pack(constant)) alone.insert(constant);
  std::unordered_set<const ir::BufferNode*> written;
  for (const ops::Entry& entry : program) {
    const ir::BufferNode* output = entry.output().get();
    const std::vector<Buffer> inputs = entry.inputs();
    const bool joins =
        entry.stage() && entry.stage()->side.empty() && inputs.size() > 1 && may_pack(output) &&
        std::ranges::all_of(inputs, [&](const Buffer& b) { return alone.contains(b.get()); }) &&
        moves_words(*entry.stage(), caps) && written.insert(output).second;
    if (joins) {
      alone.insert(output);
    } else {
      alone.erase(output);
    }
    if (entry.stage() && entry.stage()->side.empty()) continue;
    for (const Buffer& read : inputs) alone.erase(read.get());
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
