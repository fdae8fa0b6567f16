// Values of inputs that a model must know while it is compiled (axes, shapes, pads), taken from a
// case's own tensors.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gossamer/runners/runner.h"
#include "graph/graph.h"
#include "onnx/known.h"

namespace gossamer::command {

// The compiler, or a run, must know more of the feeds.
bool asks_for_feeds(const Diagnostic& error);

// Compiles and runs a model that knows nothing of its feeds. Where the compiler or the run asks for
// more (a rank that only the run knows, an axis), again with the first of these that suffices: the
// values of small integer and boolean inputs after the first, of the first too, of small f32 ones
// after the first too, the shapes of all inputs, both. Returns the last error.
Result<> specialize(const std::vector<Port>& ports, const std::vector<stages::PortGroup>& groups,
                    const std::vector<ops::TensorData>& feeds,
                    const std::function<Result<>(const onnx::Known&)>& attempt);

// The feeds that are no constants by then.
std::vector<ops::TensorData> left_of(const std::vector<Port>& ports,
                                     const std::vector<ops::TensorData>& feeds,
                                     const onnx::Known& known);

// "axes, shape", "shapes of all inputs": what had to be known.
std::string names_of(const onnx::Known& known);

// The inputs of a model as its file has them.
std::vector<Port> ports_of(const graph::Graph& graph);

}  // namespace gossamer::command
