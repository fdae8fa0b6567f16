#include "rewrite/sort.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "rewrite/radix_sort.h"
#include "stages/access.h"
#include "stages/binary_search.h"

namespace gossamer::rewrite {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::Var;
using stages::Stage;
using stages::StageKind;
using target::Capabilities;

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
        segment_(caps.scan_segment > 0 ? caps.scan_segment : whole_segment),
        wide_(caps.has_f64) {}

  void run() {
    const int64_t all = ir::as_int(length_).value_or(longest);
    one_run_ = all <= run_length;
    if (wide_ && !one_run_ && rises_with_key(sort_)) pack();
    if (!packed_) {
      for (const Expr& value : sort_.values) keys_.push_back(key_buffer(value));
    }
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

  // Keys above places, in one word: no two are equal, and merges read one memory. Places behind the
  // end fill the last run.
  void pack() {
    const Expr length = length_;
    length_ = ir::simplify(stages::ceil_div(length, run_length) * one_run());
    Stage words = stage(StageKind::compute, ".words", DType::i64, {length_});
    const Expr place = words.axes[sort_.along];
    ir::VarMap axes{{sort_.reduce_axes[0].get(), place}};
    for (size_t i = 0; i < words.axes.size(); ++i) {
      if (i != sort_.along) axes[sort_.axes[i].get()] = words.axes[i];
    }
    Expr key = ir::substitute(sort_.values[0], axes);
    if (!ir::prove_equal(length, length_))
      key = ir::select(place < length, key, ir::highest(key->type));
    const auto word = [](const Expr& e) { return ir::cast(DType::i64, e); };
    words.result =
        ir::binary(ir::BinaryOp::bit_or, ir::binary(ir::BinaryOp::shl, word(key), bits_of_place()),
                   word(place));
    made_.push_back(words);
    packed_ = words.output;
  }
  static Expr place_in(const Expr& word) {
    return ir::binary(ir::BinaryOp::bit_and, word, ir::constant_int(DType::i64, 0xffffffff));
  }
  static Expr bits_of_place() { return ir::constant_int(DType::i64, 32); }

  bool whole_runs() const {
    const auto known = ir::as_int(length_);
    return one_run_ || packed_ || (known && *known % run_length == 0);
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
        whole_runs() ? length_ : ir::simplify(stages::ceil_div(length_, run_length) * one_run());
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

  // Whether the element at place p comes before that at q; of packed ones, the word p before q.
  Expr before(const Stage& one, const Expr& p, const Expr& q) const {
    if (packed_) return p < q;
    ir::VarMap map;
    for (size_t k = 0; k < keys_.size(); ++k) {
      map[sort_.accumulators[k].left.get()] = ir::load(keys_[k], at(one, {p}));
      map[sort_.accumulators[k].right.get()] = ir::load(keys_[k], at(one, {q}));
    }
    return ir::substitute(sort_.accumulators[0].joined, map);
  }

  static void sum_of(Stage& one, const Expr& term) {
    const Var left = ir::var("acc", term->type), right = ir::var("term", term->type);
    one.accumulators = {stages::sum_accumulator(left, right)};
    one.values = {term};
    one.result = left;
  }

  // Each run in order: every element counts those before it, then places look for their count.
  // Runs have an axis of their own, so that elements of one lie along vectors.
  Buffer runs() {
    const std::vector<Expr> blocks =
        one_run_ ? std::vector{length_}
                 : std::vector{ir::simplify(stages::ceil_div(length_, run_length)), one_run()};
    const auto none = ir::constant_int(DType::i32, 0), some = ir::constant_int(DType::i32, 1);
    const Var j = ir::var("j");
    const auto start = [&](const Stage& one) {
      return one_run_ ? ir::index(0) : Expr(one.axes[sort_.along]) * one_run();
    };
    Stage rank = stage(StageKind::reduce, ".rank", DType::i32, blocks);
    rank.reduce_axes = {j};
    rank.reduce_extents = {blocks.back()};
    const size_t lane_axis = sort_.along + blocks.size() - 1;
    const auto in_run = [&](const Stage& one, const Expr& at) {
      const Expr place = start(one) + at;
      return packed_ ? ir::load(packed_, this->at(one, {place})) : place;
    };
    const Expr lane = rank.axes[lane_axis], own = in_run(rank, lane), other = in_run(rank, j);
    Expr not_after = !before(rank, own, other), first = before(rank, other, own);
    if (!whole_runs()) {  // what pads the last run comes behind its elements
      not_after = own >= length_ || not_after;
      first = other < length_ && first;
    }
    sum_of(rank, ir::select(ir::select(Expr(j) < lane, not_after, first), some, none));
    made_.push_back(rank);

    Stage order = one_run_ ? stage(StageKind::reduce, ".runs", DType::i32,
                                   {sort_.extents[sort_.along]}, /*last=*/true)
                           : stage(StageKind::reduce, ".runs", stored(), blocks);
    order.reduce_axes = {j};
    order.reduce_extents = rank.reduce_extents;
    std::vector<Expr> counted{j};
    if (!one_run_) counted.insert(counted.begin(), order.axes[sort_.along]);
    const Expr rank_there = ir::load(rank.output, at(order, counted));
    const Expr here = rank_there == ir::cast(DType::i32, order.axes[lane_axis]);
    const Expr found = ir::cast(stored(), in_run(order, j));
    sum_of(order, ir::select(here, found, ir::zero(found->type)));
    made_.push_back(order);
    return order.output;
  }

  // What is stored of an element: where it lies, or its word.
  DType stored() const { return packed_ ? DType::i64 : DType::i32; }

  Expr element(const Stage& one, const Buffer& order, const Expr& place) const {
    const Expr inside = at_most(place, length_ - ir::index(1));
    std::vector<Expr> along{inside};
    if (order->shape.size() > sort_.axes.size())
      along = {ir::floordiv(inside, one_run()), ir::floormod(inside, one_run())};
    const Expr element = ir::load(order, at(one, along));
    return packed_ ? element : ir::cast(DType::index, element);
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
    Stage split = stage(StageKind::reduce, ".splits", DType::i32,
                        {ir::simplify(stages::ceil_div(points, segment))});
    const Expr place = Expr(split.axes[sort_.along]) * ir::index(segment);
    const Pair pair = pair_of(place, width);
    const Expr taken = place - pair.first, of_second = pair.end - pair.second;
    const Expr low = ir::max(taken - of_second, ir::index(0));
    const Expr high = ir::min(taken, pair.second - pair.first);
    stages::search_in(split, low, high, width, [&](const Expr& middle) {
      const Expr second = ir::max(pair.second + taken - ir::index(1) - middle, ir::index(0));
      return before(split, element(split, order, second),
                    element(split, order, pair.first + middle));
    });
    split.result = ir::cast(DType::i32, split.accumulators[0].left);
    made_.push_back(split);
    return split.output;
  }

  // At each step the lesser one of two heads is picked. Ends are accumulators too: they are
  // computed once a segment.
  Buffer merged(const Buffer& order, int64_t width, bool last) {
    const int64_t segment = std::min(segment_, 2 * width);
    Stage merge = stage(StageKind::scan, ".merged", stored(),
                        {last ? sort_.extents[sort_.along] : length_}, last);
    const Expr place = merge.axes[sort_.along];
    const Pair pair = pair_of(place, width);
    Expr taken = ir::index(0);
    if (segment < 2 * width) {
      const Buffer from = splits(order, width, segment, merge.extents[sort_.along]);
      const Expr start = ir::floordiv(place, ir::index(segment));
      taken = ir::cast(DType::index, ir::load(from, at(merge, {start})));
    }
    stages::Accumulators& step = merge.accumulators;
    const ir::Type picked = packed_ ? DType::i64 : DType::index;
    for (const char* name : {"first", "first_end", "second_end", "picked"}) {
      const ir::Type type = name == std::string_view("picked") ? picked : ir::Type(DType::index);
      const ir::Var next = ir::var(cat("next_", name), type);
      step.push_back({ir::var(name, type), next, next, ir::zero(type)});
    }
    const Expr first = step[0].left, first_end = step[1].left, second_end = step[2].left;
    const Expr second = first_end + place - first;
    const Expr of_first = element(merge, order, first), of_second = element(merge, order, second);
    const Expr take =
        first < first_end && (second >= second_end || !before(merge, of_second, of_first));
    merge.in_order = true;
    merge.segment = segment;
    merge.values = {ir::select(take, first + ir::index(1), first), first_end, second_end,
                    ir::select(take, of_first, of_second)};
    merge.starts = {pair.first + taken, pair.second, pair.end, ir::zero(picked)};
    merge.result = ir::cast(last ? DType::i32 : stored(),
                            packed_ && last ? place_in(step[3].left) : step[3].left);
    made_.push_back(merge);
    return merge.output;
  }

  const Stage& sort_;
  std::vector<Stage>& made_;
  Expr length_;
  const int64_t segment_;
  const bool wide_;  // the target counts in 64 bits
  bool one_run_ = false;
  std::vector<Buffer> keys_;
  Buffer packed_;  // null where keys stay apart
};

}  // namespace

void merge_sorts(std::vector<Stage>& stages, const Capabilities& capabilities) {
  std::vector<Stage> made;
  for (Stage& stage : stages) {
    if (stage.kind == StageKind::sort && has_digits(stage, capabilities)) {
      sort_by_digits(stage, made);
    } else if (stage.kind == StageKind::sort) {
      Sorter(stage, capabilities, made).run();
    } else {
      made.push_back(std::move(stage));
    }
  }
  stages = std::move(made);
}

}  // namespace gossamer::rewrite
