// NonMaxSuppression: candidates of every batch and class in blocks, best first, against the boxes
// kept so far and each other. As many tests as candidates times boxes kept and a block more, and a
// wait a block, of which none comes after a row is full.
#include <algorithm>
#include <limits>

#include "ops/families.h"
#include "ops/reduction/reduce.h"
#include "ops/select_k.h"
#include "ops/tensor/nonzero.h"

namespace gossamer::ops {
namespace {

struct Box {
  Expr top, left, bottom, right;
  Expr area() const { return (bottom - top) * (right - left); }
};

Expr overlap_above(const Box& a, const Box& b, const Expr& threshold) {
  Expr height = ir::min(a.bottom, b.bottom) - ir::max(a.top, b.top),
       width = ir::min(a.right, b.right) - ir::max(a.left, b.left);
  Expr shared = height * width, both = a.area() + b.area() - shared;
  Expr real = height > 0 && width > 0 && a.area() > 0 && b.area() > 0 && both > 0;
  return real && shared / both > threshold;
}

// Candidates come in blocks of at most so many, best first.
constexpr int64_t block = 256, word = 32;

Expr whole(int64_t value) { return ir::constant_int(DType::i32, value); }
Expr bit(const Expr& place) {
  return ir::binary(ir::BinaryOp::shl, whole(1), ir::cast(DType::i32, place));
}
Expr flag(const Expr& condition) { return ir::cast(DType::i32, condition); }

class Suppression {
 public:
  explicit Suppression(Builder& b)
      : b_(b),
        batches_(b.input(1).dim(0)),
        classes_(b.input(1).dim(1)),
        boxes_(b.input(1).dim(2)) {}

  Result<> run() {
    Expr most = ir::index(0);
    if (b_.has(2)) {
      GS_ASSIGN(std::vector<Expr> given, b_.elements(2));
      if (given.size() != 1) return b_.error("max_output_boxes_per_class must be one number");
      most = given[0];
    }
    // Detectors write the greatest integer for "all".
    const auto number = ir::as_int(most);
    const bool all = number && *number > std::numeric_limits<int32_t>::max();
    most_ = all ? boxes_ : b_.simplify(ir::max(ir::min(most, boxes_), 0.0));
    if (ir::is_const(most_, 0)) {
      b_.output(0, b_.compute("nms", DType::i64, {ir::index(0), ir::index(3)},
                              [](Point) { return ir::zero(DType::i64); }));
      return {};
    }
    key_candidates();
    const auto known = ir::as_int(b_.simplify(boxes_)), wanted = ir::as_int(most_);
    // Few boxes that are wanted are mostly among few candidates.
    if (wanted) first_ = std::min(block, (*wanted * 5 / 4 + word - 1) / word * word);
    if (known && *known <= block) first_ = *known;
    const Builder::Round best = kept_of(first_block(), {}, ir::index(0), ir::index(0));
    if (known && *known <= block) return give({best.states[0], best.states[1]});
    // The others are sorted where they are asked for.
    GS_ASSIGN(const std::vector<Expr> after, b_.read(best.carried));
    const Var more = ir::var("nms.more"), held = ir::var("nms.held");
    b_.program.push_back(stages::set_step({more, held}, after));
    const Expr blocks =
        b_.simplify(ir::floordiv(boxes_ + ir::index(block - first_ - 1), ir::index(block)));
    auto rest = [&](const Expr&, std::span<const Tensor> states) {
      const Tensor order = sorted("nms.all", keys_);
      auto round = [&](const Expr& done, std::span<const Tensor> kept) -> Result<Builder::Round> {
        const Expr seen = b_.simplify(done * ir::index(block) + ir::index(first_));
        return kept_of(later_block(order, seen, block), {kept[0], kept[1]}, seen, held);
      };
      return b_.loop("nms.block", blocks, states, round, {more, held});
    };
    GS_ASSIGN(const Builder::Round made,
              b_.loop("nms.rest", ir::index(1), best.states, rest, {more, held}));
    return give({made.states[0], made.states[1]});
  }

 private:
  // Of each batch and class: boxes [batches, classes, most], of which the first `counts` stand.
  struct Kept {
    Tensor boxes, counts;
  };

