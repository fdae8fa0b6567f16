#include "online/key_parts.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "online/online.h"
#include "online/online_parts.h"
#include "stages/access.h"

namespace gossamer::online {
namespace {

using ir::Expr;
using ir::Var;
using stages::At;
using stages::Group;
using stages::Stage;
using stages::StageKind;
using target::Capabilities;

constexpr int64_t most_heads = 4;

int64_t known(const Expr& extent) { return ir::as_int(extent).value_or(0); }

// The quotient that alone an expression sees of an axis; 1: it sees the axis, 0: none of it.
int64_t quotient_of(const Expr& expr, const Var& axis) {
  int64_t quotient = 0;
  ir::visit(expr, [&](const Expr& e) {
    if (e.same(axis)) quotient = 1;
    const auto* division = ir::as<ir::Binary>(e);
    if (!division || division->op != ir::BinaryOp::floordiv || !division->a.same(axis)) return true;
    const int64_t by = known(division->b);
    if (by <= 0) return true;
    quotient = quotient == 0 || quotient == by ? by : 1;
    return false;
  });
  return quotient;
}

class Splitter {
 public:
  Splitter(const Group& group, Expr rows, const Capabilities& caps)
      : last_(group.last()), rows_(std::move(rows)), caps_(caps), online_(online_of(group)) {
    // weight_of says that itself.
    const Expr peak = online_.peak;
    if (ir::equal(online_.shift, ir::select(ir::is_inf(peak), ir::zero(peak->type), peak)))
      online_.shift = peak;
  }

  std::optional<KeyParts> run() {
    const int64_t width = known(online_.extent);
    columns_ = known(last_.extents[column()]);
    shape_ = key_parts_shape(width, columns_);
    if (shape_.keys == 0 || caps_.group_size == 1 || caps_.texture_memory ||
        shape_.invocations > caps_.max_group_size)
      return std::nullopt;
    find_heads();
    keys_ = last_.reduce_extents[0];
    place_axes();
    KeyParts made{parts(), join()};
    const size_t buffers = inputs_of(made.parts).size() + outputs_of(made.parts).size();
    if (static_cast<int>(buffers) > caps_.max_storage_buffers) return std::nullopt;
    return made;
  }

 private:
  size_t column() const { return static_cast<size_t>(online_.column); }

  // The axis of heads that share keys, if there is one, and how many of them a workgroup takes.
  void find_heads() {
    for (size_t i = 0; i < last_.axes.size(); ++i) {
      const Var& axis = last_.axes[i];
      const int64_t key = quotient_of(online_.right, axis),
                    value = quotient_of(online_.value, axis);
      if (i == column() || key <= 1 || key != value || known(last_.extents[i]) % key != 0) continue;
      heads_ = i;
      shared_ = key;
      together_ = std::gcd(key, most_heads);
    }
  }

  // Every axis but that of columns, the heads in runs of `together_`, and the parts of the keys.
  void place_axes() {
    for (size_t i = 0; i < last_.axes.size(); ++i) {
      if (i == column()) continue;
      const bool head = heads_ == i, row = static_cast<int>(i) == online_.row;
      outer_.push_back(ir::var(last_.axes[i]->name));
      outer_extents_.push_back(head  ? ir::index(known(last_.extents[i]) / together_)
                               : row ? rows_
                                     : last_.extents[i]);
      const Expr own = head ? Expr(outer_.back()) * ir::index(together_) + head_ : outer_.back();
      places_[last_.axes[i].get()] = own;
      if (head) run_ = outer_.back();
    }
    outer_.push_back(part_);
    outer_extents_.push_back(stages::ceil_div(keys_, shape_.keys));
    const Expr first = Expr(part_) * ir::index(shape_.keys);
    key_at_ = place_in(first, key_, keys_, shape_.keys);
    inside_ = is_inside(first, key_, keys_, shape_.keys);
  }

