// Reductions over axes.
#include "ops/reduction/reduce.h"

#include <algorithm>

#include "ops/axes.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/functions.h"

namespace gossamer::ops {
namespace {

using Term = Expr (*)(Expr);
using Last = Expr (*)(Expr joined, Expr count);

struct Reduction {
  Builder::Join join;
  Term term;
  Last last;
};

Expr same(Expr x) { return x; }
Expr joined(Expr value, Expr) { return value; }

Result<std::vector<int>> reduced_axes(const Builder& b) {
  bool noop = b.integer("noop_with_empty_axes") != 0;
  return axes_from_input(b, 1, b.input(0).rank(), !noop, true);
}

// Axes that only a run knows: every axis is one of the result or of the reduction, the other has
// extent 1.
Result<> late_reduction(Builder& b, const Reduction& how) {
  const Tensor& x = b.input(0);
  GS_ASSIGN(std::vector<Expr> chosen, chosen_axes(b, 1, x.rank()));
  int64_t named = ir::as_int(b.input(1).rank() ? b.input(1).dim(0) : ir::index(1)).value_or(0);
  if (named == 0 && b.integer("noop_with_empty_axes") == 0) {
    chosen.assign(chosen.size(), ir::boolean(true));
    named = x.rank();
  }
  bool logical = x.dtype() == DType::boolean;
  DType wide = logical ? DType::i32 : accumulator(x.dtype());
  Shape shape, over;
  Expr terms = ir::index(1);
  for (size_t i = 0; i < chosen.size(); ++i) {
    shape.push_back(b.simplify(ir::select(chosen[i], ir::index(1), x.shape()[i])));
    over.push_back(b.simplify(ir::select(chosen[i], x.shape()[i], ir::index(1))));
    terms = terms * over.back();
  }
  Expr count = ir::cast(wide, b.simplify(terms));
  Tensor y = b.reduce(
      stage_name(b), how.join, x.dtype(), shape, over,
      [&](Point p, Point r) {
        std::vector<Expr> at;
        for (size_t i = 0; i < chosen.size(); ++i) at.push_back(ir::select(chosen[i], r[i], p[i]));
        return how.term(ir::cast(wide, x.at(at)));
      },
      [&](Point, Expr value) {
        value = how.last(value, count);
        return logical ? value > 0 : ir::cast(x.dtype(), value);
      });
  if (b.integer("keepdims") == 0) {
    const auto rest = static_cast<size_t>(std::max<int64_t>(x.rank() - named, 0));
    y = b.reshape("reduce.shape", y, others_of(b, x.shape(), chosen, rest));
  }
  b.output(0, y);
  return {};
}

Result<> define_reduction(Builder& b, const Reduction& how) {
  const Tensor& x = b.input(0);
  if (!known_numbers(b, 1) && x.rank() > 0) return late_reduction(b, how);
  std::vector<int> axes;  // a scalar has none to name
  if (known_numbers(b, 1)) {
    GS_ASSIGN(axes, reduced_axes(b));
  }
  bool keep = b.integer("keepdims") != 0;
  // Booleans reduce as integers: any, all.
  bool logical = x.dtype() == DType::boolean;
  DType wide = logical ? DType::i32 : accumulator(x.dtype());
  Expr count = ir::cast(wide, count_of(b, x, axes));
  b.output(0, reduce_axes(
                  b, stage_name(b), x, axes, keep, how.join, x.dtype(),
                  [&](Point at) { return how.term(ir::cast(wide, x.at(at))); },
                  [&](Expr value) {
                    value = how.last(value, count);
                    return logical ? value > 0 : ir::cast(x.dtype(), value);
                  }));
  return {};
}

// log of the sum of exponentials, shifted by the largest element so that none overflows.
Result<> log_sum_exp(Builder& b) {
  const Tensor& x = b.input(0);
  GS_ASSIGN(std::vector<int> axes, reduced_axes(b));
  bool keep = b.integer("keepdims") != 0;
  DType wide = ir::is_float(x.dtype()) ? accumulator(x.dtype()) : DType::f32;
  Tensor largest = reduce_axes(
      b, "log_sum_exp.max", x, axes, true, Builder::Join::max, wide,
      [&](Point at) { return ir::cast(wide, x.at(at)); },
      [&](Expr value) { return ir::select(ir::is_inf(value), ir::zero(wide), value); });
  auto reduced = [&](int axis) { return std::ranges::binary_search(axes, axis); };
  Tensor total = reduce_axes(
      b, "log_sum_exp.sum", x, axes, true, Builder::Join::sum, wide,
      [&](Point at) { return ir::exp(ir::cast(wide, x.at(at)) - b.at_broadcast(largest, at)); });
  Shape shape;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!reduced(axis)) shape.push_back(x.dim(axis));
    if (reduced(axis) && keep) shape.push_back(ir::index(1));
  }
  b.output(0, b.compute("log_sum_exp", x.dtype(), shape, [&](Point point) {
    std::vector<Expr> at;
    size_t next = 0;
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (reduced(axis) && keep) ++next;
      at.push_back(reduced(axis) ? ir::index(0) : point[next++]);
    }
    return ir::cast(x.dtype(), ir::log(total.at(at)) + largest.at(at));
  }));
  return {};
}

