// Sorts by the digits of their keys, where a kernel may write where data says.
#pragma once

#include <vector>

#include "stages/stage.h"
#include "target/capabilities.h"

namespace gossamer::rewrite {

// Whether `left` comes before `right` where its only key, an i32, is less.
bool rises_with_key(const stages::Stage& sort);

// Whether digits take less than merges: keys of 32 bits, an axis that is long or not known.
bool has_digits(const stages::Stage& sort, const target::Capabilities& capabilities);

// From the lowest digit to the highest (Knuth, "The art of computer programming", 5.2.5): each
// pass counts the digits of every chunk, adds up where each chunk's elements of a digit begin, and
// puts the elements there in order. Three or four passes, each linear in the axis; chunks are
// apart, for threads.
void sort_by_digits(const stages::Stage& sort, std::vector<stages::Stage>& made);

}  // namespace gossamer::rewrite
