// The types and shapes that a node makes, from its definition.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "ops/opdef.h"

namespace gossamer::tensor {

struct OneNodeInput {
  ir::DType dtype = ir::DType::f32;
  std::vector<int64_t> shape = {};
  const ops::TensorData* constant = nullptr;  // its elements, where they are known
  bool absent = false;
};
struct OneNodeOutput {
  ir::DType dtype = ir::DType::f32;
  std::vector<int64_t> shape;  // -1: decided by a run
};

// Errors: what the definition says of inputs that do not fit.
Result<std::vector<OneNodeOutput>> outputs_of(const ops::OpDef& def,
                                              const ops::Attributes& attributes,
                                              std::span<const OneNodeInput> inputs, size_t outputs,
                                              const ops::Catalog& catalog);

}  // namespace gossamer::tensor
