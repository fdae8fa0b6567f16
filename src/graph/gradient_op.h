// The operator Gradient. lower/lower_gradient.h lowers it.
//
// ai.gossamer::Gradient, attribute `count` = n: inputs x0 .. x(n-1), y and, optionally, seed, of
// y's type and shape (ones where it is absent); outputs d sum(y * seed) / d x0 .. x(n-1), of the
// types and shapes of the xs. All of them are values of the same graph. An x that is made of
// another one counts in that one's gradient, too, as in PyTorch. Zeros where y does not hang on an
// x.
//
// ai.onnx.preview.training::Gradient names tensors in its attributes: the reader makes inputs of
// them, which are then, with `count` = n: values for xs and zs; the tensors xs and zs themselves;
// y. Values that are other tensors than those take their place: the nodes between are computed
// again. The xs are independent of one another, as ONNX has it.
#pragma once

#include <string_view>

#include "graph/graph.h"

namespace gossamer::graph {

constexpr std::string_view own_domain = "ai.gossamer";
constexpr std::string_view training_domain = "ai.onnx.preview.training";

// The entry of Gradient in one of the two domains; null for another name or domain.
const ops::OpDef* gradient_op(std::string_view domain, std::string_view name);
bool is_gradient(const Node& node);

}  // namespace gossamer::graph
