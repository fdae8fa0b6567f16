#include "group/long_rounds.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "ir/build.h"
#include "ir/simplify.h"
#include "rewrite/split_reduction.h"

namespace gossamer::group {
namespace {

using ir::Expr;
using stages::Group;
using stages::Member;
using stages::Stage;
using stages::StageKind;
using target::Capabilities;

constexpr int64_t most_terms = 4096;  // of a part: longer sums of floats lose terms

// The rounds that one invocation would need for the loops of all members, without lanes.
Expr rounds_of(const Group& group) {
  Expr rounds = ir::index(0);
  const bool walks_rows = over_rows(group);
  for (const Member& member : group.members) {
    const bool reduces = member.stage.kind == StageKind::reduce;
    Expr walked = ir::index(reduces || walks_rows ? 1 : 0);
    if (reduces) {
      for (const Expr& extent : member.stage.reduce_extents) walked = walked * extent;
    } else if (walks_rows) {
      for (const int axis : columns_of(member))
        walked = walked * member.stage.extents[static_cast<size_t>(axis)];
    }
    rounds = rounds + walked;
  }
  return ir::simplify(rounds);
}

// Tiles of several stages have short loops in each workgroup.
bool may_be_cut(const Group& group) {
  const auto is_cut = [](const Member& member) {
    const Stage& stage = member.stage;
    return stage.side.empty() && !stage.view && !stage.in_order && stage.starts.empty() &&
           (stage.kind == StageKind::reduce || stage.kind == StageKind::compute);
  };
  return !has_tiles(group) && std::ranges::all_of(group.members, is_cut);
}

std::vector<Launched> in_parts(const Group& group, const Capabilities& capabilities) {
  std::vector<Stage> stages;
  ir::BufferMap own;  // in place of memory that members share with later ones
  for (size_t i = 0; i < group.members.size(); ++i) {
    Stage stage = group.members[i].stage;
    stages::replace_inputs(stage, own);
    const ir::Buffer output = stage.output;
    own.erase(output.get());
    const auto shares = [&](const Member& later) { return later.stage.output.same(output); };
    if (std::any_of(group.members.begin() + static_cast<ptrdiff_t>(i) + 1, group.members.end(),
                    shares)) {
      stage.output = ir::Buffer(new ir::BufferNode(*output));
      own[output.get()] = stage.output;
    }
    rewrite::split_rounds(stage, most_terms, capabilities, stages);
  }
  std::vector<Launched> made;
  for (Stage& stage : stages) {
    Group one = single_group(std::move(stage));
    one.number = group.number;
    one.rows = group.rows;
    made.emplace_back(std::move(one));
  }
  return made;
}

}  // namespace

void add_long_rounds(std::vector<Launched>& launched, const Capabilities& capabilities) {
  if (capabilities.max_rounds == 0 || capabilities.texture_memory) return;
  const int64_t most = (capabilities.max_rounds + 1) / 2;  // loops inside of a tile count, too
  std::vector<Launched> all;
  for (Launched& one : launched) {
    auto* group = std::get_if<Group>(&one);
    std::vector<Launched> longer;
    if (group && may_be_cut(*group)) {
      const Expr rounds = rounds_of(*group);
      const size_t buffers = inputs_of(*group).size() + outputs_of(*group).size();
      if (!ir::as_int(rounds) && ir::Bounds().of(rounds).high > most &&
          static_cast<int>(buffers) <= capabilities.max_storage_buffers) {
        group->in_place.clear();  // the other launches read it after this one
        longer = in_parts(*group, capabilities);
        const Expr more = stages::is_more(rounds, most);
        group->rounds = ir::index(1) - more;
        for (Launched& other : longer) {
          auto& made = std::get<Group>(other);
          made.rounds = more;
          made.long_rounds = true;
        }
      }
    }
    all.push_back(std::move(one));
    std::ranges::move(longer, std::back_inserter(all));
  }
  launched = std::move(all);
}

}  // namespace gossamer::group
