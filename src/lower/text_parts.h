// Strings as the two tensors that loops hand on; the width is an extent like others.
#pragma once

#include <vector>

#include "ops/builder.h"

namespace gossamer::lower {

using ops::Tensor;

bool is_text(const Tensor& tensor);
// Tensors of strings taken apart, into bytes and lengths; others as they are.
std::vector<Tensor> parts_of(const std::vector<Tensor>& tensors);
Tensor joined(const Tensor& bytes, const Tensor& lengths);
// The tensors that parts_of took apart; the k-th was one of strings if `texts` says so.
std::vector<Tensor> joined(const std::vector<Tensor>& parts, const std::vector<bool>& texts);

}  // namespace gossamer::lower
