// The walk back over a program: what differentiate() does, block by block.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "autodiff/differentiate.h"
#include "ir/rewrite.h"

namespace gossamer::autodiff {

using Entries = std::span<const stages::Entry>;

class Differentiation {
 public:
  Differentiation(ops::Builder& builder, Entries program, const Gradients& wanted);
  Result<std::vector<ops::Tensor>> run();

 private:
  using Parts = std::unordered_map<const ir::BufferNode*, std::vector<ops::Tensor>>;
  // A tensor, and its cotangent's parts within a block.
  struct Outside {
    ir::Buffer buffer;
    ops::Tensor cotangent;
  };

  bool is_active(const ir::Buffer& buffer) const { return active_.contains(buffer.get()); }
  void find_active();
  ops::Tensor seed();
  void add(const ir::Buffer& to, ops::Tensor cotangent);
  ops::Tensor total(const ir::Buffer& buffer);  // null where nothing came back

  Result<> go_back(Entries program);
  Result<> of_stage(const stages::Stage& stage);
  Result<> of_branch(Entries program, size_t begin, size_t middle, size_t end);
  Result<> of_loop(Entries program, size_t begin, size_t end);

  // The cotangents that a block's entries hand to tensors from outside of it, given those of what
  // it writes; the stages for them stand at the end of the builder's program.
  Result<std::vector<Outside>> within(Entries block, Parts given);

  friend class LoopGradient;

  ops::Builder& b_;
  Entries program_;
  const Gradients& wanted_;
  std::unordered_set<const ir::BufferNode*> xs_, active_;
  Parts parts_;                    // of the block at hand
  int copies_ = 0;                 // of stages, for names of their own
  std::vector<ir::Buffer> alive_;  // keeps the keys above from being reused
};

}  // namespace gossamer::autodiff
