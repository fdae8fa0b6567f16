// Products of matrices in ONNX Runtime's domain: transposed, scaled, of quantised numbers.
#include "ir/print.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/microsoft/fused.h"
#include "ops/nn/matmul.h"
#include "ops/nn/quantize.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

// A matrix of a batch after `trans` (its last two axes change places) and `batch` (its rows are the
// first axis, before the batch).
Result<Tensor> turned(Builder& b, const Tensor& x, bool trans, bool batch) {
  if (x.rank() < 2 || (!trans && !batch)) return x;
  Numbers order;
  for (int axis = 0; axis < x.rank(); ++axis) order.push_back(axis);
  if (batch) {
    order.erase(order.begin());
    order.insert(order.end() - 1, 0);
  }
  if (trans) std::swap(order[order.size() - 1], order[order.size() - 2]);
  return b.call1("Transpose", {x}, {{"perm", std::move(order)}});
}

Result<> fused_matmul(Builder& b) {
  GS_TRY(same_types(b));
  bool batches = b.def().name != "TransposeMatMul";
  GS_ASSIGN(Tensor left, turned(b, b.input(0), b.integer("transA") != 0,
                                batches && b.integer("transBatchA") != 0));
  GS_ASSIGN(Tensor right, turned(b, b.input(1), b.integer("transB") != 0,
                                 batches && b.integer("transBatchB") != 0));
  double alpha = b.number("alpha");
  DType dtype = left.dtype();
  GS_ASSIGN(Tensor y, matrix_product(b, "fused_matmul", left, right, dtype, [&](Point, Expr sum) {
              return ir::cast(dtype, sum * alpha);
            }));
  if (b.def().name == "FusedMatMulActivation") {
    GS_ASSIGN(y, activated(b, y));
  }
  b.output(0, y);
  return {};
}

// The scale, zero point and bias of B: one, or one a column.
struct Columns {
  Tensor scale, zero, bias;
};

// (left - its zero point) (right - its zero point) * both scales + bias.
Result<> scaled_product(Builder& b, const Tensor& left, const Tensor& left_scale,
                        const Tensor& left_zero, const Tensor& right, const Columns& of,
                        DType dtype) {
  GS_ASSIGN(Tensor x, centered(b, "scaled_product.a", left, left_zero, left.rank() - 1));
  GS_ASSIGN(Tensor y, centered(b, "scaled_product.b", right, of.zero, right.rank() - 1));
  for (const Tensor& one : {of.scale, of.bias}) {
    if (one && one.rank() == 1) {
      GS_TRY(b.require(one.dim(0) == 1 || one.dim(0) == right.dim(-1),
                       cat("B has ", ir::print(right.dim(-1)), " columns, a scale or bias has ",
                           ir::print(one.dim(0)), " elements")));
    }
  }
  DType wide = accumulator(dtype);
  GS_ASSIGN(
      Tensor product, matrix_product(b, "scaled_product", x, y, dtype, [&](Point p, Expr sum) {
        int last = static_cast<int>(p.size()) - 1;
        Expr value = ir::cast(wide, sum) * (ir::cast(wide, parameter_at(b, left_scale, p, last)) *
                                            ir::cast(wide, parameter_at(b, of.scale, p, last)));
        if (of.bias) value = value + ir::cast(wide, parameter_at(b, of.bias, p, last));
        return ir::cast(dtype, value);
      }));
  b.output(0, product);
  return {};
}

Result<> matmul_integer_to_float(Builder& b) {
  const Tensor& scale = b.input(2);
  GS_TRY(one_type(b, {2, 3, 6}));
  GS_TRY(one_type(b, {0, 4}));
  GS_TRY(one_type(b, {1, 5}));
  return scaled_product(b, b.input(0), scale, b.input(4), b.input(1),
                        {b.input(3), b.input(5), b.input(6)}, scale.dtype());
}