Cases reduce_cases(double low, double high) {
  using N = Numbers;
  auto axes = [](N values) {
    int64_t count = static_cast<int64_t>(values.size());
    return std::vector<TensorData>{{}, int64s({count}, std::move(values))};
  };
  Cases cases = {
      {.name = "all", .shapes = {{3, 4, 5}}, .low = low, .high = high},
      {.name = "last", .shapes = {{3, 7}}, .inputs = axes({-1}), .low = low, .high = high},
      {.name = "first",
       .shapes = {{7, 3}},
       .attributes = {{"keepdims", 0}},
       .inputs = axes({0}),
       .low = low,
       .high = high},
      {.name = "two", .shapes = {{2, 5, 3, 4}}, .inputs = axes({1, 3}), .low = low, .high = high},
      {.name = "many", .shapes = {{2, 65, 67}}, .inputs = axes({1, 2}), .low = low, .high = high},
      {.name = "long", .shapes = {{5003}}, .low = low, .high = high},
      {.name = "one axis twice",
       .shapes = {{2, 3, 4}},
       .attributes = {{"keepdims", 0}},
       .inputs = axes({1, -2}),
       .low = low,
       .high = high},
      {.name = "the axis of a scalar",
       .shapes = {{}},
       .inputs = axes({0}),
       .low = low,
       .high = high},
      {.name = "no axes",
       .shapes = {{3, 4}},
       .attributes = {{"noop_with_empty_axes", 1}},
       .low = low,
       .high = high}};
  if (low == -2 && high == 2)
    cases.push_back({.name = "told by data", .shapes = {{3, 4, 2}, {1}}, .low = 0, .high = 2});
  return cases;
}

OpDef reduction(std::string name, Doc doc, int since, TypeSet types,
                std::function<Result<>(Builder&)> define, double low = -2, double high = 2) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .since = since,
          .inputs = {{"data", types}, {"axes", only(DType::i64), InputDef::optional}},
          .outputs = {"reduced"},
          .attributes = {{"keepdims", 1}, {"noop_with_empty_axes", 0}},
          .define = std::move(define),
          .cases = [=] { return reduce_cases(low, high); }};
}

OpDef reduction(std::string name, Doc doc, int since, TypeSet types, Builder::Join join, Term term,
                Last last, double low = -2, double high = 2) {
  Reduction how{join, term, last};
  return reduction(
      std::move(name), std::move(doc), since, types,
      [how](Builder& b) { return define_reduction(b, how); }, low, high);
}

// A sum of more terms than this loses digits when they are added one after the other.
constexpr int64_t max_row = 4096;

// How many terms each partial sum of `count` has: a divisor where one is of a good size.
int64_t piece_of(int64_t count) {
  for (int64_t size = 512; size >= 32; --size) {
    if (count % size == 0) return size;
  }
  return 256;
}

// The sums over the last of `axes`, or over pieces of the only one, as a tensor whose sum over
// `axes` is that of all terms; null where there are few.
Tensor partial_sums(Builder& b, const std::string& name, const Tensor& x,
                    const std::vector<int>& axes, const std::function<Expr(Point)>& term) {
  int64_t terms = 1;
  std::vector<size_t> many;  // axes of more than one term
  for (int axis : axes) {
    auto known = ir::as_int(b.simplify(x.dim(axis)));
    terms = !known || terms > max_row ? max_row + 1 : terms * *known;
    if (known != 1) many.push_back(static_cast<size_t>(axis));
  }
  if (terms <= max_row) return {};
  const size_t last = many.back();
  auto extent = ir::as_int(b.simplify(x.shape()[last]));
  if (many.size() == 1 && !extent) return {};
  DType wide = term(std::vector<Expr>(x.shape().size(), ir::index(0)))->type.dtype;
  if (!ir::is_float(wide)) return {};
  Shape shape = x.shape();
  const bool whole = many.size() > 1;
  const int64_t size = whole ? 0 : piece_of(*extent);
  Expr piece = whole ? shape[last] : ir::index(size);
  shape[last] = ir::index(whole ? 1 : (*extent + size - 1) / size);
  return b.reduce(name + ".part", Builder::Join::sum, wide, shape, {piece}, [&](Point p, Point r) {
    std::vector<Expr> at(p.begin(), p.end());
    at[last] = whole ? r[0] : b.simplify(p[last] * static_cast<double>(size) + r[0]);
    if (whole || *extent % size == 0) return term(at);
    Expr inside = at[last] < static_cast<double>(*extent);
    at[last] = ir::min(at[last], ir::index(*extent - 1));
    return ir::select(inside, term(at), ir::zero(wide));
  });
}

}  // namespace

