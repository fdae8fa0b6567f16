// Operators of ONNX Runtime's domain that exported and optimised models use, composed of the
// standard ones.
#include "ops/microsoft/fused.h"

#include <algorithm>

#include "ir/print.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/reshape_index.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

Result<> fused_gemm(Builder& b) {
  GS_ASSIGN(Tensor y, b.call1("Gemm", {b.input(0), b.input(1), b.input(2)},
                              passed_on(b, {"alpha", "beta", "transA", "transB"})));
  GS_ASSIGN(y, activated(b, y));
  b.output(0, y);
  return {};
}

Result<> fused_conv(Builder& b) {
  GS_ASSIGN(
      Tensor y,
      b.call1("Conv", {b.input(0), b.input(1), b.input(2)},
              passed_on(b, {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"})));
  if (b.has(3)) {
    GS_ASSIGN(y, b.call1("Add", {y, b.input(3)}));
  }
  GS_ASSIGN(y, activated(b, y));
  b.output(0, y);
  return {};
}

// x plus a bias. One of another length than the last axis starts again at its end, over x in
// row-major order.
Result<Tensor> with_bias(Builder& b, const Tensor& x, const Tensor& bias) {
  if (bias.rank() != 1 || x.rank() == 0 || b.same(bias.dim(0), x.dim(-1)) ||
      ir::is_const(bias.dim(0), 1)) {
    return b.call1("Add", {x, bias});
  }
  Shape flat = {product(x.shape())};
  return b.compute("bias", x.dtype(), x.shape(), [&](Point p) {
    std::vector<Expr> point(p.begin(), p.end());
    Expr at = same_position(flat, x.shape(), point, b.bounds)[0];
    return x.at(p) + bias({b.simplify(ir::floormod(at, bias.dim(0)))});
  });
}

Result<> gelu_of_sum(Builder& b, std::string approximate) {
  Tensor x = b.input(0);
  GS_TRY(same_types(b));
  if (b.has(1)) {
    GS_ASSIGN(
        x, approximate == "tanh" ? with_bias(b, x, b.input(1)) : b.call1("Add", {x, b.input(1)}));
  }
  GS_ASSIGN(Tensor y, b.call1("Gelu", {x}, {{"approximate", std::move(approximate)}}));
  b.output(0, y);
  return {};
}

// Halves of the sum with a bias along the last axis: the first times Gelu of the second.
Result<> bias_split_gelu(Builder& b) {
  const Tensor &x = b.input(0), &bias = b.input(1);
  GS_TRY(same_types(b));
  if (x.rank() < 1) return b.error("X is [batch, sequence, channels]");
  GS_TRY(has_shape(b, 1, {x.dim(-1)}));
  GS_TRY(b.require(ir::floormod(x.dim(-1), 2) == 0, "the last axis does not divide in two"));
  Shape shape = x.shape();
  Expr half = shape.back() = b.simplify(ir::floordiv(x.dim(-1), 2));
  auto part = [&](const std::string& name, const Expr& begin) {
    return b.compute(name, x.dtype(), shape, [&](Point p) {
      std::vector<Expr> at(p.begin(), p.end());
      at.back() = b.simplify(at.back() + begin);
      return x.at(at) + bias({at.back()});
    });
  };
  Tensor left = part("bias_split_gelu.left", ir::index(0)),
         right = part("bias_split_gelu.right", half);
  GS_ASSIGN(right, b.call1("Gelu", {right}));
  GS_ASSIGN(Tensor y, b.call1("Mul", {left, right}));
  b.output(0, y);
  return {};
}

Result<> bias_add(Builder& b) {
  const Tensor& x = b.input(0);
  GS_TRY(same_types(b));
  if (x.rank() < 1) return b.error("X is [batch, sequence, channels]");
  GS_TRY(has_shape(b, 1, {x.dim(-1)}));
  GS_TRY(has_shape(b, 2, x.shape()));
  return elementwise(b, x.dtype(), [](std::span<const Expr> of) { return of[0] + of[1] + of[2]; });
}

Result<> quick_gelu(Builder& b) {
  GS_ASSIGN(Tensor y, b.call1("Swish", {b.input(0)}, {{"alpha", b.number("alpha")}}));
  b.output(0, y);
  return {};
}

// Inputs x, skip, gamma, then beta (where there is one) and bias; the sum is output 3.
Result<> skip_normalization(Builder& b, bool simplified) {
  const Tensor& x = b.input(0);
  if (x.rank() != 2 && x.rank() != 3)
    return b.error(cat("input has rank ", x.rank()), "it is [batch, sequence, hidden]");
  for (int i = 2; i < b.input_count(); ++i) GS_TRY(has_shape(b, i, {x.dim(-1)}));
  GS_TRY(broadcasts_to(b, 1, x.shape()));
  GS_ASSIGN(Tensor sum, b.call1("Add", {b.input(0), b.input(1)}));
  int bias = simplified ? 3 : 4;
  if (b.has(bias)) {
    GS_ASSIGN(sum, b.call1("Add", {sum, b.input(bias)}));
  }
  Attributes attributes = {{"epsilon", b.number("epsilon")}};
  std::vector<Tensor> inputs = {sum, b.input(2)};
  if (!simplified) inputs.push_back(b.input(3));
  if (!simplified) {
    int count = b.wants(1) ? 3 : 1;
    GS_ASSIGN(std::vector<Tensor> made,
              b.call("LayerNormalization", std::move(inputs), std::move(attributes), count));
    for (int i = 0; i < count; ++i) b.output(i, made[static_cast<size_t>(i)]);
  } else {
    GS_ASSIGN(Tensor y, b.call1("RMSNormalization", std::move(inputs), std::move(attributes)));
    b.output(0, y);
    if (b.wants(1)) {
      double epsilon = b.number("epsilon");
      Tensor axes = b.constant(int64s({1}, {-1}));
      GS_ASSIGN(Tensor mean, b.call1("ReduceMean", {sum, axes}));
      GS_ASSIGN(Tensor square, b.call1("Mul", {sum, sum}));
      GS_ASSIGN(square, b.call1("ReduceMean", {square, axes}));
      b.output(1, mean);
      b.output(2, b.compute("skip.inverse", square.dtype(), square.shape(),
                            [&](Point p) { return 1.0 / ir::sqrt(square.at(p) + epsilon); }));
    }
  }
  b.output(3, sum);
  return {};
}

Result<> simplified_normalization(Builder& b) {
  const Tensor& x = b.input(0);
  GS_ASSIGN(int axis, b.axis("axis", x.rank()));
  GS_ASSIGN(Tensor y, b.call1("RMSNormalization", {x, b.input(1)},
                              passed_on(b, {"axis", "epsilon", "stash_type"})));
  b.output(0, y);
  if (!b.wants(1)) return {};
  DType wide = accumulator(x.dtype());
  Shape shape = x.shape(), extents;
  Expr count = ir::index(1);
  for (size_t i = static_cast<size_t>(axis); i < shape.size(); ++i) {
    extents.push_back(shape[i]);
    count = count * shape[i];
    shape[i] = ir::index(1);
  }
  double epsilon = b.number("epsilon");
  b.output(1, b.reduce(
                  "simplified.inverse", Builder::Join::sum, wide, shape, extents,
                  [&](Point p, Point r) {
                    std::vector<Expr> at(p.begin(), p.begin() + axis);
                    at.insert(at.end(), r.begin(), r.end());
                    return ir::cast(wide, x.at(at)) * ir::cast(wide, x.at(at));
                  },
                  [&](Point, Expr sum) {
                    return 1.0 / ir::sqrt(sum / ir::cast(wide, b.simplify(count)) + epsilon);
                  }));
  return {};
}

// Inputs: word ids, segment ids, three tables, gamma, beta, mask, position ids.
Result<> embed_normalization(Builder& b) {
  const Tensor &ids = b.input(0), &segments = b.input(1), &mask = b.input(7),
               &positions = b.input(8);
  const Tensor &words = b.input(2), &places = b.input(3), &kinds = b.input(4);
  GS_TRY(one_type(b, {2, 3, 4, 5, 6}));
  if (ids.rank() != 2) return b.error("input_ids are [batch, sequence]");
  Expr hidden = words.dim(1);
  GS_TRY(has_shape(b, 1, ids.shape()));
  GS_TRY(has_shape(b, 3, {places.dim(0), hidden}));
  if (kinds) GS_TRY(has_shape(b, 4, {kinds.dim(0), hidden}));
  for (int i : {5, 6}) GS_TRY(has_shape(b, i, {hidden}));
  if (mask) GS_TRY(has_shape(b, 7, {ids.dim(0), mask.dim(1)}));
  if (positions && !ir::is_const(positions.dim(0), 1)) GS_TRY(has_shape(b, 8, ids.shape()));
  Shape shape = {ids.dim(0), ids.dim(1), hidden};
  Tensor sum = b.compute("embed.sum", words.dtype(), shape, [&](Point p) {
    Expr place = p[1];
    if (positions) {
      Expr batch = ir::is_const(positions.dim(0), 1) ? ir::index(0) : p[0];
      place = as_index(positions({batch, p[1]}));
    }
    Expr value = words({as_index(ids({p[0], p[1]})), p[2]}) + places({place, p[2]});
    return segments && kinds ? value + kinds({as_index(segments({p[0], p[1]})), p[2]}) : value;
  });
  GS_ASSIGN(Tensor y, b.call1("LayerNormalization", {sum, b.input(5), b.input(6)},
                              {{"epsilon", b.number("epsilon")}}));
  b.output(0, y);
  if (b.wants(1)) {
    Shape extents = mask ? Shape{mask.dim(1)} : Shape{ir::index(1)};
    b.output(1, b.reduce("embed.mask_index", Builder::Join::sum, DType::i32, {ids.dim(0)}, extents,
                         [&](Point p, Point r) {
                           return mask ? mask({p[0], r[0]}) : ir::zero(DType::i32);
                         }));
  }
  b.output(2, sum);
  return {};
}

}  // namespace

// All of these inputs that are present have one type.
Result<> one_type(const Builder& b, std::initializer_list<int> inputs) {
  int first = -1;
  for (int i : inputs) {
    if (!b.has(i)) continue;
    if (first < 0) first = i;
    if (b.input(i).dtype() != b.input(first).dtype()) {
      return b.error(cat("inputs ", first, " and ", i, " differ in type"), "insert a Cast");
    }
  }
  return {};
}

// What the fused operators of this domain name in their attribute `activation`.
Result<Tensor> activated(Builder& b, const Tensor& x) {
  std::string name = b.text("activation");
  if (name.empty()) return x;
  const OpDef* def = builtin_catalog().find("", name);
  if (!def) return b.error(cat("`activation` is ", name, ", which is no operator"));
  std::vector<double> parameters;
  if (b.given("activation_params")) parameters = b.numbers("activation_params");
  if (name == "Clip" && parameters.size() > 1) {
    return b.call1("Clip",
                   {x, b.scalar(x.dtype(), parameters[0]), b.scalar(x.dtype(), parameters[1])});
  }
  // Given by place or by name.
  Attributes attributes;
  constexpr std::string_view names[] = {"alpha", "beta", "gamma"};
  for (size_t i = 0; i < std::size(names); ++i) {
    const std::string_view one = names[i];
    if (std::ranges::none_of(def->attributes, [&](const AttributeDef& a) { return a.name == one; }))
      continue;
    const std::string named = cat("activation_", one);
    if (i < parameters.size()) attributes.emplace(one, parameters[i]);
    if (b.given(named)) attributes.emplace(one, b.number(named));
  }
  return b.call1(name, {x}, std::move(attributes));
}

// The attributes of this node that `names` lists, for a call.
Attributes passed_on(const Builder& b, std::initializer_list<std::string_view> names) {
  Attributes all;
  for (std::string_view name : names) {
    if (auto value = b.given(name)) all.emplace(name, *value);
  }
  return all;
}

std::vector<OpDef> microsoft_fused_family() {
  using N = Numbers;
  std::vector<int64_t> none = {-1};
  std::string ms(microsoft);
  TypeSet ids = only(DType::i32);
  auto optional = InputDef::optional;
  return {
      {.name = "FusedGemm",
       .doc = "Gemm and an activation.",
       .domain = ms,
       .since = 1,
       .inputs = {{"A", any_float}, {"B", any_float}, {"C", any_float, optional}},
       .attributes = {{"activation", ""},
                      {"activation_alpha", 0.0},
                      {"activation_beta", 0.0},
                      {"activation_gamma", 0.0},
                      {"alpha", 1.0},
                      {"beta", 1.0},
                      {"transA", 0},
                      {"transB", 0}},
       .define = fused_gemm,
       .cases = [] -> Cases {
         return {{.name = "relu",
                  .shapes = {{3, 4}, {5, 4}, {5}},
                  .attributes = {{"activation", "Relu"}, {"transB", 1}}}};
       }},
      {.name = "FusedConv",
       .doc = "Conv, a sum and an activation.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float},
                  {"W", any_float},
                  {"B", any_float, optional},
                  {"Z", any_float, optional}},
       .attributes = {{"activation", ""},
                      {"activation_params", std::vector<double>{}},
                      {"auto_pad", "NOTSET"},
                      {"dilations", N{}},
                      {"group", 1},
                      {"kernel_shape", N{}},
                      {"pads", N{}},
                      {"strides", N{}}},
       .define = fused_conv,
       .cases = [] -> Cases {
         return {{.name = "leaky",
                  .shapes = {{1, 2, 5, 5}, {3, 2, 3, 3}, {3}},
                  .attributes = {{"activation", "LeakyRelu"},
                                 {"activation_params", std::vector<double>{0.1}}}}};
       }},
      {.name = "FastGelu",
       .doc = "Gelu by tanh, of X plus a bias.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float}, {"bias", any_float, optional}},
       .define = [](Builder& b) { return gelu_of_sum(b, "tanh"); },
       .cases = [] -> Cases {
         return {{.name = "bias", .shapes = {{2, 3, 5}, {5}}},
                 {.name = "plain", .shapes = {{7}}},
                 {.name = "short bias", .shapes = {{2, 3, 5}, {4}}}};
       }},
      {.name = "BiasGelu",
       .doc = "Gelu of A plus a bias.",
       .domain = ms,
       .since = 1,
       .inputs = {{"A", any_float}, {"B", any_float}},
       .define = [](Builder& b) { return gelu_of_sum(b, "none"); },
       .cases = [] -> Cases { return {{.name = "bias", .shapes = {{2, 3, 5}, {5}}}}; }},
      {.name = "BiasSplitGelu",
       .doc = "The first half of X plus a bias, times Gelu of the second.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float}, {"bias", any_float}},
       .define = bias_split_gelu,
       .cases = [] -> Cases { return {{.name = "halves", .shapes = {{2, 3, 8}, {8}}}}; }},
      {.name = "BiasAdd",
       .doc = "X plus a bias and a skip connection.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float}, {"bias", any_float}, {"skip", any_float}},
       .define = bias_add,
       .cases = [] -> Cases { return {{.name = "skip", .shapes = {{2, 3, 5}, {5}, {2, 3, 5}}}}; }},
      {.name = "Gelu",
       .doc = "x times the normal distribution's share below x.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float}},
       .define = [](Builder& b) { return gelu_of_sum(b, "none"); },
       .cases = [] -> Cases { return {{.name = "plain", .shapes = {{3, 5}}}}; }},
      {.name = "QuickGelu",
       .doc = "x * sigmoid(alpha * x).",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float}},
       .attributes = {{"alpha", 1.702}},
       .define = quick_gelu,
       .cases = [] -> Cases { return {{.name = "plain", .shapes = {{3, 5}}}}; }},
      {.name = "SkipLayerNormalization",
       .doc = "LayerNormalization of a sum.",
       .domain = ms,
       .since = 1,
       .inputs = {{"input", any_float},
                  {"skip", any_float},
                  {"gamma", any_float},
                  {"beta", any_float, optional},
                  {"bias", any_float, optional}},
       .outputs = {"output", "mean", "inv_std_var", "input_skip_bias_sum"},
       .attributes = {{"epsilon", 1e-12}},
       .define = [](Builder& b) { return skip_normalization(b, false); },
       .cases = [] -> Cases {
         return {{.name = "bias", .shapes = {{1, 3, 6}, {1, 3, 6}, {6}, {6}, {6}}}};
       }},
      {.name = "SkipSimplifiedLayerNormalization",
       .doc = "RMSNormalization of a sum.",
       .domain = ms,
       .since = 1,
       .inputs = {{"input", any_float},
                  {"skip", any_float},
                  {"gamma", any_float},
                  {"bias", any_float, optional}},
       .outputs = {"output", "mean", "inv_std_var", "input_skip_bias_sum"},
       .attributes = {{"epsilon", 1e-12}},
       .define = [](Builder& b) { return skip_normalization(b, true); },
       .cases = [] -> Cases { return {{.name = "plain", .shapes = {{1, 3, 6}, {1, 3, 6}, {6}}}}; }},
      {.name = "SimplifiedLayerNormalization",
       .doc = "RMSNormalization under the name that ONNX Runtime gave it in the standard domain.",
       .since = 1,
       .inputs = {{"X", any_float}, {"scale", any_float}},
       .outputs = {"Y", "inv_std_var"},
       .attributes = {{"axis", -1}, {"epsilon", 1e-5}, {"stash_type", 1}},
       .define = simplified_normalization,
       .cases = [] -> Cases {
         return {{.name = "last", .shapes = {{2, 3, 6}, {6}}, .outputs = 1},
                 {.name = "two axes", .shapes = {{2, 3, 5}, {3, 5}}, .attributes = {{"axis", 1}}}};
       }},
      {.name = "EmbedLayerNormalization",
       .doc = "LayerNormalization of summed word, position and segment embeddings.",
       .domain = ms,
       .since = 1,
       .inputs = {{"input_ids", ids},
                  {"segment_ids", ids, optional},
                  {"word_embedding", any_float},
                  {"position_embedding", any_float},
                  {"segment_embedding", any_float, optional},
                  {"gamma", any_float},
                  {"beta", any_float},
                  {"mask", ids, optional},
                  {"position_ids", ids, optional}},
       .outputs = {"output", "mask_index", "embedding_sum"},
       .attributes = {{"epsilon", 1e-12}, {"mask_index_type", 0}},
       .define = embed_normalization,
       .cases = [] -> Cases {
         return {
             {.name = "segments",
              .shapes = {{2, 3}, {2, 3}, {5, 4}, {3, 4}, {2, 4}, {4}, {4}},
              .inputs = {int32s({2, 3}, {0, 4, 2, 1, 1, 3}), int32s({2, 3}, {0, 0, 1, 0, 1, 1})}}};
       }},
  };
}

}  // namespace gossamer::ops
