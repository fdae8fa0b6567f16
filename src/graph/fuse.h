// Merges stages: producers into their consumers, consumers into the results of reductions (epilogues).
#pragma once

#include "graph/stage_graph.h"

namespace gossamer::graph {

struct FuseOptions {
  int max_inputs = 8;         // distinct buffers a kernel may bind (storage buffer or sampler limits), output included
  bool inline_padding = true; // padding read by select inside a window, instead of a copy
};

void fuse(StageGraph&, const FuseOptions& options);

}  // namespace gossamer::graph
