// Determinants by elimination with row pivots, all matrices of a batch at once.
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/reduction/reduce.h"

namespace gossamer::ops {
namespace {

constexpr int64_t max_rows = 128;  // a few stages each

Result<> det(Builder& b) {
  const Tensor& x = b.input(0);
  int rank = x.rank();
  if (rank < 2) return b.error(cat("X has rank ", rank), "it must be [..., n, n]");
  GS_TRY(b.require(x.dim(-1) == x.dim(-2), "the matrices are not square"));
  auto size = ir::as_int(b.simplify(x.dim(-1)));
  if (!size) return b.error("the number of rows must be known when compiling");
  if (*size > max_rows) return b.error(cat("matrices of ", *size, " rows are not supported"));
  DType dtype = x.dtype(), wide = accumulator(dtype);
  Shape batch(x.shape().begin(), x.shape().end() - 2);
  auto at = [](const Tensor& matrix, Point outer, Expr row, Expr column) {
    std::vector<Expr> point(outer.begin(), outer.end());
    point.push_back(std::move(row));
    point.push_back(std::move(column));
    return matrix.at(point);
  };
  Tensor rest = x, total;
  Expr zero = ir::index(0), one = ir::index(1);
  for (int64_t n = *size; n > 2; --n) {
    // The row that starts with the largest number comes first; the others lose their first column.
    Tensor column = b.compute(
        "det.column", wide,
        [&] {
          Shape shape = batch;
          shape.push_back(ir::index(n));
          return shape;
        }(),
        [&](Point p) {
          Point outer = p.first(p.size() - 1);
          return ir::abs(ir::cast(wide, at(rest, outer, p.back(), zero)));
        });
    Tensor pivot =
        best_index(b, "det.pivot", column, static_cast<int>(batch.size()), false, false, false);
    Tensor before = rest, product = total;
    total = b.compute("det.product", wide, batch, [&](Point p) {
      Expr row = as_index(pivot.at(p));
      Expr value = ir::cast(wide, at(before, p, row, zero));
      value = ir::select(row == 0, value, -value);
      return product ? product.at(p) * value : value;
    });
    Shape shape = batch;
    shape.insert(shape.end(), 2, ir::index(n - 1));
    rest = b.compute("det.rest", wide, shape, [&](Point p) {
      Point outer = p.first(p.size() - 2);
      Expr row = as_index(pivot.at(outer)), below = p[p.size() - 2] + 1, right = p.back() + 1;
      auto load = [&](Expr r, Expr c) {
        return ir::cast(wide, at(before, outer, std::move(r), std::move(c)));
      };
      Expr own = ir::select(below == row, zero, below);  // the first row took the pivot's place
      Expr head = load(row, zero);
      Expr share = ir::select(head == 0, ir::zero(wide), load(own, zero) / head);
      return load(own, right) - share * load(row, right);
    });
  }
  b.output(0, b.compute("det", dtype, batch, [&](Point p) {
    auto load = [&](Expr r, Expr c) {
      return ir::cast(wide, at(rest, p, std::move(r), std::move(c)));
    };
    Expr value = *size == 0 ? ir::constant(wide, 1)
                 : *size == 1
                     ? load(zero, zero)
                     : load(zero, zero) * load(one, one) - load(zero, one) * load(one, zero);
    return ir::cast(dtype, total ? total.at(p) * value : value);
  }));
  return {};
}

}  // namespace

std::vector<OpDef> determinant_family() {
  return {
      {.name = "Det",
       .doc = "The determinants of matrices.",
       .since = 22,
       .inputs = {{"X", any_float}},
       .define = det,
       .cases = [] -> Cases {
         return {{.name = "pair", .shapes = {{2, 2}}},
                 {.name = "batch", .shapes = {{2, 3, 4, 4}}},
                 {.name = "pivots", .inputs = {floats({3, 3}, {0, 2, 1, 3, 0, 1, 1, 1, 0})}},
                 {.name = "singular", .inputs = {floats({3, 3}, {0, 2, 1, 0, 0, 1, 0, 1, 0})}}};
       }},
  };
}

}  // namespace gossamer::ops
