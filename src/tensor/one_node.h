// The types and shapes that a node makes, from its definition.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace gossamer::tensor {

using Regions = std::vector<std::shared_ptr<graph::Graph>>;

struct OneNodeInput {
  ir::DType dtype = ir::DType::f32;
  std::vector<int64_t> shape = {};
  const ops::TensorData* constant = nullptr;  // its elements, where they are known
  bool absent = false;
};
struct OneNodeOutput {
  ir::DType dtype = ir::DType::f32;
  std::vector<int64_t> shape;               // -1: decided by a run
  std::optional<ops::TensorData> constant;  // its elements, where they follow from what is known
};

// The inputs of a node with regions are those of the node and then what its regions capture:
// Capture::outer counts among these, from the node's own on.
struct OneNode {
  const ops::OpDef* def = nullptr;
  ops::Attributes attributes = {};
  Regions regions = {};
  size_t own_inputs = 0;  // of a node with regions
};

// Errors: what the definition says of inputs that do not fit.
Result<std::vector<OneNodeOutput>> outputs_of(const OneNode& node,
                                              std::span<const OneNodeInput> inputs, size_t outputs,
                                              const ops::Catalog& catalog);

// The regions with what they capture by these ids.
Regions with_captures(const Regions& regions, std::span<const graph::ValueId> captured);

}  // namespace gossamer::tensor
