// Linear attention: a matrix a head carries what keys and values said so far; one round a token.
#include <cmath>

#include "ops/families.h"
#include "ops/functions.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

Result<> linear_attention(Builder& b) {
  const Tensor &q = b.input(0), &k = b.input(1), &v = b.input(2), &past = b.input(3),
               &decay = b.input(4), &beta = b.input(5);
  std::string rule = b.text("update_rule");
  bool gated = rule == "gated" || rule == "gated_delta", delta = rule.ends_with("delta");
  if (!gated && !delta && rule != "linear") {
    return b.error(cat("`update_rule` is \"", rule, "\""),
                   "it must be linear, gated, delta or gated_delta");
  }
  if (gated != static_cast<bool>(decay) || delta != static_cast<bool>(beta))
    return b.error(cat("the rule ", rule, gated ? " needs" : " takes no", " decay and",
                       delta ? " needs" : " takes no", " beta"));
  for (int i : {1, 2, 4, 5}) {
    if (b.has(i) && b.input(i).dtype() != q.dtype())
      return b.error("query, key, value, decay and beta differ in type", "insert a Cast");
  }
  int64_t q_heads = b.integer("q_num_heads"), heads = b.integer("kv_num_heads");
  if (heads < 1 || q_heads < 1 || (q_heads % heads != 0 && heads % q_heads != 0) ||
      std::max(q_heads, heads) > (1 << 20))
    return b.error("one of `q_num_heads` and `kv_num_heads` must be a multiple of the other");
  for (const Tensor* tensor : {&q, &k, &v, &decay, &beta}) {
    if (!*tensor) continue;
    if (tensor->rank() != 3) return b.error("inputs are [batch, tokens, heads * width]");
    GS_TRY(b.require(tensor->dim(0) == q.dim(0) && tensor->dim(1) == q.dim(1),
                     "inputs differ in batch or tokens"));
  }
  Expr batch = q.dim(0), tokens = q.dim(1), count = ir::index(heads);
  Expr width = b.simplify(ir::floordiv(q.dim(2), q_heads)),
       value_width = b.simplify(ir::floordiv(v.dim(2), heads));
  // Several states may share the query and the key of a head, as in Qwen3.5.
  const bool shared = q_heads < heads && b.same(k.dim(2), q.dim(2));
  const int64_t k_heads = shared ? q_heads : heads, read_heads = std::max(q_heads, heads);
  GS_TRY(b.require(q.dim(2) == width * static_cast<double>(q_heads) &&
                       k.dim(2) == width * static_cast<double>(k_heads) &&
                       v.dim(2) == value_width * static_cast<double>(heads),
                   "the widths of query, key and value do not divide into their heads"));
  if (gated)
    GS_TRY(b.require(decay.dim(2) == count || decay.dim(2) == width * static_cast<double>(heads),
                     "decay is one number a head or key"));
  if (delta)
    GS_TRY(
        b.require(beta.dim(2) == count || beta.dim(2) == 1, "beta is one number, or one a head"));
  Shape shape = {batch, count, width, value_width};
  if (past && past.rank() != 4) return b.error("past_state has rank 4");
  for (int i = 0; past && i < 4; ++i) {
    GS_TRY(b.require(past.dim(i) == shape[static_cast<size_t>(i)],
                     "past_state is [batch, heads, key width, value width]"));
  }
  DType wide = DType::f32, dtype = q.dtype();
  double scale = b.number("scale");
  auto at = [&](const Tensor& x, Expr row, Expr token, Expr place) {
    return ir::cast(wide, x({row, token, b.simplify(place)}));
  };
  // The head of `count` ones that belongs to one of `of`.
  auto head_of = [&](const Expr& head, int64_t of, int64_t count) {
    return b.simplify(ir::floordiv(head * static_cast<double>(count), of));
  };
  auto key = [&](const Expr& row, const Expr& token, const Expr& head, const Expr& within) {
    return at(k, row, token, head_of(head, heads, k_heads) * width + within);
  };
  // What stays of the state, from a key's element.
  auto kept = [&](Expr row, Expr token, Expr head, Expr within) {
    if (!gated) return ir::constant(wide, 1);
    const Expr a_head = b.simplify(decay.dim(2) == count);
    return ir::exp(at(decay, row, token, ir::select(a_head, head, head * width + within)));
  };
  auto step = [&](const Expr& t, std::span<const Tensor> states) -> Result<Builder::Round> {
    Tensor state = states[0], known;
    if (delta) {
      known = b.reduce("linear_attention.known", Builder::Join::sum, wide,
                       {batch, count, value_width}, {width}, [&](Point p, Point r) {
                         return kept(p[0], t, p[1], r[0]) * state({p[0], p[1], r[0], p[2]}) *
                                key(p[0], t, p[1], r[0]);
                       });
    }
    Tensor next = b.compute("linear_attention.state", wide, shape, [&](Point p) {
      Expr value = at(v, p[0], t, p[1] * value_width + p[3]);
      if (delta) {
        const Expr one = b.simplify(ir::select(beta.dim(2) == count, p[1], ir::index(0)));
        value = (value - known({p[0], p[1], p[3]})) * at(beta, p[0], t, one);
      }
      Expr old = gated ? kept(p[0], t, p[1], p[2]) * state.at(p) : state.at(p);
      return old + key(p[0], t, p[1], p[2]) * value;
    });
    Tensor row = b.reduce(
        "linear_attention.read", Builder::Join::sum, wide,
        {batch, ir::index(read_heads), value_width}, {width},
        [&](Point p, Point r) {
          const Expr query = at(q, p[0], t, head_of(p[1], read_heads, q_heads) * width + r[0]);
          return query * next({p[0], head_of(p[1], read_heads, heads), r[0], p[2]});
        },
        [&](Point, Expr sum) {
          return scale != 0 ? sum * scale : sum / ir::sqrt(ir::cast(wide, width));
        });
    return Builder::Round{{next}, {row}};
  };
  Tensor first = b.compute("linear_attention.past", wide, shape, [&](Point p) {
    return past ? ir::cast(wide, past.at(p)) : ir::zero(wide);
  });
  Builder::Round made;
  bool one = b.same(tokens, ir::index(1));
  if (one) {
    GS_ASSIGN(made, step(ir::index(0), std::span<const Tensor>(&first, 1)));
  } else {
    GS_ASSIGN(made, b.loop("linear_attention", tokens, std::span<const Tensor>(&first, 1), step));
  }
  Tensor rows = made.rows[0], state = made.states[0];
  b.output(0, b.compute("linear_attention", dtype,
                        {batch, tokens, b.simplify(value_width * static_cast<double>(read_heads))},
                        [&](Point p) {
                          Expr head = b.simplify(ir::floordiv(p[2], value_width)),
                               within = b.simplify(ir::floormod(p[2], value_width));
                          return ir::cast(dtype, one ? rows({p[0], head, within})
                                                     : rows({p[1], p[0], head, within}));
                        }));
  DType kept_as = past ? past.dtype() : dtype;
  b.output(1, b.compute("linear_attention.present", kept_as, shape,
                        [&](Point p) { return ir::cast(kept_as, state.at(p)); }));
  return {};
}

