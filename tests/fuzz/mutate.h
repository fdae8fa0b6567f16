// A case of the catalog, changed: other types, shapes and attributes.
#pragma once

#include <optional>

#include "fuzz/random.h"
#include "ops/opdef.h"

namespace gossamer::fuzz {

// One operand of a call: a tensor to be filled, or one that the case gives.
struct Operand {
  bool absent = false, given = false;
  ops::TensorData data;  // without bytes unless given
};
struct Call {
  const ops::OpDef* def = nullptr;
  ops::Case test;
  ops::Attributes attributes;
  std::vector<Operand> operands;
  int outputs = 1;
  bool empties = false;  // shapes may well have axes without points
};

// Its integers are places in another tensor, which must be inside of it.
bool reads_at_places(const ops::OpDef& def);
// Any shapes that broadcast will do.
bool is_elementwise(const ops::OpDef& def);

// Nothing where the case has types that files do not carry.
std::optional<Call> call_of(const ops::OpDef& def, const ops::Case& test, Random& random);
void mutate_shapes(Call& call, Random& random);
void mutate_attributes(Call& call, Random& random);
// One extent for another everywhere in the call.
void replace_extent(Call& call, int64_t from, int64_t to);
ops::TensorData fill(ir::DType dtype, const std::vector<int64_t>& shape, const Call& call,
                     Random& random);

}  // namespace gossamer::fuzz
