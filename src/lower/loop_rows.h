// What the rounds of a loop make beside its states: rows, stacked along a new first axis.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lower/loop_state.h"

namespace gossamer::lower {

// Each list of rows is a tensor that is written in place, or a state that grows.
class LoopRows {
 public:
  // `origin`: of all stages.
  explicit LoopRows(std::string origin) : origin_(std::move(origin)) {}

  // The row that each of so many `rounds` makes.
  void add_counted(const std::string& name, const Tensor& row, const Expr& rounds);
  // The same where the rounds end by what they compute. `changes`: whether an extent differs from
  // round to round.
  void add_growing(const std::string& name, const Tensor& row,
                   const std::function<bool(const Expr&)>& changes);

  // Before the first round.
  void start(StageBuilder& stages);
  // At the end of a round: the next values of growing().
  std::vector<Tensor> store(const ir::Var& round, StageBuilder& stages) const;
  const std::vector<LoopState>& growing() const { return growing_; }
  // After the last round, in the order in which they were added.
  std::vector<Tensor> finish(StageBuilder& stages) const;

 private:
  struct Row {
    Tensor made;     // by a round
    ir::Buffer all;  // of counted ones
    size_t growing;  // of others: the place in `growing_`
  };
  void add_fill(std::string name, const ir::Buffer& buffer);

  std::string origin_;
  std::vector<Row> rows_;
  std::vector<LoopState> growing_;
  stages::Program fills_;
};

}  // namespace gossamer::lower
