// Which values a function needs, how often, and from inside which regions.
#pragma once

#include <vector>

#include "codegen/wasm/function.h"

namespace gossamer::codegen::wasm {

struct Liveness {
  std::vector<uint32_t> uses;  // by value; 0: not needed
  // By region: values of regions further out that are used in it or in what it contains. They must
  // be there before.
  std::vector<std::vector<ValueId>> imports;
};

// Values that are written again where they are used: constants of numbers, parameters, and what has
// a local already.
bool is_trivial(const Value& value);

Liveness liveness_of(const Function& function);

}  // namespace gossamer::codegen::wasm
