#include "lower/text_parts.h"

namespace gossamer::lower {

bool is_text(const Tensor& tensor) { return tensor.dtype() == ir::DType::string; }

std::vector<Tensor> parts_of(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) {
    if (is_text(tensor)) {
      parts.push_back(tensor.all_bytes());
      parts.push_back(tensor.all_lengths());
    } else {
      parts.push_back(tensor);
    }
  }
  return parts;
}

Tensor joined(const Tensor& bytes, const Tensor& lengths) {
  return {ir::buffer(bytes.buffer->name, ir::DType::string, lengths.shape()), std::nullopt,
          bytes.buffer, lengths.buffer};
}

std::vector<Tensor> joined(const std::vector<Tensor>& parts, const std::vector<bool>& texts) {
  std::vector<Tensor> tensors;
  size_t at = 0;
  for (const bool text : texts) {
    tensors.push_back(text ? joined(parts[at], parts[at + 1]) : parts[at]);
    at += text ? 2 : 1;
  }
  return tensors;
}

}  // namespace gossamer::lower
