// Reductions to positions: ArgMax, ArgMin, TopK.
#include "ops/families.h"
#include "ops/reduce.h"

namespace gossamer::ops {
namespace {

Result<> arg_define(Builder& b, bool smallest) {
  const Tensor& x = b.input(0);
  // A scalar has its one element at 0, as ONNX Runtime says.
  if (const int64_t named = b.integer("axis"); x.rank() == 0 && (named == 0 || named == -1)) {
    b.output(0, b.scalar(DType::i64, 0));
    return {};
  }
  GS_ASSIGN(int axis, b.axis("axis", x.rank()));
  b.output(0, best_index(b, stage_name(b), x, axis, b.integer("keepdims") != 0, smallest,
                         b.integer("select_last_index") != 0));
  return {};
}

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

OpDef arg(std::string name, std::string doc, bool smallest) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .since = 13,
          .inputs = {{"data", any_number}},
          .outputs = {"reduced"},
          .attributes = {{"axis", 0}, {"keepdims", 1}, {"select_last_index", 0}},
          .define = [smallest](Builder& b) { return arg_define(b, smallest); },
          .cases = {{.name = "first axis", .shapes = {{5, 3}}},
                    {.name = "scalar", .shapes = {{}}},
                    {.name = "last axis",
                     .shapes = {{2, 3, 7}},
                     .attributes = {{"axis", -1}, {"keepdims", 0}}},
                    {.name = "ties",
                     .attributes = {{"axis", 1}},
                     .inputs = {floats({2, 4}, {2, 5, 5, 2, 1, 1, 1, 1})}},
                    {.name = "last of ties",
                     .attributes = {{"axis", 1}, {"select_last_index", 1}},
                     .inputs = {floats({2, 4}, {2, 5, 5, 2, 1, 1, 1, 1})}}}};
}

}  // namespace

Tensor best_index(Builder& b, std::string name, const Tensor& x, int axis, bool keep, bool smallest,
                  bool last_of_equals) {
  Type type = accumulator(x.dtype());
  Var value = ir::var("best", type), place = ir::var("place");
  Var other = ir::var("other", type), other_place = ir::var("other_place");
  Expr better = smallest ? Expr(other) < Expr(value) : Expr(other) > Expr(value);
  Expr nearer = last_of_equals ? Expr(other_place) > Expr(place) : Expr(other_place) < Expr(place);
  Expr wins = better || (Expr(other) == Expr(value) && nearer);
  Combiner combiner{{value, place},
                    {other, other_place},
                    {ir::select(wins, other, value), ir::select(wins, other_place, place)},
                    {smallest ? ir::highest(type) : ir::lowest(type),
                     ir::index(last_of_equals ? -1 : 0x7fffffff)}};
  Shape shape = x.shape();
  size_t at_axis = static_cast<size_t>(axis);
  if (keep) {
    shape[at_axis] = ir::index(1);
  } else {
    shape.erase(shape.begin() + axis);
  }
  return b.reduce(
      std::move(name), std::move(combiner), DType::i64, shape, {x.dim(axis)},
      [&](Point point, Point over) {
        std::vector<Expr> at(point.begin(), point.end());
        if (keep) {
          at[at_axis] = over[0];
        } else {
          at.insert(at.begin() + axis, over[0]);
        }
        return std::vector<Expr>{ir::cast(type, x.at(at)), over[0]};
      },
      [](Point, std::span<const Var> best) { return ir::cast(DType::i64, best[1]); });
}

std::vector<OpDef> arg_reduce_family() {
  return {
      arg("ArgMax", "Where the largest element lies along an axis.", false),
      arg("ArgMin", "Where the smallest element lies along an axis.", true),
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
