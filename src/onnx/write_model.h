// A graph as an ONNX model: for programs of tensors on their way to a compiler elsewhere, and for
// trained modules.
#pragma once

#include <string>

#include "graph/graph.h"
#include "onnx/wire.h"

namespace gossamer::onnx {

// A serialized ModelProto of the newest opset with all weights inside, which read_model reads back
// as the same graph. Values keep their names where those are unique, others get one. `file` is what
// constants with `file` 0 are ranges of. Errors: ports that are sequences, constants in other
// files or beyond the end of `file`.
Result<std::string> write_model(const graph::Graph& graph, Bytes file = {});

}  // namespace gossamer::onnx
