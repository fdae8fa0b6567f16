// Decision trees as tables: what the ensembles of ai.onnx.ml share.
#pragma once

#include "ops/builder.h"

namespace gossamer::ops {

// In ONNX's numbering; a test of membership is a search by leq and lt.
enum class TreeTest : uint8_t { leq, lt, gte, gt, eq, neq };

struct TreeNode {
  int32_t feature = 0;
  double value = 0;
  TreeTest test = TreeTest::leq;
  int32_t yes = 0, no = 0;  // rows; both its own row for a leaf
  bool missing = false;     // NaN goes to `yes`
};

// [samples, trees], i32: the row of the leaf that each sample of x [samples, features] reaches in
// each tree, one stage a level. Values are compared in f64 where x has it, else in f32.
Result<Tensor> leaves_reached(Builder& b, const Tensor& x, std::vector<TreeNode> nodes,
                              const std::vector<int32_t>& roots);

}  // namespace gossamer::ops
