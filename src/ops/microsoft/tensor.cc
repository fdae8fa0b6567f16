// Operators of ONNX Runtime's domain on plain tensors: shapes, spectra, words, dropout.
#include <limits>
#include <numbers>

#include "ir/print.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/microsoft/fused.h"
#include "ops/mul_div.h"
#include "ops/reduction/reduce.h"
#include "ops/reshape_index.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

constexpr int64_t max_rows = 64;  // of an inverse: a few stages each

// The standard operator of another name or form of inputs, with the attributes of this one.
Result<> as_standard(Builder& b, std::string_view op, std::vector<Tensor> inputs) {
  Attributes attributes;
  for (const AttributeDef& known : b.def().attributes) {
    if (auto value = b.given(known.name)) attributes.emplace(known.name, *value);
  }
  GS_ASSIGN(Tensor y, b.call1(op, std::move(inputs), std::move(attributes)));
  b.output(0, y);
  return {};
}

Result<> expand_dims(Builder& b) {
  GS_ASSIGN(Numbers axis, b.host_ints(1));
  if (axis.size() != 1) return b.error("axis is a scalar");
  return as_standard(b, "Unsqueeze", {b.input(0), b.constant(int64s({1}, axis))});
}

// Pads may lie in a row of a matrix.
Result<> pad(Builder& b) {
  Tensor pads = b.input(1), value = b.input(2);
  if (pads.rank() == 2) pads = b.reshape("pad.pads", pads, {pads.dim(1)});
  if (value && value.rank() == 1) value = b.reshape("pad.value", value, {});
  return as_standard(b, "Pad", {b.input(0), pads, value});
}

Result<> range(Builder& b) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < 3; ++i) {
    Tensor x = b.input(i);
    if (!x) x = b.scalar(b.input(0).dtype(), 1);
    if (x.rank() == 1) x = b.reshape("range.scalar", x, {});
    inputs.push_back(std::move(x));
  }
  return as_standard(b, "Range", std::move(inputs));
}

Result<> unique(Builder& b) {
  if (b.input(0).rank() != 1) return b.error("X has one axis");
  GS_ASSIGN(std::vector<Tensor> made, b.call("Unique", {b.input(0)}, {{"sorted", 0}}, 4));
  b.output(0, made[0]);
  b.output(1, made[2]);
  b.output(2, made[3]);
  return {};
}

Result<> unfold(Builder& b) {
  const Tensor& x = b.input(0);
  GS_ASSIGN(int dim, b.axis("dim", x.rank()));
  int64_t size = b.integer("size"), step = b.integer("step");
  if (size < 1 || step < 1) return b.error("`size` and `step` are positive");
  GS_TRY(b.require(x.dim(dim) >= static_cast<double>(size), "the axis is shorter than a slice"));
  Shape shape = x.shape();
  const auto axis = static_cast<size_t>(dim);
  shape[axis] = ir::floordiv(x.dim(dim) - static_cast<double>(size), step) + 1.0;
  shape.push_back(ir::index(size));
  b.output(0, b.compute("unfold", x.dtype(), shape, [&](Point p) {
    std::vector<Expr> at(p.begin(), p.end() - 1);
    at[axis] = b.simplify(at[axis] * static_cast<double>(step) + p.back());
    return x.at(at);
  }));
  return {};
}

// The pairs of the last axis are complex numbers; `conjugate`: those of B turned.
Result<> complex_product(Builder& b, bool conjugate) {
  GS_TRY(same_types(b));
  for (int i : {0, 1}) {
    if (b.input(i).rank() < 1) return b.error("the last axis has two elements");
    GS_TRY(b.require(b.input(i).dim(-1) == 2, "the last axis has two elements"));
  }
  GS_ASSIGN(Shape shape, b.broadcast(b.input(0).shape(), b.input(1).shape()));
  DType dtype = b.input(0).dtype();
  b.output(0, b.compute("complex_product", dtype, shape, [&](Point p) {
    auto part = [&](int i, int which) {
      std::vector<Expr> at(p.begin(), p.end());
      at.back() = ir::index(which);
      return b.at_broadcast(b.input(i), at);
    };
    Expr own = part(1, 0), other = conjugate ? -part(1, 1) : part(1, 1);
    return ir::select(p.back() == 0, part(0, 0) * own - part(0, 1) * other,
                      part(0, 0) * other + part(0, 1) * own);
  }));
  return {};
}

