// Attention whose scores and shares pass through graphs that the node holds.

#include "ir/print.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/nn/attention_scale.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

// What the graph `name` makes of `x`, which must keep its type and shape.
Result<Tensor> modified(Builder& b, const std::string& name, const Tensor& x) {
  if (!b.has_region(name)) return x;
  GS_ASSIGN(std::vector<Tensor> made, b.region(name, {x}));
  if (made.size() != 1) return b.error(cat("`", name, "` has ", made.size(), " outputs, not one"));
  const Tensor& y = made[0];
  if (y.dtype() != x.dtype() || y.rank() != x.rank()) {
    return b.error(cat("`", name, "` makes ", ir::name_of(y.dtype()), " of rank ", y.rank(),
                       ", it is given ", ir::name_of(x.dtype()), " of rank ", x.rank()),
                   "it must keep the type and shape of its input");
  }
  for (int i = 0; i < x.rank(); ++i)
    GS_TRY(b.require(y.dim(i) == x.dim(i), cat("`", name, "` changes the shape of its input")));
  return y;
}

Result<> flex_attention(Builder& b) {
  const Tensor &q = b.input(0), &k = b.input(1), &v = b.input(2);
  GS_TRY(same_types(b));
  for (int i = 0; i < 3; ++i) {
    if (b.input(i).rank() != 4)
      return b.error(cat("input ", i, " has rank ", b.input(i).rank()),
                     "inputs are [batch, heads, sequence, width]");
    GS_TRY(b.require(b.input(i).dim(0) == q.dim(0), "Q, K and V differ in batch"));
  }
  GS_TRY(b.require(q.dim(3) == k.dim(3), cat("queries have width ", ir::print(q.dim(3)),
                                             ", keys have ", ir::print(k.dim(3)))));
  GS_TRY(b.require(k.dim(1) == v.dim(1) && k.dim(2) == v.dim(2),
                   "K and V differ in heads or sequence"));
  GS_TRY(b.require(ir::floormod(q.dim(1), k.dim(1)) == 0,
                   cat(ir::print(q.dim(1)), " query heads do not divide among ",
                       ir::print(k.dim(1)), " key heads")));
  DType precision = q.dtype() == DType::f64 ? DType::f64 : DType::f32;
  if (b.has_attribute("softmax_precision")) {
    auto given = dtype_of_onnx(b.integer("softmax_precision"));
    if (!given || !ir::is_float(*given))
      return b.error(cat("`softmax_precision` ", b.integer("softmax_precision"), " is no float"));
    precision = *given;
  }
  DType dtype = q.dtype(), wide = accumulator(dtype);
  Expr group = b.simplify(ir::floordiv(q.dim(1), k.dim(1)));
  auto kv_head = [&](Expr head) { return b.simplify(ir::floordiv(head, group)); };
  Tensor scores = b.reduce(
      "flex_attention.scores", Builder::Join::sum, precision,
      {q.dim(0), q.dim(1), q.dim(2), k.dim(2)}, {q.dim(3)},
      [&](Point p, Point r) {
        return ir::cast(wide, q({p[0], p[1], p[2], r[0]})) *
               ir::cast(wide, k({p[0], kv_head(p[1]), p[3], r[0]}));
      },
      [&](Point, Expr sum) {
        return ir::cast(precision, sum * attention_scale(b, q.dim(3), wide));
      });
  GS_ASSIGN(scores, modified(b, "score_mod", scores));
  GS_ASSIGN(Tensor shares, b.call1("Softmax", {scores}, {{"axis", -1}}));
  GS_ASSIGN(shares, modified(b, "prob_mod", shares));
  DType sum = accumulator(ir::byte_size(precision) > ir::byte_size(dtype) ? precision : dtype);
  b.output(0, b.reduce("flex_attention", Builder::Join::sum, dtype,
                       {q.dim(0), q.dim(1), q.dim(2), v.dim(3)}, {k.dim(2)}, [&](Point p, Point r) {
                         return ir::cast(sum, shares({p[0], p[1], p[2], r[0]})) *
                                ir::cast(sum, v({p[0], kv_head(p[1]), r[0], p[3]}));
                       }));
  return {};
}

}  // namespace

std::vector<OpDef> flex_attention_family() {
  return {
      {.name = "FlexAttention",
       .doc = "softmax(Q K^T * scale) V, where graphs may change the scores and the shares.",
       .domain = "ai.onnx.preview",
       .since = 1,
       .inputs = {{"Q", any_float}, {"K", any_float}, {"V", any_float}},
       .attributes = {{"scale", {}}, {"softmax_precision", {}}},
       .regions = {"score_mod", "prob_mod"},
       .define = flex_attention,
       .cases = [] -> Cases {
         return {{.name = "plain", .shapes = {{2, 2, 4, 8}, {2, 2, 6, 8}, {2, 2, 6, 5}}},
                 {.name = "grouped heads, scale",
                  .shapes = {{1, 4, 3, 4}, {1, 2, 5, 4}, {1, 2, 5, 4}},
                  .attributes = {{"scale", 0.25}}},
                 {.name = "half, in half",
                  .shapes = {{1, 2, 3, 4}, {1, 2, 5, 4}, {1, 2, 5, 4}},
                  .attributes = {{"softmax_precision", 10}},
                  .dtype = DType::f16}};
       }},
  };
}

}  // namespace gossamer::ops
