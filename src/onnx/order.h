// Brings the nodes of a graph into an order where values are made before they are used.
#pragma once

#include "onnx/proto.h"

namespace gossamer::onnx {

// Keeps the file's order where it is one already. Errors: a value made twice, a cycle.
Result<std::vector<const ProtoNode*>> topological_order(const std::vector<ProtoNode>& nodes);

// `Op "name"` as errors show a node: its name, else that of its first output.
std::string node_name(const ProtoNode& node);
std::string node_place(const ProtoNode& node);

}  // namespace gossamer::onnx
