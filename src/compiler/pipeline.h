// The passes between a schedule and a target's generator, as data.
#pragma once

#include <span>
#include <string_view>

#include "ir/nodes.h"
#include "ir/verify.h"
#include "schedule/capabilities.h"

namespace gossamer::compiler {

struct Pass {
  std::string_view name;
  Result<ir::Kernel> (*run)(const ir::Kernel&);
  ir::Properties establishes;
};

// In order; the comment of each row in pipeline.cc says what it must follow and why.
// `converts_halves`: of target cpu, whose processor has instructions between f16 and f32.
std::span<const Pass> passes_of(TargetKind target, bool converts_halves = false);

// Runs them, verifying the properties established so far after each.
Result<ir::Kernel> run_pipeline(ir::Kernel kernel, TargetKind target, bool converts_halves = false);

}  // namespace gossamer::compiler