  // At a point of the tile.
  Expr at(const Expr& expr) const {
    Expr shared = expr;
    if (run_) {
      ir::Rewriter quotient;
      quotient.expr = [&](const Expr& e) -> Expr {
        const auto* division = ir::as<ir::Binary>(e);
        const bool is_shared = division && division->op == ir::BinaryOp::floordiv &&
                               division->a.same(last_.axes[*heads_]) &&
                               ir::is_const(division->b, shared_);
        if (!is_shared) return {};
        return shared_ == together_ ? Expr(run_) : ir::floordiv(run_, shared_ / together_);
      };
      shared = ir::rewrite(expr, quotient);
    }
    ir::VarMap map = places_;
    map[last_.reduce_axes[0].get()] = key_at_;
    map[last_.axes[column()].get()] = column_;
    return ir::substitute(shared, map);
  }

  Stage stage(StageKind kind, const char* name, std::vector<Var> inner,
              const std::vector<int64_t>& extents) const {
    Stage made;
    made.kind = kind;
    made.name = cat(last_.name, ".", name);
    made.origin = last_.origin;
    made.axes = outer_;
    made.extents = outer_extents_;
    made.axes.insert(made.axes.end(), inner.begin(), inner.end());
    for (const int64_t extent : extents) made.extents.push_back(ir::index(extent));
    made.output = ir::buffer(made.name, ir::DType::f32, made.extents);
    return made;
  }

  // What a stage made, at the outer point, and this inner one.
  Expr load(const Stage& made, std::vector<Expr> inner) const {
    std::vector<Expr> indices(outer_.begin(), outer_.end());
    indices.insert(indices.end(), inner.begin(), inner.end());
    return ir::load(made.output, std::move(indices));
  }

  static void reduce(Stage& stage, const Var& axis, const Expr& extent, const Expr& term,
                     const Var& total, bool maximum = false) {
    reduce_over(stage, axis, extent, total, maximum);
    stage.values = {term};
    stage.result = total;
  }

  Group parts() {
    const Expr keys = ir::index(shape_.keys);
    Stage scores = stage(StageKind::reduce, "scores", {head_, key_}, {together_, shape_.keys});
    reduce(scores, online_.along, online_.extent, at(online_.left) * at(online_.right),
           online_.products);
    scores.result = where(inside_, at(online_.score), ir::lowest(ir::DType::f32));

    peaks_ = stage(StageKind::reduce, "peaks", {head_}, {together_});
    reduce(peaks_, key_, keys, load(scores, {head_, key_}), ir::var("peak", ir::DType::f32), true);

    Stage weights = stage(StageKind::compute, "weights", {head_, key_}, {together_, shape_.keys});
    weights.result =
        weight_of(online_, at(online_.shift), load(scores, {head_, key_}), load(peaks_, {head_}));
    const Expr weight = load(weights, {head_, key_});

    totals_ = stage(StageKind::reduce, "totals", {head_}, {together_});
    reduce(totals_, key_, keys, weight, ir::var("total", ir::DType::f32));

    sums_ = stage(StageKind::reduce, "sums", {head_, column_}, {together_, columns_});
    const Expr value = at(online_.value);
    reduce(sums_, key_, keys, weight * where(inside_, value, ir::zero(value->type)),
           ir::var("sum", ir::DType::f32));

    Group group;
    group.outer = outer_.size();
    for (const Stage& stage : {scores, peaks_, weights, totals_, sums_})
      group.members.push_back({stage, {}, true, At::tile});
    for (const size_t passed_on : {0, 2}) group.members[passed_on].written = false;
    return group;
  }

