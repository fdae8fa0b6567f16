// Tensors in host memory, row-major.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gossamer/bytes.hpp"
#include "ir/type.h"

namespace gossamer::runtime {

struct HostTensor {
  ir::DType dtype = ir::DType::f32;
  std::vector<int64_t> shape;
  TensorBytes bytes;                      // little-endian; boolean one byte each
  std::vector<std::string> strings = {};  // of type string: the elements, as UTF-8
};

// One in memory of the caller, who keeps it until the call returns.
struct TensorView {
  ir::DType dtype = ir::DType::f32;
  std::span<const int64_t> shape;
  std::span<const std::byte> bytes;
  std::span<const std::string> strings = {};
};

// Elements of type `storage` as those of `to`, which has its type already and gets their bytes.
void take_elements(ir::DType storage, std::span<const std::byte> stored, HostTensor& to);

inline TensorView view_of(const HostTensor& tensor) {
  return {tensor.dtype, tensor.shape, tensor.bytes, tensor.strings};
}

std::string shape_text(std::span<const int64_t> shape);  // "[?, 3, 224, 224]"; ?: open

}  // namespace gossamer::runtime
