// Operators that exports of hybrid language models (Qwen3.5, Qwen-VL) use besides attention.
#include "ops/families.h"
#include "ops/functions.h"
#include "ops/microsoft/fused.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

// x [..., heads * width] divided by the root mean square of each head, times `scale` [width] and
// what `activation` makes of the gate.
Result<> gated_rms_norm(Builder& b) {
  const Tensor &x = b.input(0), &scale = b.input(1), &gate = b.input(2);
  GS_TRY(one_type(b, {0, 1, 2}));
  const std::string activation = b.text("activation");
  if (activation != "silu" && activation != "swish" && activation != "sigmoid")
    return b.error(cat("`activation` is ", activation), "it is silu, swish or sigmoid");
  if (scale.rank() != 1 || x.rank() < 1) return b.error("scale has one axis, X at least one");
  GS_TRY(has_shape(b, 2, x.shape()));
  const Expr width = scale.dim(0);
  GS_TRY(b.require(ir::floormod(x.dim(-1), width) == 0,
                   "the last axis of X is not a multiple of scale's length"));
  Shape heads = x.shape();
  heads.back() = b.simplify(ir::floordiv(heads.back(), width));
  const double epsilon = b.number("epsilon");
  const auto number = [&](const Tensor& from, Point head, const Expr& within) {
    std::vector<Expr> at(head.begin(), head.end());
    at.back() = at.back() * width + within;
    return ir::cast(DType::f32, from.at(at));
  };
  const Tensor inverse = b.reduce(
      "gated_rms_norm.inverse", Builder::Join::sum, DType::f32, heads, {width},
      [&](Point p, Point r) {
        const Expr value = number(x, p, r[0]);
        return value * value;
      },
      [&](Point, const Expr& sum) {
        return 1.0 / ir::sqrt(sum / ir::cast(DType::f32, width) + epsilon);
      });
  b.output(0, b.compute("gated_rms_norm", x.dtype(), x.shape(), [&](Point p) {
    std::vector<Expr> head(p.begin(), p.end());
    head.back() = ir::floordiv(p.back(), width);
    const Expr open = ir::cast(DType::f32, gate.at(p)), factor = sigmoid(open);
    return ir::cast(x.dtype(), ir::cast(DType::f32, x.at(p)) * inverse.at(head) *
                                   ir::cast(DType::f32, scale({ir::floormod(p.back(), width)})) *
                                   (activation == "sigmoid" ? factor : open * factor));
  }));
  return {};
}

// Positions are three numbers for each element: in time, down and across. Each pair that turns
// takes its angle from one of them.
Result<> rotary_embedding_of_three(Builder& b) {
  const Tensor &x = b.input(0), &positions = b.input(1), &cosines = b.input(2);
  GS_TRY(one_type(b, {0, 2, 3}));
  if (x.rank() != 3 && x.rank() != 4) return b.error("input has rank 3 or 4");
  if (cosines.rank() != 2) return b.error("caches are [positions, rotated / 2]");
  GS_TRY(has_shape(b, 1, {ir::index(3), x.dim(0), x.dim(-2)}));
  if (b.number("scale") != 1) return b.error("a `scale` other than 1 is not supported");
  const std::vector<int64_t> sections = b.integers("mrope_section");
  if (sections.size() != 3) return b.error("`mrope_section` is three numbers");
  const bool interleaved = b.integer("mrope_layout") != 0;
  const auto stream = [&](const Expr& pair) {
    const auto below = [&](int64_t end) { return pair < static_cast<double>(end); };
    if (!interleaved)
      return ir::select(below(sections[0]), ir::index(0),
                        ir::select(below(sections[0] + sections[1]), ir::index(1), ir::index(2)));
    const Expr place = ir::floormod(pair, 3);
    return ir::select(
        place == 1.0 && below(3 * sections[1]), ir::index(1),
        ir::select(place == 2.0 && below(3 * sections[2]), ir::index(2), ir::index(0)));
  };
  std::vector<Tensor> angles;
  for (int input : {2, 3}) {
    const Tensor& cache = b.input(input);
    angles.push_back(b.compute(
        "rotary_embedding.angles", cache.dtype(), {x.dim(0), x.dim(-2), cosines.dim(1)},
        [&](Point p) { return cache({as_index(positions({stream(p[2]), p[0], p[1]})), p[2]}); }));
  }
  GS_ASSIGN(const int64_t heads, rotated_heads(b, x, cosines));
  GS_ASSIGN(const Tensor y, b.call1("RotaryEmbedding", {x, angles[0], angles[1]},
                                    {{"interleaved", b.integer("interleaved")},
                                     {"num_heads", heads},
                                     {"rotary_embedding_dim", b.integer("rotary_embedding_dim")}}));
  b.output(0, y);
  return {};
}

