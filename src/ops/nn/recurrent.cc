#include "ops/nn/recurrent.h"

#include <algorithm>

#include "ir/print.h"
#include "ops/elementwise.h"
#include "ops/functions.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

constexpr int64_t unrolled_steps = 4;

struct ActivationRow {
  std::string_view name;
  double alpha, beta;
  Expr (*function)(Expr x, double alpha, double beta);
};
const ActivationRow activation_rows[] = {
    {"Sigmoid", 0, 0, [](Expr x, double, double) { return sigmoid(x); }},
    {"Tanh", 0, 0, [](Expr x, double, double) { return ir::tanh(x); }},
    {"Relu", 0, 0, [](Expr x, double, double) { return ir::max(x, 0.0); }},
    {"Affine", 1, 0, [](Expr x, double a, double c) { return x * a + c; }},
    {"LeakyRelu", 0.01, 0,
     [](Expr x, double a, double) { return leaky_relu(x, ir::constant(x->type, a)); }},
    {"ThresholdedRelu", 1, 0,
     [](Expr x, double a, double) { return ir::select(x > a, x, ir::zero(x->type)); }},
    {"ScaledTanh", 1, 1, [](Expr x, double a, double c) { return ir::tanh(x * c) * a; }},
    {"HardSigmoid", 0.2, 0.5,
     [](Expr x, double a, double c) { return ir::max(ir::min(x * a + c, 1.0), 0.0); }},
    {"Elu", 1, 0, [](Expr x, double a, double) { return elu(x, a); }},
    {"Softsign", 0, 0, [](Expr x, double, double) { return x / (ir::abs(x) + 1.0); }},
    {"Softplus", 0, 0, [](Expr x, double, double) { return softplus(x); }},
};
// In any case, as ONNX Runtime reads them.
const ActivationRow* find_activation(std::string_view name) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  for (const ActivationRow& row : activation_rows) {
    if (std::ranges::equal(std::string_view(row.name), name, {}, lower, lower)) return &row;
  }
  return nullptr;
}

// Stacks [batch, hidden] tensors along new leading axes in a few stages of few inputs each.
Tensor stack(Builder& b, const std::string& name, std::vector<Tensor> parts, const Shape& tail) {
  for (Tensor& part : parts) {
    Shape shape = {ir::index(1)};
    shape.insert(shape.end(), tail.begin(), tail.end());
    part = b.reshape(name + ".part", part, shape);
  }
  constexpr size_t group = 7;
  while (parts.size() > 1) {
    std::vector<Tensor> joined;
    for (size_t i = 0; i < parts.size(); i += group) {
      size_t count = std::min(group, parts.size() - i);
      if (count == 1) {
        joined.push_back(parts[i]);
        continue;
      }
      std::vector<Expr> begins = {ir::index(0)};
      for (size_t k = 0; k < count; ++k)
        begins.push_back(b.simplify(begins[k] + parts[i + k].dim(0)));
      Shape shape = {begins.back()};
      shape.insert(shape.end(), tail.begin(), tail.end());
      joined.push_back(b.compute(name + ".join", parts[i].dtype(), shape, [&](Point p) {
        Expr value;
        for (size_t k = count; k-- > 0;) {
          std::vector<Expr> at(p.begin(), p.end());
          at[0] = b.simplify(at[0] - begins[k]);
          Expr load = parts[i + k].at(at);
          value = value ? ir::select(p[0] < begins[k + 1], load, value) : load;
        }
        return value;
      }));
    }
    parts = std::move(joined);
  }
  return parts[0];
}

}  // namespace

Tensor Recurrence::inputs(bool recurrent_bias_too) {
  const Tensor &x = b.input(0), &w = b.input(1);
  DType wide = accumulator(dtype);
  Expr d = ir::index(direction);
  return b.reduce(
      name + ".inputs", Builder::Join::sum, wide, {steps, batch, w.dim(1)}, {x.dim(2)},
      [&](Point p, Point r) {
        Expr load = batch_first ? x({p[1], p[0], r[0]}) : x({p[0], p[1], r[0]});
        return ir::cast(wide, load) * ir::cast(wide, w({d, p[2], r[0]}));
      },
      [&](Point p, Expr sum) {
        if (!b.has(3)) return sum;
        sum = sum + ir::cast(wide, b.input(3)({d, p[2]}));
        if (!recurrent_bias_too) return sum;
        return sum + ir::cast(wide, b.input(3)({d, b.simplify(p[2] + w.dim(1))}));
      });
}

