// Reads an ONNX model into a graph of the newest operators.
#pragma once

#include "graph/graph.h"
#include "onnx/external_files.h"
#include "onnx/known.h"
#include "onnx/tensor.h"

namespace gossamer::onnx {

struct ReadOptions {
  const ops::Catalog* catalog = nullptr;  // null: the built-in one
  Known known;                            // what is fixed of the inputs
  size_t copy_limit = 16384;  // constants of at most so many bytes are copied into the graph
  ExternalFiles* external = nullptr;  // for such constants in external files; may be null
};

// The graph refers to ranges of `bytes` (file 0) and of external files (Graph::files); it keeps no
// pointer into `bytes`. An input that is a sequence is an input an element (graph::element_name,
// also in `known`), joined again by Graph::groups. Local functions are inlined, old operators
// upgraded, nodes sorted. An input dimension without a number is a variable of Graph::dims, one for
// each distinct name. Initializers that are also inputs become constants, but for those of
// Known::kept and Known::constants. Errors: anything malformed, an unknown operator (`[Op] "node"`
// says where), an opset newer than the catalog's, an external path that leaves the model's folder,
// a name in `known` that is no input or dimension.
Result<graph::Graph> read_model(Bytes bytes, const ReadOptions& options = {});

}  // namespace gossamer::onnx
