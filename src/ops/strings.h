// Tensors of strings become two tensors each, see Tensor::bytes.
#pragma once

#include <unordered_map>

#include "stages/stage.h"

namespace gossamer::ops {

using ir::Buffer;

struct StringPart {
  Buffer bytes, lengths;
};
using StringParts = std::unordered_map<const ir::BufferNode*, StringPart>;

// A stage that moves strings (its result, or what it scatters, is made of loads, selects and
// ir::zero, the empty string), as a
// stage that moves their bytes and one that moves their lengths. Both lack outputs' names.
struct SplitStage {
  stages::Stage bytes, lengths;
};
SplitStage split_strings(const stages::Stage& stage, const StringParts& parts);

}  // namespace gossamer::ops