Tensor Recurrence::recurrent(const std::string& stage, const Tensor& h, int from, int to,
                             const std::function<Expr(Point, Expr)>& finish) {
  const Tensor& r = b.input(2);
  Tensor seen = h;
  if (h && quantized_state) seen = seen_as_bytes(b, h);
  DType wide = accumulator(dtype);
  Shape shape = {batch, hidden * static_cast<double>(to - from)};
  if (!h) return b.compute(stage, wide, shape, [&](Point p) { return finish(p, ir::zero(wide)); });
  return b.reduce(
      stage, Builder::Join::sum, wide, shape, {hidden},
      [&](Point p, Point over) {
        Expr row = b.simplify(p[1] + hidden * static_cast<double>(from));
        return ir::cast(wide, seen({p[0], over[0]})) *
               ir::cast(wide, r({ir::index(direction), row, over[0]}));
      },
      finish);
}

Tensor seen_as_bytes(Builder& b, const Tensor& x) {
  const auto bound = [&](const char* name, Builder::Join join) {
    return b.reduce(
        name, join, DType::f32, {x.dim(0)}, {x.dim(1)},
        [&](Point p, Point r) { return x({p[0], r[0]}); },
        [&](Point, Expr value) {
          return join == Builder::Join::min ? ir::min(std::move(value), 0.0)
                                            : ir::max(std::move(value), 0.0);
        });
  };
  const Tensor least = bound("bytes.least", Builder::Join::min),
               most = bound("bytes.most", Builder::Join::max);
  return b.compute("bytes", DType::f32, x.shape(), [&](Point p) {
    const Expr low = least({p[0]}), span = most({p[0]}) - low;
    const Expr scale = ir::select(span == 0.0, ir::constant(DType::f32, 1), span / 255.0);
    const Expr zero = ir::round(-low / scale);
    const Expr code = ir::max(ir::min(ir::round(x.at(p) / scale) + zero, 255.0), 0.0);
    return (code - zero) * scale;
  });
}

Expr Recurrence::bias(int side, int gate, Expr unit) const {
  DType wide = accumulator(dtype);
  if (!b.has(3)) return ir::zero(wide);
  Expr row = unit + hidden * static_cast<double>(side * gates + gate);
  return ir::cast(wide, b.input(3)({ir::index(direction), b.simplify(row)}));
}

Expr Recurrence::activate(int which, Expr x) const {
  size_t k = static_cast<size_t>(which);
  const ActivationRow& row = *find_activation(activations[k]);
  auto parameter = [&](std::string_view attribute, double fallback) {
    std::vector<double> given = b.numbers(attribute);
    size_t at = static_cast<size_t>(direction) * activations.size() + k;
    return at < given.size() ? given[at] : fallback;
  };
  return row.function(x, parameter("activation_alpha", row.alpha),
                      parameter("activation_beta", row.beta));
}

Expr Recurrence::clipped(Expr x) const {
  if (!b.has_attribute("clip") || b.number("clip") <= 0) return x;
  return ir::max(ir::min(x, b.number("clip")), -b.number("clip"));
}

Expr Recurrence::previous(const Tensor& state, Point point) const {
  DType wide = accumulator(dtype);
  return state ? ir::cast(wide, state.at(point)) : ir::zero(wide);
}

Expr Recurrence::held(const Expr& time, Point point, Expr fresh, Expr old) const {
  if (!b.has(4)) return fresh;
  Expr length = as_index(b.input(4)({point[0]}));
  return ir::select(length > time, fresh, old);
}