// LinearAttention of tokens [batch, length, heads, width], with gates and lengths of its own. The
// state has values first: [batch, heads, value width, key width].
Result<> gated_delta_net(Builder& b) {
  const Tensor &query = b.input(0), &state = b.input(6);
  if (!b.has(1) || !b.has(2)) return b.error("packed query, key and value are not supported");
  if (b.has(3)) return b.error("`cu_seqlens` is not supported: sequences have one length");
  if (b.integer("state_update_capacity") != 0)
    return b.error("`state_update_capacity` is not supported");
  if (!state || state.rank() != 4) return b.error("initial_state has rank 4");
  const std::string gate = b.text("gate_activation");
  if (gate != "none" && gate != "softplus" && gate != "qwen")
    return b.error(cat("`gate_activation` ", gate, " is not supported; none and softplus are"));
  const bool ranked = query.rank() == 4;
  if (query.rank() != 3 && !ranked) return b.error("query has rank 3 or 4");
  for (int i : {1, 2})
    if (b.input(i).rank() != query.rank()) return b.error("query, key and value have one rank");
  for (int i : {4, 5}) {
    const int axes = query.rank() - b.input(i).rank();
    if (b.has(i) && axes != 1 && (i == 5 || axes != 0))
      return b.error("decay and beta have an axis less than the query");
  }
  const Expr batch = state.dim(0),
             tokens = ranked ? query.dim(1) : b.simplify(ir::floordiv(query.dim(0), batch));
  if (!ranked)
    GS_TRY(b.require(query.dim(0) == batch * tokens, "tokens do not divide into the sequences"));
  auto q_heads = ir::as_int(query.dim(-2)), heads = ir::as_int(state.dim(1));
  if (!q_heads || !heads) return b.error("the numbers of heads must be known when compiling");
  // [batch, tokens, all else] of x, whose last `axes` axes are not tokens.
  const auto flat = [&](const Tensor& x, int axes) {
    Expr rest = ir::index(1);
    for (int axis = 1; axis <= axes; ++axis) rest = rest * x.dim(-axis);
    return b.reshape("gated_delta_net.flat", x, {batch, tokens, b.simplify(rest)});
  };
  const auto unit = [&](const Tensor& x) {
    if (b.integer("qk_l2_norm") == 0) return x;
    const Tensor inverse = b.reduce(
        "gated_delta_net.length", Builder::Join::sum, DType::f32,
        Shape(x.shape().begin(), x.shape().end() - 1), {x.dim(-1)},
        [&](Point p, Point r) {
          std::vector<Expr> at(p.begin(), p.end());
          at.push_back(r[0]);
          const Expr value = ir::cast(DType::f32, x.at(at));
          return value * value;
        },
        [&](Point, const Expr& sum) { return 1.0 / ir::sqrt(sum + 1e-6); });
    return b.compute("gated_delta_net.unit", x.dtype(), x.shape(), [&](Point p) {
      return ir::cast(x.dtype(), ir::cast(DType::f32, x.at(p)) * inverse.at(p.first(p.size() - 1)));
    });
  };
  const DType dtype = query.dtype();
  Tensor decay, beta;
  if (const Tensor& given = b.input(4)) {
    const int axes = given.rank() - (ranked ? 2 : 1);
    const Tensor rows = flat(given, axes);
    const Tensor &log = b.input(7), &bias = b.input(8);
    if (gate != "none" && (!log || !bias || axes != 1))
      return b.error("`gate_activation` needs a_log, dt_bias and one decay for each head");
    decay = b.compute("gated_delta_net.decay", dtype, rows.shape(), [&](Point p) {
      Expr x = ir::cast(DType::f32, rows.at(p));
      if (gate != "none") {
        x = softplus(x + ir::cast(DType::f32, bias({p[2]})));
        x = -ir::exp(ir::cast(DType::f32, log({p[2]}))) * x;
      }
      return ir::cast(dtype, x);
    });
  }
  if (const Tensor& given = b.input(5)) {
    const Tensor rows = flat(given, 1);
    beta = b.compute("gated_delta_net.beta", dtype, rows.shape(), [&](Point p) {
      Expr x = ir::cast(DType::f32, rows.at(p));
      if (b.text("beta_activation") == "sigmoid") x = sigmoid(x);
      return ir::cast(dtype, x);
    });
  }
  const auto turned = [&](const Tensor& x) {
    return b.compute("gated_delta_net.turned", x.dtype(), {x.dim(0), x.dim(1), x.dim(3), x.dim(2)},
                     [&](Point p) { return x({p[0], p[1], p[3], p[2]}); });
  };
  GS_ASSIGN(const std::vector<Tensor> made,
            b.call("LinearAttention",
                   {flat(unit(query), 2), flat(unit(b.input(1)), 2), flat(b.input(2), 2),
                    turned(state), decay, beta},
                   {{"q_num_heads", *q_heads},
                    {"kv_num_heads", *heads},
                    {"scale", b.number("scale")},
                    {"update_rule", b.text("update_rule")}},
                   2));
  Shape shape = b.input(2).shape();
  b.output(0, b.reshape("gated_delta_net.output", made[0], shape));
  b.output(1, turned(made[1]));
  return {};
}

}  // namespace

