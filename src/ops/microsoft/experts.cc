// Mixtures of experts: a router's choice of k experts for each token, whose two layers it sums.
#include <limits>

#include "ops/families.h"
#include "ops/functions.h"
#include "ops/microsoft/fused.h"

namespace gossamer::ops {
namespace {

// The weights of one layer of all experts: `at(expert, row, column)` as f32, and their extents.
struct Layer {
  Expr rows, columns;
  std::function<Expr(Expr, Expr, Expr)> at;
  Tensor bias;  // [experts, rows]; may be null
};

// Inputs of a node by their places; those that it lacks are -1.
struct Places {
  int weights, bias, scales = -1, zeros = -1;
};

Result<Layer> plain_layer(Builder& b, const Places& places) {
  const Tensor& weights = b.input(places.weights);
  if (weights.rank() != 3) return b.error("weights of experts are [experts, rows, columns]");
  return Layer{weights.dim(1), weights.dim(2),
               [=](const Expr& expert, const Expr& row, const Expr& column) {
                 return ir::cast(DType::f32, weights({expert, row, column}));
               },
               b.input(places.bias)};
}

// Packed integers, with a scale for each row or for blocks of it.
Result<Layer> packed_layer(Builder& b, const Places& places, int64_t bits) {
  const Tensor &weights = b.input(places.weights), &scales = b.input(places.scales);
  const Tensor zeros = b.has(places.zeros) ? b.input(places.zeros) : Tensor();
  if (bits < 2 || bits > 8 || (bits > 4 && bits != 8))
    return b.error(cat("weights of experts have ", bits, " bits; 2, 3, 4 and 8 are supported"));
  if (weights.rank() != 3) return b.error("weights of experts are [experts, rows, bytes]");
  const int64_t block = std::max<int64_t>(b.integer("block_size"), 0);
  const Expr& rows = weights.dim(1);
  const Expr columns = b.simplify(ir::floordiv(weights.dim(2) * 8.0, bits));
  const Expr blocks = block > 0 ? b.simplify(ir::floordiv(columns, block)) : ir::index(1);
  if (!scales || scales.rank() != (block > 0 ? 3 : 2))
    return b.error(block > 0 ? "scales are [experts, rows, blocks]" : "scales are [experts, rows]");
  const auto at = [=](const Expr& expert, const Expr& row, const Expr& column) {
    const Expr number = packed_number(weights, {expert, row}, column, bits);
    const Expr group = block > 0 ? ir::floordiv(column, block) : ir::index(0);
    Expr zero = ir::constant_int(DType::i32, int64_t{1} << (bits - 1));
    if (zeros)
      zero = block > 0 ? packed_number(zeros, {expert, row}, group, bits)
                       : packed_number(zeros, {expert}, row, bits);
    const Expr scale = block > 0 ? scales({expert, row, group}) : scales({expert, row});
    return ir::cast(DType::f32, number - zero) * ir::cast(DType::f32, scale);
  };
  return Layer{rows, columns, at, b.input(places.bias)};
}

// `inputs` [tokens, length], or [tokens, choices, length], times a layer of each token's experts.
Tensor routed_product(Builder& b, const std::string& name, const Tensor& inputs,
                      const Tensor& experts, const Layer& layer) {
  return b.reduce(
      name, Builder::Join::sum, DType::f32, {experts.dim(0), experts.dim(1), layer.rows},
      {layer.columns},
      [&](Point p, Point r) {
        const Expr x = inputs.rank() == 2 ? inputs({p[0], r[0]}) : inputs({p[0], p[1], r[0]});
        return ir::cast(DType::f32, x) * layer.at(as_index(experts({p[0], p[1]})), p[2], r[0]);
      },
      [&](Point p, Expr sum) {
        if (!layer.bias) return sum;
        return sum + ir::cast(DType::f32, layer.bias({as_index(experts({p[0], p[1]})), p[2]}));
      });
}

// Gate and linear part of what the first layer gives, as `swiglu_fusion` says, joined.
Tensor gated(Builder& b, const Tensor& first, const Tensor& third, bool by_tanh) {
  const int64_t fusion = b.integer("swiglu_fusion");
  Shape shape = first.shape();
  if (!third) shape[2] = b.simplify(ir::floordiv(shape[2], 2));
  const double alpha = b.number("activation_alpha"), beta = b.number("activation_beta"),
               limit = b.has_attribute("swiglu_limit") ? b.number("swiglu_limit")
                                                       : std::numeric_limits<double>::infinity();
  const bool limited = limit < std::numeric_limits<double>::infinity(),
             after = b.integer("swiglu_limit_after_activation") != 0;
  return b.compute("experts.gated", DType::f32, shape, [&](Point p) {
    const auto part = [&](int which) -> Expr {
      if (third) return (which == 0 ? first : third).at(p);
      if (fusion == 1) return first({p[0], p[1], p[2] * 2.0 + static_cast<double>(which)});
      return first({p[0], p[1], which == 0 ? p[2] : p[2] + shape[2]});
    };
    Expr gate = part(0), linear = part(1);
    if (by_tanh) {
      const Expr inner = (gate + gate * gate * gate * 0.044715) * 0.7978845608028654;
      return gate * 0.5 * (ir::tanh(inner) + 1.0) * linear;
    }
    const Expr most = ir::constant(DType::f32, limit), least = ir::constant(DType::f32, -limit);
    if (limited) linear = ir::max(ir::min(linear, most), least);
    if (limited && !after) gate = ir::min(gate, most);
    gate = gate * sigmoid(gate * alpha);
    if (limited && after) gate = ir::min(gate, most);
    return gate * (linear + beta);
  });
}

Result<Tensor> between(Builder& b, const Tensor& first, const Tensor& third) {
  const std::string name = b.text("activation_type");
  if (name == "swiglu" || name == "geglu") {
    const int64_t fusion = b.integer("swiglu_fusion");
    if (!third && fusion != 1 && fusion != 2)
      return b.error(cat("`swiglu_fusion` is ", fusion, ", and there is no third layer"),
                     "with 1 the first layer has gates and linear parts in turn, with 2 one behind "
                     "the other");
    return gated(b, first, third, name == "geglu");
  }
  Tensor y = first;
  if (name == "gelu") {
    GS_ASSIGN(y, b.call1("Gelu", {first}, {{"approximate", "tanh"}}));
  } else if (name == "relu" || name == "relu2" || name == "silu") {
    y = b.compute("experts.activated", DType::f32, first.shape(), [&](Point p) {
      const Expr x = first.at(p);
      if (name == "silu") return x * sigmoid(x);
      const Expr positive = ir::max(x, ir::zero(DType::f32));
      return name == "relu" ? positive : positive * positive;
    });
  } else if (name != "identity") {
    return b.error(cat("`activation_type` is ", name),
                   "it is relu, relu2, gelu, silu, identity, swiglu or geglu");
  }
  if (!third) return y;
  return b.call1("Mul", {y, third});
}

// The experts of each token, [tokens, k], and what their results are multiplied by.
struct Choice {
  Tensor experts, shares;
};

Result<Choice> choose(Builder& b, const Tensor& router, const Tensor& weights, bool always) {
  const Tensor count = b.constant(int64s({1}, {b.integer("k")}));
  GS_ASSIGN(std::vector<Tensor> best, b.call("TopK", {router, count}, {}, 2));
  Tensor from = weights;
  if (!from) {
    GS_ASSIGN(from, b.call1("Softmax", {router}));
  }
  const Tensor& experts = best[1];
  Tensor shares = b.compute("experts.shares", DType::f32, experts.shape(), [&](Point p) {
    return ir::cast(DType::f32, from({p[0], as_index(experts.at(p))}));
  });
  if (always || b.integer("normalize_routing_weights") != 0) {
    GS_ASSIGN(const Tensor sum, b.call1("ReduceSum", {shares, b.constant(int64s({1}, {-1}))}));
    GS_ASSIGN(shares, b.call1("Div", {shares, sum}));
  }
  return Choice{experts, shares};
}

// x [..., hidden] through the layers of the chosen experts.
Result<> mixture(Builder& b, const Choice& choice, const Layer& first, const Layer& second,
                 const Layer* third) {
  const Tensor& x = b.input(0);
  const Expr tokens = choice.experts.dim(0);
  const Tensor rows = b.reshape("experts.tokens", x, {tokens, x.dim(-1)});
  GS_TRY(b.require(x.dim(-1) == first.columns,
                   "the first layer of the experts does not have the input's width"));
  const Tensor made = routed_product(b, "experts.first", rows, choice.experts, first);
  Tensor linear;
  if (third != nullptr) linear = routed_product(b, "experts.third", rows, choice.experts, *third);
  GS_ASSIGN(const Tensor inner, between(b, made, linear));
  GS_TRY(b.require(inner.dim(2) == second.columns,
                   "the second layer of the experts does not have the first one's width"));
  const Tensor results = routed_product(b, "experts.second", inner, choice.experts, second);
  const Tensor sum = b.reduce(
      "experts", Builder::Join::sum, x.dtype(), {tokens, second.rows}, {choice.experts.dim(1)},
      [&](Point p, Point r) { return choice.shares({p[0], r[0]}) * results({p[0], r[0], p[1]}); },
      [&](Point, const Expr& value) { return ir::cast(x.dtype(), value); });
  Shape shape = x.shape();
  shape.back() = second.rows;
  b.output(0, b.reshape("experts.output", sum, shape));
  return {};
}

Result<> check_router(Builder& b) {
  if (b.input(1).rank() != 2 || b.input(0).rank() < 2 || b.input(0).rank() > 3)
    return b.error("router_probs is [tokens, experts], input [tokens, hidden] or of rank 3");
  if (b.integer("use_sparse_mixer") != 0 && b.integer("k") != 2)
    return b.error("`use_sparse_mixer` needs `k` = 2");
  return {};
}

Result<> moe(Builder& b) {
  GS_TRY(check_router(b));
  GS_TRY(one_type(b, {0, 1, 2, 3, 4, 5, 6, 7}));
  GS_ASSIGN(const Layer first, plain_layer(b, {2, 3}));
  GS_ASSIGN(const Layer second, plain_layer(b, {4, 5}));
  Layer third;
  if (b.has(6)) {
    GS_ASSIGN(third, plain_layer(b, {6, 7}));
  }
  GS_ASSIGN(const Choice choice, choose(b, b.input(1), {}, b.integer("use_sparse_mixer") != 0));
  return mixture(b, choice, first, second, b.has(6) ? &third : nullptr);
}

Result<> quantised_moe(Builder& b) {
  GS_TRY(check_router(b));
  if (b.text("quant_type") != "int")
    return b.error(cat("`quant_type` ", b.text("quant_type"), " is not supported; int is"));
  if (b.integer("weights_prepacked") > 0)
    return b.error("weights in the layout of a certain device are not supported");
  const auto bits = [&](std::string_view name) {
    const int64_t own = b.integer(name);
    return own > 0 ? own : b.integer("expert_weight_bits");
  };
  GS_ASSIGN(const Layer first, packed_layer(b, {2, 4, 3, 11}, bits("fc1_expert_weight_bits")));
  GS_ASSIGN(const Layer second, packed_layer(b, {5, 7, 6, 12}, bits("fc2_expert_weight_bits")));
  Layer third;
  if (b.has(8)) {
    GS_ASSIGN(third, packed_layer(b, {8, 10, 9, 13}, bits("fc3_expert_weight_bits")));
  }
  // Without weights of its own, the router's are those of the chosen experts alone.
  const Tensor weights = b.input(14);
  GS_ASSIGN(const Choice choice, choose(b, b.input(1), weights, !weights));
  return mixture(b, choice, first, second, b.has(8) ? &third : nullptr);
}

}  // namespace

std::vector<OpDef> microsoft_experts_family() {
  const auto optional = InputDef::optional;
  const TypeSet bytes = only(DType::u8);
  std::vector<AttributeDef> attributes = {{"activation_alpha", 1.0},
                                          {"activation_beta", 0.0},
                                          {"activation_type", "relu"},
                                          {"k", 1},
                                          {"normalize_routing_weights", 0},
                                          {"swiglu_fusion", 0},
                                          {"swiglu_limit", {}},
                                          {"swiglu_limit_after_activation", 0},
                                          {"use_sparse_mixer", 0}};
  std::vector<AttributeDef> quantised = attributes;
  for (const AttributeDef& def : std::initializer_list<AttributeDef>{{"accuracy_level", 0},
                                                                     {"block_size", 0},
                                                                     {"expert_weight_bits", 4},
                                                                     {"fc1_expert_weight_bits", 0},
                                                                     {"fc2_expert_weight_bits", 0},
                                                                     {"fc3_expert_weight_bits", 0},
                                                                     {"quant_type", "int"},
                                                                     {"weights_prepacked", -1}})
    quantised.push_back(def);
  return {
      {.name = "MoE",
       .doc = "Layers of the k experts that a router chooses for each token.",
       .domain = std::string(microsoft),
       .since = 1,
       .inputs = {{"input", any_float},
                  {"router_probs", any_float},
                  {"fc1_experts_weights", any_float},
                  {"fc1_experts_bias", any_float, optional},
                  {"fc2_experts_weights", any_float},
                  {"fc2_experts_bias", any_float, optional},
                  {"fc3_experts_weights", any_float, optional},
                  {"fc3_experts_bias", any_float, optional}},
       .outputs = {"output"},
       .attributes = attributes,
       .define = moe,
       .cases = [] -> Cases {
         const std::vector<int64_t> absent = {-1};
         return {{.name = "two of four, silu, third layer",
                  .shapes = {{2, 3, 8}, {6, 4}, {4, 5, 8}, {4, 5}, {4, 8, 5}, {4, 8}, {4, 5, 8}},
                  .attributes = {{"k", 2}, {"activation_type", "silu"}}},
                 {.name = "interleaved swiglu, normalised",
                  .shapes = {{3, 8}, {3, 4}, {4, 10, 8}, absent, {4, 8, 5}},
                  .attributes = {{"k", 2},
                                 {"activation_type", "swiglu"},
                                 {"swiglu_fusion", 1},
                                 {"swiglu_limit", 1.5},
                                 {"activation_beta", 1.0},
                                 {"normalize_routing_weights", 1}}}};
       }},
      {.name = "QMoE",
       .doc = "MoE with weights of 2, 3, 4 or 8 bits.",
       .domain = std::string(microsoft),
       .since = 1,
       .inputs = {{"input", any_float},
                  {"router_probs", any_float},
                  {"fc1_experts_weights", bytes},
                  {"fc1_scales", any_float},
                  {"fc1_experts_bias", any_float, optional},
                  {"fc2_experts_weights", bytes},
                  {"fc2_scales", any_float},
                  {"fc2_experts_bias", any_float, optional},
                  {"fc3_experts_weights", bytes, optional},
                  {"fc3_scales", any_float, optional},
                  {"fc3_experts_bias", any_float, optional},
                  {"fc1_zero_points", bytes, optional},
                  {"fc2_zero_points", bytes, optional},
                  {"fc3_zero_points", bytes, optional},
                  {"router_weights", any_float, optional}},
       .outputs = {"output"},
       .attributes = quantised,
       .define = quantised_moe,
       .cases = [] -> Cases {
         const std::vector<int64_t> absent = {-1};
         return {
             {.name = "four bits, blocks, swiglu",
              .shapes = {{3, 32}, {3, 4}, {4, 32, 16}, {4, 32, 2}, {4, 32}, {4, 32, 8}, {4, 32, 1}},
              .attributes = {{"k", 2},
                             {"activation_type", "swiglu"},
                             {"swiglu_fusion", 1},
                             {"block_size", 16}}},
             {.name = "eight bits, a scale for each row, zero points",
              .shapes = {{1, 2, 16},
                         {2, 3},
                         {3, 8, 16},
                         {3, 8},
                         absent,
                         {3, 16, 8},
                         {3, 16},
                         {3, 16},
                         absent,
                         absent,
                         absent,
                         {3, 8},
                         {3, 16}},
              .attributes = {{"activation_type", "gelu"}, {"expert_weight_bits", 8}}}};
       }},
  };
}

}  // namespace gossamer::ops
