#include "base/strings.h"
#include "runtime/tensor.h"

namespace gossamer::runtime {

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis > 0) text += ", ";
    text += shape[axis] < 0 ? "?" : cat(static_cast<long long>(shape[axis]));
  }
  return text + "]";
}

}  // namespace gossamer::runtime
