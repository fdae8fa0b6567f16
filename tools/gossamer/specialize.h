// Values of inputs that a model must know while it is compiled (axes, shapes, pads), taken from a
// case's own tensors.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gossamer/runner.h"
#include "graph/graph.h"

namespace gossamer::command {

// The compiler refused the model because it lacks an input's value.
bool asks_for_values(const Diagnostic& error);

// What to tell a compiler that refused a model, in the order to try: the values of small integer
// and boolean inputs after the first, of the first too, of small f32 ones after the first too, the
// shapes of dynamic inputs, both.
std::vector<Known> alternatives(const std::vector<Port>& ports,
                                const std::vector<graph::Group>& groups,
                                const std::vector<ops::TensorData>& feeds);

// "axes, shape", "shapes of all inputs": what had to be known.
std::string names_of(const Known& known);

// The inputs of a model as its file has them.
std::vector<Port> ports_of(const graph::Graph& graph);

}  // namespace gossamer::command
