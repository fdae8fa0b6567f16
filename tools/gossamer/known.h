// What a compilation may know of a model's inputs before a run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ops/opdef.h"

namespace gossamer::command {

struct Known {
  std::map<std::string, ops::TensorData, std::less<>> constants;
  std::map<std::string, std::vector<int64_t>, std::less<>> shapes;
  bool values_only = false;  // helps only where a value is asked for
};

}  // namespace gossamer::command
