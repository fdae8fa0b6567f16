// TopK.
#include "ops/define.h"
#include "ops/families.h"

namespace gossamer::ops {
namespace {

// Ranks every element by counting those before it, then picks by rank: quadratic in the axis, in
// parallel.
Result<> top_k(Builder& b) {
  const Tensor& x = b.input(0);
  GS_ASSIGN(int axis, b.axis("axis", x.rank()));
  GS_ASSIGN(std::vector<Expr> wanted, b.elements(1));
  if (wanted.size() != 1) return b.error("K must be one number");
  size_t at_axis = static_cast<size_t>(axis);
  const Expr& extent = x.dim(axis);
  GS_TRY(b.require(wanted[0] <= extent, "K is larger than the axis"));
  bool largest = b.integer("largest") != 0;
  Tensor rank = b.reduce("top_k.rank", Builder::Join::sum, DType::i32, x.shape(), {extent},
                         [&](Point point, Point over) {
                           std::vector<Expr> other(point.begin(), point.end());
                           other[at_axis] = over[0];
                           Expr mine = x.at(point), theirs = x.at(other);
                           Expr before = largest ? theirs > mine : theirs < mine;
                           before = before || (theirs == mine && over[0] < point[at_axis]);
                           return ir::cast(DType::i32, before);
                         });
  Shape shape = x.shape();
  shape[at_axis] = wanted[0];
  auto pick = [&](std::string name, DType dtype, const std::function<Expr(Point)>& value) {
    return b.reduce(std::move(name), Builder::Join::sum, dtype, shape, {extent},
                    [&](Point point, Point over) {
                      std::vector<Expr> source(point.begin(), point.end());
                      source[at_axis] = over[0];
                      Expr here = as_index(rank.at(source)) == point[at_axis];
                      return ir::select(here, value(source), ir::zero(dtype));
                    });
  };
  b.output(0, pick("top_k", x.dtype(), [&](Point source) { return x.at(source); }));
  if (b.wants(1)) {
    b.output(1, pick("top_k.indices", DType::i64,
                     [&](Point source) { return ir::cast(DType::i64, source[at_axis]); }));
  }
  return {};
}

}  // namespace

std::vector<OpDef> top_k_family() {
  return {
      {.name = "TopK",
       .doc = "The K largest or smallest elements along an axis, in order, and where they are.",
       .since = 24,
       .inputs = {{"X", any_number}, {"K", only(DType::i64)}},
       .outputs = {"Values", "Indices"},
       .attributes = {{"axis", -1}, {"largest", 1}, {"sorted", 1}},
       .define = top_k,
       .cases = {{.name = "largest", .shapes = {{3, 7}}, .inputs = {{}, int64s({1}, {3})}},
                 {.name = "smallest",
                  .shapes = {{5, 4}},
                  .attributes = {{"largest", 0}, {"axis", 0}},
                  .inputs = {{}, int64s({1}, {2})}},
                 {.name = "ties", .inputs = {floats({1, 5}, {1, 3, 3, 2, 3}), int64s({1}, {4})}}}},
  };
}

}  // namespace gossamer::ops
