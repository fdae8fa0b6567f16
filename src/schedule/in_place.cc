#include "schedule/in_place.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "stages/access.h"

namespace gossamer::schedule {
namespace {

using stages::Group;
using stages::InPlace;
using stages::Member;

bool is_alike(const ir::Buffer& a, const ir::Buffer& b) {
  if (a->dtype != b->dtype || a->storage != b->storage || !(a->layout == b->layout) ||
      a->scope != b->scope || a->shape.size() != b->shape.size())
    return false;
  for (size_t d = 0; d < a->shape.size(); ++d) {
    if (!ir::prove_equal(a->shape[d], b->shape[d])) return false;
  }
  return true;
}

// No stage of the group reads other points of it than its own.
bool is_read_in_place(const Group& group, const ir::Buffer& input) {
  return std::ranges::all_of(group.members, [&](const Member& member) {
    return std::ranges::all_of(loads_of_stage(member.stage), [&](const ir::Load* load) {
      return !load->buffer.same(input) || at_own_point(*load, member.stage);
    });
  });
}

}  // namespace

bool at_own_point(const ir::Load& load, const stages::Stage& stage) {
  bool own = load.indices.size() == stage.axes.size();
  for (size_t i = 0; own && i < load.indices.size(); ++i)
    own = load.indices[i].get() == stage.axes[i].get() || ir::is_const(stage.extents[i], 1);
  return own;
}

std::vector<InPlace> find_in_place(const Group& group, const Dies& dies) {
  if (over_rows(group) || !has_points(group) ||
      std::ranges::any_of(group.members, [](const Member& member) {
        return member.stage.kind != stages::StageKind::compute || member.stage.view;
      }))
    return {};
  std::vector<InPlace> found;
  const std::vector<ir::Buffer> inputs = inputs_of(group);
  for (const ir::Buffer& output : outputs_of(group)) {
    for (const ir::Buffer& input : inputs) {
      const bool taken =
          std::ranges::any_of(found, [&](const InPlace& one) { return one.input.same(input); });
      if (taken || !is_alike(input, output) || !dies(input) || !is_read_in_place(group, input))
        continue;
      found.push_back({input, output});
      break;
    }
  }
  return found;
}

Result<ir::Kernel> update_in_place(ir::Kernel kernel, const Group& group,
                                   const Schedule& schedule) {
  if (group.in_place.empty()) return kernel;
  for (const Split& split : schedule.nest().splits) {
    if (split.tail == Tail::shift || split.tail == Tail::clamp)
      return fail_at(cat("schedule of \"", group.last().name, "\""),
                     "it computes points twice, and its output takes the place of an input");
  }
  ir::BufferMap map;
  for (const InPlace& one : group.in_place) map[one.input.get()] = one.output;
  kernel.body = ir::substitute_buffers(kernel.body, map);
  std::erase_if(kernel.params,
                [&](const ir::Kernel::Param& param) { return map.contains(param.buffer.get()); });
  for (ir::Kernel::Param& param : kernel.params)
    param.updated = std::ranges::any_of(
        group.in_place, [&](const InPlace& one) { return one.output.same(param.buffer); });
  return kernel;
}

}  // namespace gossamer::schedule
