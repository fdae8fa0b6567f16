// Where the elements of a constant are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ir/type.h"

namespace gossamer::stages {

// Where a constant's bytes are: the compiler never copies weights. `bytes` for small or computed
// ones (file is -1), else a range of a file: 0 is the model itself, k > 0 is files[k - 1] of the
// outermost graph (external data, inside the model's folder).
struct ConstantSource {
  ir::DType dtype = ir::DType::f32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
  int file = -1;
  uint64_t offset = 0, length = 0;
  // Elements a byte, in a range of a file: 2 of four bits, 4 of two, the first in the lowest bits.
  int packed = 1;
  std::vector<std::string> strings = {};  // of type string: the elements
};

}  // namespace gossamer::stages
