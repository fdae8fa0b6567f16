// What a graph computes, by the interpreter, one node at a time.
#pragma once

#include "base/result.h"
#include "fuzz/recipe.h"

namespace gossamer::fuzz {

// A tensor, and the same tensor had every node before it been off by what targets may be off.
struct Value {
  ops::TensorData data, shaken;
};
using Values = std::map<std::string, Value, std::less<>>;

// Adds the leaves' values.
void add_leaves(const Recipe& recipe, Values& values);
// Runs one step on `values` and adds what it makes. Errors: the compiler's own; a result that
// rounding of its operands changes by more than part of the tolerance, since no target could be
// judged by it; one that has too many elements.
Result<> evaluate(const Step& step, const Recipe& recipe, Values& values);
Result<Values> evaluate(const Recipe& recipe);

// The whole graph at once, as the compiler reads it; must give what its steps gave.
Result<std::vector<ops::TensorData>> evaluate_whole(const Recipe& recipe);

// 64-bit integers that 32 bits do not hold, anywhere: GPUs compute those otherwise (semantics.md).
bool is_wide(const Values& values);

}  // namespace gossamer::fuzz
