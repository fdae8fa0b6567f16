// The gradient of a loop: its rounds again, which keep the states that each begins with, and a loop
// that goes back over them.
#pragma once

#include "autodiff/differentiation.h"

namespace gossamer::autodiff {

class LoopGradient {
 public:
  // `program[begin]` is the loop, `program[end]` its end. What stands before it wrote its states.
  LoopGradient(Differentiation& all, Entries program, size_t begin, size_t end);
  Result<> run();

 private:
  // What rounds hand on.
  struct State {
    ir::Buffer buffer, next;  // of the loop: what holds it, and what it becomes
    ops::Tensor kept;         // [rounds, shape]: what each round begins with
    ir::Buffer begun;         // in the loop back: what the round began with
    ops::Tensor after;        // its cotangent after the loop; null: none
    ir::Buffer cotangent;     // a state of the loop back
  };
  // A tensor from outside whose cotangent grows from round to round.
  struct Gathered {
    ir::Buffer buffer;
    ir::Buffer cotangent;
    ir::Buffer row;  // where each round reads a row of its own: that
    std::vector<ir::Expr> at;
  };
  // Stages that stack a row a round.
  struct Rows {
    const stages::Stage* stage = nullptr;
    ops::Tensor after;
  };

  std::unexpected<Diagnostic> unknown(const std::string& what) const;
  Result<> find_states();
  Result<> check_numbers() const;
  // The body with variables and buffers of its own; states become what `states` says, the round
  // `round`. Without what stacks rows and hands states on.
  stages::Program copy_body(const ir::BufferMap& states, const ir::Expr& round,
                            ir::BufferMap& buffers);
  Result<> keep_states();
  Result<> go_back();
  void read_rows(stages::Program& body, const ir::Var& counter);
  const stages::Entry* writer_before(const ir::Buffer& buffer) const;
  ops::Tensor state_of(const std::string& name, const ops::Tensor& initial);

  Differentiation& all_;
  ops::Builder& b_;
  Entries program_, body_;
  size_t begin_;
  const stages::Step& loop_;
  std::string origin_;
  ir::Expr rounds_;
  std::vector<State> states_;
  std::vector<Rows> rows_;
  std::vector<Gathered> gathered_;
  std::unordered_set<const stages::Entry*> hands_on_;  // entries of the body that copies leave out
};

}  // namespace gossamer::autodiff
