// Unique.
#include "ops/builder.h"
#include "ops/families.h"
#include "ops/reduction/reduce.h"
#include "ops/reshape_index.h"
#include "ops/select_k.h"

namespace gossamer::ops {
namespace {

// What two slices are compared by, one after the other: their elements, of strings the bytes of
// each (zeros stand behind the end) and then its length.
struct Columns {
  Expr count;
  std::function<Expr(const Expr& slice, const Expr& column)> key;
};

Columns columns_of(Builder& b, const Tensor& x, int axis) {
  Shape rest = x.shape();
  rest.erase(rest.begin() + axis);
  auto point = [axis, rest](const Expr& slice, Expr element) {
    std::vector<Expr> at(rest.size());
    for (size_t k = rest.size(); k-- > 0;) {
      at[k] = ir::floormod(element, rest[k]);
      element = ir::floordiv(element, rest[k]);
    }
    at.insert(at.begin() + axis, slice);
    return at;
  };
  if (x.dtype() != DType::string) {
    return {b.simplify(product(rest)), [x, point](const Expr& slice, const Expr& column) {
              const Expr value = x.at(point(slice, column));
              return value->type.dtype == DType::boolean ? ir::cast(DType::i32, value) : value;
            }};
  }
  const Expr width = b.simplify(x.width() + ir::index(1));
  return {b.simplify(product(rest) * width),
          [x, point, width](const Expr& slice, const Expr& column) {
            std::vector<Expr> at = point(slice, ir::floordiv(column, width));
            const Expr length = x.all_lengths().at(at), byte = ir::floormod(column, width);
            at.push_back(byte);
            const Expr of_byte = ir::cast(DType::i32, x.all_bytes().at(at));
            return ir::select(byte < x.width(), of_byte, ir::cast(DType::i32, length));
          }};
}

// [size], i32: slices in order. Sorted by one column after the other, the last one first: equals
// keep the order that they have.
Result<Tensor> in_order(Builder& b, const Columns& columns, const Expr& size) {
  const auto sort_key = [&](const Expr& slice, const Expr& column) {
    const Expr key = columns.key(slice, column);
    return has_order_key(key->type.dtype) ? order_key(key, false) : key;
  };
  auto less = [](std::span<const Var> left, std::span<const Var> right) {
    return comes_before(left[0], right[0], false);
  };
  if (ir::is_const(columns.count, 1)) {
    return b.sort(
        "unique.order", {size}, 0, size,
        [&](Point p) { return std::vector<Expr>{sort_key(p[0], ir::index(0))}; }, less);
  }
  const Tensor as_given = b.compute("unique.given", DType::i32, {size},
                                    [](Point p) { return ir::cast(DType::i32, p[0]); });
  auto round = [&](const Expr& done, std::span<const Tensor> states) -> Result<Builder::Round> {
    const Tensor& order = states[0];
    const Expr column = columns.count - ir::index(1) - done;
    const Tensor next = b.sort(
        "unique.column", {size}, 0, size,
        [&](Point p) { return std::vector<Expr>{sort_key(as_index(order({p[0]})), column)}; },
        less);
    return Builder::Round{{b.compute("unique.order", DType::i32, {size},
                                     [&](Point p) { return order({as_index(next({p[0]}))}); })},
                          {}};
  };
  GS_ASSIGN(Builder::Round sorted,
            b.loop("unique.columns", columns.count, std::span(&as_given, 1), round));
  return sorted.states[0];
}

// Where each number of a permutation is.
Tensor inverse(Builder& b, const std::string& name, const Tensor& permutation) {
  const Expr& size = permutation.dim(0);
  return b.sort(
      name, {size}, 0, size, [&](Point p) { return std::vector<Expr>{permutation.at(p)}; },
      [](std::span<const Var> left, std::span<const Var> right) { return left[0] < right[0]; });
}

// Slices along an axis (or all elements), compared element by element: NaN equals NaN and is
// greater than numbers. In order, equals are neighbours: groups are counted along them.
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
  const Expr size = x.dim(axis);
  const Columns columns = columns_of(b, x, axis);
  GS_ASSIGN(const Tensor order, in_order(b, columns, size));
  auto nth = [&](const Expr& i) { return as_index(order({i})); };
  // 1 where a slice differs from the one before it.
  const Tensor differs = b.reduce(
      "unique.differs", Builder::Join::max, DType::i32, {size}, {columns.count},
      [&](Point p, Point column) {
        const Expr before = ir::max(p[0] - ir::index(1), ir::index(0));
        const Expr left = columns.key(nth(before), column[0]);
        const Expr right = columns.key(nth(p[0]), column[0]);
        return ir::cast(DType::i32, comes_before(left, right, false));
      },
      [](Point p, const Expr& any) {
        const Expr one = ir::constant_int(DType::i32, 1);
        return ir::select(p[0] == 0, one, ir::max(any, ir::zero(DType::i32)));
      });
  // [size]: to which group the n-th slice belongs, counted from 1.
  const Tensor group = b.scan("unique.group", Builder::Join::sum, DType::i32, {size}, 0,
                              [&](Point p) { return differs({p[0]}); });
  const Expr last = b.simplify(size - ir::index(1));
  const Tensor total = b.compute("unique.count", DType::i32, {}, [&](Point) {
    return ir::select(size > ir::index(0), group({last}), ir::zero(DType::i32));
  });
  GS_ASSIGN(std::vector<Expr> count, b.read(total));
  // Where each group starts among the slices in order; its first one is the first of the input.
  const Tensor start = b.search("unique.start", {count[0]}, size, [&](Point p, const Expr& place) {
    return as_index(group({place})) > p[0];
  });
  const Tensor first = b.compute("unique.first", DType::i32, {count[0]}, [&](Point p) {
    return ir::cast(DType::i32, nth(as_index(start({p[0]}))));
  });
  // The group of each result: they come sorted, or by where they first are.
  Tensor shown;
  if (!sorted) {
    shown = b.sort(
        "unique.shown", {count[0]}, 0, count[0],
        [&](Point p) { return std::vector<Expr>{first({p[0]})}; },
        [](std::span<const Var> left, std::span<const Var> right) { return left[0] < right[0]; });
  }
  auto group_of = [&](const Expr& result) { return sorted ? result : as_index(shown({result})); };
  const Tensor places = b.compute("unique.places", DType::i32, {count[0]},
                                  [&](Point p) { return first({group_of(p[0])}); });
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
  if (b.wants(2)) {
    // Slices in order say their groups, and are put back where they were; so are the results.
    const Tensor rank = inverse(b, "unique.rank", order);
    Tensor result;
    if (!sorted) result = inverse(b, "unique.result", shown);
    b.output(2, b.compute("unique.inverse", DType::i64, {size}, [&](Point p) {
      const Expr of = as_index(group({as_index(rank({p[0]}))})) - ir::index(1);
      return ir::cast(DType::i64, sorted ? of : as_index(result({of})));
    }));
  }
  if (b.wants(3)) {
    b.output(3, b.compute("unique.counts", DType::i64, {count[0]}, [&](Point p) {
      const Expr of = group_of(p[0]), next = of + ir::index(1);
      const Expr end = ir::select(next < count[0], as_index(start({next})), size);
      return ir::cast(DType::i64, end - as_index(start({of})));
    }));
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
       .cases = [] -> Cases {
         return {{.name = "sorted", .shapes = {{17}}, .dtype = DType::i32},
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
                 {.name = "floats", .inputs = {floats({6}, {2, 1, 1, 3, 4, 3})}}};
       }},
  };
}

}  // namespace gossamer::ops
