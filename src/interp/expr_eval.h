// Evaluates expressions over tensors in memory, exactly as nodes.def says: slow and obvious.
#pragma once

#include <unordered_map>

#include "ir/nodes.h"
#include "ir/scalar.h"
#include "ops/opdef.h"

namespace gossamer::interp {

using Variables = std::unordered_map<const ir::VarNode*, ir::Scalar>;
using Values = std::unordered_map<const ir::BufferNode*, ops::TensorData>;

// A scalar expression: variables and buffers must be known. A load out of bounds yields 0; of the
// arms of a select, only the one taken is evaluated.
ir::Scalar evaluate(const ir::Expr& expr, const Variables& variables, const Values& values);

ir::Scalar element(const ops::TensorData& data, int64_t offset);
void set_element(ops::TensorData& data, int64_t offset, ir::Scalar value);
// The row-major offset of a point, or -1 outside.
int64_t offset_of(const std::vector<int64_t>& shape, const std::vector<int64_t>& point);

}  // namespace gossamer::interp
