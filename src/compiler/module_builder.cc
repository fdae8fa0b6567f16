#include "compiler/module_builder.h"

#include <algorithm>
#include <set>

#include "codegen/text/legalize_gpu_types.h"
#include "compiler/canonical.h"
#include "compiler/operations.h"
#include "compiler/pipeline.h"
#include "ir/build.h"
#include "ir/simplify.h"
#include "passes/flatten_access.h"
#include "schedule/access.h"
#include "schedule/default_schedule.h"
#include "schedule/group_stages.h"
#include "schedule/trace.h"

namespace gossamer::compiler {
namespace {

bool is_gpu(schedule::TargetKind target) {
  return target == schedule::TargetKind::webgpu || target == schedule::TargetKind::webgl;
}

// The grid loop's extent: under the Lets that may stand around it.
ir::Expr range_of(const ir::Kernel& kernel) {
  ir::Stmt s = kernel.body;
  while (const auto* let = ir::as<ir::Let>(s)) s = let->body;
  const auto* grid = ir::as<ir::For>(s);
  // A grid of one item was simplified away.
  return grid && grid->loop == ir::LoopKind::grid ? grid->extent : ir::index(1);
}

schedule::Ends ends_of(const graph::StageGraph& graph) {
  schedule::Ends ends;
  for (const auto& output : graph.outputs) ends.kept.insert(output.buffer.get());
  for (const ir::BufferNode* state : graph::states_of(graph)) ends.kept.insert(state);
  for (const ops::Entry& entry : graph.program) {
    if (!entry.step()) continue;
    for (const ir::Buffer& read : entry.inputs()) ends.kept.insert(read.get());
  }
  for (const auto& constant : graph.constants) ends.constants.insert(constant.buffer.get());
  return ends;
}

}  // namespace

ModuleBuilder::ModuleBuilder(const graph::StageGraph& stages, schedule::TargetKind target,
                             const schedule::Capabilities& capabilities, const Options& options)
    : stages_(stages),
      target_(target),
      caps_(capabilities),
      side_caps_(schedule::capabilities_of(schedule::TargetKind::wasm)),
      options_(options),
      planner_(stages.dims, ops::variables_of(stages.program)),
      states_(graph::states_of(stages)) {
  module_.name = options.name.empty() ? stages.name : options.name;
  module_.target = std::string(schedule::name_of(target));
  for (const graph::StageConstant& constant : stages.constants)
    constant_.insert(constant.buffer.get());
  find_parameters();
}

// Loops count up from 0; all else that a step sets may be negative.
void ModuleBuilder::find_parameters() {
  std::set<const ir::Node*> counters;
  for (const ops::Entry& entry : stages_.program) {
    if (entry.is(ops::StepKind::loop)) counters.insert(entry.step()->variables[0].get());
  }
  parameters_ = planner_.dims();
  for (size_t i = stages_.dims.size(); i < planner_.dims().size(); ++i) {
    const ir::Var& variable = planner_.dims()[i];
    if (counters.contains(variable.get())) continue;
    signed_.push_back(variable);
    parts_.push_back(split_sign(variable));
    of_parts_[parts_.back().positive.get()] = parts_.back().positive_of;
    of_parts_[parts_.back().negative.get()] = parts_.back().negative_of;
    parameters_.push_back(parts_.back().positive);
    parameters_.push_back(parts_.back().negative);
  }
}

ir::DType ModuleBuilder::storage_of(const ir::BufferNode& buffer) const {
  const bool gpu = is_gpu(target_) && device_of(buffer) == 0;
  return gpu ? codegen::text::gpu_storage_of(buffer.dtype, caps_.has_f16) : buffer.dtype;
}

int ModuleBuilder::tensor_of(const ir::Buffer& buffer) {
  const auto [found, fresh] = tensors_.emplace(buffer.get(), static_cast<int>(buffers_.size()));
  if (!fresh) return found->second;
  package::Tensor tensor;
  tensor.name = buffer->name;
  tensor.dtype = buffer->dtype;
  tensor.storage = storage_of(*buffer);
  const ir::Expr elements = passes::physical_elements(*buffer);
  tensor.elements = planner_.number(elements);
  segments_.push_back(planner_.segment_of(elements));
  if (tensor.elements.planned) add_check({{}, cat("tensor \"", buffer->name, "\""), elements});
  buffers_.push_back(buffer);
  module_.tensors.push_back(std::move(tensor));
  return found->second;
}

Result<> ModuleBuilder::build(const Progress& progress) {
  add_inputs();
  const std::vector<schedule::Launched> launched =
      schedule::group_stages(stages_.program, ends_of(stages_), caps_);
  size_t done = 0;
  for (const schedule::Launched& one : launched) {
    if (const auto* step = std::get_if<ops::Step>(&one)) {
      add_step(*step);
    } else {
      GS_TRY(add_group(std::get<schedule::Group>(one)));
    }
    progress("schedule",
             0.15 + 0.6 * static_cast<double>(++done) / static_cast<double>(launched.size()));
  }
  add_outputs();
  GS_TRY(plan_slots());
  GS_TRY(check_memory());
  finish_steps();
  return {};
}

std::optional<schedule::Capabilities> ModuleBuilder::hardware_caps() const {
  schedule::Capabilities caps = caps_;
  if (target_ == schedule::TargetKind::webgpu && options_.adapters == "any") {
    caps.hardware = true;
    return caps;
  }
  if (target_ == schedule::TargetKind::wasm && options_.relaxed_simd) {
    caps.tile_rows = 6;  // a multiply-add needs no register for the product
    return caps;
  }
  return std::nullopt;
}

Result<> ModuleBuilder::add_group(const schedule::Group& group) {
  // Nothing to write, and an axis without points is a case that schedules need not know.
  const auto is_empty = [](const ir::Expr& extent) { return ir::is_const(extent, 0); };
  const ops::Stage& last = group.last();
  if (std::ranges::any_of(last.output->shape, is_empty)) {
    if (!states_.contains(last.output.get())) constant_.insert(last.output.get());
    return {};
  }
  package::Launch launch;
  launch.origin = origin_of(group);
  launch.reason = last.side;
  const int device = last.side.empty() ? 0 : 1;
  GS_ASSIGN(package::Call call,
            add_kernel(group, device == 0 ? caps_ : side_caps_, launch.tensors));
  launch.kernel = call.kernel;
  launch.scalars = std::move(call.scalars);
  launch.range = call.range;
  launch.operations = planner_.number(operations_of(group));
  const std::optional<schedule::Capabilities> hardware = hardware_caps();
  if (device == 0 && hardware && schedule::has_variant(group, caps_, *hardware)) {
    std::vector<int> same;
    GS_ASSIGN(launch.hardware, add_kernel(group, *hardware, same));
    GS_CHECK(same == launch.tensors, "variants of ", title_of(group), " take other tensors");
    if (launch.hardware->kernel == launch.kernel) launch.hardware.reset();
  }
  // What depends on dimensions alone is computed in every run.
  const bool constant =
      launch.scalars.empty() && !launch.range.planned && !states_.contains(last.output.get()) &&
      std::ranges::all_of(inputs_of(group),
                          [&](const ir::Buffer& b) { return constant_.contains(b.get()); });
  if (constant) {
    for (const ir::Buffer& output : outputs_of(group)) constant_.insert(output.get());
  } else {
    if (device != launching_) flush_launches();
    launching_ = device;
    events_.push_back({static_cast<int>(module_.run.size()), {}, {}});
  }
  (constant ? module_.init : module_.run).push_back(std::move(launch));
  return {};
}

// At the recorded point, where there is one and it is legal.
schedule::ScheduledGroup ModuleBuilder::choose(const schedule::Group& group,
                                               const schedule::Capabilities& capabilities) {
  if (options_.records) {
    const schedule::Point* point = options_.records->find(key_of(group), class_of(capabilities));
    if (point) {
      auto made = schedule_at(group, capabilities, *point);
      ++(made ? recorded_ : refused_);
      if (made) return *std::move(made);
    }
  }
  return schedule::schedule_default(group, capabilities);
}

KernelReport ModuleBuilder::report_of(const schedule::Group& group,
                                      const schedule::Capabilities& capabilities,
                                      const std::string& schedule) const {
  KernelReport report{title_of(group), origin_of(group), schedule, {}, {}, {}, {}, {}};
  if (!options_.space) return report;
  report.key = key_of(group);
  report.machine = class_of(capabilities);
  for (const schedule::Point& point : space_of(group, capabilities))
    report.space.push_back(to_string(point));
  return report;
}

Result<package::Call> ModuleBuilder::add_kernel(const schedule::Group& group,
                                                const schedule::Capabilities& capabilities,
                                                std::vector<int>& tensors) {
  const int device = group.last().side.empty() ? 0 : 1;
  const schedule::ScheduledGroup scheduled = choose(group, capabilities);
  auto lowered = run_pipeline(
      signed_.empty() ? scheduled.kernel : with_parts(scheduled.kernel, signed_, parts_),
      device == 0 ? target_ : schedule::TargetKind::wasm);
  if (!lowered) {
    lowered.error().where = origin_of(group);
    return std::unexpected(lowered.error());
  }
  ir::Kernel kernel = *std::move(lowered);

  package::Call call;
  const auto number_of = [&](const ir::Expr& expr) {
    return planner_.number(of_parts_.empty() ? expr : ir::substitute(expr, of_parts_));
  };
  call.range = number_of(range_of(kernel));
  Canonical canonical = canonicalize(kernel, parameters_);
  // Variables have 53 bits, such as a slice's end beyond every tensor; kernels see the nearest of
  // 32, which bounds an index as well. What sizes depend on is checked where they are computed.
  for (const ir::Var& scalar : canonical.scalars) {
    const bool part = of_parts_.contains(scalar.get()) && module_.target != "cpu";
    call.scalars.push_back(
        number_of(part ? ir::min(scalar, ir::index(codegen::largest_dim)) : ir::Expr(scalar)));
  }
  // Of the kernel as scheduled: passes keep the order, but replace buffers whose storage changes.
  GS_CHECK(kernel.params.size() == scheduled.kernel.params.size(), "a pass changed the parameters");
  for (const schedule::InPlace& one : group.in_place) {
    tensor_of(one.input);
    in_place_[one.output.get()] = one.input;
  }
  for (const ir::Kernel::Param& param : scheduled.kernel.params)
    tensors.push_back(tensor_of(param.buffer));

  const auto [found, fresh] =
      by_key_.emplace(cat(device, " ", canonical.key), static_cast<int>(kernels_.size()));
  if (fresh) {
    package::KernelInfo info;
    info.name = title_of(group);
    info.schedule = schedule::to_string(scheduled.schedules);
    info.group_size = scheduled.group_size();
    info.buffers = static_cast<int>(kernel.params.size());
    info.scalars = static_cast<int>(canonical.scalars.size());
    info.writes = static_cast<int>(outputs_of(group).size());
    info.device = device;
    module_.kernels.push_back(info);
    kernels_.push_back(std::move(canonical.kernel));
    reports_.push_back(report_of(group, capabilities, info.schedule));
  }
  call.kernel = found->second;
  return call;
}

void ModuleBuilder::add_inputs() {
  for (const graph::StageInput& input : stages_.inputs) {
    package::Port port{input.name, input.buffer->dtype,     {},
                       {},         tensor_of(input.buffer), input.strings};
    for (const ir::Expr& extent : input.buffer->shape) {
      const auto known = ir::as_int(extent);
      const auto* symbol = ir::as<ir::VarNode>(extent);
      port.shape.push_back(known ? package::Number(*known) : planner_.number(extent));
      port.symbols.push_back(known ? "" : symbol ? symbol->name : "?");
    }
    module_.inputs.push_back(std::move(port));
  }
  for (const graph::Dim& dim : stages_.dims)
    module_.dims.push_back({dim.var->name, dim.input, dim.axis});
  for (size_t i = stages_.dims.size(); i < planner_.dims().size(); ++i)
    module_.dims.push_back({planner_.dims()[i]->name, -1, 0});
  for (const graph::Check& check : stages_.checks) add_check(check);
  std::set<std::string> names;
  for (const graph::StageConstant& constant : stages_.constants) {
    std::string name = constant.name;
    while (!names.insert(name).second) name += "'";
    module_.weights.push_back(
        {name, constant.source.dtype, constant.source.shape, tensor_of(constant.buffer)});
  }
}

// After the stages: their shapes may use what steps computed.
void ModuleBuilder::add_outputs() {
  for (const graph::StageOutput& output : stages_.outputs) {
    package::Port port{output.name, output.buffer->dtype,     {},
                       {},          tensor_of(output.buffer), output.strings};
    for (const ir::Expr& extent : output.buffer->shape) {
      port.shape.push_back(planner_.number(extent));
      port.symbols.emplace_back();
    }
    module_.outputs.push_back(std::move(port));
  }
  for (const graph::Group& group : stages_.groups)
    module_.groups.push_back({group.name, group.sequence, group.output, group.first, group.count});
}

graph::MemoryNeed ModuleBuilder::need_of(const ir::BufferNode& buffer) const {
  graph::MemoryNeed need;
  const ir::Expr elements = passes::physical_elements(buffer);
  const ir::DType storage = storage_of(buffer);
  need.device = device_of(buffer);
  need.bytes = ir::simplify(elements * ir::index(ir::byte_size(storage)));
  if (buffer.layout.memory == ir::Memory::texture) {
    need.width = buffer.layout.width;
    need.layers = buffer.layout.layers;
    need.height = schedule::ceil_div(elements, 4LL * need.layers * need.width);
    need.texel = storage;
  }
  return need;
}

Result<> ModuleBuilder::plan_slots() {
  std::set<const ir::BufferNode*> exclusive(constant_);
  for (const graph::StageInput& port : stages_.inputs) exclusive.insert(port.buffer.get());
  for (const graph::StageOutput& port : stages_.outputs) exclusive.insert(port.buffer.get());
  std::vector<graph::PlannedTensor> tensors;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const ir::Buffer& buffer = buffers_[i];
    const auto before = in_place_.find(buffer.get());
    tensors.push_back({buffer, need_of(*buffer), exclusive.contains(buffer.get()),
                       before == in_place_.end() ? ir::Buffer() : before->second});
    tensors.back().need.segment = segments_[i];
  }
  std::vector<graph::PlanStep> steps;
  for (const Event& event : events_) {
    graph::PlanStep step;
    if (event.launch < 0) {
      step.reads.push_back(event.read);
      if (event.written) step.writes.push_back(event.written);
      steps.push_back(std::move(step));
      continue;
    }
    const package::Launch& launch = module_.run[static_cast<size_t>(event.launch)];
    const int writes = module_.kernels[static_cast<size_t>(launch.kernel)].writes;
    const size_t reads = launch.tensors.size() - static_cast<size_t>(writes);
    for (size_t i = 0; i < launch.tensors.size(); ++i) {
      const ir::Buffer& buffer = buffers_[static_cast<size_t>(launch.tensors[i])];
      (i < reads ? step.reads : step.writes).push_back(buffer);
      if (const auto before = in_place_.find(buffer.get()); before != in_place_.end() && i >= reads)
        step.reads.push_back(before->second);
    }
    steps.push_back(std::move(step));
  }
  ir::Bounds bounds;
  for (const graph::Dim& dim : stages_.dims) bounds.set(dim.var.get(), {0, codegen::largest_dim});
  const graph::MemoryPlan plan = graph::plan_memory(tensors, steps, bounds, loops_);
  for (const graph::MemoryPlan::Slot& planned : plan.slots) {
    package::Slot slot;
    slot.segment = planned.need.segment;
    slot.device = planned.need.device;
    if (planned.need.width > 0) {
      slot.texture = {planned.need.width, planner_.number(planned.need.height, slot.segment),
                      planned.need.layers};
    } else {
      slot.bytes = planner_.number(planned.need.bytes, slot.segment);
    }
    module_.slots.push_back(slot);
  }
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const int slot = plan.slot_of.at(buffers_[i].get());
    module_.tensors[i].slot = slot;
    module_.slots[static_cast<size_t>(slot)].persistent = constant_.contains(buffers_[i].get());
  }
  return {};
}

}  // namespace gossamer::compiler
