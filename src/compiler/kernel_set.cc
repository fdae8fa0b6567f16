#include "compiler/kernel_set.h"

#include <algorithm>
#include <set>

#include "codegen/plan_function.h"
#include "ir/build.h"
#include "ir/print.h"
#include "passes/flatten_access.h"
#include "records/choice.h"
#include "schedule/trace.h"

namespace gossamer::compiler {

KernelParameters parameters_of(const stages::Program& program, const std::vector<ir::Var>& dims,
                               size_t first_variable) {
  std::set<const ir::Node*> counters;
  for (const stages::Entry& entry : program) {
    if (entry.is(stages::StepKind::loop)) counters.insert(entry.step()->variables[0].get());
  }
  KernelParameters parameters;
  parameters.all = dims;
  for (size_t i = first_variable; i < dims.size(); ++i) {
    if (counters.contains(dims[i].get())) continue;
    const SignedParts parts = split_sign(dims[i]);
    parameters.signed_ones.push_back(dims[i]);
    parameters.parts.push_back(parts);
    parameters.of_parts[parts.positive.get()] = parts.positive_of;
    parameters.of_parts[parts.negative.get()] = parts.negative_of;
    parameters.all.push_back(parts.positive);
    parameters.all.push_back(parts.negative);
  }
  return parameters;
}

KernelReport KernelSet::report_of(const stages::Group& group,
                                  const target::Capabilities& capabilities,
                                  const std::string& schedule) const {
  KernelReport report{title_of(group), stages::origin_of(group), schedule, {}, {}, {}, {}};
  if (!options_.groups || !has_points(group)) return report;
  report.key = records::key_of(group);
  report.machine = records::class_of(capabilities);
  report.group = group;
  report.capabilities = capabilities;
  return report;
}

namespace {

// The kernel over the buffers that `placed` has for its own.
ir::Kernel over(ir::Kernel kernel, const ir::BufferMap& placed) {
  kernel.body = ir::substitute_buffers(kernel.body, placed);
  for (ir::Kernel::Param& param : kernel.params)
    if (const auto found = placed.find(param.buffer.get()); found != placed.end())
      param.buffer = found->second;
  return kernel;
}

// Which of a group's buffers lie otherwise than its stages say.
std::string placed_ones(const stages::Group& group, const ir::BufferMap& placed) {
  std::string text;
  if (placed.empty()) return text;
  const auto add = [&](const std::vector<ir::Buffer>& buffers) {
    for (const ir::Buffer& buffer : buffers) text += placed.contains(buffer.get()) ? '1' : '0';
  };
  add(inputs_of(group));
  add(outputs_of(group));
  return text;
}

}  // namespace

const Result<Scheduled>& KernelSet::at(const stages::Group& group,
                                       const target::Capabilities& capabilities,
                                       const schedule::Point* point, Result<Scheduled>& own) const {
  const KernelParameters& p = parameters_;
  const auto make = [&]() -> Result<Scheduled> {
    Result<autoschedule::ScheduledGroup> made =
        point ? autoschedule::schedule_at(group, capabilities, *point)
              : Result<autoschedule::ScheduledGroup>(
                    autoschedule::schedule_default(group, capabilities));
    if (!made) return std::unexpected(std::move(made).error());
    ir::Kernel kernel = placed_.empty() ? made->kernel : over(made->kernel, placed_);
    if (!p.signed_ones.empty()) kernel = with_parts(kernel, p.signed_ones, p.parts);
    return Scheduled{*std::move(made), canonicalize(kernel, p.all)};
  };
  // The parts of a variable with a sign are this compilation's.
  if (!options_.cache || !p.signed_ones.empty()) return own = make();
  auto& kept = options_.cache->stages->scheduled;
  CompileCache::Place place{&group, records::class_of(capabilities), point ? to_string(*point) : "",
                            placed_ones(group, placed_)};
  if (const auto known = kept.find(place); known != kept.end()) return known->second;
  if (kept.size() >= CompileCache::most_scheduled) kept.clear();
  return kept.emplace(std::move(place), make()).first->second;
}

KernelSet::Chosen KernelSet::choose(const stages::Group& group,
                                    const target::Capabilities& capabilities,
                                    const schedule::Point* point, Result<Scheduled>& own) const {
  if (point) {
    const Result<Scheduled>& made = at(group, capabilities, point, own);
    if (made) return {&*made, {}};
  }
  std::vector<Candidate> candidates;
  if (options_.records && has_points(group))
    candidates = options_.records->points_of(group, capabilities);
  for (Candidate& one : candidates) {
    const Result<Scheduled>& made = at(group, capabilities, &one.point, own);
    if (made) return {&*made, std::move(one)};
  }
  return {&*at(group, capabilities, nullptr, own), {}, !candidates.empty()};
}

Result<std::map<const ir::BufferNode*, int>> KernelSet::neighbours_stored(
    const stages::Group& group, const target::Capabilities& capabilities,
    const schedule::Point* point) const {
  Result<Scheduled> own;
  const Chosen chosen = choose(group, capabilities, point, own);
  const ir::Kernel& before = chosen.scheduled->kernel.kernel;
  GS_ASSIGN(const ir::Kernel kernel, run_passes_before_access(before, capabilities.kind));
  const std::vector<int> neighbours = passes::neighbours_stored(kernel);
  std::map<const ir::BufferNode*, int> result;
  const std::vector<ir::Kernel::Param>& params = chosen.scheduled->group.kernel.params;
  for (size_t i = 0; i < params.size(); ++i)
    if (params[i].written) result[params[i].buffer.get()] = neighbours[i];
  return result;
}

Result<KernelSet::Use> KernelSet::add(const stages::Group& group,
                                      const target::Capabilities& capabilities, int device,
                                      const schedule::Point* point) {
  Result<Scheduled> own;
  Chosen chosen = choose(group, capabilities, point, own);
  std::optional<Candidate>& from = chosen.from;
  if (from) {
    ++(from->near.empty() ? recorded_ : nearest_);
    shipped_ += !from->shipped.empty();
  }
  refused_ += chosen.refused;
  const auto& [scheduled, before] = *chosen.scheduled;
  const KernelParameters& p = parameters_;
  const auto passed = lowered_.run(
      before,
      options_.code != CodeForm::finished && capabilities.kind == TargetKind::wasm
          ? TargetKind::cpu
          : capabilities.kind,
      {capabilities.converts_halves, capabilities.masks_loads, capabilities.has_ldexp});
  if (!passed) {
    Diagnostic error = passed.error();
    error.where = stages::origin_of(group);
    return std::unexpected(std::move(error));
  }
  const LoweredKernelCache::Lowered& made = **passed;
  // Variables have 53 bits, such as a slice's end beyond every tensor; kernels see the nearest of
  // 32, which bounds an index as well. What sizes depend on is checked where they are computed.
  ir::VarMap given;
  for (size_t i = 0; i < made.given.size(); ++i) given[made.given[i].get()] = before.scalars[i];
  const auto over_variables = [&](const ir::Expr& expr) {
    return p.of_parts.empty() ? expr : ir::substitute(expr, p.of_parts);
  };
  const auto bounded = [&](const ir::Expr& expr) {
    const bool parts = std::ranges::any_of(
        p.of_parts, [&](const auto& part) { return ir::uses(expr, part.first); });
    return parts && target_ != TargetKind::cpu ? ir::min(expr, ir::index(codegen::largest_dim))
                                               : expr;
  };
  Use use;
  use.range = over_variables(ir::substitute(made.range, given));
  for (const ir::Expr& scalar : made.scalars)
    use.scalars.push_back(over_variables(bounded(ir::substitute(scalar, given))));
  // Of the kernel as scheduled: passes keep the order, but replace buffers whose storage changes.
  for (const ir::Kernel::Param& param : scheduled.kernel.params)
    use.buffers.push_back(param.buffer);

  const auto [found, fresh] =
      by_key_.emplace(std::pair(device, made.key), static_cast<int>(kernels_.size()));
  if (fresh) {
    package::KernelInfo info;
    info.name = title_of(group);
    info.schedule = schedule::to_string(scheduled.schedules);
    info.group_size = scheduled.group_size();
    info.buffers = static_cast<int>(made.kernel.params.size());
    info.scalars = static_cast<int>(made.scalars.size());
    info.writes = static_cast<int>(outputs_of(group).size());
    info.device = device;
    infos_.push_back(info);
    keys_.push_back(&found->first.second);
    kernels_.push_back(made.kernel);
    reports_.push_back(report_of(group, capabilities, info.schedule));
    if (point) reports_.back().group.reset();  // a search chooses the kernel for any number of rows
    reports_.back().recorded = from.has_value();
    if (from) reports_.back().near = std::move(from->near);
    if (from) reports_.back().shipped = std::move(from->shipped);
  }
  use.kernel = found->second;
  return use;
}

Result<ShaderText> KernelSet::print(size_t kernel, const target::Capabilities& capabilities,
                                    bool exact) {
  return lowered_.print(*keys_[kernel], kernels_[kernel], capabilities, exact);
}

void KernelSet::tell(Report& report) const {
  report.kernels = reports_;
  report.recorded = recorded_;
  report.nearest = nearest_;
  report.shipped = shipped_;
  report.refused = refused_;
  for (size_t i = 0; options_.ir && i < kernels_.size(); ++i)
    report.kernels[i].ir = ir::print(kernels_[i]);
}

}  // namespace gossamer::compiler
