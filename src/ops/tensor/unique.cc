// Unique.
#include "ops/define.h"
#include "ops/families.h"
#include "ops/linearize.h"

namespace gossamer::ops {
namespace {

// [x.shape], i32: how many elements are less, so that strings compare as these numbers do.
Tensor ranks_of(Builder& b, const Tensor& x) {
  const Tensor all = b.reshape("ranks.flat", x, {b.simplify(product(x.shape()))});
  const Expr& size = all.dim(0);
  constexpr int64_t none = 0x7fffffff;
  // The first byte that differs decides; zeros stand behind the end.
  const Tensor less = b.reduce(
      "ranks.less", Builder::Join::min, DType::i32, {size, size}, {x.width()},
      [&](Point p, Point r) {
        const Expr one = all.all_bytes()({p[0], r[0]}), other = all.all_bytes()({p[1], r[0]});
        const Expr place = ir::cast(DType::i32, r[0]) * 2.0 + ir::cast(DType::i32, one > other);
        return ir::select(one == other, ir::constant_int(DType::i32, none), place);
      },
      [&](Point p, Expr place) {
        const Expr shorter = all.all_lengths()({p[0]}) < all.all_lengths()({p[1]});
        const Expr before = ir::floormod(place, 2) == 0.0;
        return ir::cast(DType::i32,
                        ir::select(place == static_cast<double>(none), shorter, before));
      });
  const Tensor ranks = b.reduce("ranks", Builder::Join::sum, DType::i32, {size}, {size},
                                [&](Point p, Point r) { return less({r[0], p[0]}); });
  return b.reshape("ranks.shaped", ranks, x.shape());
}

// Slices along an axis (or all elements), compared element by element: NaN equals NaN and is
// greater than numbers.
Result<> unique(Builder& b) {
  Tensor x = b.input(0);
  bool by_axis = b.has_attribute("axis"), sorted = b.integer("sorted") != 0;
  int axis = 0;
  if (by_axis) {
    GS_ASSIGN(axis, b.axis("axis", x.rank()));
  } else {
    x = b.reshape("unique.flat", x, {b.simplify(product(x.shape()))});
  }
  size_t at_axis = static_cast<size_t>(axis);
  const Tensor keys = x.dtype() == DType::string ? ranks_of(b, x) : x;
  const Expr size = x.dim(axis);
  Shape rest = x.shape();
  rest.erase(rest.begin() + axis);
  auto element = [&](Expr slice, Point within) {
    std::vector<Expr> at(within.begin(), within.end());
    at.insert(at.begin() + axis, std::move(slice));
    Expr value = keys.at(at);
    return x.dtype() == DType::boolean ? ir::cast(DType::i32, value) : value;
  };
  // -1, 0 or 1: how slice i compares with slice j.
  auto order = [&](Expr left, Expr right) {
    auto sign = [](int64_t value) { return ir::constant_int(DType::i32, value); };
    Expr less = left<right, more = left> right;
    if (ir::is_float(left->type.dtype)) {
      Expr nan = ir::is_nan(left), other = ir::is_nan(right);
      less = less || (!nan && other);
      more = more || (nan && !other);
    }
    return ir::select(less, sign(-1), ir::select(more, sign(1), sign(0)));
  };
  std::function<Expr(Expr, Expr)> compare = [&](Expr i, Expr j) {
    return order(element(i, {}), element(j, {}));
  };
  Tensor table;
  if (!rest.empty()) {
    // The first difference decides.
    Var sign = ir::var("sign", DType::i32), other = ir::var("other", DType::i32);
    Var place = ir::var("place"), other_place = ir::var("other_place");
    Expr first = Expr(other) != 0 && (Expr(sign) == 0 || Expr(other_place) < Expr(place));
    Combiner combiner{{sign, place},
                      {other, other_place},
                      {ir::select(first, other, sign), ir::select(first, other_place, place)},
                      {ir::zero(DType::i32), ir::index(0)}};
    table = b.reduce(
        "unique.order", combiner, DType::i32, {size, size}, rest,
        [&](Point p, Point r) {
          Expr linear = ir::index(0);
          for (size_t k = 0; k < rest.size(); ++k) linear = linear * rest[k] + r[k];
          return std::vector<Expr>{order(element(p[0], r), element(p[1], r)), b.simplify(linear)};
        },
        [](Point, std::span<const Var> best) { return Expr(best[0]); });
    compare = [&](Expr i, Expr j) { return table({i, j}); };
  }
  constexpr double none = 0x7fffffff;
  Tensor first = b.reduce(
      "unique.first", Builder::Join::min, DType::i32, {size}, {size}, [&](Point p, Point r) {
        Expr equal = compare(r[0], p[0]) == 0;
        return ir::select(equal, ir::cast(DType::i32, r[0]), ir::constant(DType::i32, none));
      });
  auto is_first = [&](Expr i) { return as_index(first({i})) == i; };
  // The place of each slice's value among the results.
  Tensor rank = b.reduce(
      "unique.rank", Builder::Join::sum, DType::i32, {size}, {size}, [&](Point p, Point r) {
        Expr before = sorted ? Expr(compare(r[0], p[0]) < 0) : Expr(r[0] < as_index(first({p[0]})));
        return ir::cast(DType::i32, is_first(r[0]) && before);
      });
  Tensor total = b.reduce("unique.count", Builder::Join::sum, DType::i32, {}, {size},
                          [&](Point, Point r) { return ir::cast(DType::i32, is_first(r[0])); });
  GS_ASSIGN(std::vector<Expr> count, b.read(total));
  auto at_rank = [&](Expr i, const Expr& k) { return as_index(rank({i})) == k; };
  Tensor places = b.reduce(
      "unique.places", Builder::Join::sum, DType::i32, {count[0]}, {size}, [&](Point p, Point r) {
        Expr here = is_first(r[0]) && at_rank(r[0], p[0]);
        return ir::select(here, ir::cast(DType::i32, r[0]), ir::zero(DType::i32));
      });
  Shape shape = x.shape();
  shape[at_axis] = count[0];
  b.output(0, b.compute("unique", x.dtype(), shape, [&](Point p) {
    std::vector<Expr> at(p.begin(), p.end());
    at[at_axis] = as_index(places({p[at_axis]}));
    return x.at(at);
  }));
  auto wide = [&](const std::string& name, const Tensor& narrow) {
    return b.compute(name, DType::i64, narrow.shape(),
                     [&](Point p) { return ir::cast(DType::i64, narrow.at(p)); });
  };
  if (b.wants(1)) b.output(1, wide("unique.indices", places));
  if (b.wants(2)) b.output(2, wide("unique.inverse", rank));
  if (b.wants(3)) {
    b.output(3,
             b.reduce("unique.counts", Builder::Join::sum, DType::i64, {count[0]}, {size},
                      [&](Point p, Point r) { return ir::cast(DType::i32, at_rank(r[0], p[0])); }));
  }
  return {};
}

}  // namespace

std::vector<OpDef> unique_family() {
  return {
      {.name = "Unique",
       .doc = "The distinct elements or slices, where they first are, which one each is, and how "
              "often they occur.",
       .since = 28,
       .inputs = {{"X", any_element}},
       .outputs = {"Y", "indices", "inverse_indices", "counts"},
       .attributes = {{"axis", {}}, {"sorted", 1}},
       .define = unique,
       .cases = {{.name = "sorted", .shapes = {{17}}, .dtype = DType::i32},
                 {.name = "as they come",
                  .shapes = {{4, 4}},
                  .attributes = {{"sorted", 0}},
                  .dtype = DType::i32},
                 {.name = "rows",
                  .shapes = {{9, 2}},
                  .attributes = {{"axis", 0}},
                  .dtype = DType::i32,
                  .low = 0,
                  .high = 1},
                 {.name = "strings",
                  .inputs = {strings({6}, {"b", "ab", "", "b", "a", "longer than others"})}},
                 {.name = "rows of strings",
                  .shapes = {{7, 2}},
                  .attributes = {{"axis", 0}},
                  .dtype = DType::string},
                 {.name = "floats", .inputs = {floats({6}, {2, 1, 1, 3, 4, 3})}}}},
  };
}

}  // namespace gossamer::ops
