// What a round of a loop hands to the next.
#pragma once

#include <string>
#include <vector>

#include "lower/stage_builder.h"

namespace gossamer::lower {

// A tensor, or, for small integers whose elements are expressions, variables. A dimension that
// changes from round to round is a variable too.
class LoopState {
 public:
  LoopState(std::string name, Tensor initial);
  // Rows so far, stacked: `none` before the first round. `changes`: of each dimension, whether a
  // round may change it; the first is their number.
  static LoopState rows(const std::string& name, const Tensor& none,
                        const std::vector<bool>& changes);

  const std::string& name() const { return name_; }
  // That hold it from round to round; null ones among them.
  std::vector<ir::Var> variables() const;

  // True when the body, given these states, makes values of the same form; else changes the form.
  // `place` is what errors call the loop.
  Result<bool> settle(const Tensor& next, const std::string& place, const ir::Bounds& bounds);
  // As the body sees it in a round.
  Tensor begin_round(StageBuilder& stages);
  // Before the first round.
  void start(StageBuilder& stages, const std::string& origin) const;
  // Of rows: these and one more.
  Tensor with_row(const Tensor& row, StageBuilder& stages, const std::string& origin) const;
  // After the body: every state takes its next value, all of which are made before any changes.
  static void advance(const std::vector<LoopState>& all, const std::vector<Tensor>& next,
                      StageBuilder& stages, const std::string& origin);
  // After the last round.
  Tensor finish(StageBuilder& stages) const;

 private:
  bool grows() const;
  std::vector<Expr> shape() const;
  ir::Buffer wait(const Tensor& next, StageBuilder& stages, const std::string& origin) const;

  std::string name_;
  Tensor initial_;
  bool on_host_ = false;
  std::vector<ir::Var> elements_;   // on the host
  std::vector<ir::Var> dims_;       // of the state; null where the extent never changes
  std::vector<ir::Var> next_dims_;  // what the body makes of them
  ir::Buffer state_;
};

}  // namespace gossamer::lower
