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

namespace gossamer::graph {

using ValueId = uint32_t;
constexpr ValueId no_value = 0xffffffff;  // an absent optional input or unused output

// Where a constant's bytes are: the compiler never copies weights. `bytes` for small or computed
// ones (file is -1), else a range of a file: 0 is the model itself, k > 0 is files[k - 1] of the
// outermost graph (external data, inside the model's folder).
struct ConstantSource {
  ir::DType dtype = ir::DType::f32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
  int file = -1;
  uint64_t offset = 0, length = 0;
  // Elements a byte, in a range of a file: 2 of four bits, 4 of two, the first in the lowest bits.
  int packed = 1;
  std::vector<std::string> strings = {};  // of type string: the elements
};

ConstantSource source_of(const ops::TensorData& data);

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
  std::optional<ConstantSource> constant;
  Part part = Part::number;  // of a constant
};

// A sequence or optional in the model's signature: the tensors [first, first + count) of its inputs
// or outputs, of strings too. An optional that holds something is that, so one listed here holds
// nothing.
struct Group {
  std::string name;
  bool sequence = true, output = false;
  int first = 0, count = 0;
};

// What an input is where a run is not given it.
struct Default {
  ValueId input = no_value;
  ConstantSource value;
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

// A symbolic dimension, and where a run reads its value: axis `axis` of graph input `input`.
struct Dim {
  ir::Var var;
  int input = 0, axis = 0;
  // Of a state (append_rows.h), how many rows its memory has room for: not of the input's shape but
  // what a run time chooses, `rows`, those after a run, at least. The output is the same tensor.
  ir::Expr rows = {};
  int output = -1;
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
  std::vector<Default> defaults;  // of inputs; of the outermost graph
  std::vector<Capture> captures;  // of a region
  std::vector<Group> groups;      // of inputs; of the outermost graph
  std::vector<Dim> dims;
  std::vector<std::string> files;  // external data files, relative to the model's folder

  ValueId add_value(Value value);
};

}  // namespace gossamer::graph
