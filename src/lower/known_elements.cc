#include "lower/known_elements.h"

namespace gossamer::lower {

void KnownElements::add(const ir::Buffer& tensor, std::vector<ir::Expr> elements) {
  elements_[tensor.get()] = {tensor, std::move(elements)};
}

ops::Tensor KnownElements::of(ops::Tensor tensor) const {
  if (!tensor || tensor.host) return tensor;
  if (const auto found = elements_.find(tensor.buffer.get()); found != elements_.end())
    tensor.host = found->second.second;
  return tensor;
}

ops::Item KnownElements::of(ops::Item item) const {
  for (ops::Tensor* tensor : item.tensors()) *tensor = of(std::move(*tensor));
  return item;
}

}  // namespace gossamer::lower