Result<> check_fourier(Builder& b) {
  if (b.integer("signal_ndim") != 1 || b.integer("onesided") != 1 || b.integer("normalized") != 0)
    return b.error("only one-sided transforms of one axis without scaling are defined");
  return {};
}

Result<> rfft(Builder& b) {
  const Tensor& x = b.input(0);
  GS_TRY(check_fourier(b));
  if (x.rank() < 1) return b.error("X is a scalar");
  // DFT wants a batch before the signal and one real element a place.
  Expr signals = product({x.shape().begin(), x.shape().end() - 1});
  Tensor flat = b.reshape("rfft.signal", x, {signals, x.dim(-1), ir::index(1)});
  GS_ASSIGN(Tensor y, b.call1("DFT", {flat, {}, b.constant(int64s({}, {1}))}, {{"onesided", 1}}));
  Shape made(x.shape().begin(), x.shape().end() - 1);
  made.push_back(y.dim(1));
  made.push_back(ir::index(2));
  b.output(0, b.reshape("rfft.y", y, made));
  return {};
}

Result<> irfft(Builder& b) {
  const Tensor& x = b.input(0);
  GS_TRY(check_fourier(b));
  if (x.rank() < 2) return b.error("X is [..., n / 2 + 1, 2]");
  GS_TRY(b.require(x.dim(-1) == 2, "the last axis is a real and an imaginary part"));
  Expr half = b.simplify(x.dim(-2) - 1.0), size = b.simplify(half * 2.0);
  GS_TRY(check_modulus(b, size));
  Shape shape(x.shape().begin(), x.shape().end() - 2);
  shape.push_back(size);
  DType dtype = x.dtype(), wide = accumulator(dtype);
  b.output(0, b.reduce(
                  "irfft", Builder::Join::sum, dtype, shape, {x.dim(-2)},
                  [&](Point p, Point r) {
                    std::vector<Expr> at(p.begin(), p.end() - 1);
                    at.push_back(r[0]);
                    at.push_back(ir::index(0));
                    Expr real = ir::cast(wide, x.at(at));
                    at.back() = ir::index(1);
                    Expr turn = ir::cast(wide, product_modulo(b, p.back(), r[0], size)) *
                                (2 * std::numbers::pi) / ir::cast(wide, size);
                    Expr value = real * ir::cos(turn) - ir::cast(wide, x.at(at)) * ir::sin(turn);
                    return ir::select(r[0] == 0 || r[0] == half, real * ir::cos(turn), value * 2.0);
                  },
                  [&](Point, Expr sum) { return ir::cast(dtype, sum / ir::cast(wide, size)); }));
  return {};
}

// Softmax over all axes from `axis` on, of the sum with a bias that broadcasts.
Result<> bias_softmax(Builder& b) {
  GS_TRY(same_types(b));
  const Tensor& x = b.input(0);
  GS_TRY(broadcasts_to(b, 1, x.shape()));
  GS_ASSIGN(int axis, b.axis("axis", x.rank()));
  GS_ASSIGN(Tensor sum, b.call1("Add", {x, b.input(1)}));
  GS_ASSIGN(Tensor flat, b.call1("Flatten", {sum}, {{"axis", int64_t{axis}}}));
  GS_ASSIGN(flat, b.call1("Softmax", {flat}, {{"axis", -1}}));
  b.output(0, b.reshape("bias_softmax", flat, x.shape()));
  return {};
}

Result<> gemma_rotary_embedding(Builder& b) {
  const Tensor& angles = b.input(0);
  GS_TRY(one_type(b, {1, 2, 3, 4}));
  for (int i = 1; i < 5; ++i) {
    const Tensor& x = b.input(i);
    if (x.rank() != 4) return b.error("states are [batch, heads, sequence, width]");
    GS_TRY(has_shape(b, 0, {x.dim(0), x.dim(2), x.dim(3)}));
    GS_TRY(has_shape(b, i, b.input(i < 3 ? 1 : 3).shape()));
  }
  for (int i : {0, 1}) {
    const Tensor &x = b.input(1 + 2 * i), &half = b.input(2 + 2 * i);
    DType dtype = x.dtype();
    b.output(i, b.compute("gemma_rotary_embedding", dtype, x.shape(), [&](Point p) {
      Expr angle = angles({p[0], p[2], p[3]});
      return x.at(p) * ir::cast(dtype, ir::cos(angle)) +
             half.at(p) * ir::cast(dtype, ir::sin(angle));
    }));
  }
  return {};
}

