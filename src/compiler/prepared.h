// What compilations of a model have in common that differ in points of kernels alone: a search
// makes hundreds of them.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "graph/stage_graph.h"
#include "schedule/capabilities.h"
#include "schedule/group_stages.h"

namespace gossamer::compiler {

struct Prepared {
  // A model on its way to kernels: fused, in the layouts and algorithms that records say.
  struct Stages {
    graph::StageGraph graph;
    schedule::TargetKind target;
    schedule::Capabilities capabilities, side;
    std::vector<schedule::Launched> launched = {};  // each group is a kernel
  };
  std::optional<graph::Graph> graph;  // of a model that was read
  std::optional<Stages> stages;
};

}  // namespace gossamer::compiler
