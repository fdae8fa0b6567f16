// Scans where one invocation should not walk a whole axis.
#pragma once

#include <vector>

#include "stages/stage.h"
#include "target/capabilities.h"

namespace gossamer::rewrite {

// Reduce, then scan (Blelloch 1990, "Prefix sums and their applications"): totals of segments of
// Capabilities::scan_segment points, their running results, and the scan in segments that start
// from those; again for the totals while they are more than a segment. Textures have the scan
// within a segment as a reduction for each point. Work grows as the axis does; where the axis is
// not known, the number of stages is that of a long one.
void split_scans(std::vector<stages::Stage>& stages, const target::Capabilities& capabilities);

}  // namespace gossamer::rewrite
