// What the recurrent operators share: directions, activations, steps.
#pragma once

#include <map>

#include "ops/define.h"

namespace gossamer::ops {

// One layer in one direction. Steps are written out, so the sequence length must be known when
// compiling.
struct Recurrence {
  Builder& b;
  std::string name;
  int gates;      // rows of W over hidden_size: 4, 3, 1
  int direction;  // index along the axis of directions
  bool reverse, batch_first;
  int64_t steps = 0;
  Expr batch, hidden;
  DType dtype;
  std::vector<std::string> activations;  // of this direction

  // Sum over the inputs of all steps, with the biases of both sides where `biases` says so: [seq,
  // batch, gates * hidden].
  Tensor inputs(bool recurrent_bias_too);
  // h [batch, hidden] times rows [from, to) (in units of hidden) of R: [batch, (to - from) *
  // hidden]; `finish` as in Builder::reduce. A null h is zero: `finish` of zero then.
  Tensor recurrent(const std::string& stage, const Tensor& h, int from, int to,
                   const std::function<Expr(Point, Expr)>& finish);
  Expr bias(int side, int gate, Expr unit) const;  // side 0: W's, 1: R's; zero where absent
  Expr activate(int which, Expr x) const;
  Expr clipped(Expr x) const;
  // State at [batch, unit] before a step: zero where null.
  Expr previous(const Tensor& state, Point point) const;
  // The new value where the sequence has not ended, else the old one.
  Expr held(int64_t time, Point point, Expr fresh, Expr old) const;
  Tensor initial(int input);  // a state's first value as [batch, hidden]; null where absent
};

struct Layer {
  std::vector<Tensor> outputs;               // h after each time, in time order, [batch, hidden]
  std::vector<std::pair<int, Tensor>> last;  // final states by output number (1: h, 2: c)
};
// Checks shapes, runs `layer` for each direction and joins the outputs.
Result<> recurrent_define(Builder& b, int gates, std::vector<std::string> default_activations,
                          Layer (*layer)(Recurrence&));

}  // namespace gossamer::ops
