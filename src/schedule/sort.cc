#include "schedule/sort.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "ops/search.h"
#include "schedule/access.h"

namespace gossamer::schedule {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::Var;
using ops::Stage;
using ops::StageKind;

// Elements of a run, and the points that one work item of a merge makes where a target names no
// segment of its own.
constexpr int64_t run_length = 16, whole_segment = 1024;
// Of an axis that is not known: the most whose merges count in 32 bits.
constexpr int64_t longest = int64_t{1} << 30;

Expr at_most(const Expr& a, const Expr& b) { return ir::simplify(ir::min(a, b)); }

class Sorter {
 public:
  Sorter(const Stage& sort, const Capabilities& caps, std::vector<Stage>& made)
      : sort_(sort),
        made_(made),
        length_(sort.reduce_extents[0]),
        segment_(caps.scan_segment > 0 ? caps.scan_segment : whole_segment) {}

  void run() {
    const int64_t all = ir::as_int(length_).value_or(longest);
    one_run_ = all <= run_length;
    for (const Expr& value : sort_.values) keys_.push_back(key_buffer(value));
    Buffer order = runs();
    for (int64_t width = run_length; width < all; width *= 2)
      order = merged(order, width, width * 2 >= all);
  }

 private:
  static Expr one_run() { return ir::index(run_length); }

  // A stage over the sort's rows, with these extents in place of its axis.
  Stage stage(StageKind kind, std::string_view what, DType dtype, const std::vector<Expr>& along,
              bool last = false) const {
    Stage one;
    one.kind = kind;
    one.name = last ? sort_.name : cat(sort_.name, what);
    one.origin = sort_.origin;
    one.extents = with(sort_.extents, along);
    one.along = sort_.along;
    for (size_t i = 0; i < one.extents.size(); ++i) one.axes.push_back(ir::var(cat("i", i)));
    one.output =
        last ? sort_.output : ir::buffer(cat(sort_.output->name, what), dtype, one.extents);
    return one;
  }

  // The sort's axis replaced.
  std::vector<Expr> with(std::vector<Expr> point, const std::vector<Expr>& along) const {
    const auto place = point.erase(point.begin() + static_cast<std::ptrdiff_t>(sort_.along));
    point.insert(place, along.begin(), along.end());
    return point;
  }

  // The point of the stage's row at this place.
  std::vector<Expr> at(const Stage& one, const std::vector<Expr>& along) const {
    std::vector<Expr> point(one.axes.begin(), one.axes.end());
    const auto extra = static_cast<std::ptrdiff_t>(point.size() - sort_.axes.size());
    const auto from = point.begin() + static_cast<std::ptrdiff_t>(sort_.along);
    point.erase(from, from + extra);
    return with(std::move(point), along);
  }

  bool whole_runs() const {
    const auto known = ir::as_int(length_);
    return one_run_ || (known && *known % run_length == 0);
  }

  // Where a key lies in memory, up to the end of the last run; it is computed or copied there,
  // unless it is.
  Buffer key_buffer(const Expr& value) {
    const auto* load = ir::as<ir::Load>(value);
    std::vector<Expr> own(sort_.axes.begin(), sort_.axes.end());
    own[sort_.along] = sort_.reduce_axes[0];
    if (load && whole_runs() &&
        std::ranges::equal(load->indices, own,
                           [](const Expr& a, const Expr& b) { return ir::equal(a, b); }))
      return load->buffer;
    const Expr padded =
        whole_runs() ? length_ : ir::simplify(ceil_div(length_, run_length) * one_run());
    Stage keys = stage(StageKind::compute, ".keys", value->type.dtype, {padded});
    const Expr place = keys.axes[sort_.along];
    ir::VarMap axes{{sort_.reduce_axes[0].get(), place}};
    for (size_t i = 0; i < keys.axes.size(); ++i) {
      if (i != sort_.along) axes[sort_.axes[i].get()] = keys.axes[i];
    }
    const Expr key = ir::substitute(value, axes);
    keys.result = whole_runs() ? key : ir::select(place < length_, key, ir::zero(value->type));
    made_.push_back(keys);
    return keys.output;
  }

  // Whether the element at place p comes before that at q.
  Expr before(const Stage& one, const Expr& p, const Expr& q) const {
    ir::VarMap map;
    for (size_t k = 0; k < keys_.size(); ++k) {
      map[sort_.combiner.left[k].get()] = ir::load(keys_[k], at(one, {p}));
      map[sort_.combiner.right[k].get()] = ir::load(keys_[k], at(one, {q}));
    }
    return ir::substitute(sort_.combiner.joined[0], map);
  }

  static void sum_of(Stage& one, const Expr& term) {
    const Var left = ir::var("acc", DType::i32), right = ir::var("term", DType::i32);
    one.combiner = {{left}, {right}, {Expr(left) + Expr(right)}, {ir::constant_int(DType::i32, 0)}};
    one.values = {term};
    one.result = left;
  }

