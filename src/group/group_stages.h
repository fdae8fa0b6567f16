// Which stages share a launch.
#pragma once

#include <set>
#include <variant>
#include <vector>

#include "stages/group.h"
#include "stages/program.h"
#include "target/capabilities.h"

namespace gossamer::group {

// Launches and the steps between them, in order.
using Launched = std::variant<stages::Group, stages::Step>;

struct Ends {
  // In memory after the run, whoever reads them: outputs, states, what steps read.
  std::set<const ir::BufferNode*> kept;
  // What depends on these alone runs once, at load, and is merged with its kind only.
  std::set<const ir::BufferNode*> constants;
};

// Merges stages that are connected by what one makes and the other reads: maps over the same
// points, and reductions and maps over the same rows. Targets whose kernels write one buffer have
// no groups.
//
// A merge is refused where a limit forbids it, where a stage between the two would see a value too
// late, where operands lie along memory in different ways, and where the rows are too few for a
// machine, `others` among them: of kernels in two variants the stages are the same.
std::vector<Launched> group_stages(const stages::Program& program, const Ends& ends,
                                   const target::Capabilities& capabilities,
                                   const target::Capabilities* others = nullptr);
// Each stage in a launch of its own.
std::vector<Launched> single_stages(const stages::Program& program);

}  // namespace gossamer::group
