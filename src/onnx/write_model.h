// A graph as an ONNX model: for programs of tensors on their way to a compiler elsewhere, and for
// trained modules.
#pragma once

#include <cstdint>
#include <string>

#include "graph/graph.h"
#include "onnx/wire.h"

namespace gossamer::onnx {

// The opset of a written model is the first from this one on that has all its operators with their
// attributes: other run times refuse opsets that are newer than they. Models of types that are
// newer (bf16, eight bits and less) say the operators' newest versions, which all take these.
constexpr int64_t oldest_written = 21;

// A serialized ModelProto with its weights inside, which read_model reads back as the same graph;
// those that lie in other files stay there.
// Values keep their names where those are unique, others get one. `file` is what constants with
// `file` 0 are ranges of. With `parts` the model says what is learnt (graph::Part): numbers are
// Constant nodes, and metadata of initializers tell parameters from buffers as PyTorch's exporter
// does; else all constants are plain initializers.
// Errors: ports that are sequences, constants beyond the end of `file`.
Result<std::string> write_model(const graph::Graph& graph, Bytes file = {}, bool parts = false);

}  // namespace gossamer::onnx
