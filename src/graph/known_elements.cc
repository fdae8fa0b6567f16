#include "graph/known_elements.h"

namespace gossamer::graph {

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
  item.tensor = of(std::move(item.tensor));
  for (ops::Tensor& element : item.elements) element = of(std::move(element));
  return item;
}

}  // namespace gossamer::graph
