// A graph after every node's `define`: a program of stages over buffers, where operators no longer
// exist. Fusion, layout, memory planning and scheduling work on this.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "stages/constant_source.h"
#include "stages/ports.h"
#include "stages/program.h"

namespace gossamer::stages {

struct StageInput {
  std::string name;
  ir::Buffer buffer;
  bool strings = false;  // the bytes of a tensor of strings, whose lengths are the next port
  std::vector<ir::Expr> shape = {};  // where the buffer has room for more
};
struct StageOutput {
  std::string name;
  ir::Buffer buffer;
  bool strings = false;
  std::vector<ir::Expr> shape = {};
};
struct StageConstant {
  std::string name;
  ir::Buffer buffer;
  ConstantSource source;
};
struct Check {
  ir::Expr condition;
  std::string message;
  ir::Expr elements = {};    // where the condition is `elements <= most`: of what `message` names
  std::string counted = {};  // the name of that tensor
};

struct StageGraph {
  std::string name;
  std::vector<StageInput> inputs;
  std::vector<StageOutput> outputs;  // a buffer may be an input, a constant or a stage's output
  std::vector<PortGroup> groups;
  std::vector<StageConstant> constants;
  // Stages in topological order, steps of the host program between them. A buffer is written by one
  // of them, but for states of loops and results of branches.
  Program program;
  std::vector<Check> checks;  // evaluated on the dimensions before a run
  std::vector<Dim> dims;
  std::unordered_set<const ir::BufferNode*> side;  // buffers beside a GPU, see place_on_side
};

// The buffers that more than one stage or step writes, and those that grow by rows.
std::unordered_set<const ir::BufferNode*> states_of(const StageGraph&);

// Prints stages, buffers with shapes and layouts; `gossamer inspect --stages`.
std::string print(const StageGraph&);

// Passes, each a function StageGraph -> StageGraph in place; compiler/compile.cc has their order.
void drop_dead(StageGraph&);
void merge_duplicates(StageGraph&);
// What every stage makes becomes an output, called as its buffer is, in order; but for what several
// stages write, or stages within loops and branches.
void expose_stages(StageGraph&);
// Reductions over channels and an image at once, as a reshape makes them, get an axis for each;
// axes of known extents only where `known`.
void unflatten_axes(StageGraph&, bool known);
// Arithmetic on constants inside a stage becomes a stage of its own, which runs once, at load;
// while the stage has at most `max_buffers`, the one it writes included.
void hoist_constants(StageGraph&, int max_buffers = std::numeric_limits<int>::max());

}  // namespace gossamer::stages