// Tokens that would make the last ones repeat what came before have no chance.
Result<> ngram_repeat_block(Builder& b) {
  const Tensor &ids = b.input(0), &scores = b.input(1);
  int64_t size = b.integer("ngram_size");
  if (ids.rank() != 2 || scores.rank() != 2)
    return b.error("input_ids are [batch, sequence], scores [batch, words]");
  if (size < 1 || size > 64) return b.error(cat("`ngram_size` is ", size));
  GS_TRY(b.require(ids.dim(0) == scores.dim(0), "input_ids and scores differ in batch"));
  Expr length = ids.dim(1);
  Expr starts = b.simplify(ir::max(length - static_cast<double>(size - 1), ir::index(0)));
  Tensor blocked = b.reduce(
      "ngram_repeat_block.blocked", Builder::Join::max, DType::i32, scores.shape(), {starts},
      [&](Point p, Point r) {
        auto id = [&](const Expr& at) { return ids({p[0], b.simplify(at)}); };
        Expr same = as_index(id(r[0] + static_cast<double>(size - 1))) == p[1];
        for (int64_t k = 0; k + 1 < size; ++k) {
          same = same && id(r[0] + static_cast<double>(k)) ==
                             id(length - static_cast<double>(size - 1 - k));
        }
        return ir::cast(DType::i32, same);
      },
      [&](Point, Expr most) { return most; });
  b.output(0, b.compute("ngram_repeat_block", scores.dtype(), scores.shape(), [&](Point p) {
    Expr never = ir::constant(scores.dtype(), -std::numeric_limits<double>::infinity());
    return ir::select(blocked.at(p) == 1, never, scores.at(p));
  }));
  return {};
}

// Gauss and Jordan's elimination with row pivots, all matrices of a batch at once.
Result<> inverse(Builder& b) {
  const Tensor& x = b.input(0);
  if (x.rank() < 2) return b.error(cat("X has rank ", x.rank()), "it must be [..., n, n]");
  GS_TRY(b.require(x.dim(-1) == x.dim(-2), "the matrices are not square"));
  auto size = ir::as_int(b.simplify(x.dim(-1)));
  if (!size) return b.error("the number of rows must be known when compiling");
  if (*size > max_rows) return b.error(cat("matrices of ", *size, " rows are not supported"));
  DType dtype = x.dtype(), wide = accumulator(dtype);
  Shape batch(x.shape().begin(), x.shape().end() - 2), rows = batch, both = batch;
  rows.push_back(ir::index(*size));
  both.insert(both.end(), {ir::index(*size), ir::index(2 * *size)});
  auto at = [](Point outer, Expr row, Expr column) {
    std::vector<Expr> point(outer.begin(), outer.end());
    point.push_back(std::move(row));
    point.push_back(std::move(column));
    return point;
  };
  // The matrix, and beside it what becomes its inverse.
  Tensor now = b.compute("inverse.start", wide, both, [&](Point p) {
    Point outer = p.first(p.size() - 2);
    const Expr &row = p[p.size() - 2], &column = p.back();
    Expr within = ir::min(column, ir::index(*size - 1));
    return ir::select(column < static_cast<double>(*size),
                      ir::cast(wide, x.at(at(outer, row, within))),
                      ir::cast(wide, column == row + static_cast<double>(*size)));
  });
  for (int64_t k = 0; k < *size; ++k) {
    Expr own = ir::index(k);
    Tensor before = now;
    Tensor column = b.compute("inverse.column", wide, rows, [&](Point p) {
      Expr value = ir::abs(before.at(at(p.first(p.size() - 1), p.back(), own)));
      return ir::select(p.back() < static_cast<double>(k), ir::constant(wide, -1), value);
    });
    Tensor pivot =
        best_index(b, "inverse.pivot", column, static_cast<int>(batch.size()), false, false, false);
    now = b.compute("inverse.step", wide, both, [&](Point p) {
      Point outer = p.first(p.size() - 2);
      const Expr& row = p[p.size() - 2];
      Expr chosen = as_index(pivot.at(outer));
      Expr head = before.at(at(outer, chosen, p.back())) / before.at(at(outer, chosen, own));
      Expr from = ir::select(row == chosen, own, row);  // the pivot's row takes this one's place
      Expr rest = before.at(at(outer, from, p.back())) - before.at(at(outer, from, own)) * head;
      return ir::select(row == static_cast<double>(k), head, rest);
    });
  }
  b.output(0, b.compute("inverse", dtype, x.shape(), [&](Point p) {
    return ir::cast(dtype, now.at(at(p.first(p.size() - 2), p[p.size() - 2],
                                     b.simplify(p.back() + static_cast<double>(*size)))));
  }));
  return {};
}

