// Merges stages: producers into their consumers, consumers into the results of reductions
// (epilogues).
#pragma once

#include "stages/stage_graph.h"

namespace gossamer::stages {

struct FuseOptions {
  // Stages for which it differs stay apart, such as those that other devices run.
  bool (*kind)(const Stage&) = nullptr;
  int max_buffers =
      8;  // distinct buffers a kernel may bind (storage buffers or samplers), output included
};

// Decides by what stages do, never by operators: see the rules above each function in fuse.cc.
void fuse(StageGraph& graph, const FuseOptions& options);

}  // namespace gossamer::stages
