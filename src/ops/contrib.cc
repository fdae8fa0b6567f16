// Operators of ONNX Runtime's domain that exported and optimised models use, composed of the
// standard ones.
#include "ir/print.h"
#include "ops/define.h"
#include "ops/families.h"

namespace gossamer::ops {
namespace {

constexpr std::string_view domain = "com.microsoft";

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
  Attributes attributes;
  std::vector<double> parameters;
  if (b.given("activation_params")) parameters = b.numbers("activation_params");
  for (std::string_view one : {"activation_alpha", "activation_beta"}) {
    if (b.given(one)) parameters.push_back(b.number(one));
  }
  if (name == "LeakyRelu" && !parameters.empty()) attributes["alpha"] = parameters[0];
  if (name == "HardSigmoid" && parameters.size() > 1)
    attributes["alpha"] = parameters[0], attributes["beta"] = parameters[1];
  if (name == "Clip" && parameters.size() > 1) {
    return b.call1("Clip",
                   {x, b.scalar(x.dtype(), parameters[0]), b.scalar(x.dtype(), parameters[1])});
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

Result<> gelu_of_sum(Builder& b, std::string approximate) {
  Tensor x = b.input(0);
  if (b.has(1)) {
    GS_ASSIGN(x, b.call1("Add", {x, b.input(1)}));
  }
  GS_ASSIGN(Tensor y, b.call1("Gelu", {x}, {{"approximate", std::move(approximate)}}));
  b.output(0, y);
  return {};
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

// Self-attention with its projection: input, weights [in, 3 * hidden], bias, mask, past [2, batch,
// heads, before, width].
Result<> attention(Builder& b) {
  const Tensor &x = b.input(0), &w = b.input(1), &bias = b.input(2), &mask = b.input(3),
               &past = b.input(4), &added = b.input(5);
  GS_TRY(one_type(b, {0, 1, 2, 4, 5}));
  int64_t heads = b.integer("num_heads");
  if (x.rank() != 3 || w.rank() != 2 || heads < 1)
    return b.error("input has rank 3, weights rank 2, `num_heads` is positive");
  if (!b.integers("qkv_hidden_sizes").empty() || b.integer("do_rotary") != 0)
    return b.error("qkv_hidden_sizes and do_rotary are not supported");
  if (int64_t rotary = b.integer("rotary_embedding_dim");
      rotary != 0 && rotary != 32 && rotary != 64 && rotary != 128)
    return b.error(cat("`rotary_embedding_dim` is ", rotary), "it must be 32, 64 or 128");
  GS_TRY(
      b.require(w.dim(0) == x.dim(2), cat("weights have ", ir::print(w.dim(0)), " rows, input has ",
                                          ir::print(x.dim(2)), " columns")));
  GS_TRY(b.require(ir::floormod(w.dim(1), 3 * heads) == 0,
                   cat("weights have ", ir::print(w.dim(1)), " columns, not three times ", heads,
                       " heads of one width")));
  GS_TRY(has_shape(b, 2, {w.dim(1)}));
  Expr hidden = b.simplify(ir::floordiv(w.dim(1), 3)),
       width = b.simplify(ir::floordiv(hidden, heads));
  Tensor all = b.reduce(
      "attention.projection", Builder::Join::sum, x.dtype(), {x.dim(0), x.dim(1), w.dim(1)},
      {x.dim(2)}, [&](Point p, Point r) { return x({p[0], p[1], r[0]}) * w({r[0], p[2]}); },
      [&](Point p, Expr sum) { return bias ? sum + bias({p[2]}) : sum; });
  auto third = [&](int which) {
    return b.compute("attention.part", x.dtype(), {x.dim(0), x.dim(1), hidden}, [&](Point p) {
      return all({p[0], p[1], b.simplify(p[2] + hidden * static_cast<double>(which))});
    });
  };
  Tensor query = third(0), key = third(1), value = third(2), before[2];
  Expr total = x.dim(1);
  if (past) {
    GS_TRY(has_shape(b, 4, {ir::index(2), x.dim(0), ir::index(heads), past.dim(3), width}));
    total = b.simplify(total + past.dim(3));
    for (int i : {0, 1}) {
      before[i] = b.compute("attention.past", past.dtype(),
                            {past.dim(1), past.dim(2), past.dim(3), past.dim(4)},
                            [&](Point p) { return past({ir::index(i), p[0], p[1], p[2], p[3]}); });
    }
  }
  Tensor bias_of_scores = added;
  if (mask) {
    if (added || mask.rank() > 2) return b.error("this form of mask is not supported");
    GS_TRY(has_shape(b, 3, mask.rank() == 1 ? Shape{x.dim(0)} : Shape{x.dim(0), total}));
    double never = b.has_attribute("mask_filter_value") ? b.number("mask_filter_value") : -10000;
    bias_of_scores = b.compute(
        "attention.mask", x.dtype(), {x.dim(0), ir::index(1), ir::index(1), total}, [&](Point p) {
          // Lengths, or 1 for what counts.
          Expr counts = mask.rank() == 1 ? p[3] < as_index(mask({p[0]})) : mask({p[0], p[3]}) != 0;
          return ir::select(counts, ir::zero(x.dtype()), ir::constant(x.dtype(), never));
        });
  }
  Attributes attributes = {
      {"q_num_heads", heads}, {"kv_num_heads", heads}, {"is_causal", b.integer("unidirectional")}};
  if (b.has_attribute("scale") && b.number("scale") != 0) attributes["scale"] = b.number("scale");
  GS_ASSIGN(std::vector<Tensor> made,
            b.call("Attention", {query, key, value, bias_of_scores, before[0], before[1]},
                   attributes, b.wants(1) ? 3 : 1));
  b.output(0, made[0]);
  if (b.wants(1)) {
    b.output(1, b.compute("attention.present", x.dtype(),
                          {ir::index(2), x.dim(0), ir::index(heads), total, width}, [&](Point p) {
                            Point rest = p.subspan(1);
                            return ir::select(p[0] == 0, made[1].at(rest), made[2].at(rest));
                          }));
  }
  return {};
}

// Arithmetic on quantised tensors: A, its scale and zero point, the same of B, then the result's.
Result<> quantized_arithmetic(Builder& b, std::string_view op) {
  GS_ASSIGN(Tensor x, b.call1("DequantizeLinear", {b.input(0), b.input(1), b.input(2)}));
  GS_ASSIGN(Tensor y, b.call1("DequantizeLinear", {b.input(3), b.input(4), b.input(5)}));
  GS_ASSIGN(Tensor real, b.call1(op, {x, y}));
  Tensor zero = b.input(7);
  if (!zero) zero = b.scalar(b.input(0).dtype(), 0);
  GS_ASSIGN(Tensor made, b.call1("QuantizeLinear", {real, b.input(6), zero}));
  b.output(0, made);
  return {};
}

// One quantised tensor through a standard operator: X, scale, zero point, the result's scale and
// zero point.
Result<> quantized_unary(Builder& b, std::string_view op, Attributes attributes) {
  GS_ASSIGN(Tensor x, b.call1("DequantizeLinear", {b.input(0), b.input(1), b.input(2)}));
  GS_ASSIGN(Tensor real, b.call1(op, {x}, std::move(attributes)));
  Tensor zero = b.input(4);
  if (!zero) zero = b.scalar(b.input(0).dtype(), 0);
  GS_ASSIGN(Tensor made, b.call1("QuantizeLinear", {real, b.input(3), zero}));
  b.output(0, made);
  return {};
}

Result<> quantized_pool(Builder& b) {
  if (b.integer("channels_last") != 0) return b.error("`channels_last` is not supported");
  return quantized_unary(b, "GlobalAveragePool", {});
}

OpDef quantized_pair(std::string name, std::string doc, std::string_view op) {
  TypeSet bytes = only(DType::u8) | only(DType::i8), scale = only(DType::f32);
  return {.name = std::move(name),
          .doc = std::move(doc),
          .domain = std::string(domain),
          .since = 1,
          .inputs = {{"A", bytes},
                     {"A_scale", scale},
                     {"A_zero_point", bytes, InputDef::optional},
                     {"B", bytes},
                     {"B_scale", scale},
                     {"B_zero_point", bytes, InputDef::optional},
                     {"C_scale", scale},
                     {"C_zero_point", bytes, InputDef::optional}},
          .outputs = {"C"},
          .define = [op](Builder& b) { return quantized_arithmetic(b, op); },
          .cases = {{.name = "broadcast",
                     .shapes = {{3, 4}, {}, {}, {4}},
                     .inputs = {{},
                                floats({}, {0.1f}),
                                uint8s({}, {10}),
                                {},
                                floats({}, {0.2f}),
                                uint8s({}, {3}),
                                floats({}, {0.5f}),
                                uint8s({}, {7})},
                     .dtype = DType::u8,
                     .low = 0,
                     .high = 90}}};
}

OpDef quantized_one(std::string name, std::string doc, std::vector<AttributeDef> attributes,
                    std::function<Result<>(Builder&)> define) {
  TypeSet bytes = only(DType::u8) | only(DType::i8), scale = only(DType::f32);
  return {
      .name = std::move(name),
      .doc = std::move(doc),
      .domain = std::string(domain),
      .since = 1,
      .inputs = {{"X", bytes},
                 {"X_scale", scale},
                 {"X_zero_point", bytes, InputDef::optional},
                 {"Y_scale", scale},
                 {"Y_zero_point", bytes, InputDef::optional}},
      .attributes = std::move(attributes),
      .define = std::move(define),
      .cases = {
          {.name = "image",
           .shapes = {{1, 2, 3, 4}},
           .inputs =
               {{}, floats({}, {0.05f}), uint8s({}, {128}), floats({}, {0.02f}), uint8s({}, {100})},
           .dtype = DType::u8,
           .low = 0,
           .high = 255}}};
}

}  // namespace

std::vector<OpDef> contrib_family() {
  using N = Numbers;
  std::vector<int64_t> none = {-1};
  std::string ms(domain);
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
       .cases = {{.name = "relu",
                  .shapes = {{3, 4}, {5, 4}, {5}},
                  .attributes = {{"activation", "Relu"}, {"transB", 1}}}}},
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
       .cases = {{.name = "leaky",
                  .shapes = {{1, 2, 5, 5}, {3, 2, 3, 3}, {3}},
                  .attributes = {{"activation", "LeakyRelu"},
                                 {"activation_params", std::vector<double>{0.1}}}}}},
      {.name = "FastGelu",
       .doc = "Gelu by tanh, of X plus a bias.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float}, {"bias", any_float, optional}},
       .define = [](Builder& b) { return gelu_of_sum(b, "tanh"); },
       .cases = {{.name = "bias", .shapes = {{2, 3, 5}, {5}}}, {.name = "plain", .shapes = {{7}}}}},
      {.name = "BiasGelu",
       .doc = "Gelu of A plus a bias.",
       .domain = ms,
       .since = 1,
       .inputs = {{"A", any_float}, {"B", any_float}},
       .define = [](Builder& b) { return gelu_of_sum(b, "none"); },
       .cases = {{.name = "bias", .shapes = {{2, 3, 5}, {5}}}}},
      {.name = "Gelu",
       .doc = "x times the normal distribution's share below x.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float}},
       .define = [](Builder& b) { return gelu_of_sum(b, "none"); },
       .cases = {{.name = "plain", .shapes = {{3, 5}}}}},
      {.name = "QuickGelu",
       .doc = "x * sigmoid(alpha * x).",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float}},
       .attributes = {{"alpha", 1.702}},
       .define = quick_gelu,
       .cases = {{.name = "plain", .shapes = {{3, 5}}}}},
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
       .cases = {{.name = "bias", .shapes = {{1, 3, 6}, {1, 3, 6}, {6}, {6}, {6}}}}},
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
       .cases = {{.name = "plain", .shapes = {{1, 3, 6}, {1, 3, 6}, {6}}}}},
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
       .cases = {{.name = "segments",
                  .shapes = {{2, 3}, {2, 3}, {5, 4}, {3, 4}, {2, 4}, {4}, {4}},
                  .inputs = {int32s({2, 3}, {0, 4, 2, 1, 1, 3}),
                             int32s({2, 3}, {0, 0, 1, 0, 1, 1})}}}},
      {.name = "Attention",
       .doc = "Self-attention with its projection.",
       .domain = ms,
       .since = 1,
       .inputs = {{"input", any_float},
                  {"weights", any_float},
                  {"bias", any_float, optional},
                  {"mask_index", ids, optional},
                  {"past", any_float, optional},
                  {"attention_bias", any_float, optional}},
       .outputs = {"output", "present"},
       .attributes = {{"do_rotary", 0},
                      {"mask_filter_value", {}},
                      {"num_heads", {}, true},
                      {"past_present_share_buffer", 0},
                      {"qkv_hidden_sizes", N{}},
                      {"rotary_embedding_dim", 0},
                      {"scale", {}},
                      {"unidirectional", 0}},
       .define = attention,
       .cases = {{.name = "past",
                  .shapes = {{1, 3, 4}, {4, 24}, {24}, none, {2, 1, 2, 2, 4}},
                  .attributes = {{"num_heads", 2}, {"unidirectional", 1}}},
                 {.name = "mask",
                  .shapes = {{2, 3, 4}, {4, 12}, {12}},
                  .attributes = {{"num_heads", 2}},
                  .inputs = {{}, {}, {}, int32s({2}, {2, 3})},
                  .outputs = 1}}},
      quantized_pair("QLinearAdd", "The sum of quantised tensors, quantised.", "Add"),
      quantized_pair("QLinearMul", "The product of quantised tensors, quantised.", "Mul"),
      quantized_one("QLinearSigmoid", "Sigmoid of a quantised tensor, quantised.", {},
                    [](Builder& b) { return quantized_unary(b, "Sigmoid", {}); }),
      quantized_one("QLinearLeakyRelu", "LeakyRelu of a quantised tensor, quantised.",
                    {{"alpha", 0.01}},
                    [](Builder& b) {
                      return quantized_unary(b, "LeakyRelu", {{"alpha", b.number("alpha")}});
                    }),
      quantized_one("QLinearGlobalAveragePool", "The mean of each quantised channel, quantised.",
                    {{"channels_last", 0}}, quantized_pool),
  };
}

}  // namespace gossamer::ops
