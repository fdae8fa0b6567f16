// A stage graph under construction.
#pragma once

#include <string>
#include <unordered_set>

#include "ir/simplify.h"
#include "lower/known_elements.h"
#include "stages/stage_graph.h"

namespace gossamer::lower {

using ir::Expr;
using ops::Item;
using ops::Tensor;

// Its stages and steps in order, constants, checks, the names that are taken, and what is known of
// numbers by then. A value: a copy is a state to come back to.
class StageBuilder {
 public:
  // `signature` has the inputs and the dimensions, which `known_bounds` bounds.
  StageBuilder(stages::StageGraph signature, ir::Bounds known_bounds);

  void append(stages::Entry entry);
  void append(stages::Program entries);
  const stages::Program& program() const { return graph_.program; }
  const std::vector<stages::StageConstant>& constants() const { return graph_.constants; }
  // Takes out the entries from `first` on.
  stages::Program cut(size_t first);

  // A constant called `name`, or, where that is taken, after it. One of strings is two; numbers
  // that are packed in a file are unpacked by a stage.
  Tensor add_constant(const std::string& name, stages::ConstantSource source);
  // One whose buffer is there, called as that is.
  void add_constant(const ir::Buffer& buffer, stages::ConstantSource source);
  // Before the run, where `condition` has no variables but dimensions of inputs; else a step. None
  // where the same is checked by then. `elements`, `counted`: as of Check.
  void add_check(Expr condition, std::string message, Expr elements = {}, std::string counted = {});
  // The same within branches: the condition must hold only if they are taken.
  void add_branch_check(Expr condition, std::string message);
  // The value, by a step that is the next entry, as a variable; one that is there already, if a
  // step that every run has passed set it.
  Expr named(const std::string& name, const Expr& value);
  // What no other node's stages have as origin: `name`, or one after it.
  std::string unique_origin(const std::string& name);

  // All that was built, which ends the construction.
  stages::StageGraph finish() { return std::move(graph_); }

  ir::Bounds bounds;    // of dimensions, and of the rounds around the next entry
  KnownElements known;  // to the next entry
  // For each branch around the next entry, whether it is skipped.
  std::vector<Expr> skipped;

 private:
  // By a step that every run has passed before the next entry, and which entry that is.
  struct Checked {
    Expr condition;
    size_t entry = 0;
  };
  struct Named {
    Expr value;
    ir::Var variable;
    size_t entry = 0;
  };
  // The entries from `first` on may not have run.
  void forget(size_t first);

  stages::StageGraph graph_;
  std::unordered_set<std::string> origins_, constant_names_;
  std::vector<Checked> checked_;
  std::vector<Named> named_;
  std::vector<size_t> open_;  // entries that open the blocks around the next one
};

}  // namespace gossamer::lower
