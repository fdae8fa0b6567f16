// TopK.
#include <cmath>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/reduction/reduce.h"
#include "ops/select_k.h"

namespace gossamer::ops {
namespace {

using stages::Accumulators;

// An item's value by its number along the axis of a point: its order_key, which is the least of
// what comes first, where the type has one.
using Values = std::function<Expr(Point)>;

struct TopK {
  Builder& b;
  size_t axis;
  bool largest, keyed;

  std::vector<Expr> with(Point point, Expr place) const {
    std::vector<Expr> at(point.begin(), point.end());
    at[axis] = std::move(place);
    return at;
  }

  Expr before(const Expr& x, const Expr& y) const {
    return keyed ? Expr(x < y) : comes_before(x, y, largest);
  }

  Tensor in_order(const std::string& name, const Shape& shape, const Expr& items,
                  const Values& value) const {
    return b.sort(
        name, shape, static_cast<int>(axis), items,
        [&](Point p) { return std::vector<Expr>{value(p)}; },
        [&](std::span<const Var> x, std::span<const Var> y) { return before(x[0], y[0]); });
  }

  // The items that come first, in order, as numbers i32 [.., count, ..] below `items`. Of many
  // items, chunks of sqrt(items / count) are ordered by the first of each: the items wanted lie in
  // the first `count` chunks, or behind the last whole one. Linear in the items, and n log n in
  // those that are sorted.
  Tensor first(const std::string& name, const Shape& shape, const Expr& items,
               const Values& value) const {
    const auto all = ir::as_int(items), count = ir::as_int(shape[axis]);
    if (!all || !count || *all < 256 || *all < 16 * *count || *count == 0)
      return in_order(name, shape, items, value);
    int64_t chunk = 4;
    while (chunk * chunk * *count < *all) chunk *= 2;
    const Expr size = ir::index(chunk);
    const Type type = value(Shape(shape.size(), ir::index(0)))->type;
    // Nothing comes after it.
    const Expr worst = keyed                      ? ir::highest(type)
                       : largest                  ? ir::lowest(type)
                       : ir::is_float(type.dtype) ? ir::constant(type, std::nan(""))
                                                  : ir::highest(type);
    const Var best = ir::var("best", type), other = ir::var("other", type);
    const Expr better = keyed ? ir::min(best, other) : ir::select(before(other, best), other, best);
    Shape chunks = shape;
    chunks[axis] = ir::index(*all / chunk);
    const Tensor winners = b.reduce(
        name + ".winners", Accumulators{{best, other, better, worst}}, type.dtype, chunks, {size},
        [&](Point point, Point over) {
          return std::vector<Expr>{value(with(point, point[axis] * size + over[0]))};
        },
        [](Point, std::span<const Var> winner) { return Expr(winner[0]); });
    const Tensor found = first(name + ".chunks", shape, chunks[axis],
                               [&](Point point) { return winners.at(point); });
    // Equals are told apart by their numbers: candidates stand in the order of the items.
    const Tensor rising = b.sort(
        name + ".rising", shape, static_cast<int>(axis), shape[axis],
        [&](Point p) { return std::vector<Expr>{found.at(p)}; },
        [](std::span<const Var> x, std::span<const Var> y) { return x[0] < y[0]; });
    const int64_t in_chunks = *count * chunk, behind = *all % chunk;
    auto candidate = [&](Point point, const Expr& number) {
      const Expr nth = ir::min(ir::floordiv(number, size), shape[axis] - ir::index(1));
      const Expr place = as_index(rising.at(with(point, nth)));
      const Expr of = as_index(found.at(with(point, place)));
      const Expr there = of * size + ir::floormod(number, size);
      if (behind == 0) return there;
      return ir::select(number < ir::index(in_chunks), there,
                        number + ir::index(*all - behind - in_chunks));
    };
    const Tensor order =
        first(name + ".candidates", shape, ir::index(in_chunks + behind),
              [&](Point point) { return value(with(point, candidate(point, point[axis]))); });
    return b.compute(name, DType::i32, shape, [&](Point point) {
      return ir::cast(DType::i32, candidate(point, as_index(order.at(point))));
    });
  }
};

// Equals come by place; NaN is greater than numbers.
Result<> top_k(Builder& b) {
  const Tensor& x = b.input(0);
  GS_ASSIGN(int axis, b.axis("axis", x.rank()));
  GS_ASSIGN(std::vector<Expr> wanted, b.elements(1));
  if (wanted.size() != 1) return b.error("K must be one number");
  const size_t at_axis = static_cast<size_t>(axis);
  GS_TRY(b.require(wanted[0] <= x.dim(axis), "K is larger than the axis"));
  Shape shape = x.shape();
  shape[at_axis] = wanted[0];
  const bool largest = b.integer("largest") != 0;
  const auto value_at = [&](Point point) { return ir::cast(accumulator(x.dtype()), x.at(point)); };
  const bool keyed = has_order_key(accumulator(x.dtype()));
  const TopK items{b, at_axis, largest, keyed};
  const Tensor places = items.first("top_k.places", shape, x.dim(axis), [&](Point point) {
    return keyed ? order_key(value_at(point), largest) : value_at(point);
  });
  b.output(0, b.compute("top_k", x.dtype(), shape, [&](Point point) {
    return x.at(items.with(point, as_index(places.at(point))));
  }));
  if (b.wants(1)) {
    b.output(1, b.compute("top_k.indices", DType::i64, shape,
                          [&](Point point) { return ir::cast(DType::i64, places.at(point)); }));
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
       .cases = [] -> Cases {
         return {
             {.name = "largest", .shapes = {{3, 7}}, .inputs = {{}, int64s({1}, {3})}},
             {.name = "half of many", .shapes = {{2, 1500}}, .inputs = {{}, int64s({1}, {700})}},
             {.name = "many equals",
              .shapes = {{1203}},
              .attributes = {{"largest", 0}},
              .inputs = {{}, int64s({1}, {600})},
              .dtype = DType::i32,
              .low = 0,
              .high = 20},
             {.name = "smallest",
              .shapes = {{5, 4}},
              .attributes = {{"largest", 0}, {"axis", 0}},
              .inputs = {{}, int64s({1}, {2})}},
             {.name = "ties", .inputs = {floats({1, 5}, {1, 3, 3, 2, 3}), int64s({1}, {4})}}};
       }},
  };
}

}  // namespace gossamer::ops