  Expr scalar(int i) const {
    const Tensor& tensor = b_.input(i);
    if (!tensor) return ir::zero(DType::f32);
    return b_.at_broadcast(tensor,
                           std::vector<Expr>(static_cast<size_t>(tensor.rank()), ir::index(0)));
  }

  // Keys rise as scores fall; what is no candidate has the last of all.
  void key_candidates() {
    const Tensor& scores = b_.input(1);
    keys_ = b_.compute("nms.keys", DType::i32, scores.shape(), [&](Point p) {
      const Expr score = scores.at(p);
      Expr taken = !ir::is_nan(score);
      if (b_.has(4)) taken = taken && score > scalar(4);
      return ir::select(taken, order_key(score, true), last_);
    });
    candidates_ =
        b_.reduce("nms.candidates", Builder::Join::sum, DType::i32, {batches_, classes_}, {boxes_},
                  [&](Point p, Point r) { return flag(keys_({p[0], p[1], r[0]}) < last_); });
  }

  // Corners of the boxes [batches, classes, count] at these places, as top, left, bottom, right:
  // [batches, classes, 4, count].
  Tensor sides_of(const std::string& name, const Tensor& places) const {
    const Tensor& boxes = b_.input(0);
    const bool centered = b_.integer("center_point_box") != 0;
    const Shape shape{batches_, classes_, ir::index(4), places.dim(2)};
    return b_.compute(name, DType::f32, shape, [&](Point p) {
      const Expr place = ir::max(as_index(places({p[0], p[1], p[3]})), 0.0);
      const auto number = [&](int k) { return boxes({p[0], place, ir::index(k)}); };
      const auto corner = [&](int k) {  // any two opposite ones are given
        if (centered) {
          const Expr middle = number(1 - k % 2), half = number(3 - k % 2) * 0.5;
          return k < 2 ? middle - half : middle + half;
        }
        const Expr a = number(k % 2), c = number(k % 2 + 2);
        return k < 2 ? ir::min(a, c) : ir::max(a, c);
      };
      return ir::select(
          p[2] == 0, corner(0),
          ir::select(p[2] == 1, corner(1), ir::select(p[2] == 2, corner(2), corner(3))));
    });
  }

  static Box box_at(const Tensor& sides, Point p, const Expr& at) {
    const auto side = [&](int k) { return sides({p[0], p[1], ir::index(k), at}); };
    return {side(0), side(1), side(2), side(3)};
  }

  Tensor sorted(const std::string& name, const Tensor& keys) const {
    return b_.sort(
        name, keys.shape(), 2, keys.dim(2), [&](Point p) { return std::vector<Expr>{keys.at(p)}; },
        [](std::span<const Var> x, std::span<const Var> y) { return x[0] < y[0]; });
  }

  // The candidates of a block, best first, then -1: [batches, classes, block].
  Tensor first_block() const {
    const Expr size = ir::index(first_);
    const Shape shape{batches_, classes_, size};
    if (ir::is_const(b_.simplify(boxes_), first_))
      return later_block(sorted("nms.order", keys_), ir::index(0), first_);
    const Tensor places = least_of(b_, "nms.best", keys_, size).places;
    const Tensor keys = b_.compute("nms.best.keys", DType::i32, shape,
                                   [&](Point p) { return key_at(p, as_index(places.at(p))); });
    const Tensor order = sorted("nms.order", keys);
    return b_.compute("nms.best.boxes", DType::i32, shape, [&](Point p) {
      const Expr at = as_index(order.at(p));
      return ir::select(keys({p[0], p[1], at}) < last_, places({p[0], p[1], at}), whole(-1));
    });
  }

  Tensor later_block(const Tensor& order, const Expr& seen, int64_t size) const {
    const Shape shape{batches_, classes_, ir::index(size)};
    return b_.compute("nms.next.boxes", DType::i32, shape, [&](Point p) {
      const Expr at = ir::min(p[2] + seen, boxes_ - ir::index(1));
      const Expr box = order({p[0], p[1], at});
      const Expr there = p[2] + seen < boxes_ && key_at(p, as_index(box)) < last_;
      return ir::select(there, box, whole(-1));
    });
  }

  // Behind the last box there are no candidates.
  Expr key_at(Point p, const Expr& place) const {
    const Expr inside = ir::min(place, boxes_ - ir::index(1));
    return ir::select(place < boxes_, keys_({p[0], p[1], inside}), last_);
  }

