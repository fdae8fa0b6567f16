#include "compiler/lowered_kernel_cache.h"

#include <algorithm>

#include "compiler/pipeline.h"
#include "ir/build.h"
#include "passes/hoist_scalars.h"

namespace gossamer::compiler {
namespace {

// The grid loop's extent: under the Lets that may stand around it.
ir::Expr range_of(const ir::Kernel& kernel) {
  ir::Stmt s = kernel.body;
  while (const auto* let = ir::as<ir::Let>(s)) s = let->body;
  const auto* grid = ir::as<ir::For>(s);
  // A grid of one item was simplified away.
  return grid && grid->loop == ir::LoopKind::grid ? grid->extent : ir::index(1);
}

}  // namespace

Result<const LoweredKernelCache::Lowered*> LoweredKernelCache::run(const Canonical& scheduled,
                                                                   TargetKind target,
                                                                   const Machine& machine) {
  std::string key = cat(name_of(target), machine.converts_halves ? " with halves" : "",
                        machine.masks_loads ? " with masks" : "",
                        machine.has_ldexp ? " with ldexp\n" : "\n", scheduled.key);
  if (const auto known = lowered_.find(key); known != lowered_.end()) return &known->second;
  GS_ASSIGN(const ir::Kernel kernel, run_pipeline(scheduled.kernel, target, machine));
  GS_CHECK(kernel.params.size() == scheduled.kernel.params.size(), "a pass changed the parameters");
  // A page waits for each pipeline that it builds. Other targets' kernels are compiled here, or
  // must clamp indices to the sizes of buffers.
  const passes::HoistedScalars hoisted =
      target == TargetKind::webgpu
          ? passes::hoist_scalars(kernel)
          : passes::HoistedScalars{
                kernel, {scheduled.kernel.scalars.begin(), scheduled.kernel.scalars.end()}};
  const std::vector<ir::Var>& scalars = hoisted.kernel.scalars;
  Canonical canonical = canonicalize(hoisted.kernel, scalars);
  Lowered made{std::move(canonical.kernel),
               std::move(canonical.key),
               range_of(kernel),
               {},
               scheduled.kernel.scalars};
  for (const ir::Var& scalar : canonical.scalars) {
    const auto place =
        std::ranges::find_if(scalars, [&](const ir::Var& one) { return one.same(scalar); });
    made.scalars.push_back(hoisted.values[static_cast<size_t>(place - scalars.begin())]);
  }
  if (lowered_.size() >= most) lowered_.clear();
  return &lowered_.emplace(std::move(key), std::move(made)).first->second;
}

Result<ShaderText> LoweredKernelCache::print(const std::string& key, const ir::Kernel& kernel,
                                             const target::Capabilities& capabilities, bool exact) {
  std::string place = cat(exact ? "exact\n" : "\n", key);
  if (const auto known = printed_.find(place); known != printed_.end()) return known->second;
  GS_ASSIGN(ShaderText text, print_shader(kernel, capabilities, exact));
  if (printed_.size() >= most) printed_.clear();
  return printed_.emplace(std::move(place), std::move(text)).first->second;
}

}  // namespace gossamer::compiler
