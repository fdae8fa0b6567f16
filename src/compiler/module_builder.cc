#include "compiler/module_builder.h"

#include <algorithm>
#include <set>

#include "autoschedule/default_schedule.h"
#include "autoschedule/tiling_decoded.h"
#include "compiler/operations.h"
#include "group/few_rows.h"
#include "group/group_stages.h"
#include "group/long_rounds.h"
#include "ir/build.h"
#include "ir/estimate.h"
#include "ir/simplify.h"
#include "ir/type_rules.h"
#include "ops/reshape_index.h"
#include "passes/flatten_access.h"
#include "stages/access.h"

namespace gossamer::compiler {
namespace {

group::Ends ends_of(const stages::StageGraph& graph) {
  group::Ends ends;
  for (const auto& output : graph.outputs) ends.kept.insert(output.buffer.get());
  for (const ir::BufferNode* state : stages::states_of(graph)) ends.kept.insert(state);
  for (const stages::Entry& entry : graph.program) {
    if (!entry.step()) continue;
    for (const ir::Buffer& read : entry.inputs()) ends.kept.insert(read.get());
  }
  for (const auto& constant : graph.constants) ends.constants.insert(constant.buffer.get());
  return ends;
}

// Whether a place among all is divided into places along axes, as after a reshape.
bool takes_apart(const stages::Member& member) {
  bool found = false;
  for (const ir::Expr& value : member.stage.values)
    ir::visit(value, [&](const ir::Expr& part) {
      const auto* e = ir::as<ir::Binary>(part);
      found = found || (e && (e->op == ir::BinaryOp::floordiv || e->op == ir::BinaryOp::floormod) &&
                        !ir::as<ir::VarNode>(e->a));
      return !found;
    });
  return found;
}

}  // namespace

std::optional<target::Capabilities> hardware_of(const target::Capabilities& capabilities,
                                                const Options& options) {
  if (!has_adapters(capabilities.kind) || options.adapters != "any") return std::nullopt;
  target::Capabilities hardware = capabilities;
  hardware.hardware = true;
  return hardware;
}

ModuleBuilder::ModuleBuilder(const stages::StageGraph& stages, TargetKind target,
                             const target::Capabilities& capabilities,
                             const target::Capabilities& side_capabilities, const Options& options)
    : stages_(stages),
      target_(target),
      caps_(capabilities),
      side_caps_(side_capabilities),
      options_(options),
      planner_(stages.dims, stages::variables_of(stages.program)),
      kernels_(target, options, parameters_of(stages.program, planner_.dims(), stages.dims.size())),
      host_(planner_, most_elements(target),
            [this](const ir::Buffer& buffer) { return tensor_of(buffer); }),
      states_(stages::states_of(stages)) {
  module_.name = options.name.empty() ? stages.name : options.name;
  module_.target = target;
  for (const stages::StageConstant& constant : stages.constants)
    constant_.insert(constant.buffer.get());
}

ir::DType ModuleBuilder::storage_of(const ir::BufferNode& buffer) const {
  const bool gpu = is_gpu(target_) && device_of(buffer) == 0 && placed(buffer).layout.pack == 1;
  const ir::TypeRules words{.words = true, .stores_halves = caps_.has_f16};
  return gpu ? words.of(buffer.dtype).stored : buffer.dtype;
}

const ir::BufferNode& ModuleBuilder::placed(const ir::BufferNode& buffer) const {
  const auto found = shared_.find(&buffer);
  return found == shared_.end() ? buffer : *found->second;
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
  if (tensor.elements.planned) host_.check({{}, cat("tensor \"", buffer->name, "\""), elements});
  buffers_.push_back(buffer);
  module_.tensors.push_back(std::move(tensor));
  return found->second;
}

std::vector<group::Launched> ModuleBuilder::launched() const {
  const std::optional<target::Capabilities> hardware = variant_caps();
  std::vector<group::Launched> launched =
      options_.fuse ? group::group_stages(stages_.program, ends_of(stages_), caps_,
                                          hardware ? &*hardware : nullptr)
                    : group::single_stages(stages_.program);
  if (options_.fuse)
    group::merge_for_few_rows(launched, ends_of(stages_), hardware ? *hardware : caps_);
  if (ends_loops_early()) group::add_long_rounds(launched, caps_);
  if (!options_.records && !options_.groups) return launched;
  for (group::Launched& one : launched)
    if (auto* group = std::get_if<stages::Group>(&one)) group->key = records::key_of(*group);
  return launched;
}

Result<> ModuleBuilder::build(std::span<const group::Launched> launched, const Progress& progress) {
  GS_TRY(share_words(launched));
  add_inputs();
  GS_TRY(add_checks(launched));
  size_t done = 0;
  for (const group::Launched& one : launched) {
    if (const auto* step = std::get_if<stages::Step>(&one)) {
      host_.add(*step);
    } else {
      GS_TRY(add_group(std::get<stages::Group>(one)));
    }
    progress("schedule",
             0.15 + 0.6 * static_cast<double>(++done) / static_cast<double>(launched.size()));
  }
  add_outputs();
  module_.kernels = kernels_.infos();
  GS_TRY(plan_slots());
  host_.finish(module_, !stages_.side.empty());
  GS_TRY(check_memory());
  if (options_.on_launch) tell_launches();
  return {};
}

void ModuleBuilder::tell_launches() const {
  const auto likely = [&](const package::Number& number) {
    return number.planned
               ? ir::estimated_size(planner_.function().values[static_cast<size_t>(number.value)])
               : number.value;
  };
  for (const package::Launch& launch : module_.run) {
    std::vector<int64_t> scalars;
    for (const package::Number& scalar : launch.scalars) scalars.push_back(likely(scalar));
    options_.on_launch(kernels_.kernels()[static_cast<size_t>(launch.kernel)], scalars,
                       likely(launch.range));
  }
}

std::optional<target::Capabilities> ModuleBuilder::variant_caps() const {
  if (auto hardware = hardware_of(caps_, options_)) return hardware;
  if (target_ == TargetKind::wasm && options_.relaxed_simd && options_.adapters == "any" &&
      options_.code == CodeForm::finished)
    return target::with_multiply_adds(caps_);
  return std::nullopt;
}

// A point of either kind of machine is no point of the other.
bool ModuleBuilder::is_recorded(const stages::Group& group,
                                const target::Capabilities& others) const {
  return options_.records && has_points(group) &&
         !(options_.records->points_of(group, caps_).empty() &&
           options_.records->points_of(group, others).empty());
}

// A page's compiler is smaller without: its packages are for browsers, not for these drivers.
bool ModuleBuilder::ends_loops_early() const {
#ifdef __wasm__
  return false;
#endif
  if (target_ != TargetKind::opengl && target_ != TargetKind::webgpu) return false;
  if (options_.adapters != "any") return options_.adapters == "software";
  return target_ == TargetKind::opengl || options_.native_side;
}

bool ModuleBuilder::is_empty(const ir::BufferNode& buffer) {
  return std::ranges::any_of(buffer.shape,
                             [](const ir::Expr& extent) { return ir::is_const(extent, 0); });
}

Result<> ModuleBuilder::add_group(const stages::Group& group) {
  const stages::Stage& last = group.last();
  // Nothing to write, and an axis without points is a case that schedules need not know.
  if (is_empty(*last.output)) {
    if (!states_.contains(last.output.get())) constant_.insert(last.output.get());
    return {};
  }
  const int device = last.side.empty() ? 0 : 1;
  for (const ForRows& rows : kernels_by_rows(group)) {
    GS_ASSIGN(package::Launch launch, launch_of(group, rows));
    // What depends on dimensions alone is computed in every run.
    const bool constant =
        launch.scalars.empty() && !launch.range.planned && !states_.contains(last.output.get()) &&
        std::ranges::all_of(inputs_of(group),
                            [&](const ir::Buffer& b) { return constant_.contains(b.get()); });
    if (options_.on_kernel && device == 0) announce(launch.kernel, constant);
    if (constant) {
      for (const ir::Buffer& output : outputs_of(group)) constant_.insert(output.get());
    } else {
      host_.launch(device);
    }
    (constant ? module_.init : module_.run).push_back(std::move(launch));
  }
  return {};
}

std::vector<ModuleBuilder::ForRows> ModuleBuilder::kernels_by_rows(
    const stages::Group& group) const {
  const stages::Stage& last = group.last();
  std::vector<ForRows> kernels{{{}, {}, ir::index(1)}};
  if (group.number == stages::RowCount::more)
    kernels[0].times = stages::is_more(group.rows, autoschedule::few_rows(caps_));
  if (group.number == stages::RowCount::few)
    kernels[0].times = ir::index(1) - stages::is_more(group.rows, autoschedule::few_rows(caps_));
  if (!is_single(group) || !last.side.empty() || !group.in_place.empty()) return kernels;
  const ir::Expr rows = autoschedule::rows_of_decoded(last);
  if (!rows.get() || ir::as_int(rows)) return kernels;
  const std::optional<target::Capabilities> others = variant_caps();
  const auto points = [&](auto list_for) {
    const auto point = [&](const target::Capabilities& caps) {
      const std::optional<schedule::List> list = list_for(last, caps);
      return list ? std::optional(schedule::Point{*list}) : std::nullopt;
    };
    return ForRows{point(caps_), others ? point(*others) : std::nullopt, {}};
  };
  ForRows few = points(autoschedule::list_for_few_rows);
  if ((few.point || few.variant) && group.number != stages::RowCount::more) {
    const ir::Expr more = stages::is_more(rows, autoschedule::few_rows(caps_));
    kernels[0].times = more;
    few.times = ir::index(1) - more;
    if (group.number == stages::RowCount::few) return {few};
    kernels.push_back(std::move(few));
  }
  ForRows samples = points(autoschedule::list_for_samples);
  if ((samples.point || samples.variant) && group.number == stages::RowCount::any) {
    samples.times = kernels[0].times * autoschedule::has_more_samples(last);
    kernels[0].times = kernels[0].times - samples.times;
    kernels.push_back(std::move(samples));
  }
  ForRows many = points(autoschedule::list_for_many_rows);
  if (many.point || many.variant) {
    many.times = stages::is_more(rows, autoschedule::some_rows);
    kernels[0].times = kernels[0].times - many.times;
    kernels.push_back(std::move(many));
  }
  return kernels;
}

bool ModuleBuilder::has_variant(const stages::Group& group, const ForRows& rows,
                                const target::Capabilities& others) const {
  return rows.variant || group.rounds.get() || autoschedule::has_variant(group, caps_, others) ||
         is_recorded(group, others);
}

Result<package::Launch> ModuleBuilder::launch_of(const stages::Group& group, const ForRows& rows) {
  const stages::Stage& last = group.last();
  package::Launch launch;
  launch.origin = origin_of(group);
  launch.reason = last.side;
  const int device = last.side.empty() ? 0 : 1;
  const auto at = [](const std::optional<schedule::Point>& point) {
    return point ? &*point : nullptr;
  };
  const ir::Expr times = group.rounds.get() ? rows.times * group.rounds : rows.times;
  GS_ASSIGN(package::Call call, add_kernel(group, device == 0 ? caps_ : side_caps_, launch.tensors,
                                           times, at(rows.point)));
  launch.kernel = call.kernel;
  launch.scalars = std::move(call.scalars);
  launch.range = call.range;
  launch.operations = planner_.number(operations_of(group) * times);
  const std::optional<target::Capabilities> hardware = variant_caps();
  if (device == 0 && hardware && group.long_rounds) {
    launch.hardware = package::Call{launch.kernel, launch.scalars, package::Number(0)};
  } else if (device == 0 && hardware && has_variant(group, rows, *hardware)) {
    std::vector<int> same;
    GS_ASSIGN(launch.hardware, add_kernel(group, *hardware, same, rows.times, at(rows.variant)));
    GS_CHECK(same == launch.tensors, "variants of ", title_of(group), " take other tensors");
    if (launch.hardware->kernel == launch.kernel && !group.rounds.get()) launch.hardware.reset();
  }
  return launch;
}

Result<package::Call> ModuleBuilder::add_kernel(const stages::Group& group,
                                                const target::Capabilities& capabilities,
                                                std::vector<int>& tensors, const ir::Expr& times,
                                                const schedule::Point* point) {
  const int device = group.last().side.empty() ? 0 : 1;
  GS_ASSIGN(const KernelSet::Use use, kernels_.add(group, capabilities, device, point));
  package::Call call;
  call.kernel = use.kernel;
  call.range = planner_.number(use.range * times);
  for (const ir::Expr& scalar : use.scalars) call.scalars.push_back(planner_.number(scalar));
  for (const stages::InPlace& one : group.in_place) {
    tensor_of(one.input);
    in_place_[one.output.get()] = one.input;
  }
  for (const ir::Buffer& buffer : use.buffers) tensors.push_back(tensor_of(buffer));
  return call;
}

void ModuleBuilder::add_inputs() {
  for (const stages::StageInput& input : stages_.inputs) {
    package::Port port{input.name, input.buffer->dtype,     {},
                       {},         tensor_of(input.buffer), input.strings};
    for (const ir::Expr& extent : input.shape.empty() ? input.buffer->shape : input.shape) {
      const auto known = ir::as_int(extent);
      const auto* symbol = ir::as<ir::VarNode>(extent);
      port.shape.push_back(known ? package::Number(*known) : planner_.number(extent));
      port.symbols.push_back(known ? "" : symbol ? symbol->name : "?");
    }
    module_.inputs.push_back(std::move(port));
  }
  for (const stages::Dim& dim : stages_.dims)
    module_.dims.push_back({dim.var->name, dim.input, dim.axis, dim.output,
                            dim.rows ? planner_.number(dim.rows) : package::Number(-1)});
  for (size_t i = stages_.dims.size(); i < planner_.dims().size(); ++i)
    module_.dims.push_back({planner_.dims()[i]->name});
  std::set<std::string> names;
  for (const stages::StageConstant& constant : stages_.constants) {
    std::string name = constant.name;
    while (!names.insert(name).second) name += "'";
    module_.weights.push_back(
        {name, constant.source.dtype, constant.source.shape, tensor_of(constant.buffer)});
  }
}

// A walk has no index into what it computes and forgets, nor into what fusion dissolved in it,
// where no place is taken apart into axes. Launches for few rows make small tensors.
Result<> ModuleBuilder::add_checks(std::span<const group::Launched> launched) {
  std::set<std::string> others;
  std::vector<ir::Expr> counts;
  for (const group::Launched& one : launched) {
    const auto* group = std::get_if<stages::Group>(&one);
    if (!group || group->number == stages::RowCount::few) continue;
    const bool walks = is_walk(*group) && std::ranges::none_of(group->members, takes_apart);
    for (const stages::Member& member : group->members)
      if (!walks || member.written)
        others.insert(member.stage.output->name);
      else
        counts.push_back(ir::simplify(ops::product(member.stage.output->shape)));
  }
  for (const stages::Check& check : stages_.checks) {
    if (!check.counted.empty() && !others.contains(check.counted) &&
        std::ranges::any_of(counts,
                            [&](const auto& one) { return ir::equal(one, check.elements); }))
      continue;
    if (check.elements && ir::as_int(check.elements)) return fail(check.message);
    host_.check(check);
  }
  return {};
}

// After the stages: their shapes may use what steps computed.
void ModuleBuilder::add_outputs() {
  for (const stages::StageOutput& output : stages_.outputs) {
    package::Port port{output.name, output.buffer->dtype,     {},
                       {},          tensor_of(output.buffer), output.strings};
    for (const ir::Expr& extent : output.shape.empty() ? output.buffer->shape : output.shape) {
      port.shape.push_back(planner_.number(extent));
      port.symbols.emplace_back();
    }
    module_.outputs.push_back(std::move(port));
  }
  for (const stages::PortGroup& from : stages_.groups) {
    package::Group group{from.name, from.sequence ? "sequence" : "optional"};
    (from.output ? group.outputs : group.inputs) = {from.first, from.count};
    module_.groups.push_back(std::move(group));
  }
}

memory::MemoryNeed ModuleBuilder::need_of(const ir::BufferNode& buffer) const {
  memory::MemoryNeed need;
  const ir::Expr elements = passes::physical_elements(buffer);
  const ir::DType storage = storage_of(buffer);
  need.device = device_of(buffer);
  const ir::Layout& layout = placed(buffer).layout;
  const int pack = layout.pack;
  need.bytes = pack == 1 ? ir::simplify(elements * ir::index(ir::byte_size(storage)))
                         : ir::simplify(stages::ceil_div(elements, pack) * ir::index(4));
  if (layout.memory == ir::Memory::texture) {
    need.width = layout.width;
    need.layers = layout.layers;
    need.height = stages::ceil_div(elements, 4LL * pack * need.layers * need.width);
    need.texel = storage;
  }
  return need;
}

Result<> ModuleBuilder::plan_slots() {
  std::set<const ir::BufferNode*> exclusive(constant_);
  for (const stages::StageInput& port : stages_.inputs) exclusive.insert(port.buffer.get());
  for (const stages::StageOutput& port : stages_.outputs) exclusive.insert(port.buffer.get());
  std::vector<memory::PlannedTensor> tensors;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const ir::Buffer& buffer = buffers_[i];
    const auto before = in_place_.find(buffer.get());
    // What is empty is read, by a copy or a loop, though nothing writes it.
    const bool alone = exclusive.contains(buffer.get()) || is_empty(*buffer);
    tensors.push_back({buffer, need_of(*buffer), alone,
                       before == in_place_.end() ? ir::Buffer() : before->second});
    tensors.back().need.segment = segments_[i];
  }
  std::vector<memory::PlanStep> steps;
  for (const HostProgram::Event& event : host_.events()) {
    memory::PlanStep step;
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
  for (const stages::Dim& dim : stages_.dims) bounds.set(dim.var.get(), {0, codegen::largest_dim});
  const memory::MemoryPlan plan = memory::plan_memory(tensors, steps, bounds, host_.loops());
  for (const memory::MemoryPlan::Slot& planned : plan.slots) {
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
