// How stages access memory.
#pragma once

#include <cstdint>
#include <string_view>

#include "stages/stage.h"

namespace gossamer::stages {

// How a stage accesses memory; a default schedule stands for each, never for an operator.
enum class Pattern : uint8_t {
  map,          // a point from points
  reduce,       // a reduction of one operand
  window,       // a reduction of several operands, or of points that overlap
  contraction,  // a sum of products, where each operand stands still along some axis: tiles reuse
                // it
  scan,         // running results along an axis
  scatter,      // updates in order, to places that are data
};
std::string_view name_of(Pattern);
Pattern pattern_of(const Stage& stage);

// Whether each update of a scatter has a place of its own in a state, so that they may be written
// in any order: each axis is an index of the target, or that and a number, the others are the same
// for all (a row of a loop's output, the new rows of a state).
bool writes_a_row(const Stage& scatter);

}  // namespace gossamer::stages