  // The block is compared with all boxes kept so far, then with itself: as many tests as candidates
  // times boxes kept and `block` more. `seen`: candidates before it; `held`: the most that a row
  // has kept.
  Builder::Round kept_of(const Tensor& box, const Kept& kept, const Expr& seen,
                         const Expr& held) const {
    const Expr size = box.dim(2);
    const int64_t count = (*ir::as_int(size) + word - 1) / word;
    const Shape shape{batches_, classes_, size};
    const auto count_of = [&](Point p) {
      return kept.counts ? kept.counts({p[0], p[1]}) : whole(0);
    };
    const Tensor sides = sides_of("nms.sides", box);
    Tensor beaten;
    if (kept.boxes) {
      const Tensor others = sides_of("nms.kept.sides", kept.boxes);
      beaten = b_.reduce(
          "nms.beaten", Builder::Join::max, DType::i32, shape, {ir::min(held, most_)},
          [&](Point p, Point r) {
            return flag(r[0] < as_index(count_of(p)) &&
                        overlap_above(box_at(others, p, r[0]), box_at(sides, p, p[2]), scalar(3)));
          });
    }
    const auto beaten_at = [&](Point p) {
      return beaten ? Expr(beaten.at(p) > 0) : ir::boolean(false);
    };
    // A bit for each of the block's candidates that a candidate overlaps.
    const Tensor overlaps = b_.reduce(
        "nms.overlaps", Builder::Join::sum, DType::i32,
        {batches_, classes_, ir::index(count), size}, {ir::index(word)}, [&](Point p, Point r) {
          const Expr other = p[2] * ir::index(word) + r[0];
          const Expr near =
              other < p[3] && overlap_above(box_at(sides, p, ir::min(other, size - ir::index(1))),
                                            box_at(sides, p, p[3]), scalar(3));
          return ir::select(near, bit(r[0]), whole(0));
        });
    // How many boxes there are up to each candidate, with one word of bits after the other.
    const Tensor upto = b_.walk(
        "nms.upto", DType::i32, shape, 2,
        [&](Point p) {
          std::vector<Expr> start(static_cast<size_t>(count), whole(0));
          start.push_back(count_of(p));
          return start;
        },
        [&](Point p, std::span<const Var> so_far) {
          const Var& found = so_far.back();
          Expr hit = whole(0);
          const auto at = [&](int64_t k) { return overlaps({p[0], p[1], ir::index(k), p[2]}); };
          for (int64_t k = 0; k < count; ++k) {
            const Expr both =
                ir::binary(ir::BinaryOp::bit_and, at(k), so_far[static_cast<size_t>(k)]);
            hit = ir::binary(ir::BinaryOp::bit_or, hit, both);
          }
          const Expr stays =
              hit == 0 && box.at(p) >= 0 && !beaten_at(p) && found < ir::cast(DType::i32, most_);
          const Expr own = ir::select(stays, bit(ir::floormod(p[2], ir::index(word))), whole(0));
          std::vector<Expr> next;
          for (int64_t k = 0; k < count; ++k) {
            const Expr here = ir::floordiv(p[2], ir::index(word)) == ir::index(k);
            next.push_back(ir::binary(ir::BinaryOp::bit_or, so_far[static_cast<size_t>(k)],
                                      ir::select(here, own, whole(0))));
          }
          next.push_back(Expr(found) + flag(stays));
          return next;
        },
        [](Point, std::span<const Var> so_far) { return Expr(so_far.back()); });
    const Tensor counts = b_.compute("nms.counts", DType::i32, {batches_, classes_}, [&](Point p) {
      return upto({p[0], p[1], size - ir::index(1)});
    });
    const Shape room{batches_, classes_, most_};
    const Tensor places = b_.search("nms.place", room, size, [&](Point p, const Expr& place) {
      return as_index(upto({p[0], p[1], place})) > p[2];
    });
    const Tensor boxes = b_.compute("nms.boxes", DType::i32, room, [&](Point p) {
      const Expr fresh = p[2] >= as_index(count_of(p)) && p[2] < as_index(counts({p[0], p[1]}));
      const Expr place = ir::min(as_index(places.at(p)), size - ir::index(1));
      return ir::select(fresh, box({p[0], p[1], place}), kept.boxes ? kept.boxes.at(p) : whole(0));
    });
    // Whether a row has room and candidates left, and the most that one holds.
    const Tensor carried =
        b_.reduce("nms.carried", Builder::Join::max, DType::i32, {ir::index(2)},
                  {batches_, classes_}, [&](Point p, Point row) {
                    const Expr all = ir::cast(DType::i32, seen + size);
                    const Expr open =
                        candidates_.at(row) > all && counts.at(row) < ir::cast(DType::i32, most_);
                    return ir::select(p[0] == 0, flag(open), counts.at(row));
                  });
    return {{boxes, counts}, {}, carried};
  }