  // Each run in order: every element counts those before it, then places look for their count.
  // Runs have an axis of their own, so that elements of one lie along vectors.
  Buffer runs() {
    const std::vector<Expr> blocks =
        one_run_ ? std::vector{length_}
                 : std::vector{ir::simplify(ceil_div(length_, run_length)), one_run()};
    const auto none = ir::constant_int(DType::i32, 0), some = ir::constant_int(DType::i32, 1);
    const Var j = ir::var("j");
    const auto start = [&](const Stage& one) {
      return one_run_ ? ir::index(0) : Expr(one.axes[sort_.along]) * one_run();
    };
    Stage rank = stage(StageKind::reduce, ".rank", DType::i32, blocks);
    rank.reduce_axes = {j};
    rank.reduce_extents = {blocks.back()};
    const size_t lane_axis = sort_.along + blocks.size() - 1;
    const Expr lane = rank.axes[lane_axis], own = start(rank) + lane, other = start(rank) + j;
    Expr not_after = !before(rank, own, other), first = before(rank, other, own);
    if (!whole_runs()) {  // what pads the last run comes behind its elements
      not_after = own >= length_ || not_after;
      first = other < length_ && first;
    }
    sum_of(rank, ir::select(ir::select(Expr(j) < lane, not_after, first), some, none));
    made_.push_back(rank);

    Stage order = one_run_ ? stage(StageKind::reduce, ".runs", DType::i32,
                                   {sort_.extents[sort_.along]}, /*last=*/true)
                           : stage(StageKind::reduce, ".runs", DType::i32, blocks);
    order.reduce_axes = {j};
    order.reduce_extents = rank.reduce_extents;
    std::vector<Expr> counted{j};
    if (!one_run_) counted.insert(counted.begin(), order.axes[sort_.along]);
    const Expr rank_there = ir::load(rank.output, at(order, counted));
    const Expr here = rank_there == ir::cast(DType::i32, order.axes[lane_axis]);
    sum_of(order, ir::select(here, ir::cast(DType::i32, start(order) + j), none));
    made_.push_back(order);
    return order.output;
  }

  Expr element(const Stage& one, const Buffer& order, const Expr& place) const {
    const Expr inside = at_most(place, length_ - ir::index(1));
    std::vector<Expr> along{inside};
    if (order->shape.size() > sort_.axes.size())
      along = {ir::floordiv(inside, one_run()), ir::floormod(inside, one_run())};
    return ir::cast(DType::index, ir::load(order, at(one, along)));
  }

  // Where the first and the second of two neighbours of `width` elements begin, and the end of
  // both, for a place of their merge.
  struct Pair {
    Expr first, second, end;
  };
  Pair pair_of(const Expr& place, int64_t width) const {
    const Expr both = ir::index(2 * width), first = ir::floordiv(place, both) * both;
    return {first, at_most(first + ir::index(width), length_), at_most(first + both, length_)};
  }

  // How many of the first neighbour's elements are among those before each segment.
  Buffer splits(const Buffer& order, int64_t width, int64_t segment, const Expr& points) {
    Stage split =
        stage(StageKind::reduce, ".splits", DType::i32, {ir::simplify(ceil_div(points, segment))});
    const Expr place = Expr(split.axes[sort_.along]) * ir::index(segment);
    const Pair pair = pair_of(place, width);
    const Expr taken = place - pair.first, of_second = pair.end - pair.second;
    const Expr low = ir::max(taken - of_second, ir::index(0));
    const Expr high = ir::min(taken, pair.second - pair.first);
    ops::search_in(split, low, high, width, [&](const Expr& middle) {
      const Expr second = ir::max(pair.second + taken - ir::index(1) - middle, ir::index(0));
      return before(split, element(split, order, second),
                    element(split, order, pair.first + middle));
    });
    split.result = ir::cast(DType::i32, split.combiner.left[0]);
    made_.push_back(split);
    return split.output;
  }

  // At each step the lesser one of two heads is picked. Ends are accumulators too: they are
  // computed once a segment.
  Buffer merged(const Buffer& order, int64_t width, bool last) {
    const int64_t segment = std::min(segment_, 2 * width);
    Stage merge = stage(StageKind::scan, ".merged", DType::i32,
                        {last ? sort_.extents[sort_.along] : length_}, last);
    const Expr place = merge.axes[sort_.along];
    const Pair pair = pair_of(place, width);
    Expr taken = ir::index(0);
    if (segment < 2 * width) {
      const Buffer from = splits(order, width, segment, merge.extents[sort_.along]);
      const Expr start = ir::floordiv(place, ir::index(segment));
      taken = ir::cast(DType::index, ir::load(from, at(merge, {start})));
    }
    ops::Combiner& step = merge.combiner;
    for (const char* name : {"first", "second", "first_end", "second_end", "picked"}) {
      step.left.push_back(ir::var(name));
      step.right.push_back(ir::var(cat("next_", name)));
      step.joined.push_back(step.right.back());
      step.identity.push_back(ir::index(0));
    }
    const Expr first = step.left[0], second = step.left[1];
    const Expr first_end = step.left[2], second_end = step.left[3];
    const Expr of_first = element(merge, order, first), of_second = element(merge, order, second);
    const Expr take =
        first < first_end && (second >= second_end || !before(merge, of_second, of_first));
    merge.in_order = true;
    merge.segment = segment;
    merge.values = {ir::select(take, first + ir::index(1), first),
                    ir::select(take, second, second + ir::index(1)), first_end, second_end,
                    ir::select(take, of_first, of_second)};
    merge.starts = {pair.first + taken, pair.second + place - pair.first - taken, pair.second,
                    pair.end, ir::index(0)};
    merge.result = ir::cast(DType::i32, step.left[4]);
    made_.push_back(merge);
    return merge.output;
  }

  const Stage& sort_;
  std::vector<Stage>& made_;
  const Expr length_;
  const int64_t segment_;
  bool one_run_ = false;
  std::vector<Buffer> keys_;
};

}  // namespace

void merge_sorts(std::vector<Stage>& stages, const Capabilities& capabilities) {
  std::vector<Stage> made;
  for (Stage& stage : stages) {
    if (stage.kind == StageKind::sort) {
      Sorter(stage, capabilities, made).run();
    } else {
      made.push_back(std::move(stage));
    }
  }
  stages = std::move(made);
}

}  // namespace gossamer::schedule
