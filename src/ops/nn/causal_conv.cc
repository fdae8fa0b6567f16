// CausalConvWithState.
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

}  // namespace

std::vector<OpDef> causal_conv_family() {
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
       .cases = [=] -> Cases {
         return {{.name = "fresh", .shapes = {{2, 3, 5}, {3, 1, 3}}},
                 {.name = "silu",
                  .shapes = {{1, 4, 6}, {4, 1, 4}, {4}, {1, 4, 3}},
                  .attributes = {{"activation", "silu"}}},
                 {.name = "decode", .shapes = {{2, 3, 1}, {3, 1, 4}, none, {2, 3, 3}}}};
       }},
  };
}

}  // namespace gossamer::ops