  // By batch, class, then score.
  Result<> give(const Kept& kept) {
    struct Place {
      Expr batch, box_class, at;
    };
    auto place_of = [&](const Expr& at) {
      const Expr row = ir::floordiv(at, most_);
      return Place{b_.simplify(ir::floordiv(row, classes_)),
                   b_.simplify(ir::floormod(row, classes_)), b_.simplify(ir::floormod(at, most_))};
    };
    GS_ASSIGN(Chosen found,
              chosen(b_, "nms", b_.simplify(batches_ * classes_ * most_), [&](Expr i) {
                const Place place = place_of(i);
                return Expr(place.at < as_index(kept.counts({place.batch, place.box_class})));
              }));
    b_.output(0, b_.compute("nms", DType::i64, {found.count, ir::index(3)}, [&](Point p) {
      const Place place = place_of(as_index(found.places({p[0]})));
      const Expr box = as_index(kept.boxes({place.batch, place.box_class, place.at}));
      const Expr value =
          ir::select(p[1] == 0, place.batch, ir::select(p[1] == 1, place.box_class, box));
      return ir::cast(DType::i64, value);
    }));
    return {};
  }

  Builder& b_;
  const Expr batches_, classes_, boxes_, last_ = whole(0x7fffffff);
  Expr most_;
  int64_t first_ = block;  // candidates of the first block
  Tensor keys_, candidates_;
};

Result<> suppress(Builder& b) {
  const Tensor &boxes = b.input(0), &scores = b.input(1);
  if (boxes.rank() != 3 || scores.rank() != 3)
    return b.error("boxes are [batches, boxes, 4], scores [batches, classes, boxes]");
  GS_TRY(
      b.require(boxes.dim(0) == scores.dim(0) && boxes.dim(1) == scores.dim(2) && boxes.dim(2) == 4,
                "boxes are [batches, boxes, 4], scores [batches, classes, boxes]"));
  return Suppression(b).run();
}

}  // namespace

std::vector<OpDef> non_max_suppression_family() {
  auto optional = InputDef::optional;
  TypeSet f32 = only(DType::f32);
  return {
      {.name = "NonMaxSuppression",
       .doc = "The best boxes of each class that overlap no better one.",
       .since = 11,
       .inputs = {{"boxes", f32},
                  {"scores", f32},
                  {"max_output_boxes_per_class", only(DType::i64), optional},
                  {"iou_threshold", f32, optional},
                  {"score_threshold", f32, optional}},
       .outputs = {"selected_indices"},
       .attributes = {{"center_point_box", 0}},
       .define = suppress,
       .cases = [] -> Cases {
         return {{.name = "corners",
                  .shapes = {{1, 12, 4}, {1, 2, 12}},
                  .inputs = {{}, {}, int64s({1}, {4}), floats({1}, {0.3f}), floats({1}, {-0.5f})}},
                 {.name = "several blocks",
                  .shapes = {{1, 260, 4}, {1, 1, 260}},
                  .inputs = {{}, {}, int64s({1}, {250}), floats({1}, {0.2f})}},
                 {.name = "all asked for",
                  .shapes = {{1, 12, 4}, {1, 1, 12}},
                  .inputs = {{},
                             {},
                             int64s({1}, {std::numeric_limits<int64_t>::max()}),
                             floats({1}, {0.3f})}},
                 {.name = "none asked for", .shapes = {{1, 12, 4}, {1, 2, 12}}},
                 {.name = "centers",
                  .shapes = {{2, 7, 4}, {2, 1, 7}},
                  .attributes = {{"center_point_box", 1}},
                  .inputs = {{}, {}, int64s({}, {9}), floats({}, {0.1f})},
                  .low = 0.1}};
       }},
  };
}

}  // namespace gossamer::ops
