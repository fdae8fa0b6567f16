#include "schedule/row_schedule.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "ir/build.h"
#include "ir/estimate.h"
#include "ir/rewrite.h"
#include "schedule/access.h"
#include "schedule/costs.h"
#include "schedule/default_points.h"

namespace gossamer::schedule {
namespace {

using ops::Stage;

// What the loops over columns are made from: of a reduction its own axes.
const std::vector<ir::Var>& column_vars(const Stage& stage) {
  return stage.kind == ops::StageKind::reduce ? stage.reduce_axes : stage.axes;
}

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

class Rows {
 public:
  Rows(const Member& member, const Capabilities& capabilities, const RowTiling& tiling)
      : member_(member), t_(tiling), s_(member.stage, capabilities, "rows") {}

  Result<Schedule> run() {
    GS_TRY(split_axes());
    GS_TRY(split_columns());
    Loops order = grid_;
    if (thread_) order.push_back(*thread_);
    order.insert(order.end(), columns_.begin(), columns_.end());
    if (lane_) order.push_back(*lane_);
    GS_TRY(arrange(s_, order));
    if (is_reduction()) {
      GS_TRY(s_.accumulate(columns_[0]));
      if (left_over_) {
        GS_ASSIGN(const Loops rest, s_.peel(columns_.back()));
        (void)rest;
      }
    }
    GS_TRY(unroll_columns());
    if (lane_) GS_TRY(s_.vectorize(*lane_));
    GS_TRY(bind());
    return std::move(s_);
  }

 private:
  bool is_reduction() const { return member_.stage.kind == ops::StageKind::reduce; }
  const std::string& name_of(LoopId id) const { return s_.nest().loop(id).name; }

  // Rows to the grid, in the group's order; what is left of the axes to the columns.
  Result<> split_axes() {
    std::vector<std::optional<LoopId>> left(s_.nest().axes.size());
    for (size_t i = 0; i < left.size(); ++i) left[i] = s_.axis(i);
    for (const RowAxis& row : member_.rows) {
      const auto at = static_cast<size_t>(row.axis);
      const LoopId axis = s_.axis(at);
      left[at].reset();
      if (row.quotient > 1) {
        GS_ASSIGN(const Loops parts, s_.split(axis, {row.quotient}, Tail::exact,
                                              {name_of(axis) + ".row", name_of(axis)}));
        grid_.push_back(parts[0]);
        left[at] = parts[1];
      } else if (&row == &member_.rows.back() && t_.row_lanes > 1) {
        GS_ASSIGN(const Loops parts, s_.split(axis, {t_.row_lanes}, Tail::round_up,
                                              {name_of(axis) + ".tile", "lane"}));
        grid_.push_back(parts[0]);
        lane_ = parts[1];
      } else {
        grid_.push_back(axis);
      }
    }
    if (is_reduction()) {
      // Axes of one point stand with the rows.
      for (const auto& axis : left) {
        if (axis) grid_.push_back(*axis);
      }
      for (size_t r = 0; r < member_.stage.reduce_axes.size(); ++r)
        columns_.push_back(s_.reduce_axis(r));
      return {};
    }
    for (size_t i = 0; i < left.size(); ++i) {
      if (!left[i]) continue;
      const bool single = ir::is_const(s_.nest().loop(*left[i]).extent, 1);
      (single ? grid_ : columns_).push_back(*left[i]);
    }
    return {};
  }

  Result<> split_columns() {
    if (columns_.empty()) return {};
    if (t_.column_lanes > 1) {
      LoopId& last = columns_.back();
      const auto extent = ir::as_int(s_.nest().loop(last).extent);
      const int64_t lanes = lanes_of(ir::estimate(s_.nest().loop(last).extent));
      const bool exact = extent && *extent % lanes == 0;
      const Tail tail = exact ? Tail::exact : is_reduction() || !extent ? Tail::guard : Tail::shift;
      GS_ASSIGN(const Loops parts,
                s_.split(last, {lanes}, tail, {name_of(last) + ".block", "lane"}));
      last = parts[0];
      lane_ = parts[1];
      left_over_ = is_reduction() && !exact;
      accumulators_ = lanes / t_.column_lanes;
      if (is_reduction()) GS_TRY(s_.rfactor(*lane_));
    }
    if (t_.threads == 1) return {};
    Loops order = grid_;
    order.insert(order.end(), columns_.begin(), columns_.end());
    if (lane_) order.push_back(*lane_);
    GS_TRY(arrange(s_, order));
    LoopId column = columns_[0];
    if (columns_.size() > 1) {
      GS_ASSIGN(column, s_.fuse(columns_, "column"));
    }
    GS_ASSIGN(const Loops parts,
              s_.split(column, {t_.threads}, Tail::guard, {name_of(column) + ".step", "thread"}));
    columns_ = {parts[0]};
    thread_ = parts[1];
    return is_reduction() ? s_.rfactor(*thread_) : Result<>{};
  }

  // Long reductions have several accumulators, which do not wait for each other.
  int64_t lanes_of(int64_t extent) const {
    constexpr int64_t accumulators = 4;
    const int64_t more = t_.column_lanes * accumulators;
    return is_reduction() && t_.threads == 1 && s_.capabilities().group_size == 1 &&
                   extent >= 16 * more
               ? more
               : t_.column_lanes;
  }

  Result<> unroll_columns() {
    if (columns_.empty()) return {};
    const auto extent = ir::as_int(s_.nest().loop(columns_.back()).extent);
    // Several accumulators are as many iterations.
    const int most = accumulators_ > 1 || !is_reduction() ? 1 : t_.unroll;
    if (!extent || most <= 1) return {};
    if (*extent <= most) return unroll(s_, {columns_.back()});
    if (*extent % most != 0) return {};
    GS_ASSIGN(const Loops parts, s_.split(columns_.back(), {most}));
    return unroll(s_, {parts[1]});
  }

  Result<> bind() {
    GS_ASSIGN(LoopId item, grid_.empty() ? s_.unit("item") : s_.fuse(grid_, "item"));
    std::optional<LoopId> group = thread_;
    if (t_.group_rows > 1) {
      GS_ASSIGN(const Loops parts, s_.split(item, {t_.group_rows}, Tail::guard,
                                            {"item", thread_ ? "row" : "invocation"}));
      item = parts[0];
      group = parts[1];
      if (thread_) {
        GS_ASSIGN(group, s_.fuse({parts[1], *thread_}, "invocation"));
      }
    }
    if (group) GS_TRY(s_.bind(*group, ir::LoopKind::group));
    return s_.bind(item, ir::LoopKind::grid);
  }

  const Member& member_;
  const RowTiling& t_;
  Schedule s_;
  Loops grid_, columns_;
  std::optional<LoopId> lane_, thread_;
  bool left_over_ = false;
  int64_t accumulators_ = 1;
};

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

Result<Schedule> schedule_rows(const Member& member, const Capabilities& capabilities,
                               const RowTiling& tiling) {
  return Rows(member, capabilities, tiling).run();
}

}  // namespace gossamer::schedule
