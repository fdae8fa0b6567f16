// Sorts as stages that targets have kernels for.
#pragma once

#include <vector>

#include "stages/stage.h"
#include "target/capabilities.h"

namespace gossamer::rewrite {

// Short runs put in order by counting, then merged two by two, on every target. A merge is a scan
// in segments: each starts where a search along its diagonal says (Green, Odeh, Birk 2014, "Merge
// path") and takes the lesser of two heads at each step. n log n steps in all; an axis that is not
// known has the merges of the longest one, of which those beyond its end copy.
void merge_sorts(std::vector<stages::Stage>& stages, const target::Capabilities& capabilities);

}  // namespace gossamer::rewrite
