// Recurrent networks: RNN, GRU, LSTM, step by step.
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/nn/recurrent.h"

namespace gossamer::ops {
namespace {

RecurrentState rnn(Recurrence& run, const Tensor& x, const Expr& time,
                   const RecurrentState& before) {
  Tensor sum = run.recurrent(run.name + ".gates", before.h, 0, 1,
                             [&](Point p, Expr value) { return value + x({time, p[0], p[1]}); });
  return {run.b.compute(run.name + ".h", run.dtype, {run.batch, run.hidden},
                        [&](Point p) {
                          Expr fresh = run.activate(0, run.clipped(sum.at(p)));
                          return ir::cast(run.dtype,
                                          run.held(time, p, fresh, run.previous(before.h, p)));
                        }),
          {}};
}

// Gates in ONNX's order: input, output, forget, cell.
RecurrentState lstm(Recurrence& run, const Tensor& x, const Expr& time,
                    const RecurrentState& before) {
  Builder& b = run.b;
  DType wide = accumulator(run.dtype);
  bool coupled = b.integer("input_forget") != 0;
  auto peephole = [&](int gate, Point p, Expr cell) {
    if (!b.has(7)) return ir::zero(wide);
    Expr at = b.simplify(p[1] + run.hidden * static_cast<double>(gate));
    return ir::cast(wide, b.input(7)({ir::index(run.direction), at})) * cell;
  };
  Tensor gates = run.recurrent(run.name + ".gates", before.h, 0, 4,
                               [&](Point p, Expr value) { return value + x({time, p[0], p[1]}); });
  auto gate = [&](int k, Point p) {
    return gates({p[0], b.simplify(p[1] + run.hidden * static_cast<double>(k))});
  };
  Shape shape = {run.batch, run.hidden};
  // The cell before clipping by sequence lengths, so that h sees what it steps from.
  Tensor c = b.compute(run.name + ".c", run.dtype, shape, [&](Point p) {
    Expr old = run.previous(before.c, p);
    Expr in = run.activate(0, run.clipped(gate(0, p) + peephole(0, p, old)));
    Expr forget =
        coupled ? 1.0 - in : run.activate(0, run.clipped(gate(2, p) + peephole(2, p, old)));
    Expr fresh = forget * old + in * run.activate(1, run.clipped(gate(3, p)));
    return ir::cast(run.dtype, run.held(time, p, fresh, old));
  });
  Tensor h = b.compute(run.name + ".h", run.dtype, shape, [&](Point p) {
    Expr cell = ir::cast(wide, c.at(p));
    Expr out = run.activate(0, run.clipped(gate(1, p) + peephole(1, p, cell)));
    Expr fresh = out * run.activate(2, cell);
    return ir::cast(run.dtype, run.held(time, p, fresh, run.previous(before.h, p)));
  });
  return {h, c};
}

// Gates in ONNX's order: update, reset, hidden.
RecurrentState gru(Recurrence& run, const Tensor& x, const Expr& time,
                   const RecurrentState& before) {
  Builder& b = run.b;
  DType wide = accumulator(run.dtype);
  bool before_reset = b.integer("linear_before_reset") != 0;
  Shape shape = {run.batch, run.hidden};
  auto input = [&](int gate, Point p) {
    return x({time, p[0], b.simplify(p[1] + run.hidden * static_cast<double>(gate))});
  };
  // Update and reset; with linear_before_reset the hidden gate's product too.
  Tensor sums = run.recurrent(run.name + ".gates", before.h, 0, before_reset ? 3 : 2,
                              [&](Point p, Expr value) {
                                if (!b.has(3)) return value;
                                return value + run.bias(1, 0, p[1]);
                              });
  auto gate = [&](int k, Point p) {
    Expr sum = sums({p[0], b.simplify(p[1] + run.hidden * static_cast<double>(k))});
    return run.activate(0, run.clipped(sum + input(k, p)));
  };
  Tensor candidate;
  if (before_reset) {
    candidate = b.compute(run.name + ".candidate", wide, shape, [&](Point p) {
      Expr linear = sums({p[0], b.simplify(p[1] + run.hidden * 2.0)});
      return run.activate(1, run.clipped(input(2, p) + gate(1, p) * linear));
    });
  } else {
    Tensor kept;
    if (before.h) {
      kept = b.compute(run.name + ".reset", wide, shape,
                       [&](Point p) { return gate(1, p) * run.previous(before.h, p); });
    }
    candidate = run.recurrent(run.name + ".candidate", kept, 2, 3, [&](Point p, Expr value) {
      return run.activate(1, run.clipped(value + input(2, p) + run.bias(1, 2, p[1])));
    });
  }
  return {b.compute(run.name + ".h", run.dtype, shape,
                    [&](Point p) {
                      Expr update = gate(0, p), old = run.previous(before.h, p);
                      Expr fresh = (1.0 - update) * candidate.at(p) + update * old;
                      return ir::cast(run.dtype, run.held(time, p, fresh, old));
                    }),
          {}};
}

std::vector<std::string> lower_case(std::vector<std::string> names) {
  for (std::string& name : names) {
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return names;
}

Cases recurrent_cases(const Cell& cell) {
  int64_t g = cell.gates;
  std::vector<int64_t> none = {-1};
  Cases cases = {
      {.name = "forward",
       .shapes = {{3, 2, 4}, {1, g * 5, 4}, {1, g * 5, 5}, {1, 2 * g * 5}},
       .low = -1,
       .high = 1},
      {.name = "both",
       .shapes = {{2, 1, 3}, {2, g * 2, 3}, {2, g * 2, 2}},
       .attributes = {{"direction", "bidirectional"}},
       .low = -1,
       .high = 1},
      {.name = "initial, batch first",
       .shapes = {{2, 3, 4}, {1, g * 3, 4}, {1, g * 3, 3}, none, none, {2, 1, 3}},
       .attributes = {{"layout", 1}, {"direction", "reverse"}},
       .low = -1,
       .high = 1},
      {.name = "no steps",
       .shapes = {{0, 2, 4}, {1, g * 3, 4}, {1, g * 3, 3}, none, none, {1, 2, 3}},
       .low = -1,
       .high = 1},
      {.name = "lengths",
       .shapes = {{3, 2, 4}, {1, g * 3, 4}, {1, g * 3, 3}, none, {2}},
       .inputs = {{}, {}, {}, {}, int32s({2}, {1, 3})},
       .low = -1,
       .high = 1},
      {.name = "many steps",
       .shapes = {{7, 2, 4}, {2, g * 3, 4}, {2, g * 3, 3}, {2, 2 * g * 3}, {2}, {2, 2, 3}},
       .attributes = {{"direction", "bidirectional"}},
       .inputs = {{}, {}, {}, {}, int32s({2}, {7, 4}), {}},
       .low = -1,
       .high = 1},
      {.name = "lower case",
       .shapes = {{2, 2, 4}, {1, g * 3, 4}, {1, g * 3, 3}},
       .attributes = {{"activations", lower_case(cell.activations)}},
       .low = -1,
       .high = 1},
      {.name = "many steps backwards",
       .shapes = {{1, 6, 3}, {1, g * 2, 3}, {1, g * 2, 2}},
       .attributes = {{"direction", "reverse"}, {"layout", 1}},
       .low = -1,
       .high = 1}};
  if (cell.has_cell) {
    cases.push_back({.name = "cells, peepholes",
                     .shapes = {{6, 2, 4},
                                {1, g * 3, 4},
                                {1, g * 3, 3},
                                {1, 2 * g * 3},
                                none,
                                {1, 2, 3},
                                {1, 2, 3},
                                {1, 9}},
                     .low = -1,
                     .high = 1});
  }
  return cases;
}

OpDef entry(std::string name, Doc doc, const Cell& cell, std::vector<AttributeDef> more) {
  std::vector<AttributeDef> attributes = {{"activation_alpha", std::vector<double>{}},
                                          {"activation_beta", std::vector<double>{}},
                                          {"activations", std::vector<std::string>{}},
                                          {"clip", {}},
                                          {"direction", "forward"},
                                          {"hidden_size", {}},
                                          {"layout", 0}};
  attributes.insert(attributes.end(), more.begin(), more.end());
  std::vector<InputDef> inputs = {{"X", any_float},
                                  {"W", any_float},
                                  {"R", any_float},
                                  {"B", any_float, InputDef::optional},
                                  {"sequence_lens", only(DType::i32), InputDef::optional},
                                  {"initial_h", any_float, InputDef::optional}};
  std::vector<std::string> outputs = {"Y", "Y_h"};
  if (cell.has_cell) {
    inputs.push_back({"initial_c", any_float, InputDef::optional});
    inputs.push_back({"P", any_float, InputDef::optional});
    outputs.push_back("Y_c");
  }
  return {.name = std::move(name),
          .doc = std::move(doc),
          .since = 22,
          .inputs = std::move(inputs),
          .outputs = std::move(outputs),
          .attributes = std::move(attributes),
          .define = [cell](Builder& b) { return recurrent_define(b, cell); },
          .cases = [cell] { return recurrent_cases(cell); }};
}

}  // namespace

Cell lstm_cell() {
  return {.gates = 4, .has_cell = true, .activations = {"Sigmoid", "Tanh", "Tanh"}, .step = lstm};
}

std::vector<OpDef> recurrent_family() {
  return {
      entry("RNN", "A plain recurrent layer.", {.gates = 1, .activations = {"Tanh"}, .step = rnn},
            {}),
      entry("GRU", "A layer of gated recurrent units.",
            {.gates = 3,
             .recurrent_bias_in_inputs = false,
             .activations = {"Sigmoid", "Tanh"},
             .step = gru},
            {{"linear_before_reset", 0}}),
      entry("LSTM", "A layer of long short-term memory.", lstm_cell(), {{"input_forget", 0}}),
  };
}

}  // namespace gossamer::ops
