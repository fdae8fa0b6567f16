#include "schedule/row_schedule.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "ir/build.h"
#include "ir/estimate.h"
#include "ir/rewrite.h"
#include "schedule/access.h"
#include "schedule/costs.h"

namespace gossamer::schedule {
namespace {

using ops::Stage;

// What the loops over columns are made from: of a reduction its own axes.
const std::vector<ir::Var>& column_vars(const Stage& stage) {
  return stage.kind == ops::StageKind::reduce ? stage.reduce_axes : stage.axes;
}

bool is_reduction(const Member& member) { return member.stage.kind == ops::StageKind::reduce; }

// An axis that a row is walked along.
struct Column {
  ir::Var var;
  int64_t extent = 0;  // 0: not known
  int64_t likely = 0;  // ir::estimate where it is not known
};

// Of a reduction its own axes, of a map those that do not tell rows apart.
std::vector<Column> walked_columns(const Member& member) {
  const Stage& stage = member.stage;
  const auto column = [](const ir::Var& var, const ir::Expr& extent) {
    return Column{var, ir::as_int(extent).value_or(0), ir::estimate(extent)};
  };
  std::vector<Column> walked;
  if (stage.kind == ops::StageKind::reduce) {
    for (size_t r = 0; r < stage.reduce_axes.size(); ++r)
      walked.push_back(column(stage.reduce_axes[r], stage.reduce_extents[r]));
    return walked;
  }
  for (int axis : columns_of(member)) {
    const auto at = static_cast<size_t>(axis);
    const auto row = std::ranges::find(member.rows, axis, &RowAxis::axis);
    walked.push_back(column(
        stage.axes[at], row != member.rows.end() ? ir::index(row->quotient) : stage.extents[at]));
  }
  return walked;
}

// Columns of a row; a guess where only the run knows them.
int64_t likely_columns(const std::vector<Column>& walked) {
  constexpr int64_t most = 1 << 30;
  int64_t count = 1;
  for (const Column& column : walked)
    count = std::min(count * std::clamp<int64_t>(column.likely, 1, most), most);
  return count;
}

// Axes that a run tells count as `unknown`.
int64_t count_rows(const Member& member, int64_t unknown = 0) {
  int64_t count = 1;
  for (const RowAxis& row : member.rows) {
    const auto extent = ir::as_int(member.stage.extents[static_cast<size_t>(row.axis)]);
    count *= extent ? *extent / row.quotient : unknown;
  }
  return count;
}

// Long reductions have several accumulators, which do not wait for each other.
int64_t lanes_of(const Member& member, const Capabilities& caps, const RowTiling& t,
                 int64_t extent) {
  constexpr int64_t accumulators = 4;
  const int64_t more = t.column_lanes * accumulators;
  return is_reduction(member) && t.threads == 1 && caps.group_size == 1 && extent >= 16 * more
             ? more
             : t.column_lanes;
}

// Loops of a member: rows, in the group's order, and axes of one point; what a row is walked along.
struct RowLoops {
  std::vector<std::string> rows, columns;
  std::string lane;
};

RowLoops split_rows(const Member& member, const RowTiling& t, List& list) {
  const Stage& stage = member.stage;
  RowLoops loops;
  std::vector<bool> left(stage.axes.size(), true);
  for (const RowAxis& row : member.rows) {
    const std::string axis = cat("i", row.axis);
    left[static_cast<size_t>(row.axis)] = row.quotient > 1;
    if (row.quotient > 1) {
      add(list, "split(", axis, ", ", row.quotient, ") -> ", axis, ".row, ", axis);
      loops.rows.push_back(axis + ".row");
    } else if (&row == &member.rows.back() && t.row_lanes > 1) {
      add(list, "tile(", axis, ", ", t.row_lanes, ", round_up) -> ", axis, ".tile, lane");
      loops.rows.push_back(axis + ".tile");
      loops.lane = "lane";
    } else {
      loops.rows.push_back(axis);
    }
  }
  for (size_t i = 0; i < left.size(); ++i) {
    if (!left[i]) continue;
    const bool walked = !is_reduction(member) && !ir::is_const(stage.extents[i], 1);
    (walked ? loops.columns : loops.rows).push_back(cat("i", i));
  }
  if (is_reduction(member)) {
    for (size_t r = 0; r < stage.reduce_axes.size(); ++r) loops.columns.push_back(cat("k", r));
  }
  return loops;
}

void bind_rows(const RowLoops& loops, bool threads, const RowTiling& t, const Capabilities& caps,
               List& list) {
  loops.rows.empty() ? add(list, "unit() -> item")
                     : add(list, "fuse(", names_of(loops.rows), ") -> item");
  if (caps.group_size > 1 || t.group_rows > 1 || threads) {
    add(list, "tile(item, ", t.group_rows, ", guard) -> item, ", threads ? "row" : "invocation");
    if (threads) add(list, "fuse(row, thread) -> invocation");
    add(list, "bind(invocation, group)");
  }
  add(list, "bind(item, grid)");
}

}  // namespace

RowsAlong rows_along(const Member& member, const Capabilities& caps) {
  const Stage& stage = member.stage;
  const ir::Bounds bounds = ops::bounds_of_terms(stage);
  const std::vector<Column> walked = walked_columns(member);
  const ir::Var column = walked.empty() ? ir::Var() : walked.back().var;
  const ir::Var row =
      member.rows.empty() ? ir::Var() : stage.axes[static_cast<size_t>(member.rows.back().axis)];
  bool columns = false, rows = false;
  const auto look = [&](const ir::Load* load) {
    const auto lies = [&](const ir::Var& axis) {
      return axis && along(*load, load->buffer->layout, axis, caps.vector_lanes, bounds) ==
                         Along::contiguous;
    };
    if (lies(column)) {
      columns = true;
    } else if (lies(row) && std::ranges::any_of(column_vars(stage), [&](const ir::Var& var) {
                 return !var.same(row) && std::ranges::any_of(load->indices, [&](const auto& e) {
                   return ir::uses(e, var.get());
                 });
               })) {
      rows = true;
    }
  };
  std::vector<ir::Expr> exprs = stage.values;
  exprs.push_back(stage.result);
  for (const ir::Load* load : loads_of(exprs)) look(load);
  if (stage.kind != ops::StageKind::reduce && !walked.empty()) {
    std::vector<ir::Expr> point(stage.axes.begin(), stage.axes.end());
    const ir::Expr store = ir::load(stage.output, point);
    look(ir::as<ir::Load>(store));
  }
  if (columns && rows) return RowsAlong::mixed;
  return columns ? RowsAlong::columns : rows ? RowsAlong::rows : RowsAlong::neither;
}

bool enough_rows(const Group& group, const Capabilities& caps) {
  const Costs& costs = costs_of(caps);
  int64_t columns = 1, rounds = 0;
  for (const Member& member : group.members) {
    const int64_t walked = likely_columns(walked_columns(member));
    columns = std::max(columns, walked);
    rounds += walked;
  }
  // An axis that a run tells may have one point.
  const int64_t rows = count_rows(group.members.back(), 1);
  const RowTiling tiling = default_row_tiling(group, caps);
  const int lanes = tiling.column_lanes;
  if (costs.row_steps > 0 && columns > costs.row_steps * lanes * tiling.threads &&
      rows / tiling.row_lanes * tiling.threads < costs.busy)
    return false;
  if (columns <= costs.short_row) return true;
  return rows >= costs.long_rows && (caps.max_rounds == 0 || rounds / lanes < caps.max_rounds);
}

RowTiling default_row_tiling(const Group& group, const Capabilities& caps) {
  RowTiling t;
  bool columns = false, rows = false, all = true, divides = true, blocks = true;
  int64_t most = 1;
  for (const Member& member : group.members) {
    const RowsAlong along = rows_along(member, caps);
    columns |= along == RowsAlong::columns;
    rows |= along == RowsAlong::rows;
    const std::vector<Column> walked = walked_columns(member);
    all &= !walked.empty();
    if (!member.rows.empty()) {
      const auto axis = static_cast<size_t>(member.rows.back().axis);
      const auto extent = ir::as_int(member.stage.extents[axis]);
      divides &= member.rows.back().quotient == 1 && extent && *extent % caps.vector_lanes == 0;
    }
    if (walked.empty()) continue;
    const int64_t extent = walked.back().extent;
    // 0: only the run knows the number of columns; the kernel handles the remainder.
    blocks &= caps.group_size == 1 ? extent == 0 || extent >= caps.vector_lanes
                                   : extent > 0 && extent % caps.vector_lanes == 0;
    constexpr int64_t long_row = 1 << 20;
    int64_t likely = 1;
    for (const Column& column : walked)
      likely = std::min(likely * std::clamp<int64_t>(column.likely, 1, long_row), long_row);
    most = std::max(most, likely);
  }
  if (rows && !columns && divides) t.row_lanes = caps.vector_lanes;
  if (columns && !rows && blocks) t.column_lanes = caps.vector_lanes;
  t.unroll = caps.unroll;
  if (caps.group_size == 1) return t;
  const Costs& costs = costs_of(caps);
  const auto vectors = static_cast<uint64_t>(std::max<int64_t>(most / t.column_lanes, 1));
  if (all && t.row_lanes == 1 && vectors >= costs.row_vectors)
    t.threads = std::min(costs.row_threads, static_cast<int>(std::bit_ceil(vectors)));
  t.group_rows = std::max(1, caps.group_size / t.threads);
  // Few rows: on as many workgroups as there are processors for.
  const int64_t count = count_rows(group.members.back());
  while (t.threads == 1 && t.group_rows > costs.least_group && count > 0 &&
         count / t.group_rows < costs.groups)
    t.group_rows /= 2;
  return t;
}

List list_of(const Member& member, const Capabilities& caps, const RowTiling& t) {
  List list{"rows", {}};
  RowLoops loops = split_rows(member, t, list);
  bool is_peeled = false, is_unrolled = true;
  if (!loops.columns.empty() && t.column_lanes > 1) {
    std::string& last = loops.columns.back();
    const Column column = walked_columns(member).back();
    const int64_t lanes = lanes_of(member, caps, t, column.likely);
    const bool shifts = !is_reduction(member) && column.extent > 0;
    add(list, "tile(", last, ", ", lanes, shifts ? ", shift" : ", guard", ") -> ", last,
        ".block, lane");
    last += ".block";
    loops.lane = "lane";
    is_peeled = is_reduction(member);
    is_unrolled = lanes == t.column_lanes;
    if (is_reduction(member)) add(list, "rfactor(lane)");
  }
  const bool threads = !loops.columns.empty() && t.threads > 1;
  if (threads) {
    add(list, "reorder(", names_of({names_of(loops.rows), names_of(loops.columns), loops.lane}),
        ")");
    std::string column = loops.columns[0];
    if (loops.columns.size() > 1) {
      add(list, "fuse(", names_of(loops.columns), ") -> column");
      column = "column";
    }
    add(list, "tile(", column, ", ", t.threads, ", guard) -> ", column, ".step, thread");
    if (is_reduction(member)) add(list, "rfactor(thread)");
    loops.columns = {column + ".step"};
  }
  add(list, "reorder(",
      names_of(
          {names_of(loops.rows), threads ? "thread" : "", names_of(loops.columns), loops.lane}),
      ")");
  if (is_reduction(member)) {
    add(list, "accumulate(", loops.columns[0], ")");
    if (is_peeled && !threads) add(list, "peel(", loops.columns.back(), ")");
    // Several accumulators are as many iterations.
    if (is_unrolled) add(list, "unroll(", loops.columns.back(), ", ", t.unroll, ")");
  }
  if (!loops.lane.empty()) add(list, "vectorize(lane)");
  bind_rows(loops, threads, t, caps, list);
  return list;
}

}  // namespace gossamer::schedule