  // (peak, total, sum) of each part; those of smaller peaks are scaled down.
  Stage join() const {
    Stage stage = last_;
    stages::Accumulators tuples;
    const Expr zero = ir::zero(ir::DType::f32);
    for (const char* name : {"peak", "total", "sum"}) {
      tuples.push_back(
          {ir::var(name, ir::DType::f32), ir::var(cat(name, ".more"), ir::DType::f32), {}, zero});
    }
    const Expr peak = ir::select(tuples[0].left < tuples[0].right, tuples[0].right, tuples[0].left);
    const auto scaled = [&](size_t k) {
      return tuples[k].left * scale_of(tuples[0].left, peak) +
             tuples[k].right * scale_of(tuples[0].right, peak);
    };
    tuples[0].joined = peak;
    tuples[0].identity = ir::lowest(ir::DType::f32);
    for (const size_t k : {1, 2}) tuples[k].joined = scaled(k);
    stage.accumulators = std::move(tuples);
    stage.reduce_axes = {part_};
    stage.reduce_extents = {outer_extents_.back()};
    std::vector<Expr> indices;
    Expr head = ir::index(0);
    for (size_t i = 0; i < last_.axes.size(); ++i) {
      if (i == column()) continue;
      const Expr own = last_.axes[i];
      indices.push_back(heads_ == i ? ir::floordiv(own, together_) : own);
      if (heads_ == i) head = ir::floormod(own, together_);
    }
    indices.push_back(part_);
    indices.push_back(head);
    stage.values = {ir::load(peaks_.output, indices), ir::load(totals_.output, indices)};
    indices.push_back(last_.axes[column()]);
    stage.values.push_back(ir::load(sums_.output, indices));
    stage.result =
        ir::substitute(online_.result, {{online_.sum.get(), stage.accumulators[2].left},
                                        {online_.total.get(), stage.accumulators[1].left}});
    return stage;
  }

  // By how much a larger peak scales what was summed for this one. Nothing was for the lowest.
  Expr scale_of(const Expr& peak, const Expr& larger) const {
    return weight_of(online_, online_.shift,
                     ir::substitute(online_.shift, {{online_.peak.get(), peak}}), larger);
  }

  const Stage& last_;
  Expr rows_;
  const Capabilities& caps_;
  Online online_;
  KeyPartsShape shape_;
  int64_t columns_ = 0, shared_ = 1, together_ = 1;
  std::optional<size_t> heads_;
  Expr keys_, key_at_, inside_;  // inside: null where every place of a tile is a key
  Var run_, head_ = ir::var("head"), key_ = ir::var("key"), column_ = ir::var("column"),
            part_ = ir::var("part");
  std::vector<Var> outer_;
  std::vector<Expr> outer_extents_;
  ir::VarMap places_;
  Stage peaks_, totals_, sums_;
};

}  // namespace

KeyPartsShape key_parts_shape(int64_t width, int64_t columns) {
  if (columns <= 0 || columns % (4 * gpu_lanes) != 0 || width % gpu_lanes != 0) return {};
  const int64_t vectors = columns / gpu_lanes, odd = vectors >> std::countr_zero(uint64_t(vectors));
  const KeyPartsShape shape = odd == 1   ? KeyPartsShape{64, 128}
                              : odd <= 3 ? KeyPartsShape{64, 64 * odd}
                                         : KeyPartsShape{32, 32 * odd};
  const bool fits = odd <= 7 && 2 * vectors <= shape.invocations &&
                    (width / gpu_lanes) % (shape.invocations / shape.keys) == 0;
  return fits ? shape : KeyPartsShape{};
}

std::optional<KeyParts> key_parts(const Group& online, const Expr& rows, const Capabilities& caps) {
  return Splitter(online, rows, caps).run();
}

std::set<const ir::BufferNode*> made_by_key_parts(const stages::Program& program,
                                                  const Capabilities& caps) {
  std::set<const ir::BufferNode*> all;
  if (caps.group_size == 1 || caps.texture_memory) return all;
  visit_online(program, {}, [&](const Group& group, const auto& made) {
    const Expr rows = rows_of(group);
    if (known(rows) >= 1 && known(rows) <= most_split_rows && key_parts(group, rows, caps))
      all.insert(made.begin(), made.end());
  });
  return all;
}

ir::Expr rows_of(const Group& online) {
  const int row = online_of(online).row;
  return row < 0 ? ir::index(1) : online.last().extents[static_cast<size_t>(row)];
}

}  // namespace gossamer::online
