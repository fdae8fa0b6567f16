// Elements of one and two bytes share words of a GPU's memory (ir::Layout::pack).
#include <algorithm>
#include <vector>

#include "autoschedule/default_schedule.h"
#include "compiler/module_builder.h"
#include "ir/rewrite.h"
#include "layout/texture_layout.h"
#include "schedule/in_place.h"

namespace gossamer::compiler {
namespace {

std::vector<const stages::Group*> groups_of(std::span<const group::Launched> launched) {
  std::vector<const stages::Group*> groups;
  for (const group::Launched& one : launched)
    if (const auto* group = std::get_if<stages::Group>(&one)) groups.push_back(group);
  return groups;
}

// Whether a stage only copies its input into another layout.
bool lays_out_anew(const stages::Stage& stage) {
  const auto* load = ir::as<ir::Load>(stage.result);
  return stage.kind == stages::StageKind::compute && load && schedule::at_own_point(*load, stage);
}

// Whether a stage only moves elements.
bool moves(const stages::Stage& stage) {
  bool only = stage.kind == stages::StageKind::compute;
  ir::visit(stage.result, [&](const ir::Expr& e) {
    const bool place = e->type.dtype == ir::DType::index || e->type.dtype == ir::DType::boolean;
    only = only && (place || e->kind == ir::NodeKind::Load || e->kind == ir::NodeKind::Select);
    return only && e->kind != ir::NodeKind::Load;
  });
  return only;
}

// Whether a stage makes elements of their bits, as it does of scales among packed numbers: few are
// read beside many of these.
bool takes_bits(const stages::Stage& stage) {
  const auto* bits = ir::as<ir::Bitcast>(stage.result);
  return stage.kind == stages::StageKind::compute && bits && ir::is_int(bits->a->type.dtype);
}

// A buffer and what takes its place lie alike.
void drop_halves_of_pairs(const std::vector<const stages::Group*>& groups, ir::BufferMap& shared) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const stages::Group* group : groups) {
      for (const auto& [input, output] : group->in_place) {
        if (shared.contains(input.get()) == shared.contains(output.get())) continue;
        shared.erase(input.get());
        shared.erase(output.get());
        changed = true;
      }
    }
  }
}

}  // namespace

Result<> ModuleBuilder::share_words(std::span<const group::Launched> launched) {
  if (!is_gpu(target_)) return {};
  const std::vector<const stages::Group*> groups = groups_of(launched);
  ir::BufferMap shared;
  const auto add = [&](const ir::Buffer& buffer) {
    if (device_of(*buffer) != 0 || !target::may_share_words(buffer->dtype, caps_)) return;
    auto* node = new ir::BufferNode(*buffer);
    node->layout = layout::packed(node->layout, *node, caps_);
    shared[buffer.get()] = ir::Buffer(node);
  };
  // States are made by the run time, which copies their bytes.
  std::unordered_set<const ir::BufferNode*> states;
  for (const stages::Dim& dim : stages_.dims)
    if (dim.rows) states.insert(stages_.inputs[static_cast<size_t>(dim.input)].buffer.get());
  for (const stages::StageConstant& constant : stages_.constants) add(constant.buffer);
  // Halves that are computed have a word each: taking them apart where they are read costs an H200
  // more than memory does. A texel holds several words, which one fragment would have to write.
  const auto is_shared = [&](const ir::Buffer& one) { return shared.contains(one.get()); };
  for (const stages::Group* group : groups) {
    for (const stages::Member& member : group->members) {
      const ir::Buffer& output = member.stage.output;
      const bool fits =
          ir::byte_size(output->dtype) == 1 || states.contains(output.get()) ||
          lays_out_anew(member.stage) || takes_bits(member.stage) ||
          (moves(member.stage) && std::ranges::all_of(stages::inputs_of(member.stage), is_shared));
      shared.erase(output.get());
      if (fits && !caps_.texture_memory) add(output);
    }
  }
  // What the caller, the host program or the processor beside the GPU accesses has its own form.
  const auto drop = [&](const ir::Buffer& buffer) { shared.erase(buffer.get()); };
  for (const stages::StageInput& port : stages_.inputs)
    if (!states.contains(port.buffer.get())) drop(port.buffer);
  for (const stages::StageOutput& port : stages_.outputs)
    if (!states.contains(port.buffer.get())) drop(port.buffer);
  for (const stages::Entry& entry : stages_.program) {
    if (entry.stage() && entry.stage()->side.empty()) continue;
    std::ranges::for_each(entry.inputs(), drop);
    if (entry.output()) drop(entry.output());
  }
  for (const stages::Group* group : groups) GS_TRY(drop_written_in_parts(*group, shared));
  drop_halves_of_pairs(groups, shared);
  shared_ = std::move(shared);
  kernels_.place(shared_);
  return {};
}

Result<> ModuleBuilder::drop_written_in_parts(const stages::Group& group,
                                              ir::BufferMap& shared) const {
  const std::vector<ir::Buffer> outputs = outputs_of(group);
  if (is_empty(*group.last().output) ||
      std::ranges::none_of(outputs, [&](const auto& one) { return shared.contains(one.get()); }))
    return {};
  const auto drop = [&](const target::Capabilities& caps,
                        const std::optional<schedule::Point>& point) -> Result<> {
    GS_ASSIGN(const auto neighbours,
              kernels_.neighbours_stored(group, caps, point ? &*point : nullptr));
    for (const auto& [buffer, count] : neighbours) {
      const auto found = shared.find(buffer);
      if (found != shared.end() && count % found->second->layout.pack != 0) shared.erase(found);
    }
    return {};
  };
  const std::optional<target::Capabilities> others = variant_caps();
  for (const ForRows& rows : kernels_by_rows(group)) {
    GS_TRY(drop(caps_, rows.point));
    if (others && has_variant(group, rows, *others)) GS_TRY(drop(*others, rows.variant));
  }
  return {};
}

}  // namespace gossamer::compiler
