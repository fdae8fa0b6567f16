// Recurrent networks: RNN, GRU, LSTM, step by step.
#include "ops/families.h"
#include "ops/recurrent.h"

namespace gossamer::ops {
namespace {

// The times of a direction in the order it takes them.
std::vector<int64_t> times(const Recurrence& run) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < run.steps; ++i) order.push_back(run.reverse ? run.steps - 1 - i : i);
  return order;
}

Layer rnn(Recurrence& run) {
  Tensor x = run.inputs(true), h = run.initial(5);
  Layer layer;
  layer.outputs.resize(static_cast<size_t>(run.steps));
  for (int64_t t : times(run)) {
    Tensor before = h;
    Tensor sum = run.recurrent(run.name + ".gates", h, 0, 1, [&](Point p, Expr value) {
      return value + x({ir::index(t), p[0], p[1]});
    });
    h = run.b.compute(run.name + ".h", run.dtype, {run.batch, run.hidden}, [&](Point p) {
      Expr fresh = run.activate(0, run.clipped(sum.at(p)));
      return ir::cast(run.dtype, run.held(t, p, fresh, run.previous(before, p)));
    });
    layer.outputs[static_cast<size_t>(t)] = h;
  }
  layer.last = {{1, h}};
  return layer;
}

// Gates in ONNX's order: input, output, forget, cell.
Layer lstm(Recurrence& run) {
  Builder& b = run.b;
  Tensor x = run.inputs(true), h = run.initial(5), c = run.initial(6);
  DType wide = accumulator(run.dtype);
  bool coupled = b.integer("input_forget") != 0;
  auto peephole = [&](int gate, Point p, Expr cell) {
    if (!b.has(7)) return ir::zero(wide);
    Expr at = b.simplify(p[1] + run.hidden * static_cast<double>(gate));
    return ir::cast(wide, b.input(7)({ir::index(run.direction), at})) * cell;
  };
  Layer layer;
  layer.outputs.resize(static_cast<size_t>(run.steps));
  for (int64_t t : times(run)) {
    Tensor h_before = h, c_before = c;
    Tensor gates = run.recurrent(run.name + ".gates", h, 0, 4, [&](Point p, Expr value) {
      return value + x({ir::index(t), p[0], p[1]});
    });
    auto gate = [&](int k, Point p) {
      return gates({p[0], b.simplify(p[1] + run.hidden * static_cast<double>(k))});
    };
    Shape shape = {run.batch, run.hidden};
    // The cell before clipping by sequence lengths, so that h sees what it steps from.
    c = b.compute(run.name + ".c", run.dtype, shape, [&](Point p) {
      Expr old = run.previous(c_before, p);
      Expr in = run.activate(0, run.clipped(gate(0, p) + peephole(0, p, old)));
      Expr forget =
          coupled ? 1.0 - in : run.activate(0, run.clipped(gate(2, p) + peephole(2, p, old)));
      Expr fresh = forget * old + in * run.activate(1, run.clipped(gate(3, p)));
      return ir::cast(run.dtype, run.held(t, p, fresh, old));
    });
    h = b.compute(run.name + ".h", run.dtype, shape, [&](Point p) {
      Expr cell = ir::cast(wide, c.at(p));
      Expr out = run.activate(0, run.clipped(gate(1, p) + peephole(1, p, cell)));
      Expr fresh = out * run.activate(2, cell);
      return ir::cast(run.dtype, run.held(t, p, fresh, run.previous(h_before, p)));
    });
    layer.outputs[static_cast<size_t>(t)] = h;
  }
  layer.last = {{1, h}, {2, c}};
  return layer;
}

// Gates in ONNX's order: update, reset, hidden.
Layer gru(Recurrence& run) {
  Builder& b = run.b;
  DType wide = accumulator(run.dtype);
  Tensor x = run.inputs(false), h = run.initial(5);
  bool before_reset = b.integer("linear_before_reset") != 0;
  Layer layer;
  layer.outputs.resize(static_cast<size_t>(run.steps));
  Shape shape = {run.batch, run.hidden};
  for (int64_t t : times(run)) {
    Tensor before = h;
    auto input = [&](int gate, Point p) {
      return x({ir::index(t), p[0], b.simplify(p[1] + run.hidden * static_cast<double>(gate))});
    };
    // Update and reset; with linear_before_reset the hidden gate's product too.
    Tensor sums =
        run.recurrent(run.name + ".gates", h, 0, before_reset ? 3 : 2, [&](Point p, Expr value) {
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
      if (before) {
        kept = b.compute(run.name + ".reset", wide, shape,
                         [&](Point p) { return gate(1, p) * run.previous(before, p); });
      }
      candidate = run.recurrent(run.name + ".candidate", kept, 2, 3, [&](Point p, Expr value) {
        return run.activate(1, run.clipped(value + input(2, p) + run.bias(1, 2, p[1])));
      });
    }
    h = b.compute(run.name + ".h", run.dtype, shape, [&](Point p) {
      Expr update = gate(0, p), old = run.previous(before, p);
      Expr fresh = (1.0 - update) * candidate.at(p) + update * old;
      return ir::cast(run.dtype, run.held(t, p, fresh, old));
    });
    layer.outputs[static_cast<size_t>(t)] = h;
  }
  layer.last = {{1, h}};
  return layer;
}

OpDef entry(std::string name, std::string doc, int gates, std::vector<std::string> activations,
            Layer (*layer)(Recurrence&), std::vector<AttributeDef> more, bool has_cell) {
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
  if (has_cell) {
    inputs.push_back({"initial_c", any_float, InputDef::optional});
    inputs.push_back({"P", any_float, InputDef::optional});
    outputs.push_back("Y_c");
  }
  int64_t g = gates;
  std::vector<int64_t> none = {-1};
  std::vector<Case> cases = {
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
      {.name = "lengths",
       .shapes = {{3, 2, 4}, {1, g * 3, 4}, {1, g * 3, 3}, none, {2}},
       .inputs = {{}, {}, {}, {}, int32s({2}, {1, 3})},
       .low = -1,
       .high = 1}};
  return {.name = std::move(name),
          .doc = std::move(doc),
          .since = 22,
          .inputs = std::move(inputs),
          .outputs = std::move(outputs),
          .attributes = std::move(attributes),
          .define = [gates, activations,
                     layer](Builder& b) { return recurrent_define(b, gates, activations, layer); },
          .cases = std::move(cases)};
}

}  // namespace

std::vector<OpDef> recurrent_family() {
  return {
      entry("RNN", "A plain recurrent layer.", 1, {"Tanh"}, rnn, {}, false),
      entry("GRU", "A layer of gated recurrent units.", 3, {"Sigmoid", "Tanh"}, gru,
            {{"linear_before_reset", 0}}, false),
      entry("LSTM", "A layer of long short-term memory.", 4, {"Sigmoid", "Tanh", "Tanh"}, lstm,
            {{"input_forget", 0}}, true),
  };
}

}  // namespace gossamer::ops