Result<> dynamic_quantize_matmul(Builder& b) {
  GS_TRY(one_type(b, {1, 3}));
  GS_ASSIGN(std::vector<Tensor> a, b.call("DynamicQuantizeLinear", {b.input(0)}, {}, 3));
  return scaled_product(b, a[0], a[1], a[2], b.input(1), {b.input(2), b.input(3), b.input(4)},
                        DType::f32);
}

// A, its scale and zero point, B and its, C, then the result's, or neither for a real result.
Result<> quantized_gemm(Builder& b) {
  if (b.input(0).rank() != 2 || b.input(3).rank() != 2) return b.error("A and B are matrices");
  if (b.has(7) != b.has(8)) return b.error("y_scale and y_zero_point go together");
  GS_TRY(one_type(b, {0, 2}));
  GS_TRY(one_type(b, {3, 5}));
  const DType wide = b.has(8) ? product_sum : DType::i32;
  GS_ASSIGN(Tensor x, centered(b, "quantized_gemm.a", b.input(0), b.input(2), -1, wide));
  bool flip = b.integer("transB") != 0;
  GS_ASSIGN(Tensor y, centered(b, "quantized_gemm.b", b.input(3), b.input(5), flip ? 0 : 1, wide));
  GS_ASSIGN(x, turned(b, x, b.integer("transA") != 0, false));
  GS_ASSIGN(y, turned(b, y, flip, false));
  if (b.has(6)) GS_TRY(broadcasts_to(b, 6, {x.dim(0), y.dim(1)}));
  double alpha = b.number("alpha");
  DType dtype = b.has(8) ? b.input(8).dtype() : DType::f32;
  GS_ASSIGN(
      Tensor product, matrix_product(b, "quantized_gemm", x, y, dtype, [&](Point p, Expr sum) {
        if (b.has(6)) sum = sum + ir::cast(wide, b.at_broadcast(b.input(6), p));
        Expr scale = parameter_at(b, b.input(1), p, 1) * parameter_at(b, b.input(4), p, 1);
        if (alpha != 1) scale = scale * alpha;
        if (b.has(8)) scale = scale / parameter_at(b, b.input(7), p, 1);
        Expr value = ir::cast(DType::f32, sum) * scale;
        if (!b.has(8)) return value;
        return quantized(value, ir::cast(DType::f32, parameter_at(b, b.input(8), p, 1)), dtype);
      }));
  b.output(0, product);
  return {};
}

}  // namespace

