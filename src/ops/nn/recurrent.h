// What the recurrent operators share: directions, activations, steps.
#pragma once

#include <map>

#include "ops/builder.h"

namespace gossamer::ops {

// One layer in one direction. A few steps are written out, more (or as many as the input has) are a
// loop.
struct Recurrence {
  Builder& b;
  std::string name;
  int gates;      // rows of W over hidden_size: 4, 3, 1
  int direction;  // index along the axis of directions
  bool reverse, batch_first;
  Expr steps;
  Expr batch, hidden;
  DType dtype;
  std::vector<std::string> activations;  // of this direction
  bool quantized_state = false;          // see Cell

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
  Expr held(const Expr& time, Point point, Expr fresh, Expr old) const;
  Tensor initial(int input);  // a state's first value as [batch, hidden]; null where absent
};

// What a step hands to the next: [batch, hidden]. A null one is zero; an operator without cells has
// no c.
struct RecurrentState {
  Tensor h, c;
};

// An operator: `inputs` is Recurrence::inputs, `time` the position in the sequence.
struct Cell {
  int gates = 1;
  bool recurrent_bias_in_inputs = true, has_cell = false;
  bool quantized_state = false;          // products see the state through seen_as_bytes
  std::vector<std::string> activations;  // the default ones of a direction
  RecurrentState (*step)(Recurrence&, const Tensor& inputs, const Expr& time,
                         const RecurrentState& before) = nullptr;
};
// Checks shapes, runs the steps of each direction and joins the outputs.
Result<> recurrent_define(Builder& b, const Cell& cell);
Cell lstm_cell();

// [rows, columns] of f32 quantised to u8, each row by its own range, and back.
Tensor seen_as_bytes(Builder& b, const Tensor& x);

}  // namespace gossamer::ops
