// Matrix products.
#include "ops/nn/matmul.h"

#include <algorithm>
#include <cmath>

#include "ir/print.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/microsoft/fused.h"
#include "ops/nn/einsum.h"
#include "ops/nn/quantize.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

Result<> matmul(Builder& b) {
  GS_TRY(same_types(b));
  GS_ASSIGN(Tensor y, matrix_product(b, "matmul", b.input(0), b.input(1), b.input(0).dtype(), {}));
  b.output(0, y);
  return {};
}

Result<> matmul_integer(Builder& b) {
  const Tensor &left = b.input(0), &right = b.input(1);
  GS_ASSIGN(Tensor x,
            centered(b, "matmul_integer.a", left, b.input(2), std::max(left.rank() - 2, 0)));
  GS_ASSIGN(Tensor y, centered(b, "matmul_integer.b", right, b.input(3), right.rank() - 1));
  GS_ASSIGN(Tensor product, matrix_product(b, "matmul_integer", x, y, DType::i32, {}));
  b.output(0, product);
  return {};
}

Result<> gemm(Builder& b) {
  GS_TRY(same_types(b));
  Tensor left = b.input(0);
  const Tensor& right = b.input(1);
  bool flip_a = b.integer("transA") != 0, flip_b = b.integer("transB") != 0;
  // ONNX Runtime takes a vector as a row.
  if (left.rank() == 1 && !flip_a) left = b.reshape("gemm.row", left, {index(1), left.dim(0)});
  if (left.rank() != 2 || right.rank() != 2) {
    return b.error(cat("A has rank ", left.rank(), ", B has rank ", right.rank()),
                   "both must be matrices; use MatMul for batches");
  }
  double alpha = b.number("alpha"), beta = b.number("beta");
  const Expr &m = left.dim(flip_a ? 1 : 0), &k = left.dim(flip_a ? 0 : 1);
  const Expr &n = right.dim(flip_b ? 0 : 1), &depth = right.dim(flip_b ? 1 : 0);
  GS_TRY(b.require(k == depth, cat("A sums over ", ir::print(k), ", B over ", ir::print(depth))));
  Shape shape = {m, n};
  GS_TRY(broadcasts_to(b, 2, shape));
  DType dtype = left.dtype();
  Type sum_type = accumulator(dtype);
  b.output(0, b.reduce(
                  "gemm", Builder::Join::sum, dtype, shape, {k},
                  [&](Point p, Point r) {
                    Expr x = flip_a ? left({r[0], p[0]}) : left({p[0], r[0]});
                    Expr y = flip_b ? right({p[1], r[0]}) : right({r[0], p[1]});
                    return ir::cast(sum_type, x) * ir::cast(sum_type, y);
                  },
                  [&](Point p, Expr sum) {
                    const bool scales = alpha != 1, adds = b.has(2) && beta != 0;
                    // Integers times a fraction are truncated once, at the end.
                    const bool whole = std::trunc(alpha) == alpha && std::trunc(beta) == beta;
                    const Type type =
                        whole || ir::is_float(sum_type.dtype) ? sum_type : Type(DType::f32);
                    sum = ir::cast(type, sum);
                    if (scales) sum = sum * alpha;
                    if (adds) {
                      Expr c = ir::cast(type, b.at_broadcast(b.input(2), p));
                      sum = sum + (beta == 1 ? c : c * beta);
                    }
                    return ir::cast(dtype, sum);
                  }));
  return {};
}

}  // namespace

Result<Tensor> matrix_product(Builder& b, const std::string& name, const Tensor& left,
                              const Tensor& right, DType dtype,
                              const std::function<Expr(Point, Expr)>& finish) {
  if (left.rank() < 1 || right.rank() < 1) return b.error("a matrix product takes no scalars");
  bool has_row = left.rank() > 1, has_column = right.rank() > 1;
  const Expr &k = left.dim(-1), &depth = right.dim(has_column ? -2 : -1);
  GS_TRY(b.require(k == depth,
                   cat("A has ", ir::print(k), " columns, B has ", ir::print(depth), " rows")));
  auto batch_of = [](const Tensor& x) {
    auto end = x.shape().end() - std::min(x.rank(), 2);
    return Shape(x.shape().begin(), end);
  };
  GS_ASSIGN(Shape shape, b.broadcast(batch_of(left), batch_of(right)));
  size_t batch = shape.size();
  if (has_row) shape.push_back(left.dim(-2));
  if (has_column) shape.push_back(right.dim(-1));
  Type sum_type = accumulator(left.dtype());
  return b.reduce(
      name, Builder::Join::sum, dtype, shape, {k},
      [&](Point p, Point r) {
        auto at = [&](const Tensor& x) {
          std::vector<Expr> point;
          size_t axes = static_cast<size_t>(std::max(x.rank() - 2, 0));
          for (size_t i = 0; i < axes; ++i) {
            point.push_back(b.broadcast_place(x.shape()[i], p[batch - axes + i]));
          }
          return point;
        };
        std::vector<Expr> at_left = at(left), at_right = at(right);
        if (has_row) at_left.push_back(p[batch]);
        at_left.push_back(r[0]);
        at_right.push_back(r[0]);
        if (has_column) at_right.push_back(p[batch + (has_row ? 1 : 0)]);
        return ir::cast(sum_type, left.at(at_left)) * ir::cast(sum_type, right.at(at_right));
      },
      finish);
}

