#include "group/merge_rows.h"

#include <algorithm>

#include "autoschedule/row_schedule.h"
#include "autoschedule/tiling_parts.h"
#include "ir/build.h"
#include "ir/estimate.h"
#include "ir/simplify.h"
#include "stages/access.h"

namespace gossamer::group {
namespace {

using autoschedule::RowLanes;
using autoschedule::RowsAlong;
using autoschedule::Tiling;
using ir::Expr;
using stages::Group;
using stages::Member;
using stages::Pattern;
using stages::RowAxis;
using stages::Stage;
using stages::StageKind;
using target::Capabilities;

std::optional<size_t> place_of(const std::vector<ir::Var>& vars, const Expr& index) {
  const auto found =
      std::ranges::find_if(vars, [&](const ir::Var& var) { return var.get() == index.get(); });
  if (found == vars.end()) return std::nullopt;
  return static_cast<size_t>(found - vars.begin());
}

// An axis of the reader, or its quotient.
std::optional<RowAxis> row_axis_of(const Stage& reader, const Expr& index) {
  if (const auto at = place_of(reader.axes, index)) return RowAxis{static_cast<int>(*at), 1};
  const auto* quotient = ir::as<ir::Binary>(index);
  if (!quotient || quotient->op != ir::BinaryOp::floordiv) return std::nullopt;
  const auto at = place_of(reader.axes, quotient->a);
  const auto by = ir::as_int(quotient->b);
  if (!at || !by) return std::nullopt;
  const auto extent = ir::as_int(reader.extents[*at]);
  if (!extent || *extent % *by != 0) return std::nullopt;
  return RowAxis{static_cast<int>(*at), *by};
}

Expr extent_of(const Stage& stage, const RowAxis& row) {
  const Expr& extent = stage.extents[static_cast<size_t>(row.axis)];
  return row.quotient == 1 ? extent : ir::simplify(ir::floordiv(extent, row.quotient));
}

// What a load says about the rows and columns of its reader, by those of what it reads.
struct Relation {
  std::vector<RowAxis> rows;    // of the reader
  std::vector<size_t> columns;  // of the reader: reduce axes, or axes
  friend bool operator==(const Relation&, const Relation&) = default;
};

std::vector<RowAxis> all_axes(const Stage& stage) {
  std::vector<RowAxis> rows;
  for (size_t i = 0; i < stage.axes.size(); ++i) {
    if (!ir::is_const(stage.extents[i], 1)) rows.push_back({static_cast<int>(i), 1});
  }
  return rows;
}

std::optional<Relation> relation_of(const Stage& producer, const std::vector<RowAxis>& rows,
                                    const Stage& reader, const ir::Load& load) {
  Relation relation;
  std::vector<bool> is_row(producer.axes.size());
  for (const RowAxis& row : rows) {
    if (row.quotient != 1) return std::nullopt;
    const auto at = static_cast<size_t>(row.axis);
    is_row[at] = true;
    const auto axis = row_axis_of(reader, load.indices[at]);
    if (!axis || !ir::prove_equal(extent_of(reader, *axis), producer.extents[at]))
      return std::nullopt;
    relation.rows.push_back(*axis);
  }
  const bool reduces = reader.kind == StageKind::reduce;
  for (size_t i = 0; i < producer.axes.size(); ++i) {
    if (is_row[i] || ir::is_const(producer.extents[i], 1)) continue;
    const auto at = place_of(reduces ? reader.reduce_axes : reader.axes, load.indices[i]);
    if (!at || !ir::prove_equal((reduces ? reader.reduce_extents : reader.extents)[*at],
                                producer.extents[i]))
      return std::nullopt;
    relation.columns.push_back(*at);
  }
  return relation;
}

// The rows of `member` by what it reads of a producer; null: they are none, or not the same ones
// everywhere.
std::optional<Relation> relation(const Stage& producer, const std::vector<RowAxis>& rows,
                                 const Member& member) {
  std::optional<Relation> found;
  for (const ir::Load* load : loads_of_stage(member.stage)) {
    if (!load->buffer.same(producer.output)) continue;
    const auto one = relation_of(producer, rows, member.stage, *load);
    if (!one || (found && !(*found == *one))) return std::nullopt;
    found = one;
  }
  return found;
}

// Columns must be walked alike by all that hand them on: whole, in order.
bool walks_columns(const Member& member, const std::vector<size_t>& columns) {
  if (columns.empty()) return true;
  if (member.stage.kind == StageKind::reduce) {
    if (columns.size() != member.stage.reduce_axes.size()) return false;
  } else {
    const std::vector<int> own = columns_of(member);
    if (!std::ranges::equal(own, columns, [](int a, size_t b) { return a == static_cast<int>(b); }))
      return false;
  }
  return std::ranges::is_sorted(columns);
}

bool same_rows(const Group& group) {
  const Member& last = group.members.back();
  return std::ranges::all_of(group.members, [&](const Member& member) {
    if (member.rows.size() != last.rows.size()) return false;
    for (size_t i = 0; i < last.rows.size(); ++i) {
      if (!ir::prove_equal(extent_of(member.stage, member.rows[i]),
                           extent_of(last.stage, last.rows[i])))
        return false;
    }
    return true;
  });
}

// A window of one operand weighted by another, such as a depthwise convolution. Its terms are no
// row of the operand: neighbouring points read the same elements.
bool is_window_of_two(const Stage& stage) {
  if (pattern_of(stage) != Pattern::window) return false;
  const ir::BufferNode* walked = nullptr;
  for (const ir::Load* load : loads_of(stage.values)) {
    const auto walks = [&](const ir::Var& axis) { return stages::moves(*load, axis); };
    if (std::ranges::none_of(stage.reduce_axes, walks)) continue;
    if (walked && walked != load->buffer.get()) return true;
    walked = load->buffer.get();
  }
  return false;
}

// Whether a sum that is launched alone has vectors along another of its axes than the last, such as
// neighbouring channels. Rows of a group have vectors along the last axis only.
bool sums_across(const Stage& stage, const Capabilities& caps) {
  if (stage.kind != StageKind::reduce || stage.reduce_axes.size() < 2) return false;
  const Tiling tiling = autoschedule::default_tiling(stage, caps);
  return tiling.partial && tiling.reduce_axis + 1 < static_cast<int>(stage.reduce_axes.size());
}

// Whether a row is a part of a reader's axes that fills no vector, such as a square of 2 x 2
// points, or has no vectors where a sum launched alone would have them. Launched alone, stages of
// CPUs have vectors along other axes.
bool loses_vectors(const Group& group, const Capabilities& caps) {
  if (caps.group_size > 1) return false;
  const RowLanes lanes = autoschedule::row_lanes(group, caps);
  if (lanes.rows == 1 && lanes.columns == 1 &&
      std::ranges::any_of(group.members, [&](const Member& member) {
        return is_window_of_two(member.stage) || sums_across(member.stage, caps);
      }))
    return true;
  return std::ranges::any_of(group.members, [&](const Member& member) {
    int64_t parts = 1, columns = 1;
    for (const RowAxis& row : member.rows) parts *= row.quotient;
    for (const int axis : columns_of(member)) {
      const auto row = std::ranges::find(member.rows, axis, &RowAxis::axis);
      const Expr& extent = member.stage.extents[static_cast<size_t>(axis)];
      columns *= row != member.rows.end() ? row->quotient : ir::estimate(extent);
    }
    return parts > 1 && columns <= caps.vector_lanes;
  });
}

// Memory is read along one way, and there are rows enough to go round.
bool pays(const Group& group, const Capabilities& caps, const Capabilities* others) {
  return autoschedule::rows_along(group, caps) != RowsAlong::mixed && !loses_vectors(group, caps) &&
         autoschedule::enough_rows(group, caps) &&
         (!others || autoschedule::enough_rows(group, *others));
}

}  // namespace

std::optional<Group> merged_rows(const Group& producer, const Group& reader,
                                 const Capabilities& caps, const Capabilities* others) {
  const auto one_nest = [](const Group& group) { return is_single(group) || over_rows(group); };
  if (!one_nest(producer) || !one_nest(reader)) return std::nullopt;
  Group merged{producer.members};
  // A single stage has its own points as rows where it gives a value a row.
  if (is_single(producer)) {
    Member& only = merged.members[0];
    if (only.stage.kind != StageKind::reduce) return std::nullopt;
    only.rows = all_axes(only.stage);
  }
  std::vector<Member> readers = reader.members;
  if (is_single(reader)) {
    std::optional<Relation> found;
    for (const Member& made : merged.members) {
      if (const auto one = relation(made.stage, made.rows, readers[0])) found = one;
    }
    if (!found) return std::nullopt;
    readers[0].rows = found->rows;
    const auto is_part = [](const RowAxis& row) { return row.quotient != 1; };
    if (readers[0].stage.kind == StageKind::reduce &&
        (readers[0].rows.size() != all_axes(readers[0].stage).size() ||
         std::ranges::any_of(readers[0].rows, is_part)))
      return std::nullopt;  // its points are more than the rows
  }
  // Every load between them is of the same row.
  for (const Member& member : readers) {
    for (const Member& made : merged.members) {
      const auto loads = loads_of_stage(member.stage);
      const bool reads = std::ranges::any_of(
          loads, [&](const ir::Load* load) { return load->buffer.same(made.stage.output); });
      if (!reads) continue;
      const auto one = relation(made.stage, made.rows, member);
      if (!one || one->rows != member.rows || !walks_columns(member, one->columns))
        return std::nullopt;
    }
  }
  merged.members.insert(merged.members.end(), readers.begin(), readers.end());
  if (!same_rows(merged) || !pays(merged, caps, others)) return std::nullopt;
  return merged;
}

}  // namespace gossamer::group
