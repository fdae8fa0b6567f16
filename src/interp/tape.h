// An expression as a list of steps, each node once: what the interpreter runs at every point.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/scalar.h"

namespace gossamer::interp {

using ir::Scalar;

// Gives every variable a place in a frame of scalars (one a lane).
class Frame {
 public:
  size_t place(const ir::VarNode* var);
  size_t size() const { return size_; }

 private:
  std::unordered_map<const ir::VarNode*, size_t> places_;
  size_t size_ = 0;
};

class Tape {
 public:
  // One lane of a load: the element at these indices. `lane` is the lane asked for (a texel's
  // component).
  using Load = std::function<Scalar(const ir::Load&, std::span<const int64_t> indices, int lane)>;

  Tape(const ir::Expr& expr, Frame& frame);
  // The lanes of the expression; valid until the next call.
  std::span<const Scalar> run(std::span<const Scalar> frame, const Load& load);

 private:
  struct Step {
    const ir::ExprNode* node;
    size_t out;  // place of lane 0 in values_
    size_t in[3] = {0, 0, 0};
    std::vector<size_t> more;  // operands of loads and vectors
    size_t variable = 0;
  };
  size_t add(const ir::Expr& expr, Frame& frame);
  void execute(const Step& step, std::span<const Scalar> frame, const Load& load);

  ir::Expr expr_;  // keeps the nodes alive
  std::vector<Step> steps_;
  std::unordered_map<const ir::Node*, size_t> done_;
  std::vector<Scalar> values_;
  size_t result_ = 0;
};

}  // namespace gossamer::interp
