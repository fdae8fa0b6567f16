// CausalConvWithState.
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

// `dilation`: the distance of taps. `last`: channels are the last axis of input and state.
Result<> causal_conv(Builder& b, double dilation, bool last) {
  const Tensor &x = b.input(0), &w = b.input(1), &bias = b.input(2), &past = b.input(3);
  GS_TRY(same_types(b));
  const int channel = last ? 2 : 1, along = 3 - channel;
  const auto c = static_cast<size_t>(channel), t = static_cast<size_t>(along);
  std::string activation = b.text("activation");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return b.error(cat("`activation` is \"", activation, "\""), "it must be none, silu or swish");
  if (x.rank() != 3 || w.rank() != 3 || (past && past.rank() != 3))
    return b.error("input, weight and past_state have rank 3");
  GS_TRY(b.require(w.dim(0) == x.dim(channel) && w.dim(1) == 1,
                   "the weight is [channels, 1, taps] of the input's channels"));
  Expr taps = w.dim(2), before = b.simplify((taps - 1) * dilation);
  Shape state = x.shape(), whole = x.shape();
  state[t] = before;
  whole[t] = b.simplify(x.dim(along) + before);
  for (int i = 0; past && i < 3; ++i)
    GS_TRY(b.require(past.dim(i) == state[static_cast<size_t>(i)],
                     "past_state has the input's shape, with (taps - 1) * dilation elements along "
                     "the sequence"));
  const auto moved = [&](Point p, const Expr& place) {
    std::vector<Expr> at(p.begin(), p.end());
    at[t] = b.simplify(place);
    return at;
  };
  DType dtype = x.dtype(), wide = accumulator(dtype);
  Tensor all = b.compute("causal_conv.all", dtype, whole, [&](Point p) {
    return ir::select(p[t] < before, past ? past.at(p) : ir::zero(dtype),
                      x.at(moved(p, p[t] - before)));
  });
  b.output(0, b.reduce(
                  "causal_conv", Builder::Join::sum, dtype, x.shape(), {taps},
                  [&](Point p, Point r) {
                    return ir::cast(wide, all.at(moved(p, p[t] + r[0] * dilation))) *
                           ir::cast(wide, w({p[c], ir::index(0), r[0]}));
                  },
                  [&](Point p, Expr sum) {
                    if (bias) sum = sum + ir::cast(wide, bias({p[c]}));
                    if (activation != "none") sum = sum / (ir::exp(-sum) + 1.0);
                    return ir::cast(dtype, sum);
                  }));
  b.output(1, b.compute("causal_conv.state", dtype, state,
                        [&](Point p) { return all.at(moved(p, p[t] + x.dim(along))); }));
  return {};
}

Result<> standard_causal_conv(Builder& b) { return causal_conv(b, 1, false); }

Result<> microsoft_causal_conv(Builder& b) {
  if (b.integer("ndim") != 1) return b.error("`ndim` above 1 is not supported");
  for (const char* name : {"state_window", "state_update_capacity", "state_length",
                           "input_channel_offset", "input_channels"})
    if (b.integer(name) != 0) return b.error(cat("`", name, "` is not supported"));
  const int64_t dilation = b.integer("dilation"), last = b.integer("channels_last");
  if (dilation < 1) return b.error("`dilation` is positive");
  if (b.integer("state_channels_last") != -1 && b.integer("state_channels_last") != last)
    return b.error("a state in another layout than the input is not supported");
  return causal_conv(b, static_cast<double>(dilation), last != 0);
}

}  // namespace

std::vector<OpDef> causal_conv_family() {
  auto optional = InputDef::optional;
  std::vector<int64_t> none = {-1};
  OpDef standard = {
      .name = "CausalConvWithState",
      .doc = "Convolution of each channel with what came before, and what the next run needs.",
      .since = 27,
      .inputs = {{"input", any_float},
                 {"weight", any_float},
                 {"bias", any_float, optional},
                 {"past_state", any_float, optional}},
      .outputs = {"output", "present_state"},
      .attributes = {{"activation", "none"}},
      .define = standard_causal_conv,
      .cases = [=] -> Cases {
        return {{.name = "fresh", .shapes = {{2, 3, 5}, {3, 1, 3}}},
                {.name = "silu",
                 .shapes = {{1, 4, 6}, {4, 1, 4}, {4}, {1, 4, 3}},
                 .attributes = {{"activation", "silu"}}},
                {.name = "decode", .shapes = {{2, 3, 1}, {3, 1, 4}, none, {2, 3, 3}}}};
      }};
  OpDef microsofts = standard;
  microsofts.domain = "com.microsoft";
  microsofts.since = 1;
  for (const AttributeDef& def : std::initializer_list<AttributeDef>{{"channels_last", 0},
                                                                     {"dilation", 1},
                                                                     {"input_channel_offset", 0},
                                                                     {"input_channels", 0},
                                                                     {"ndim", 1},
                                                                     {"state_channels_last", -1},
                                                                     {"state_length", 0},
                                                                     {"state_update_capacity", 0},
                                                                     {"state_window", 0}})
    microsofts.attributes.push_back(def);
  microsofts.define = microsoft_causal_conv;
  microsofts.cases = [=] -> Cases {
    return {{.name = "dilated",
             .shapes = {{1, 4, 6}, {4, 1, 3}, {4}, {1, 4, 4}},
             .attributes = {{"dilation", 2}}},
            {.name = "channels last",
             .shapes = {{2, 5, 3}, {3, 1, 4}, none, {2, 3, 3}},
             .attributes = {{"activation", "silu"}, {"channels_last", 1}}}};
  };
  return {std::move(standard), std::move(microsofts)};
}

}  // namespace gossamer::ops
