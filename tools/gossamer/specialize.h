// Values of inputs that a model must know while it is compiled (axes, shapes, pads), taken from a
// case's own tensors.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gossamer/runner.h"
#include "graph/graph.h"

namespace gossamer::command {

using KnownInputs = std::map<std::string, ops::TensorData, std::less<>>;

// The compiler refused the model because it lacks an input's value.
bool asks_for_values(const Diagnostic& error);

// Inputs that may become constants, more of them with each of `constant_levels`: small integer
// and boolean ones after the first input; the first too; small f32 ones after the first input too.
constexpr int constant_levels = 3;
KnownInputs small_inputs(const std::vector<Port>& ports, const std::vector<ops::TensorData>& feeds,
                         int level);

std::string names_of(const KnownInputs& known);  // "axes, shape"

// The inputs of a model as its file has them.
std::vector<Port> ports_of(const graph::Graph& graph);

}  // namespace gossamer::command
