// The catalog's test cases made concrete: inputs as data, and the stages they define.
#pragma once

#include <memory>
#include <unordered_map>

#include "ops/builder.h"

namespace gossamer::ops {

// The entry's input that tensor `i` of a case is, or is a part of.
const InputDef& input_of(const OpDef& def, const Case& test, size_t i);

// Does the case spell out input `i`?
bool is_given(const Case& test, size_t i);

// The inputs of a case, the same ones every time; an absent one has no bytes and shape {-1}.
std::vector<TensorData> case_inputs(const OpDef& def, const Case& test);

// A case's definition: `inputs` of the builder are buffers of the given data; values the case
// spells out are host values too, as constants of a graph are. `outputs`: how many to ask for (at
// most the entry's).
struct DefinedCase {
  std::unique_ptr<Builder> builder;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;  // the tensors of a sequence one by one
  Result<> status;
  // Each input's buffers of memory with their data: a tensor of strings has two.
  std::vector<std::pair<Buffer, TensorData>> memory;
  std::vector<Buffer> output_memory() const;
};
DefinedCase define_case(const OpDef& def, const Case& test, const std::vector<TensorData>& inputs,
                        int outputs = 1);

// How many outputs a case of this entry can ask for.
int output_count_of(const OpDef& def, const Case& test);

}  // namespace gossamer::ops
