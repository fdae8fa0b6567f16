// Reads an ONNX model into a graph of the newest operators.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "onnx/tensor.h"

namespace gossamer::onnx {

struct ReadOptions {
  const ops::Catalog* catalog = nullptr;             // null: the built-in one
  std::map<std::string, int64_t, std::less<>> dims;  // fixes dimensions by their name in the model
  std::map<std::string, std::vector<int64_t>, std::less<>>
      shapes;  // fixes shapes of inputs by name; -1 leaves a dimension as it is
  // How many elements an input that is a sequence has; -1 says that one that is an optional holds
  // nothing.
  std::map<std::string, int64_t, std::less<>> lengths;
  std::map<std::string, ops::TensorData, std::less<>> constants;  // gives inputs their values
  size_t copy_limit = 4096;    // constants of at most so many bytes are copied into the graph
  LoadExternal load_external;  // for such constants in external files; may be empty
};

// The graph refers to ranges of `bytes` (file 0) and of external files (Graph::files); it keeps no
// pointer into `bytes`. An input that is a sequence is an input an element (graph::element_name,
// also in `options`), joined again by Graph::groups. Local functions are inlined, old operators
// upgraded, nodes sorted. An input dimension without a number is a variable of Graph::dims, one for
// each distinct name. Initializers that are also inputs become constants. Errors: anything
// malformed, an unknown operator (`[Op] "node"` says where), an opset newer than the catalog's, an
// external path that leaves the model's folder, an option that names no input or dimension.
Result<graph::Graph> read_model(Bytes bytes, const ReadOptions& options = {});

}  // namespace gossamer::onnx
