// A tensor in host memory, row-major.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ir/type.h"

namespace gossamer::runtime {

struct HostTensor {
  ir::DType dtype = ir::DType::f32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;           // little-endian; boolean one byte each
  std::vector<std::string> strings = {};  // of type string: the elements, as UTF-8
};

std::string shape_text(const std::vector<int64_t>& shape);  // "[1, 3, 224, 224]"

}  // namespace gossamer::runtime