std::vector<OpDef> microsoft_matrix_family() {
  TypeSet bytes = only(DType::u8) | only(DType::i8), f32 = only(DType::f32);
  std::string ms(microsoft);
  auto optional = InputDef::optional;
  std::vector<AttributeDef> turns = {{"alpha", 1.0}, {"transA", 0}, {"transB", 0}};
  auto with = [&](std::vector<AttributeDef> more) {
    more.insert(more.end(), turns.begin(), turns.end());
    return more;
  };
  std::vector<InputDef> both = {{"A", any_float}, {"B", any_float}};
  TensorData zero = uint8s({}, {120});
  return {
      {.name = "FusedMatMul",
       .doc = "alpha times the product of matrices, each transposed if asked.",
       .domain = ms,
       .since = 1,
       .inputs = both,
       .attributes = with({{"transBatchA", 0}, {"transBatchB", 0}}),
       .define = fused_matmul,
       .cases = [] -> Cases {
         return {{.name = "transposed",
                  .shapes = {{2, 5, 3}, {2, 4, 5}},
                  .attributes = {{"alpha", 0.5}, {"transA", 1}, {"transB", 1}}},
                 {.name = "batch inside",
                  .shapes = {{3, 2, 5}, {2, 5, 4}},
                  .attributes = {{"transBatchA", 1}}}};
       }},
      {.name = "TransposeMatMul",
       .doc = "FusedMatMul by an older name.",
       .domain = ms,
       .since = 1,
       .inputs = both,
       .attributes = turns,
       .define = fused_matmul,
       .cases = [] -> Cases {
         return {{.name = "right", .shapes = {{2, 3, 5}, {4, 5}}, .attributes = {{"transB", 1}}}};
       }},
      {.name = "FusedMatMulActivation",
       .doc = "FusedMatMul and an activation.",
       .domain = ms,
       .since = 1,
       .inputs = both,
       .attributes = with({{"activation", {}, true},
                           {"activation_alpha", 0.0},
                           {"activation_axis", 0},
                           {"activation_beta", 0.0},
                           {"activation_gamma", 0.0},
                           {"transBatchA", 0},
                           {"transBatchB", 0}}),
       .define = fused_matmul,
       .cases = [] -> Cases {
         return {
             {.name = "relu", .shapes = {{3, 5}, {5, 4}}, .attributes = {{"activation", "Relu"}}}};
       }},
      {.name = "MatMulIntegerToFloat",
       .doc = "The product of quantised matrices, as real numbers.",
       .domain = ms,
       .since = 1,
       .inputs = {{"A", bytes},
                  {"B", bytes},
                  {"a_scale", any_float},
                  {"b_scale", any_float},
                  {"a_zero_point", bytes, optional},
                  {"b_zero_point", bytes, optional},
                  {"bias", any_float, optional}},
       .define = matmul_integer_to_float,
       .cases = [=] -> Cases {
         return {{.name = "columns, bias",
                  .shapes = {{2, 3, 5}, {5, 2}, {}, {2}, {}, {}, {2}},
                  .inputs = {{},
                             {},
                             floats({}, {0.02f}),
                             floats({2}, {0.1f, 0.05f}),
                             zero,
                             uint8s({2}, {100, 130})},
                  .dtype = DType::u8,
                  .low = 0,
                  .high = 255}};
       }},
      {.name = "DynamicQuantizeMatMul",
       .doc = "A, quantised by its range, times a quantised matrix.",
       .domain = ms,
       .since = 1,
       .inputs = {{"A", f32},
                  {"B", bytes},
                  {"b_scale", f32},
                  {"b_zero_point", bytes, optional},
                  {"bias", f32, optional}},
       .define = dynamic_quantize_matmul,
       .cases = [] -> Cases {
         return {{.name = "bias",
                  .shapes = {{3, 5}, {5, 2}, {}, {}, {2}},
                  .inputs = {{},
                             int8s({5, 2}, {1, -20, 30, 44, -51, 62, -7, 8, 99, 10}),
                             floats({1}, {0.05f}),
                             int8s({1}, {3})}}};
       }},
      {.name = "QGemm",
       .doc = "Gemm of quantised matrices, quantised or as real numbers.",
       .domain = ms,
       .since = 1,
       .inputs = {{"A", bytes},
                  {"a_scale", f32},
                  {"a_zero_point", bytes},
                  {"B", bytes},
                  {"b_scale", f32},
                  {"b_zero_point", bytes},
                  {"C", only(DType::i32), optional},
                  {"y_scale", f32, optional},
                  {"y_zero_point", bytes, optional}},
       .attributes = turns,
       .define = quantized_gemm,
       .cases = [=] -> Cases {
         return {{.name = "quantised",
                  .shapes = {{3, 5}, {}, {}, {2, 5}},
                  .attributes = {{"transB", 1}},
                  .inputs = {{},
                             floats({}, {0.02f}),
                             zero,
                             {},
                             floats({2}, {0.1f, 0.05f}),
                             uint8s({2}, {100, 130}),
                             int32s({2}, {500, -700}),
                             floats({}, {0.7f}),
                             uint8s({}, {90})},
                  .dtype = DType::u8,
                  .low = 0,
                  .high = 255},
                 {.name = "real",
                  .shapes = {{5, 3}, {}, {}, {5, 2}},
                  .attributes = {{"alpha", 0.5}, {"transA", 1}},
                  .inputs = {{}, floats({}, {0.02f}), zero, {}, floats({}, {0.1f}), zero},
                  .dtype = DType::u8,
                  .low = 0,
                  .high = 255}};
       }},
  };
}

}  // namespace gossamer::ops