Tensor Recurrence::initial(int input) {
  const Tensor& given = b.input(input);
  if (!given) return {};
  Expr d = ir::index(direction);
  return b.compute(name + ".initial", dtype, {batch, hidden}, [&](Point p) {
    return batch_first ? given({p[0], d, p[1]}) : given({d, p[0], p[1]});
  });
}

namespace {

// What a direction leaves: h at each time [steps, batch, hidden], and the last states.
struct Layer {
  Tensor outputs;
  RecurrentState last;
};

Layer unrolled(Recurrence& run, const Cell& cell, const Tensor& inputs, int64_t steps) {
  RecurrentState state{run.initial(5), run.initial(6)};
  std::vector<Tensor> outputs(static_cast<size_t>(steps));
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t time = run.reverse ? steps - 1 - i : i;
    state = cell.step(run, inputs, ir::index(time), state);
    outputs[static_cast<size_t>(time)] = state.h;
  }
  return {stack(run.b, run.name, std::move(outputs), {run.batch, run.hidden}), state};
}

Result<Layer> looped(Recurrence& run, const Cell& cell, const Tensor& inputs) {
  Builder& b = run.b;
  const auto start = [&](int input) {
    Tensor given = run.initial(input);
    if (given) return given;
    return b.compute(run.name + ".zero", run.dtype, {run.batch, run.hidden},
                     [&](Point) { return ir::zero(run.dtype); });
  };
  std::vector<Tensor> initial{start(5)};
  if (cell.has_cell) initial.push_back(start(6));
  const auto time_of = [&](const Expr& round) {
    return run.reverse ? run.steps - ir::index(1) - round : round;
  };
  GS_ASSIGN(
      Builder::Round rounds,
      b.loop(run.name, run.steps, initial,
             [&](const Expr& round, std::span<const Tensor> states) -> Result<Builder::Round> {
               RecurrentState before{states[0], cell.has_cell ? states[1] : Tensor()};
               RecurrentState after = cell.step(run, inputs, time_of(round), before);
               Builder::Round made{{after.h}, {after.h}};
               if (cell.has_cell) made.states.push_back(after.c);
               return made;
             }));
  Tensor outputs = rounds.rows[0];
  if (run.reverse) {
    outputs = b.compute(run.name + ".reversed", run.dtype, outputs.shape(),
                        [&](Point p) { return rounds.rows[0]({time_of(p[0]), p[1], p[2]}); });
  }
  return Layer{outputs, {rounds.states[0], cell.has_cell ? rounds.states[1] : Tensor()}};
}

}  // namespace