std::vector<OpDef> matmul_family() {
  TypeSet bytes = only(DType::u8) | only(DType::i8);
  return {
      {.name = "MatMul",
       .doc = "Matrix product as numpy.matmul: leading axes are batches and broadcast.",
       .since = 13,
       .inputs = {{"A", any_number}, {"B", any_number}},
       .define = matmul,
       .quantized = {{.name = "QLinearMatMul",
                      .operands = {{}, [](const Attributes&, int rank) { return rank - 1; }}}},
       .cases = [] -> Cases {
         return {{.name = "matrices", .shapes = {{5, 7}, {7, 3}}},
                 {.name = "batches", .shapes = {{2, 3, 4}, {2, 4, 5}}},
                 {.name = "broadcast", .shapes = {{2, 1, 3, 4}, {3, 4, 5}}},
                 {.name = "vectors", .shapes = {{7}, {7}}},
                 {.name = "vector by matrix", .shapes = {{4}, {2, 4, 3}}},
                 {.name = "matrix by vector", .shapes = {{2, 3, 4}, {4}}},
                 {.name = "integers",
                  .shapes = {{3, 4}, {4, 5}},
                  .dtype = DType::i32,
                  .low = -9,
                  .high = 9}};
       }},
      {.name = "Gemm",
       .doc = "alpha * A * B + beta * C, with A and B transposed if asked.",
       .since = 13,
       .inputs = {{"A", any_number}, {"B", any_number}, {"C", any_number, InputDef::optional}},
       .attributes = {{"alpha", 1.0}, {"beta", 1.0}, {"transA", 0}, {"transB", 0}},
       .define = gemm,
       .quantized = {{.domain = std::string(microsoft),
                      .name = "QGemm",
                      .operands = {{},
                                   [](const Attributes& attributes, int) {
                                     const auto found = attributes.find("transB");
                                     const auto* turned =
                                         found == attributes.end()
                                             ? nullptr
                                             : std::get_if<int64_t>(&found->second);
                                     return turned && *turned != 0 ? 0 : 1;
                                   }},
                      .addend = 6}},
       .cases = [] -> Cases {
         return {{.name = "bias row", .shapes = {{3, 5}, {5, 7}, {7}}},
                 {.name = "integers by fractions",
                  .shapes = {{3, 5}, {5, 7}, {7}},
                  .attributes = {{"alpha", 0.25}, {"beta", 0.35}},
                  .dtype = DType::i32,
                  .low = -9,
                  .high = 9},
                 {.name = "transposed",
                  .shapes = {{5, 3}, {7, 5}, {3, 1}},
                  .attributes = {{"transA", 1}, {"transB", 1}, {"alpha", 0.5}, {"beta", 2.0}}},
                 {.name = "vector", .shapes = {{5}, {5, 7}, {7}}},
                 {.name = "no bias", .shapes = {{2, 9}, {4, 9}}, .attributes = {{"transB", 1}}},
                 {.name = "scalar bias", .shapes = {{1, 4}, {4, 3}, {}}}};
       }},
      {.name = "Einsum",
       .doc = "Sums of products over named axes.",
       .since = 28,
       .inputs = {{"Inputs", any_number, InputDef::variadic}},
       .outputs = {"Output"},
       .attributes = {{"equation", {}, true}},
       .define = einsum,
       .cases = [] -> Cases {
         return {
             {.name = "product",
              .shapes = {{3, 4}, {4, 5}},
              .attributes = {{"equation", "ij,jk->ik"}}},
             {.name = "batches",
              .shapes = {{2, 3, 4}, {2, 4, 5}},
              .attributes = {{"equation", "bij,bjk->bik"}}},
             {.name = "ellipsis",
              .shapes = {{2, 3, 4}, {4, 5}},
              .attributes = {{"equation", "...ij,jk->...ik"}}},
             {.name = "implicit", .shapes = {{3, 4}, {4}}, .attributes = {{"equation", "ij, j"}}},
             {.name = "transpose", .shapes = {{3, 4}}, .attributes = {{"equation", "ij->ji"}}},
             {.name = "diagonal", .shapes = {{4, 4}}, .attributes = {{"equation", "ii->i"}}},
             {.name = "sum", .shapes = {{3, 4}}, .attributes = {{"equation", "ij->i"}}}};
       }},
      {.name = "MatMulInteger",
       .doc = "Product of 8-bit matrices less their zero points, in 32 bits.",
       .since = 10,
       .inputs = {{"A", bytes},
                  {"B", bytes},
                  {"a_zero_point", bytes, InputDef::optional},
                  {"b_zero_point", bytes, InputDef::optional}},
       .define = matmul_integer,
       .cases = [] -> Cases {
         return {{.name = "zero points",
                  .shapes = {{4, 3}, {3, 2}},
                  .inputs = {{}, {}, uint8s({}, {12}), uint8s({}, {3})},
                  .dtype = DType::u8,
                  .low = 0,
                  .high = 30},
                 {.name = "per column",
                  .shapes = {{2, 4, 3}, {2, 3, 2}},
                  .inputs = {{}, {}, {}, int8s({2}, {1, -3})},
                  .dtype = DType::i8,
                  .low = -30,
                  .high = 30},
                 {.name = "many terms",
                  .shapes = {{5, 64}, {64, 20}},
                  .inputs = {{}, {}, int8s({}, {-128}), int8s({}, {127})},
                  .dtype = DType::i8,
                  .low = -128,
                  .high = 127},
                 {.name = "an odd number of terms",
                  .shapes = {{2, 6, 67}, {67, 9}},
                  .inputs = {{}, {}, uint8s({}, {255}), uint8s({}, {0})},
                  .dtype = DType::u8,
                  .low = 0,
                  .high = 255}};
       }},
  };
}

}  // namespace gossamer::ops