std::vector<OpDef> microsoft_recurrent_family() {
  const auto optional = InputDef::optional;
  const std::string ms(microsoft);
  const TypeSet ids = only(DType::i32);
  return {
      {.name = "GatedRMSNorm",
       .doc = "RMSNormalization of heads, times an activation of a gate.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float}, {"scale", any_float}, {"gate", any_float}},
       .outputs = {"Y"},
       .attributes = {{"activation", "silu"}, {"epsilon", 1e-5}},
       .define = gated_rms_norm,
       .cases = [] -> Cases {
         return {{.name = "heads", .shapes = {{2, 3, 8}, {4}, {2, 3, 8}}},
                 {.name = "sigmoid",
                  .shapes = {{5, 6}, {6}, {5, 6}},
                  .attributes = {{"activation", "sigmoid"}}}};
       }},
      {.name = "MRotaryEmbedding",
       .doc = "RotaryEmbedding by positions in time, height and width.",
       .domain = ms,
       .since = 1,
       .inputs = {{"input", any_float},
                  {"position_ids", only(DType::i64)},
                  {"cos_cache", any_float},
                  {"sin_cache", any_float}},
       .outputs = {"output"},
       .attributes = {{"interleaved", 0},
                      {"is_packed_batching", 0},
                      {"mrope_layout", 0},
                      {"mrope_section", {}, true},
                      {"num_heads", 0},
                      {"rotary_embedding_dim", 0},
                      {"scale", 1.0}},
       .define = rotary_embedding_of_three,
       .cases = [] -> Cases {
         const TensorData positions = int64s({3, 1, 2}, {0, 4, 2, 1, 3, 5});
         const std::vector<int64_t> sections = {2, 1, 1};
         return {{.name = "sections",
                  .shapes = {{1, 2, 16}, {}, {6, 4}, {6, 4}},
                  .attributes = {{"mrope_section", sections}, {"num_heads", 2}},
                  .inputs = {{}, positions}},
                 {.name = "interleaved sections",
                  .shapes = {{1, 2, 2, 8}, {}, {6, 4}, {6, 4}},
                  .attributes = {{"mrope_layout", 1}, {"mrope_section", sections}},
                  .inputs = {{}, positions}}};
       }},
      {.name = "GatedDeltaNet",
       .doc = "LinearAttention of tokens with heads as an axis.",
       .domain = ms,
       .since = 1,
       .inputs = {{"query", any_float},
                  {"key", any_float, optional},
                  {"value", any_float, optional},
                  {"cu_seqlens", ids, optional},
                  {"decay", any_float, optional},
                  {"beta", any_float, optional},
                  {"initial_state", any_float, optional},
                  {"a_log", any_float, optional},
                  {"dt_bias", any_float, optional},
                  {"capture_count", ids, optional},
                  {"state_update_active", ids, optional}},
       .outputs = {"output", "final_state"},
       .attributes = {{"beta_activation", "none"},
                      {"chunk_size", 64},
                      {"gate_activation", "none"},
                      {"gate_lower_bound", -5.0},
                      {"qk_l2_norm", 0},
                      {"scale", 0.0},
                      {"state_update_capacity", 0},
                      {"update_rule", "gated_delta"}},
       .define = gated_delta_net,
       .cases = [] -> Cases {
         const std::vector<int64_t> none = {-1};
         return {{.name = "two sequences",
                  .shapes = {{6, 2, 4}, {6, 2, 4}, {6, 4, 3}, none, {6, 4}, {6, 4}, {2, 4, 3, 4}},
                  .low = -1,
                  .high = 1},
                 {.name = "gates, unit keys",
                  .shapes = {{1, 3, 2, 4},
                             {1, 3, 2, 4},
                             {1, 3, 2, 3},
                             none,
                             {1, 3, 2},
                             {1, 3, 2},
                             {1, 2, 3, 4},
                             {2},
                             {2}},
                  .attributes = {{"qk_l2_norm", 1},
                                 {"gate_activation", "softplus"},
                                 {"beta_activation", "sigmoid"}},
                  .inputs = {{},
                             {},
                             {},
                             {},
                             {},
                             {},
                             {},
                             floats({2}, {0.3f, -0.5f}),
                             floats({2}, {0.1f, -0.2f})},
                  .low = -1,
                  .high = 1}};
       }},
  };
}

}  // namespace gossamer::ops
