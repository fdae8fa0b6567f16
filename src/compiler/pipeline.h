// The passes between a schedule and a target's generator, as data.
#pragma once

#include <string_view>
#include <vector>

#include "ir/nodes.h"
#include "ir/verify.h"
#include "target/capabilities.h"

namespace gossamer::compiler {

struct Pass {
  std::string_view name;
  Result<ir::Kernel> (*run)(const ir::Kernel&);
  ir::Properties establishes;
};

// Of target cpu: what its processor and the generator do.
struct Machine {
  bool converts_halves = false;  // instructions between f16 and f32
  bool masks_loads = false;      // lanes of an arm that is not taken are not loaded
  bool has_ldexp = false;        // an instruction for ir::BinaryOp::ldexp
};

// In order; the comment of each row in pipeline.cc says what it must follow and why.
std::vector<Pass> passes_of(TargetKind target, const Machine& machine = {});

// Runs them, verifying the properties established so far after each.
Result<ir::Kernel> run_pipeline(ir::Kernel kernel, TargetKind target, const Machine& machine = {});

// Those of a GPU before flatten_access alone: indices are logical.
Result<ir::Kernel> run_passes_before_access(ir::Kernel kernel, TargetKind target);

}  // namespace gossamer::compiler
