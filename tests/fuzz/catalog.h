// The catalog's own cases as graphs of one operator.
#pragma once

#include "fuzz/recipe.h"

namespace gossamer::fuzz {

// Values that the case spells out are constants, others inputs. A sequence that the operator takes
// is made of tensors by a step before it; of one that it makes, steps behind it take the elements.
Recipe recipe_of(const ops::OpDef& def, const ops::Case& test);

}  // namespace gossamer::fuzz
