#include "autoschedule/row_schedule.h"

#include <algorithm>
#include <bit>

#include "autoschedule/tiling_parts.h"
#include "ir/build.h"
#include "ir/estimate.h"
#include "stages/access.h"
#include "target/costs.h"

namespace gossamer::autoschedule {
namespace {

using schedule::List;
using schedule::Point;
using stages::Along;
using stages::Group;
using stages::Member;
using stages::RowAxis;
using stages::Stage;
using target::Capabilities;
using target::Costs;

bool is_reduction(const Member& member) { return member.stage.kind == stages::StageKind::reduce; }

// An axis that a row is walked along.
struct Column {
  ir::Var var;
  ir::Expr extent;
};

// Of a reduction its own axes, of a map those that do not tell rows apart.
std::vector<Column> walked_columns(const Member& member) {
  const Stage& stage = member.stage;
  std::vector<Column> walked;
  if (is_reduction(member)) {
    for (size_t r = 0; r < stage.reduce_axes.size(); ++r)
      walked.push_back({stage.reduce_axes[r], stage.reduce_extents[r]});
    return walked;
  }
  for (const int axis : columns_of(member)) {
    const auto at = static_cast<size_t>(axis);
    const auto row = std::ranges::find(member.rows, axis, &RowAxis::axis);
    walked.push_back(
        {stage.axes[at], row != member.rows.end() ? ir::index(row->quotient) : stage.extents[at]});
  }
  return walked;
}

// Columns of a row; a guess where only the run knows them.
int64_t likely_columns(const Member& member) {
  constexpr int64_t most = 1 << 30;
  int64_t count = 1;
  for (const Column& column : walked_columns(member))
    count = std::min(count * std::clamp<int64_t>(ir::estimate(column.extent), 1, most), most);
  return count;
}

// Axes that a run tells count as `unknown`.
int64_t count_rows(const Group& group, int64_t unknown) {
  const Member& member = group.members.back();
  int64_t count = 1;
  for (const RowAxis& row : member.rows) {
    const auto extent = ir::as_int(member.stage.extents[static_cast<size_t>(row.axis)]);
    count *= extent ? *extent / row.quotient : unknown;
  }
  return count;
}

RowsAlong both(RowsAlong a, RowsAlong b) {
  if (a == RowsAlong::neither || a == b) return b;
  return b == RowsAlong::neither ? a : RowsAlong::mixed;
}

RowsAlong rows_along(const Member& member, const Capabilities& caps) {
  const Stage& stage = member.stage;
  const ir::Bounds bounds = stages::bounds_of_terms(stage);
  const std::vector<Column> walked = walked_columns(member);
  const ir::Var column = walked.empty() ? ir::Var() : walked.back().var;
  const ir::Var row =
      member.rows.empty() ? ir::Var() : stage.axes[static_cast<size_t>(member.rows.back().axis)];
  const std::vector<ir::Var>& inner = is_reduction(member) ? stage.reduce_axes : stage.axes;
  RowsAlong found = RowsAlong::neither;
  const auto look = [&](const ir::Load* load) {
    const auto lies = [&](const ir::Var& axis) {
      return axis && stages::along(*load, load->buffer->layout, axis, caps.vector_lanes, bounds) ==
                         Along::contiguous;
    };
    if (lies(column)) {
      found = both(found, RowsAlong::columns);
    } else if (lies(row) && std::ranges::any_of(inner, [&](const ir::Var& var) {
                 return !var.same(row) && stages::moves(*load, var);
               })) {
      found = both(found, RowsAlong::rows);
    }
  };
  for (const ir::Load* load : loads_of_stage(stage)) look(load);
  if (!is_reduction(member) && !walked.empty()) {
    std::vector<ir::Expr> point(stage.axes.begin(), stage.axes.end());
    const ir::Expr store = ir::load(stage.output, point);
    look(ir::as<ir::Load>(store));
  }
  return found;
}

// How the rows of a group are shared out: the same for all its members.
struct Shares {
  RowLanes lanes;
  int threads = 1;     // invocations of a workgroup that share a row
  int group_rows = 1;  // rows of a workgroup at a time
};

Shares shares_of(const Group& group, const Capabilities& caps) {
  Shares shares{row_lanes(group, caps)};
  if (caps.group_size == 1) return shares;
  const Costs& costs = costs_of(caps);
  bool all = true;
  int64_t columns = 1;
  for (const Member& member : group.members) {
    all &= !walked_columns(member).empty();
    columns = std::max(columns, likely_columns(member));
  }
  const auto vectors = static_cast<uint64_t>(std::max<int64_t>(columns / shares.lanes.columns, 1));
  if (all && shares.lanes.rows == 1 && vectors >= costs.row_vectors)
    shares.threads = std::min(costs.row_threads, static_cast<int>(std::bit_ceil(vectors)));
  shares.group_rows = std::max(1, caps.group_size / shares.threads);
  // Few rows: on as many workgroups as there are processors for.
  const int64_t count = count_rows(group, 0);
  while (shares.threads == 1 && shares.group_rows > costs.least_group && count > 0 &&
         count / shares.group_rows < costs.groups)
    shares.group_rows /= 2;
  return shares;
}

// Long reductions have several accumulators, which do not wait for each other.
int64_t lanes_of(const Member& member, const Capabilities& caps, const Shares& shares) {
  constexpr int64_t accumulators = 4;
  const int64_t one = shares.lanes.columns, more = one * accumulators;
  const bool is_long = ir::estimate(walked_columns(member).back().extent) >= 16 * more;
  return is_reduction(member) && caps.group_size == 1 && is_long ? more : one;
}

List row_list(const Member& member, const Capabilities& caps, const Shares& shares) {
  const Stage& stage = member.stage;
  const bool reduces = is_reduction(member);
  List list{"rows", {}};
  // Rows, in the group's order, and axes of one point; what a row is walked along.
  std::vector<std::string> rows, columns;
  std::string lane;
  std::vector<bool> left(stage.axes.size(), true);
  for (const RowAxis& row : member.rows) {
    left[static_cast<size_t>(row.axis)] = row.quotient > 1;
    std::string part;
    if (row.quotient > 1) {
      add(list, "split(i$0, $1) -> i$0.row, i$0", row.axis, row.quotient);
      part = ".row";
    } else if (&row == &member.rows.back() && shares.lanes.rows > 1) {
      add(list, "tile(i$0, $1, round_up) -> i$0.tile, lane", row.axis, shares.lanes.rows);
      part = ".tile";
      lane = "lane";
    }
    rows.push_back(cat("i", row.axis, part));
  }
  for (size_t i = 0; i < left.size(); ++i) {
    if (!left[i]) continue;
    const bool walked = !reduces && !ir::is_const(stage.extents[i], 1);
    (walked ? columns : rows).push_back(cat("i", i));
  }
  for (size_t r = 0; reduces && r < stage.reduce_axes.size(); ++r) columns.push_back(cat("k", r));

  // The last column in vectors, all of them among the invocations that share a row.
  const bool vectors = !columns.empty() && shares.lanes.columns > 1;
  const bool threads = !columns.empty() && shares.threads > 1;
  const int64_t lanes = vectors ? lanes_of(member, caps, shares) : 1;
  if (vectors) {
    std::string& last = columns.back();
    const bool shifts = !reduces && ir::as_int(walked_columns(member).back().extent);
    add(list, "tile($0, $1, $2) -> $0.block, lane", last, lanes, shifts ? "shift" : "guard");
    last += ".block";
    lane = "lane";
    if (reduces) add(list, "rfactor(lane)");
  }
  const std::string outside = schedule::names_of(rows);
  if (threads) {
    add(list, "reorder($0, $1, $2)", outside, schedule::names_of(columns), lane);
    std::string column = columns[0];
    if (columns.size() > 1) {
      add(list, "fuse($0) -> column", schedule::names_of(columns));
      column = "column";
    }
    add(list, "tile($0, $1, guard) -> $0.step, thread", column, shares.threads);
    if (reduces) add(list, "rfactor(thread)");
    columns = {column + ".step"};
  }
  add(list, "reorder($0, $1, $2, $3)", outside, threads ? "thread" : "",
      schedule::names_of(columns), lane);
  if (reduces) {
    add(list, "accumulate($0)", columns[0]);
    if (vectors && !threads) add(list, "peel($0)", columns.back());
    // Several accumulators are as many iterations.
    if (lanes <= shares.lanes.columns) add(list, "unroll($0, $1)", columns.back(), caps.unroll);
  }
  add(list, "vectorize($0)", lane);

  add(list, rows.empty() ? "unit() -> item" : "fuse($0) -> item", outside);
  if (caps.group_size > 1) {
    add(list, "tile(item, $0, guard) -> item, $1", shares.group_rows,
        threads ? "row" : "invocation");
    if (threads) add(list, "fuse(row, thread) -> invocation");
    add(list, "bind(invocation, group)");
  }
  add(list, "bind(item, grid)");
  return list;
}

}  // namespace

RowsAlong rows_along(const Group& group, const Capabilities& caps) {
  RowsAlong found = RowsAlong::neither;
  for (const Member& member : group.members) found = both(found, rows_along(member, caps));
  return found;
}

RowLanes row_lanes(const Group& group, const Capabilities& caps) {
  bool divides = true, blocks = true;
  for (const Member& member : group.members) {
    if (!member.rows.empty()) {
      const RowAxis& row = member.rows.back();
      const auto extent = ir::as_int(member.stage.extents[static_cast<size_t>(row.axis)]);
      divides &= row.quotient == 1 && extent && *extent % caps.vector_lanes == 0;
    }
    const std::vector<Column> walked = walked_columns(member);
    if (walked.empty()) continue;
    const auto extent = ir::as_int(walked.back().extent);
    // Where only the run knows the number of columns, the kernel handles the remainder.
    blocks &= caps.group_size == 1 ? !extent || *extent >= caps.vector_lanes
                                   : extent && *extent % caps.vector_lanes == 0;
  }
  const RowsAlong along = rows_along(group, caps);
  return {along == RowsAlong::rows && divides ? caps.vector_lanes : 1,
          along == RowsAlong::columns && blocks ? caps.vector_lanes : 1};
}

bool enough_rows(const Group& group, const Capabilities& caps) {
  const Costs& costs = costs_of(caps);
  int64_t columns = 1, rounds = 0;
  for (const Member& member : group.members) {
    const int64_t walked = likely_columns(member);
    columns = std::max(columns, walked);
    rounds += walked;
  }
  // An axis that a run tells may have one point.
  const int64_t rows = count_rows(group, 1);
  const Shares shares = shares_of(group, caps);
  const int lanes = shares.lanes.columns;
  if (costs.row_steps > 0 && columns > costs.row_steps * lanes * shares.threads &&
      rows / shares.lanes.rows * shares.threads < costs.busy)
    return false;
  if (columns <= costs.short_row) return true;
  return rows >= costs.long_rows && (caps.max_rounds == 0 || rounds / lanes < caps.max_rounds);
}

Point row_lists(const Group& group, const Capabilities& caps) {
  const Shares shares = shares_of(group, caps);
  Point point;
  for (const Member& member : group.members) point.push_back(row_list(member, caps, shares));
  return point;
}

}  // namespace gossamer::autoschedule
