// A cache of the work that compilations of a model share if they differ in schedule points alone. A
// search makes hundreds of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "autoschedule/default_schedule.h"
#include "base/result.h"
#include "compiler/canonical.h"
#include "graph/graph.h"
#include "group/group_stages.h"
#include "stages/stage_graph.h"
#include "target/capabilities.h"

namespace gossamer::compiler {

// A group at a point, as a kernel.
struct Scheduled {
  autoschedule::ScheduledGroup group;
  Canonical kernel;
};

struct CompileCache {
  // A group, class_of, a point as text (empty: the default one), and which of its buffers lie
  // otherwise than its stages say.
  using Place = std::tuple<const stages::Group*, std::string, std::string, std::string>;
  // A model on its way to kernels: fused, in the layouts and algorithms that records say.
  struct Stages {
    stages::StageGraph graph;
    TargetKind target;
    target::Capabilities capabilities, side;
    std::vector<group::Launched> launched = {};  // each group is a kernel
    // Of those at points that compilations had.
    std::map<Place, Result<Scheduled>> scheduled = {};
  };
  // So many take tens of megabytes at most; then all are made anew.
  static constexpr size_t most_scheduled = 512;
  std::optional<graph::Graph> graph;  // of a model that was read
  std::optional<Stages> stages;
};

}  // namespace gossamer::compiler
