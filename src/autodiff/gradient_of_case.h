// The gradient of an operator's test case: what tests and the operator table ask the pass.
#pragma once

#include <vector>

#include "ops/test_case.h"

namespace gossamer::autodiff {

// `made` is the case with its gradient behind it: its outputs are the gradients of a weighted sum
// of the operator's outputs of floats. Weights are inputs too (made.memory), where an output's
// shape is known; else 1.
struct GradientOfCase {
  ops::DefinedCase made;
  std::vector<size_t> xs;                     // inputs of floats that have one, as made.outputs
  std::vector<size_t> none;                   // inputs of floats that have none
  std::vector<ops::Tensor> outputs, weights;  // of the operator; null weights are 1
};

// `inputs`: as define_case takes them. Numbers that the case spells out are variables too, where
// the operator takes them so. An error in made.status where a gradient is not known, or the case
// cannot be defined.
GradientOfCase gradient_of_case(const ops::OpDef& def, const ops::Case& test,
                                const std::vector<ops::TensorData>& inputs);

// The same with the gradients of those gradients behind them: made.outputs are the derivatives of a
// weighted sum of what they were, which `outputs` and `weights` become.
GradientOfCase second_gradient_of_case(const ops::OpDef& def, const ops::Case& test,
                                       const std::vector<ops::TensorData>& inputs);

// The names of the inputs that have a gradient in some case, in order: "X, W"; empty where none
// has.
std::string gradient_inputs(const ops::OpDef& def);

}  // namespace gossamer::autodiff
