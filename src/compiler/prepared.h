// What compilations of a model have in common that differ in points of kernels alone: a search
// makes hundreds of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/canonical.h"
#include "graph/graph.h"
#include "graph/stage_graph.h"
#include "schedule/capabilities.h"
#include "schedule/default_schedule.h"
#include "schedule/group_stages.h"

namespace gossamer::compiler {

// A group at a point, as a kernel.
struct Scheduled {
  schedule::ScheduledGroup group;
  Canonical kernel;
};

struct Prepared {
  // A model on its way to kernels: fused, in the layouts and algorithms that records say.
  struct Stages {
    graph::StageGraph graph;
    schedule::TargetKind target;
    schedule::Capabilities capabilities, side;
    std::vector<schedule::Launched> launched = {};  // each group is a kernel
    // Of those at their default points, by class_of: what has no records stays there.
    std::map<std::pair<const schedule::Group*, std::string>, Scheduled> at_default = {};
  };
  std::optional<graph::Graph> graph;  // of a model that was read
  std::optional<Stages> stages;
};

}  // namespace gossamer::compiler
