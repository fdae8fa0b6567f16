// ArgMax and ArgMin: reductions to positions.
#include <limits>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/reduction/reduce.h"

namespace gossamer::ops {
namespace {

using stages::Accumulators;

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

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

OpDef arg(std::string name, Doc doc, bool smallest) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .since = 13,
          .inputs = {{"data", any_number}},
          .outputs = {"reduced"},
          .attributes = {{"axis", 0}, {"keepdims", 1}, {"select_last_index", 0}},
          .define = [smallest](Builder& b) { return arg_define(b, smallest); },
          .cases = [] -> Cases {
            return {{.name = "first axis", .shapes = {{5, 3}}},
                    {.name = "scalar", .shapes = {{}}},
                    {.name = "last axis",
                     .shapes = {{2, 3, 7}},
                     .attributes = {{"axis", -1}, {"keepdims", 0}}},
                    {.name = "long axis", .shapes = {{66001}}},
                    {.name = "NaN",
                     .attributes = {{"axis", 1}},
                     .inputs = {floats({3, 4}, {2, nan, 5, nan, nan, 1, 1, 1, -inf, inf, 0, nan})}},
                    {.name = "ties",
                     .attributes = {{"axis", 1}},
                     .inputs = {floats({2, 4}, {2, 5, 5, 2, 1, 1, 1, 1})}},
                    {.name = "last of ties",
                     .attributes = {{"axis", 1}, {"select_last_index", 1}},
                     .inputs = {floats({2, 4}, {2, 5, 5, 2, 1, 1, 1, 1})}}};
          }};
}

}  // namespace

Expr comes_before(const Expr& x, const Expr& y, bool largest) {
  const Expr &more = largest ? x : y, &less = largest ? y : x;
  const Expr greater = more > less;
  if (!ir::is_float(x->type.dtype)) return greater;
  return greater || (ir::is_nan(more) && !ir::is_nan(less));
}

Tensor best_index(Builder& b, std::string name, const Tensor& x, int axis, bool keep, bool smallest,
                  bool last_of_equals) {
  Type type = accumulator(x.dtype());
  Var value = ir::var("best", type), place = ir::var("place");
  Var other = ir::var("other", type), other_place = ir::var("other_place");
  Expr better = smallest ? Expr(other) < Expr(value) : Expr(other) > Expr(value);
  Expr nearer = last_of_equals ? Expr(other_place) > Expr(place) : Expr(other_place) < Expr(place);
  Expr wins = better || (Expr(other) == Expr(value) && nearer);
  if (ir::is_float(type.dtype)) {
    // The first NaN is the largest and the smallest, as in NumPy and PyTorch.
    Expr unordered = ir::is_nan(other);
    wins = ir::select(ir::is_nan(value), unordered && nearer, unordered || wins);
  }
  Accumulators accumulators{{value, other, ir::select(wins, other, value),
                             smallest ? ir::highest(type) : ir::lowest(type)},
                            {place, other_place, ir::select(wins, other_place, place),
                             ir::index(last_of_equals ? -1 : 0x7fffffff)}};
  Shape shape = x.shape();
  size_t at_axis = static_cast<size_t>(axis);
  if (keep) {
    shape[at_axis] = ir::index(1);
  } else {
    shape.erase(shape.begin() + axis);
  }
  return b.reduce(
      std::move(name), std::move(accumulators), DType::i64, shape, {x.dim(axis)},
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

std::vector<OpDef> arg_max_family() {
  return {
      arg("ArgMax", "Where the largest element lies along an axis.", false),
      arg("ArgMin", "Where the smallest element lies along an axis.", true),
  };
}

}  // namespace gossamer::ops