Result<> recurrent_define(Builder& b, const Cell& cell) {
  const int gates = cell.gates;
  const Tensor &x = b.input(0), &w = b.input(1), &r = b.input(2);
  bool batch_first = b.integer("layout") != 0;
  if (x.rank() != 3 || w.rank() != 3 || r.rank() != 3)
    return b.error("X, W and R must have rank 3");
  for (int i : {1, 2, 3, 5, 6, 7}) {
    if (b.has(i) && b.input(i).dtype() != x.dtype()) {
      return b.error(cat("input ", i, " has another type than X"), "insert a Cast");
    }
  }
  const Expr& hidden = r.dim(2);
  GS_TRY(b.require(
      w.dim(1) == hidden * static_cast<double>(gates) && r.dim(1) == w.dim(1),
      cat("W and R must have ", gates, " rows for each of ", ir::print(hidden), " hidden units")));
  GS_TRY(b.require(w.dim(2) == x.dim(2),
                   cat("W takes ", ir::print(w.dim(2)), " inputs, X has ", ir::print(x.dim(2)))));
  const Expr steps = b.simplify(x.dim(batch_first ? 1 : 0));
  const auto known_steps = ir::as_int(steps);
  std::string direction = b.text("direction");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return b.error(cat("`direction` is \"", direction, "\""),
                   "it must be forward, reverse or bidirectional");
  }
  int directions = direction == "bidirectional" ? 2 : 1;
  GS_TRY(b.require(w.dim(0) == static_cast<double>(directions),
                   cat("W must have ", directions, " directions")));
  Expr ways = ir::index(directions), sequences = x.dim(batch_first ? 0 : 1);
  GS_TRY(has_shape(b, 2, {ways, r.dim(1), hidden}));
  GS_TRY(has_shape(b, 3, {ways, w.dim(1) * 2.0}));
  GS_TRY(has_shape(b, 4, {sequences}));
  for (int i : {5, 6}) {
    GS_TRY(has_shape(
        b, i, batch_first ? Shape{sequences, ways, hidden} : Shape{ways, sequences, hidden}));
  }
  GS_TRY(has_shape(b, 7, {ways, hidden * 3.0}));

  std::vector<std::string> names = b.texts("activations");
  size_t per_direction = cell.activations.size();
  if (names.empty()) {
    for (int d = 0; d < directions; ++d) {
      names.insert(names.end(), cell.activations.begin(), cell.activations.end());
    }
  }
  if (names.size() != per_direction * static_cast<size_t>(directions)) {
    return b.error(cat("there are ", names.size(), " activations, ", per_direction,
                       " a direction are needed"));
  }
  for (const std::string& name : names) {
    if (!find_activation(name)) return b.error(cat("activation \"", name, "\" is not known"));
  }

  std::string name = stage_name(b);
  std::vector<Layer> layers;
  Expr batch = x.dim(batch_first ? 0 : 1);
  for (int d = 0; d < directions; ++d) {
    auto first = names.begin() + static_cast<std::ptrdiff_t>(per_direction) * d;
    Recurrence run{.b = b,
                   .name = name,
                   .gates = gates,
                   .direction = d,
                   .reverse = direction == "reverse" || d == 1,
                   .batch_first = batch_first,
                   .steps = steps,
                   .batch = batch,
                   .hidden = hidden,
                   .dtype = x.dtype(),
                   .activations = {first, first + static_cast<std::ptrdiff_t>(per_direction)},
                   .quantized_state = cell.quantized_state};
    const Tensor inputs = run.inputs(cell.recurrent_bias_in_inputs);
    // Of no steps, the first states are the last ones: a loop of no rounds.
    if (known_steps && *known_steps > 0 && *known_steps <= unrolled_steps) {
      layers.push_back(unrolled(run, cell, inputs, *known_steps));
    } else {
      GS_ASSIGN(Layer layer, looped(run, cell, inputs));
      layers.push_back(std::move(layer));
    }
  }

  // Element [direction, ...] of tensors that the directions made.
  const auto of_direction = [&](const Expr& d, const std::function<Expr(const Layer&)>& element) {
    const Expr first = element(layers[0]);
    return directions == 1 ? first : ir::select(d == 0.0, first, element(layers[1]));
  };
  if (b.wants(0)) {
    Shape shape{steps, ir::index(directions), batch, hidden};
    if (batch_first) shape = {batch, steps, ir::index(directions), hidden};
    b.output(0, b.compute(name + ".y", x.dtype(), shape, [&](Point p) {
      const Expr at = batch_first ? p[0] : p[2], time = batch_first ? p[1] : p[0];
      const Expr h = of_direction(batch_first ? p[2] : p[1], [&](const Layer& layer) {
        return layer.outputs({time, at, p[3]});
      });
      if (!b.has(4)) return h;
      // After a sequence's end the outputs are zero.
      return ir::select(as_index(b.input(4)({at})) > time, h, ir::zero(x.dtype()));
    }));
  }
  for (int output : {1, 2}) {
    if (!b.wants(output) || (output == 2 && !cell.has_cell)) continue;
    Shape shape{ir::index(directions), batch, hidden};
    if (batch_first) shape = {batch, ir::index(directions), hidden};
    b.output(output, b.compute(name + ".last", x.dtype(), shape, [&](Point p) {
      const Expr at = batch_first ? p[0] : p[1];
      return of_direction(batch_first ? p[1] : p[0], [&](const Layer& layer) {
        return (output == 1 ? layer.last.h : layer.last.c)({at, p[2]});
      });
    }));
  }
  return {};
}

}  // namespace gossamer::ops
