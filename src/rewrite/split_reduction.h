// Reductions over long axes as reductions of parts and of what these give.
#pragma once

#include <vector>

#include "stages/stage.h"
#include "target/capabilities.h"

namespace gossamer::rewrite {

// Where few points have many terms each, an axis of known length: CPUs get parts for threads, and
// in each several sums under way; GPUs parts of few terms, interleaved so that neighbours read
// neighbours, again and again until few are left. Contractions have tiles instead. And, however
// many the points are, where an invocation would have more rounds than it may
// (Capabilities::max_rounds).
void split_reductions(std::vector<stages::Stage>& stages, const target::Capabilities& capabilities);

// Appends the stage to `made`. A reduction whose length only the run knows becomes parts of at most
// `most` rounds each, and a reduction of these.
void split_rounds(const stages::Stage& stage, int64_t most,
                  const target::Capabilities& capabilities, std::vector<stages::Stage>& made);

}  // namespace gossamer::rewrite
