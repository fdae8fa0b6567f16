// The tensor graph: what a model file, a lazy tensor program or a training step says, before it is
// stages.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/nodes.h"
#include "ops/opdef.h"
#include "stages/constant_source.h"
#include "stages/ports.h"

namespace gossamer::graph {

using ValueId = uint32_t;
constexpr ValueId no_value = 0xffffffff;  // an absent optional input or unused output

stages::ConstantSource source_of(const ops::TensorData& data);

// What a model says about a constant's part in training.
enum class Part : uint8_t {
  number,       // of a Constant node, or made while the model was read
  initializer,  // an initializer of which the model says nothing more
  parameter,    // its exporter says that it is learnt
  fixed,        // its exporter says that it is not, such as a buffer
};

struct Value {
  std::string name;
  ir::DType dtype = ir::DType::f32;
  std::vector<ir::Expr> shape;  // extents of type index; dimension variables are Graph::dims
  bool shape_known = false;
  std::optional<stages::ConstantSource> constant;
  Part part = Part::number;  // of a constant
};

// What an input is where a run is not given it.
struct Default {
  ValueId input = no_value;
  stages::ConstantSource value;
};

struct Graph;

struct Node {
  const ops::OpDef* def = nullptr;
  std::string name;  // the file's, or made from the operator and its first output
  std::vector<ValueId> inputs, outputs;
  ops::Attributes attributes;
  // If: then, else; Loop and Scan: the body; others: those of OpDef::regions, null where absent.
  std::vector<std::shared_ptr<Graph>> regions;
};

// A value of the enclosing graph that a region uses, and the region's own id for it.
struct Capture {
  ValueId outer = no_value, inner = no_value;
};

// "boxes.0": what element `index` of the sequence `name` is called.
std::string element_name(const std::string& name, size_t index);

struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;  // topological order
  std::vector<ValueId> inputs, outputs;
  std::vector<Default> defaults;          // of inputs; of the outermost graph
  std::vector<Capture> captures;          // of a region
  std::vector<stages::PortGroup> groups;  // of inputs; of the outermost graph
  std::vector<stages::Dim> dims;
  std::vector<std::string> files;  // external data files, relative to the model's folder

  ValueId add_value(Value value);
};

}  // namespace gossamer::graph