Expr count_of(const Builder& b, const Tensor& x, const std::vector<int>& axes) {
  Expr count = ir::index(1);
  for (int axis : axes) count = count * x.dim(axis);
  return b.simplify(count);
}

Tensor reduce_axes(Builder& b, std::string name, const Tensor& x, const std::vector<int>& axes,
                   bool keep, Builder::Join join, DType dtype,
                   const std::function<Expr(Point)>& term, const std::function<Expr(Expr)>& last) {
  if (join == Builder::Join::sum && !axes.empty()) {
    if (Tensor parts = partial_sums(b, name, x, axes, term)) {
      return reduce_axes(
          b, std::move(name), parts, axes, keep, join, dtype,
          [&](Point at) { return parts.at(at); }, last);
    }
  }
  Shape shape, extents;
  auto reduced = [&](int axis) { return std::ranges::binary_search(axes, axis); };
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!reduced(axis)) shape.push_back(x.dim(axis));
    if (reduced(axis)) extents.push_back(x.dim(axis));
    if (reduced(axis) && keep) shape.push_back(ir::index(1));
  }
  auto place = [&](Point point, Point over) {
    std::vector<Expr> at;
    size_t next = 0, next_over = 0;
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (reduced(axis) && keep) ++next;
      at.push_back(reduced(axis) ? over[next_over++] : point[next++]);
    }
    return at;
  };
  auto finish = [&](Expr value) { return last ? last(value) : ir::cast(dtype, value); };
  if (axes.empty()) {
    return b.compute(std::move(name), dtype, shape,
                     [&](Point point) { return finish(term(place(point, {}))); });
  }
  return b.reduce(
      std::move(name), join, dtype, shape, extents,
      [&](Point point, Point over) { return term(place(point, over)); },
      [&](Point, Expr value) { return finish(value); });
}

std::vector<OpDef> reduce_family() {
  using enum Builder::Join;
  TypeSet flags = any_number | boolean_only;
  return {
      reduction("ReduceSum", "The sum over axes.", 13, any_number, sum, same, joined),
      reduction("ReduceMean", "The mean over axes.", 18, any_number, sum, same,
                [](Expr total, Expr count) { return total / count; }),
      reduction("ReduceMax", "The largest element over axes.", 20, flags, max, same, joined),
      reduction("ReduceMin", "The smallest element over axes.", 20, flags, min, same, joined),
      reduction("ReduceProd", "The product over axes.", 18, any_number, prod, same, joined),
      reduction(
          "ReduceSumSquare", "The sum of squares over axes.", 18, any_number, sum,
          [](Expr x) { return x * x; }, joined),
      reduction(
          "ReduceL1", "The sum of absolute values over axes.", 18, any_number, sum,
          [](Expr x) { return ir::abs(x); }, joined),
      reduction(
          "ReduceL2", "The root of the sum of squares over axes.", 18, any_number, sum,
          [](Expr x) { return x * x; },
          [](Expr total, Expr) {
            if (ir::is_float(total->type.dtype)) return norm_of(total);
            return ir::cast(total->type, ir::sqrt(ir::cast(DType::f32, total)));
          }),
      reduction(
          "ReduceLogSum", "The logarithm of the sum over axes.", 28, any_number, sum, same,
          [](Expr total, Expr) {
            if (ir::is_float(total->type.dtype)) return ir::log(total);
            return ir::cast(total->type, ir::log(ir::cast(DType::f32, total)));
          },
          0.25, 4),
      reduction("ReduceLogSumExp", "The logarithm of the sum of exponentials over axes.", 18,
                any_number, log_sum_exp, -50, 50),
  };
}

}  // namespace gossamer::ops
