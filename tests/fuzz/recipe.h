// A small graph as it can be grown, changed, written and run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/opdef.h"

namespace gossamer::fuzz {

// An input of the graph, or a constant.
struct Leaf {
  std::string name;
  ops::TensorData data;
  bool constant = false;
  std::vector<std::string> dims = {};  // names of dynamic axes, "" elsewhere; empty: all are known
};

struct Step {
  const ops::OpDef* def = nullptr;
  ops::Attributes attributes;
  std::vector<std::string> inputs, outputs;  // "" is an absent input
};

struct Recipe {
  uint64_t seed = 0;
  std::vector<Leaf> leaves;
  std::vector<Step> steps;
  std::vector<std::string> outputs;

  const Leaf* leaf(std::string_view name) const;
  // Drops what no output needs.
  void prune();
};

int onnx_code(ir::DType dtype);  // in TensorProto

std::string to_onnx(const Recipe& recipe);                                // ModelProto
std::string to_text(const Recipe& recipe);                                // for people
std::string to_pb(const std::string& name, const ops::TensorData& data);  // TensorProto

}  // namespace gossamer::fuzz
