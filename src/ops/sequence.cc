// Steps of autoregressive models: what carries state from one run to the next.
#include "ops/define.h"
#include "ops/families.h"

namespace gossamer::ops {
namespace {

Result<> causal_conv(Builder& b) {
  const Tensor &x = b.input(0), &w = b.input(1), &bias = b.input(2), &past = b.input(3);
  GS_TRY(same_types(b));
  std::string activation = b.text("activation");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return b.error(cat("`activation` is \"", activation, "\""), "it must be none, silu or swish");
  if (x.rank() != 3 || w.rank() != 3 || (past && past.rank() != 3))
    return b.error("input, weight and past_state have rank 3");
  GS_TRY(b.require(w.dim(0) == x.dim(1) && w.dim(1) == 1,
                   "the weight is [channels, 1, taps] of the input's channels"));
  Expr taps = w.dim(2), before = b.simplify(taps - 1);
  if (past) {
    GS_TRY(b.require(past.dim(0) == x.dim(0) && past.dim(1) == x.dim(1) && past.dim(2) == before,
                     "past_state is [batch, channels, taps - 1]"));
  }
  DType dtype = x.dtype(), wide = accumulator(dtype);
  Tensor all =
      b.compute("causal_conv.all", dtype, {x.dim(0), x.dim(1), x.dim(2) + before}, [&](Point p) {
        Expr fresh = x({p[0], p[1], b.simplify(p[2] - before)});
        return ir::select(p[2] < before, past ? past.at(p) : ir::zero(dtype), fresh);
      });
  b.output(0, b.reduce(
                  "causal_conv", Builder::Join::sum, dtype, x.shape(), {taps},
                  [&](Point p, Point r) {
                    return ir::cast(wide, all({p[0], p[1], b.simplify(p[2] + r[0])})) *
                           ir::cast(wide, w({p[1], ir::index(0), r[0]}));
                  },
                  [&](Point p, Expr sum) {
                    if (bias) sum = sum + ir::cast(wide, bias({p[1]}));
                    if (activation != "none") sum = sum / (ir::exp(-sum) + 1.0);
                    return ir::cast(dtype, sum);
                  }));
  b.output(1, b.compute("causal_conv.state", dtype, {x.dim(0), x.dim(1), before},
                        [&](Point p) { return all({p[0], p[1], b.simplify(p[2] + x.dim(2))}); }));
  return {};
}

Result<> tensor_scatter(Builder& b) {
  const Tensor &past = b.input(0), &update = b.input(1), &places = b.input(2);
  if (past.dtype() != update.dtype() || past.rank() != update.rank())
    return b.error("past_cache and update differ in type or rank");
  GS_ASSIGN(int axis, b.axis("axis", past.rank()));
  if (axis == 0) return b.error("`axis` is 0", "that is the axis of batches");
  std::string mode = b.text("mode");
  if (mode != "linear" && mode != "circular")
    return b.error(cat("`mode` is \"", mode, "\""), "it must be linear or circular");
  size_t at_axis = static_cast<size_t>(axis);
  for (int i = 0; i < past.rank(); ++i) {
    GS_TRY(b.require(i == axis ? update.dim(i) <= past.dim(i) : update.dim(i) == past.dim(i),
                     cat("update does not fit past_cache along axis ", i)));
  }
  b.output(0, b.compute("tensor_scatter", past.dtype(), past.shape(), [&](Point p) {
    std::vector<Expr> at(p.begin(), p.end());
    Expr from = p[at_axis];
    if (places) from = from - as_index(places({p[0]}));
    if (mode == "circular") from = ir::floormod(from, past.dim(axis));
    at[at_axis] = b.simplify(from);
    Expr written = from >= 0 && from < update.dim(axis);
    return ir::select(written, update.at(at), past.at(p));
  }));
  return {};
}

}  // namespace

std::vector<OpDef> sequence_family() {
  auto optional = InputDef::optional;
  std::vector<int64_t> none = {-1};
  return {
      {.name = "CausalConvWithState",
       .doc = "Convolution of each channel with what came before, and what the next run needs.",
       .since = 27,
       .inputs = {{"input", any_float},
                  {"weight", any_float},
                  {"bias", any_float, optional},
                  {"past_state", any_float, optional}},
       .outputs = {"output", "present_state"},
       .attributes = {{"activation", "none"}},
       .define = causal_conv,
       .cases = {{.name = "fresh", .shapes = {{2, 3, 5}, {3, 1, 3}}},
                 {.name = "silu",
                  .shapes = {{1, 4, 6}, {4, 1, 4}, {4}, {1, 4, 3}},
                  .attributes = {{"activation", "silu"}}},
                 {.name = "decode", .shapes = {{2, 3, 1}, {3, 1, 4}, none, {2, 3, 3}}}}},
      {.name = "TensorScatter",
       .doc = "past_cache with update written along an axis, at an index a batch.",
       .since = 24,
       .inputs = {{"past_cache", any_element},
                  {"update", any_element},
                  {"write_indices", only(DType::i64), optional}},
       .outputs = {"present_cache"},
       .attributes = {{"axis", -2}, {"mode", "linear"}},
       .define = tensor_scatter,
       .cases = {{.name = "prefill", .shapes = {{2, 4, 3}, {2, 2, 3}}},
                 {.name = "strings", .shapes = {{2, 4, 3}, {2, 2, 3}}, .dtype = DType::string},
                 {.name = "decode",
                  .shapes = {{2, 2, 4, 3}, {2, 2, 1, 3}},
                  .inputs = {{}, {}, int64s({2}, {3, 1})}},
                 {.name = "circular",
                  .shapes = {{2, 4, 3}, {2, 2, 3}},
                  .attributes = {{"mode", "circular"}},
                  .inputs = {{}, {}, int64s({2}, {3, 6})}}}},
  };
}

}  // namespace gossamer::ops
