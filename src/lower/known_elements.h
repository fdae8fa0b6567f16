// What steps of the host program have read: elements of tensors as variables of the run.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/builder.h"

namespace gossamer::lower {

// A value: a copy is what was known then.
class KnownElements {
 public:
  // A step set variables to the elements of `tensor`, row-major.
  void add(const ir::Buffer& tensor, std::vector<ir::Expr> elements);
  // With its elements as host value, if a step read them and it has none.
  ops::Tensor of(ops::Tensor tensor) const;
  // The same of each tensor in it.
  ops::Item of(ops::Item item) const;

 private:
  // By the tensor, which the entry keeps alive.
  std::unordered_map<const ir::BufferNode*, std::pair<ir::Buffer, std::vector<ir::Expr>>> elements_;
};

}  // namespace gossamer::lower