Result<> microsoft_linear_attention(Builder& b) {
  if (b.integer("state_window") != 0) return b.error("`state_window` is not supported");
  return linear_attention(b);
}

// The projections of LinearAttention's decay and beta.
Result<> linear_attention_gate(Builder& b) {
  const Tensor &a = b.input(0), &bias = b.input(1), &scale = b.input(2), &beta = b.input(3);
  for (int i : {1, 2}) GS_TRY(has_shape(b, i, {a.dim(-1)}));
  b.output(0, b.compute("linear_attention_gate", a.dtype(), a.shape(), [&](Point p) {
    const Expr x = ir::cast(DType::f32, a.at(p)) + bias({p.back()});
    return ir::cast(a.dtype(), scale({p.back()}) * softplus(x));
  }));
  if (!b.wants(1)) return {};
  if (!beta) return b.error("the output beta needs the input b");
  b.output(1, b.compute("linear_attention_gate.beta", beta.dtype(), beta.shape(), [&](Point p) {
    return ir::cast(beta.dtype(), sigmoid(ir::cast(DType::f32, beta.at(p))));
  }));
  return {};
}

}  // namespace

std::vector<OpDef> linear_attention_family() {
  auto optional = InputDef::optional;
  std::vector<int64_t> none = {-1};
  auto with = [](int64_t q_heads, int64_t heads, std::string rule) {
    return Attributes{
        {"q_num_heads", q_heads}, {"kv_num_heads", heads}, {"update_rule", std::move(rule)}};
  };
  OpDef standard = {
      .name = "LinearAttention",
      .doc = "Attention by a running sum of products of keys and values.",
      .since = 27,
      .inputs = {{"query", any_float},
                 {"key", any_float},
                 {"value", any_float},
                 {"past_state", any_float, optional},
                 {"decay", any_float, optional},
                 {"beta", any_float, optional}},
      .outputs = {"output", "present_state"},
      .attributes = {{"chunk_size", 64},
                     {"kv_num_heads", {}, true},
                     {"q_num_heads", {}, true},
                     {"scale", 0.0},
                     {"update_rule", "gated_delta"}},
      .define = linear_attention,
      .cases = [=] -> Cases {
        return {{.name = "linear",
                 .shapes = {{1, 3, 8}, {1, 3, 8}, {1, 3, 6}},
                 .attributes = with(2, 2, "linear")},
                {.name = "decode",
                 .shapes = {{2, 1, 8}, {2, 1, 4}, {2, 1, 6}, {2, 2, 2, 3}, {2, 1, 2}, {2, 1, 2}},
                 .attributes = with(4, 2, "gated_delta"),
                 .low = -1,
                 .high = 1},
                {.name = "prefill",
                 .shapes = {{1, 4, 8}, {1, 4, 4}, {1, 4, 4}, none, {1, 4, 4}, {1, 4, 1}},
                 .attributes = with(2, 1, "gated_delta"),
                 .low = -1,
                 .high = 1},
                {.name = "two states of each key",
                 .shapes = {{1, 3, 8}, {1, 3, 8}, {1, 3, 12}, none, {1, 3, 4}, {1, 3, 4}},
                 .attributes = with(2, 4, "gated_delta"),
                 .low = -1,
                 .high = 1}};
      }};
  OpDef microsofts = standard;
  microsofts.domain = "com.microsoft";
  microsofts.since = 1;
  microsofts.attributes.push_back({"state_window", 0});
  microsofts.define = microsoft_linear_attention;
  return {
      std::move(standard),
      std::move(microsofts),
      {.name = "LinearAttentionGate",
       .doc = "Decay and beta of LinearAttention, from their projections.",
       .domain = "com.microsoft",
       .since = 1,
       .inputs = {{"a", any_float},
                  {"dt_bias", only(DType::f32)},
                  {"decay_scale", only(DType::f32)},
                  {"b", any_float, optional}},
       .outputs = {"decay", "beta"},
       .define = linear_attention_gate,
       .cases = [] -> Cases {
         return {{.name = "both", .shapes = {{2, 3, 4}, {4}, {4}, {2, 3, 4}}}};
       }},
  };
}

}  // namespace gossamer::ops
