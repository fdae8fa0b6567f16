#include "compiler/compile.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "compiler/module_builder.h"
#include "compiler/prepared.h"
#include "graph/add_sampling.h"
#include "interp/fold_constants.h"
#include "ir/scalar.h"
#include "layout/layout.h"
#include "lower/implied_dims.h"
#include "lower/lower.h"
#include "onnx/reader.h"
#include "rewrite/legalize_stages.h"
#include "rewrite/use_dots.h"
#include "rewrite/use_tables.h"
#include "rewrite/widen_halves.h"
#include "rewrite/winograd.h"
#include "stages/append_rows.h"
#include "stages/fuse.h"
#include "stages/join_products.h"
#include "stages/narrow_rows.h"
#include "stages/place_on_side.h"
#include "stages/stage_graph.h"
#ifdef GOSSAMER_LLVM
#include "codegen/llvm/emit.h"
#endif

namespace gossamer::compiler {
namespace {

// Machine code is scheduled for the registers of its processor.
Result<schedule::Capabilities> for_processor(schedule::Capabilities caps,
                                             [[maybe_unused]] const std::string& cpu) {
#ifdef GOSSAMER_LLVM
  GS_ASSIGN(const auto registers, codegen::llvm_::registers_of({cpu}));
  caps = schedule::for_registers(caps, registers.bits, registers.count);
  caps.dots = registers.dots;
  caps.byte_dots = caps.windows_in_halves = registers.byte_dots;
  caps.converts_halves = registers.halves;
  caps.floats_for_halves = !registers.halves;
#endif
  return caps;
}

// Of what runs beside a GPU.
Result<schedule::Capabilities> side_capabilities_for(TargetKind target, const Options& options) {
  const auto side = options.native_side ? TargetKind::cpu : side_of(target);
  const schedule::Capabilities caps = schedule::capabilities_of(side);
  if (side != TargetKind::cpu || options.code == CodeForm::c) return caps;
  return for_processor(caps, options.cpu);
}

Result<schedule::Capabilities> capabilities_for(TargetKind target, const Options& options) {
  schedule::Capabilities caps = schedule::capabilities_of(target);
  GS_TRY(schedule::apply_limits(options.limits, caps));
  caps.hardware = has_adapters(target) && options.adapters == "hardware";
  const bool alone = options.code == CodeForm::bitcode || options.adapters == "hardware";
  if (alone && target == TargetKind::wasm && options.relaxed_simd)
    caps = schedule::with_multiply_adds(caps);
  // LLVM has no good code for them.
  if (options.code == CodeForm::bitcode && target == TargetKind::wasm) caps.byte_dots = false;
  if (options.code == CodeForm::c) {
    caps = schedule::for_any_machine(caps);
  } else if (target == TargetKind::cpu) {
    GS_ASSIGN(caps, for_processor(caps, options.cpu));
  }
  caps.has_f16 = target == TargetKind::webgpu && options.f16;
  return caps;
}

void use_layouts(graph::StageGraph& graph, const schedule::Capabilities& caps,
                 const Options& options) {
  schedule::Ports ports;
  for (const auto& port : graph.inputs) ports.inputs.insert(port.buffer.get());
  for (const auto& port : graph.outputs) ports.outputs.insert(port.buffer.get());
  for (const auto& constant : graph.constants) ports.constants.insert(constant.buffer.get());
  ports.side = graph.side;
  for (const ops::Entry& entry : graph.program) {
    if (entry.is(ops::StepKind::copy)) ports.outputs.insert(entry.step()->from.get());
  }
  std::vector<std::pair<ir::Buffer, ir::Buffer>> replaced;
  const auto hardware = hardware_of(caps, options);
  schedule::choose_layouts(graph.program, ports, caps, replaced, options.records,
                           hardware ? &*hardware : nullptr);
  const auto replace = [&](ir::Buffer& buffer) {
    for (const auto& [old_buffer, fresh] : replaced) {
      if (old_buffer.same(buffer)) {
        buffer = fresh;
        return;
      }
    }
  };
  for (auto& port : graph.inputs) replace(port.buffer);
  for (auto& port : graph.outputs) replace(port.buffer);
  for (auto& constant : graph.constants) replace(constant.buffer);
}

// Stages that are not fused are the reference for what others make of them; files of C are for
// machines whose memory may be small.
void use_algorithms(graph::StageGraph& graph, const schedule::Capabilities& caps,
                    const Options& options) {
  if (!options.fuse || !options.winograd || options.code == CodeForm::c) return;
  std::set<const ir::BufferNode*> constants;
  for (const auto& constant : graph.constants) constants.insert(constant.buffer.get());
  const auto hardware = hardware_of(caps, options);
  schedule::use_winograd(graph.program, constants, caps, options.records,
                         hardware ? &*hardware : nullptr);
}

// Of a constant that the graph holds.
std::optional<schedule::IntegerRange> range_of(const graph::ConstantSource& source) {
  constexpr double most = 32767;
  const bool numbers = source.dtype == ir::DType::f32 || ir::is_int(source.dtype);
  if (source.file >= 0 || source.packed != 1 || !numbers) return std::nullopt;
  double low = 0, high = 0;
  const auto size = static_cast<size_t>(ir::byte_size(source.dtype));
  for (size_t at = 0; at + size <= source.bytes.size(); at += size) {
    const double number = ir::read_scalar(source.dtype, &source.bytes[at]).as_double();
    if (!(std::abs(number) <= most) || std::trunc(number) != number) return std::nullopt;
    low = std::min(low, number);
    high = std::max(high, number);
  }
  return schedule::IntegerRange{static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

schedule::HeldBuffers held_by(const graph::StageGraph& graph) {
  schedule::HeldBuffers held{graph::states_of(graph), {}, {}};
  for (const auto& output : graph.outputs) held.outputs.insert(output.buffer.get());
  for (const auto& constant : graph.constants) held.constants.insert(constant.buffer.get());
  return held;
}

void use_integer_dots(graph::StageGraph& graph, const schedule::Capabilities& caps) {
  schedule::HeldBuffers held = held_by(graph);
  schedule::KnownIntegers known;
  for (const auto& constant : graph.constants) {
    if (const auto range = range_of(constant.source)) known[constant.buffer.get()] = *range;
  }
  held.states.merge(held.outputs);
  schedule::use_dots(graph.program, held.constants, known, held.states, caps);
  graph::merge_duplicates(graph);
}

const ops::Catalog& catalog_of(const Options& options) {
  return options.catalog ? *options.catalog : ops::builtin_catalog();
}

Result<Prepared::Stages> prepare(const graph::Graph& graph, const Options& options,
                                 const ModuleBuilder::Progress& progress) {
  GS_ASSIGN(const TargetKind target, target_named(options.target));
  GS_ASSIGN(const schedule::Capabilities caps, capabilities_for(target, options));
  GS_ASSIGN(const schedule::Capabilities side_caps, side_capabilities_for(target, options));

  progress("lower", 0.05);
  GS_ASSIGN(graph::StageGraph stages,
            graph::lower(graph, catalog_of(options), most_elements(target)));
  if (const auto implied = graph::implied_dims(stages, options.generate); !implied.empty()) {
    GS_ASSIGN(stages, graph::lower(graph::with_dims(graph, implied), catalog_of(options),
                                   most_elements(target)));
  }
  graph::fold_constants(stages);
  graph::merge_duplicates(stages);
  graph::drop_dead(stages);
  // No token is chosen by other rows of logits than the last ones.
  if (options.generate) graph::narrow_rows(stages, options.speculate);
  progress("fuse", 0.1);
  const int max_buffers = caps.texture_memory ? caps.max_textures : caps.max_storage_buffers;
  graph::FuseOptions fuse{.max_buffers = max_buffers};
  if (!caps.has_f64)
    fuse.kind = [](const ops::Stage& stage) { return !graph::needs_side(stage).empty(); };
  const bool launches_cost = caps.group_size > 1 && !caps.texture_memory;
  if (options.fuse) {
    graph::fuse(stages, fuse);
    // On GPUs, rows of known length are shared out as one axis.
    graph::unflatten_axes(stages, caps.is_vector_unit());
    if (launches_cost) graph::join_products(stages);
  }
  if (options.expose) graph::expose_stages(stages);
  // Kernels write textures whole; libraries take and give all of a tensor.
  if (options.state && !caps.texture_memory && options.code == CodeForm::finished)
    graph::append_rows(stages, launches_cost);
  graph::copy_rows(stages);
  schedule::legalize_stages(stages.program, caps);
  graph::hoist_constants(stages, max_buffers);
  if (options.fuse && caps.is_vector_unit()) {
    schedule::HeldBuffers held = held_by(stages);
    held.states.merge(held.outputs);
    schedule::use_tables(stages.program, held.states);
  }
  // Sums of integers stay sums, which other algorithms would round.
  if (options.fuse && (caps.dots || caps.byte_dots)) use_integer_dots(stages, caps);
  use_algorithms(stages, caps, options);
  graph::drop_dead(stages);
  if (options.fuse) schedule::widen_halves(stages.program, held_by(stages), caps);
  // Of textures as many are read.
  if (!caps.has_f64) graph::place_on_side(stages, max_buffers + (caps.texture_memory ? 1 : 0));
  use_layouts(stages, caps, options);
  return Prepared::Stages{std::move(stages), target, caps, side_caps};
}

void tell_dims(const graph::StageGraph& stages, Report& report) {
  report.variables = ops::variables_of(stages.program).size();
  report.dims.clear();
  for (const graph::Dim& dim : stages.dims)
    if (dim.input >= 0 && dim.output < 0)
      report.dims.emplace_back(dim.var->name, dim.var->estimate);
}

}  // namespace

Result<package::Files> compile(const graph::Graph& graph, const Options& options, Report* report,
                               std::span<const std::byte> file) {
  const ModuleBuilder::Progress progress = [&](std::string_view step, double fraction) {
    if (options.progress) options.progress(step, fraction);
  };
  Prepared own;
  std::optional<Prepared::Stages>& stages = (options.prepared ? *options.prepared : own).stages;
  const bool fresh = !stages;
  if (fresh) {
    GS_ASSIGN(stages, prepare(graph, options, progress));
  }
  if (report && options.ir) report->stages = graph::print(stages->graph);

  ModuleBuilder builder(stages->graph, stages->target, stages->capabilities, stages->side, options);
  if (fresh) stages->launched = builder.launched();
  GS_TRY(builder.build(stages->launched, progress));
  if (report) tell_dims(stages->graph, *report);
  if (options.code == CodeForm::none) return package::Files{};
  return builder.write(graph, file, report);
}

Result<package::Files> compile(std::span<const std::byte> model, const Options& options,
                               Report* report) {
  if (options.progress) options.progress("read", 0);
  // What no reading helps comes first.
  GS_TRY(target_named(options.target));
  std::optional<graph::Graph> own;
  std::optional<graph::Graph>& graph = options.prepared ? options.prepared->graph : own;
  if (!graph) {
    onnx::ReadOptions read;
    read.catalog = &catalog_of(options);
    read.known = options.known;
    read.external = options.external;
    GS_ASSIGN(graph, onnx::read_model(model, read));
    if (options.generate)
      GS_TRY(graph::add_sampling(*graph, catalog_of(options), options.speculate));
  }
  return compile(*graph, options, report, model);
}

}  // namespace gossamer::compiler
