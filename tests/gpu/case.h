// A kernel with inputs and what it must compute, for both browser APIs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/nodes.h"
#include "ir/scalar.h"

namespace gossamer::tests::gpu {

struct Data {
  ir::DType dtype;  // value type
  std::vector<ir::Scalar> values;
};

struct Case {
  std::string name;
  ir::Kernel kernel;  // scheduled, flat
  std::vector<Data> inputs;
  Data expected;
  int64_t range = 0;
  std::vector<int64_t> scalars;
  double absolute = 0, relative = 0;  // tolerance of each element
};

// {"webgpu": [...], "webgl": [...]}, bits as 32-bit words.
class Cases {
 public:
  void add_webgpu(const Case&);
  void add_webgl(const Case&);
  std::string json() const;

 private:
  std::vector<std::string> webgpu_, webgl_;
};

// 32 bits of storage for a value, as the GPU's storage types have it.
uint32_t storage_word(const ir::Scalar& value);

}  // namespace gossamer::tests::gpu