// (data + bias) after dropout, plus a residual.
Result<> bias_dropout(Builder& b) {
  GS_TRY(one_type(b, {0, 1, 2}));
  GS_TRY(broadcasts_to(b, 1, b.input(0).shape()));
  GS_TRY(has_shape(b, 2, b.input(0).shape()));
  GS_ASSIGN(Tensor sum, b.call1("Add", {b.input(0), b.input(1)}));
  GS_ASSIGN(std::vector<Tensor> made,
            b.call("Dropout", {sum, b.input(3), b.input(4)}, passed_on(b, {"seed"}), 2));
  if (b.has(2)) {
    GS_ASSIGN(made[0], b.call1("Add", {made[0], b.input(2)}));
  }
  b.output(0, made[0]);
  b.output(1, made[1]);
  return {};
}

}  // namespace

std::vector<OpDef> microsoft_tensor_family() {
  std::string ms(microsoft);
  auto optional = InputDef::optional;
  std::vector<int64_t> none = {-1};
  TypeSet numbers = only(DType::f32) | only(DType::f64) | any_int | only(DType::f16);
  std::vector<AttributeDef> fourier = {{"normalized", 0}, {"onesided", 1}, {"signal_ndim", 1}};
  return {
      {.name = "Trilu",
       .doc = "The upper or lower triangle of matrices.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_element}, {"k", only(DType::i64), optional}},
       .attributes = {{"upper", 1}},
       .define = [](Builder& b) { return as_standard(b, "Trilu", {b.input(0), b.input(1)}); },
       .cases = [] -> Cases {
         return {{.name = "lower", .shapes = {{3, 4}}, .attributes = {{"upper", 0}}}};
       }},
      {.name = "ExpandDims",
       .doc = "X with a new axis.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_element}, {"axis", only(DType::i32)}},
       .define = expand_dims,
       .cases = [] -> Cases {
         return {{.name = "last", .shapes = {{3, 4}}, .inputs = {{}, int32s({}, {-1})}}};
       }},
      {.name = "Pad",
       .doc = "Elements around a tensor; pads may be a row.",
       .domain = ms,
       .since = 1,
       .inputs = {{"data", any_float}, {"pads", only(DType::i64)}, {"value", any_float, optional}},
       .attributes = {{"mode", "constant"}},
       .define = pad,
       .cases = [] -> Cases {
         return {{.name = "row",
                  .shapes = {{2, 3}},
                  .inputs = {{}, int64s({1, 4}, {1, 0, 0, 2}), floats({1}, {7})}}};
       }},
      {.name = "Range",
       .doc = "start, start + delta, ... before limit.",
       .domain = ms,
       .since = 1,
       .inputs = {{"start", numbers}, {"limit", numbers}, {"delta", numbers, optional}},
       .define = range,
       .cases = [] -> Cases {
         return {{.name = "ones", .inputs = {int64s({1}, {2}), int64s({1}, {7})}}};
       }},
      {.name = "Unique",
       .doc = "The distinct elements as they come, which one each is, and how often they occur.",
       .domain = ms,
       .since = 1,
       .inputs = {{"x", any_number}},
       .outputs = {"y", "idx", "counts"},
       .define = unique,
       .cases = [] -> Cases {
         return {{.name = "some", .inputs = {floats({6}, {2, 1, 1, 3, 4, 3})}}};
       }},
      {.name = "UnfoldTensor",
       .doc = "Slices along an axis, as a new last axis.",
       .domain = ms,
       .since = 1,
       .inputs = {{"input", any_element}},
       .attributes = {{"dim", -1}, {"size", {}, true}, {"step", 1}},
       .define = unfold,
       .cases = [] -> Cases {
         return {{.name = "overlapping",
                  .shapes = {{2, 7, 3}},
                  .attributes = {{"dim", 1}, {"size", 3}, {"step", 2}}}};
       }},
      {.name = "ComplexMul",
       .doc = "The product of complex numbers.",
       .domain = ms,
       .since = 1,
       .inputs = {{"A", any_float}, {"B", any_float}},
       .define = [](Builder& b) { return complex_product(b, false); },
       .cases = [] -> Cases { return {{.name = "broadcast", .shapes = {{3, 4, 2}, {4, 2}}}}; }},
      {.name = "ComplexMulConj",
       .doc = "Complex numbers times the conjugates of others.",
       .domain = ms,
       .since = 1,
       .inputs = {{"A", any_float}, {"B", any_float}},
       .define = [](Builder& b) { return complex_product(b, true); },
       .cases = [] -> Cases { return {{.name = "same", .shapes = {{5, 2}, {5, 2}}}}; }},
      {.name = "Rfft",
       .doc = "The spectrum of a real signal.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float}},
       .attributes = fourier,
       .define = rfft,
       .cases = [] -> Cases { return {{.name = "two", .shapes = {{2, 8}}}}; }},
      {.name = "Irfft",
       .doc = "The real signal of a spectrum.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float}},
       .attributes = fourier,
       .define = irfft,
       .cases = [] -> Cases { return {{.name = "two", .shapes = {{2, 5, 2}}}}; }},
      {.name = "BiasSoftmax",
       .doc = "Softmax of a sum, over all axes from one on.",
       .domain = ms,
       .since = 1,
       .inputs = {{"data", any_float}, {"bias", any_float}},
       .attributes = {{"axis", 1}, {"is_inner_broadcast", {}, true}},
       .define = bias_softmax,
       .cases = [] -> Cases {
         return {{.name = "mask",
                  .shapes = {{2, 2, 3, 4}, {2, 1, 1, 4}},
                  .attributes = {{"axis", 3}, {"is_inner_broadcast", 1}}}};
       }},
      {.name = "GemmaRotaryEmbedding",
       .doc = "Turns queries and keys by angles.",
       .domain = ms,
       .since = 1,
       .inputs = {{"emb", any_float},
                  {"q", any_float},
                  {"q_rot", any_float},
                  {"k", any_float},
                  {"k_rot", any_float}},
       .outputs = {"output1", "output2"},
       .define = gemma_rotary_embedding,
       .cases = [] -> Cases {
         return {{.name = "two heads",
                  .shapes = {{1, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}}}};
       }},
      {.name = "NGramRepeatBlock",
       .doc = "Scores without the words that would repeat an n-gram.",
       .domain = ms,
       .since = 1,
       .inputs = {{"input_ids", only(DType::i64)}, {"scores", any_float}},
       .outputs = {"scores_out"},
       .attributes = {{"ngram_size", {}, true}},
       .define = ngram_repeat_block,
       .cases = [] -> Cases {
         return {{.name = "pairs",
                  .shapes = {{}, {2, 5}},
                  .attributes = {{"ngram_size", 2}},
                  .inputs = {int64s({2, 5}, {1, 2, 3, 1, 2, 4, 4, 0, 4, 4})}}};
       }},
      {.name = "Inverse",
       .doc = "The inverse of matrices.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float}},
       .define = inverse,
       .cases = [] -> Cases {
         return {{.name = "batch",
                  .inputs = {floats({2, 3, 3},
                                    {0, 2, 1, 3, 1, -1, 1, 1, 2, 4, 1, 0, -1, 3, 1, 0, 1, 2})}}};
       }},
      {.name = "BiasDropout",
       .doc = "X plus a bias; in training, drops elements at random; then plus a residual.",
       .domain = ms,
       .since = 1,
       .inputs = {{"data", any_float},
                  {"bias", any_float},
                  {"residual", any_float, optional},
                  {"ratio", any_float, optional},
                  {"training_mode", boolean_only, optional}},
       .outputs = {"output", "mask"},
       .attributes = {{"seed", {}}},
       .define = bias_dropout,
       .cases = [] -> Cases { return {{.name = "inference", .shapes = {{3, 5}, {5}, {3, 5}}}}; }},
  };
}

}  // namespace gossamer::ops
