// NonMaxSuppression: each round takes the best box left of every batch and class, and drops those
// that overlap it.
#include "ops/families.h"
#include "ops/reduction/reduce.h"
#include "ops/tensor/nonzero.h"

namespace gossamer::ops {
namespace {

struct Box {
  Expr top, left, bottom, right;
  Expr area() const { return (bottom - top) * (right - left); }
};

Box box_of(const Tensor& boxes, const Expr& batch, const Expr& at, bool centered) {
  auto number = [&](int k) { return boxes({batch, at, ir::index(k)}); };
  if (centered) {
    Expr x = number(0), y = number(1), width = number(2) * 0.5, height = number(3) * 0.5;
    return {y - height, x - width, y + height, x + width};
  }
  // Any two opposite corners.
  return {ir::min(number(0), number(2)), ir::min(number(1), number(3)),
          ir::max(number(0), number(2)), ir::max(number(1), number(3))};
}

Expr overlap_above(const Box& a, const Box& b, const Expr& threshold) {
  Expr height = ir::min(a.bottom, b.bottom) - ir::max(a.top, b.top),
       width = ir::min(a.right, b.right) - ir::max(a.left, b.left);
  Expr shared = height * width, both = a.area() + b.area() - shared;
  Expr real = height > 0 && width > 0 && a.area() > 0 && b.area() > 0 && both > 0;
  return real && shared / both > threshold;
}

Result<> suppress(Builder& b) {
  const Tensor &boxes = b.input(0), &scores = b.input(1);
  if (boxes.rank() != 3 || scores.rank() != 3)
    return b.error("boxes are [batches, boxes, 4], scores [batches, classes, boxes]");
  GS_TRY(
      b.require(boxes.dim(0) == scores.dim(0) && boxes.dim(1) == scores.dim(2) && boxes.dim(2) == 4,
                "boxes are [batches, boxes, 4], scores [batches, classes, boxes]"));
  Expr most = ir::index(0);
  if (b.has(2)) {
    GS_ASSIGN(std::vector<Expr> given, b.elements(2));
    if (given.size() != 1) return b.error("max_output_boxes_per_class must be one number");
    most = given[0];
  }
  auto scalar = [&](int i) {
    const Tensor& tensor = b.input(i);
    if (!tensor) return ir::zero(DType::f32);
    return b.at_broadcast(tensor,
                          std::vector<Expr>(static_cast<size_t>(tensor.rank()), ir::index(0)));
  };
  bool centered = b.integer("center_point_box") != 0;
  Expr batches = scores.dim(0), classes = scores.dim(1), count = scores.dim(2);
  Tensor start = b.compute("nms.start", DType::i32, scores.shape(), [&](Point p) {
    Expr taken = b.has(4) ? Expr(scores.at(p) > scalar(4)) : ir::boolean(true);
    return ir::cast(DType::i32, taken);
  });
  // No class needs more rounds than it has candidates.
  Tensor candidates =
      b.reduce("nms.candidates", Builder::Join::sum, DType::i32, {batches, classes}, {count},
               [&](Point p, Point r) { return start({p[0], p[1], r[0]}); });
  Tensor longest = b.reduce(
      "nms.longest", Builder::Join::max, DType::i32, {}, {batches, classes},
      [&](Point, Point r) { return candidates.at(r); },
      [](Point, Expr value) { return ir::max(value, 0.0); });
  GS_ASSIGN(std::vector<Expr> limit, b.read(longest));
  Expr rounds = b.simplify(ir::max(ir::min(most, limit[0]), 0.0));
  if (ir::is_const(rounds, 0)) {
    b.output(0, b.compute("nms", DType::i64, {ir::index(0), ir::index(3)},
                          [](Point) { return ir::zero(DType::i64); }));
    return {};
  }
  auto round = [&](const Expr&, std::span<const Tensor> states) -> Result<Builder::Round> {
    const Tensor& left = states[0];
    Tensor open = b.compute("nms.open", DType::f32, scores.shape(), [&](Point p) {
      return ir::select(left.at(p) != 0, scores.at(p), ir::lowest(DType::f32));
    });
    Tensor best = best_index(b, "nms.best", open, 2, false, false, false);
    // -1 where no box is left.
    Tensor taken = b.compute("nms.taken", DType::i32, {batches, classes}, [&](Point p) {
      Expr at = as_index(best.at(p));
      at = ir::min(ir::max(at, 0.0), count - 1);
      return ir::select(left({p[0], p[1], at}) != 0, ir::cast(DType::i32, at),
                        ir::constant(DType::i32, -1));
    });
    Tensor next = b.compute("nms.left", DType::i32, scores.shape(), [&](Point p) {
      Expr at = as_index(taken({p[0], p[1]})), safe = ir::max(at, 0.0);
      Expr drops = p[2] == at || overlap_above(box_of(boxes, p[0], safe, centered),
                                               box_of(boxes, p[0], p[2], centered), scalar(3));
      return ir::select(at >= 0 && drops, ir::zero(DType::i32), left.at(p));
    });
    return Builder::Round{{next}, {taken}};
  };
  GS_ASSIGN(Builder::Round made, b.loop("nms", rounds, std::span<const Tensor>(&start, 1), round));
  Tensor rows = made.rows[0];  // [rounds, batches, classes]
  // By batch, class, then score.
  struct Place {
    Expr batch, box_class, round;
  };
  auto place_of = [&](const Expr& at) {
    Expr outer = ir::floordiv(at, rounds);
    return Place{b.simplify(ir::floordiv(outer, classes)), b.simplify(ir::floormod(outer, classes)),
                 b.simplify(ir::floormod(at, rounds))};
  };
  GS_ASSIGN(Chosen found, chosen(b, "nms", b.simplify(batches * classes * rounds), [&](Expr i) {
              Place place = place_of(i);
              return Expr(rows({place.round, place.batch, place.box_class}) >= 0);
            }));
  b.output(0, b.compute("nms", DType::i64, {found.count, ir::index(3)}, [&](Point p) {
    Place place = place_of(as_index(found.places({p[0]})));
    Expr box = as_index(rows({place.round, place.batch, place.box_class}));
    Expr value = ir::select(p[1] == 0, place.batch, ir::select(p[1] == 1, place.box_class, box));
    return ir::cast(DType::i64, value);
  }));
  return {};
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
       .cases = {{.name = "corners",
                  .shapes = {{1, 12, 4}, {1, 2, 12}},
                  .inputs = {{}, {}, int64s({1}, {4}), floats({1}, {0.3f}), floats({1}, {-0.5f})}},
                 {.name = "none asked for", .shapes = {{1, 12, 4}, {1, 2, 12}}},
                 {.name = "centers",
                  .shapes = {{2, 7, 4}, {2, 1, 7}},
                  .attributes = {{"center_point_box", 1}},
                  .inputs = {{}, {}, int64s({}, {9}), floats({}, {0.1f})},
                  .low = 0.1}}},
  };
}

}  // namespace gossamer::ops
