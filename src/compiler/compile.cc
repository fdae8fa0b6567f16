#include "compiler/compile.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "compiler/compile_cache.h"
#include "compiler/module_builder.h"
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
Result<target::Capabilities> for_processor(target::Capabilities caps,
                                           [[maybe_unused]] const std::string& cpu) {
#ifdef GOSSAMER_LLVM
  GS_ASSIGN(const auto registers, codegen::llvm_::registers_of({cpu}));
  caps = target::for_registers(caps, registers.bits, registers.count);
  caps.dots = registers.dots;
  caps.byte_dots = caps.windows_in_halves = registers.byte_dots;
  caps.converts_halves = registers.halves;
  caps.floats_for_halves = !registers.halves;
#endif
  return caps;
}

// Of what runs beside a GPU.
Result<target::Capabilities> side_capabilities_for(TargetKind target, const Options& options) {
  const auto side = options.native_side ? TargetKind::cpu : side_of(target);
  const target::Capabilities caps = target::capabilities_of(side);
  if (side != TargetKind::cpu || options.code == CodeForm::c) return caps;
  return for_processor(caps, options.cpu);
}

Result<target::Capabilities> capabilities_for(TargetKind target, const Options& options) {
  target::Capabilities caps = target::capabilities_of(target);
  GS_TRY(target::apply_limits(options.limits, caps));
  caps.hardware = has_adapters(target) && options.adapters == "hardware";
  const bool alone = options.code == CodeForm::bitcode || options.adapters == "hardware";
  if (alone && target == TargetKind::wasm && options.relaxed_simd)
    caps = target::with_multiply_adds(caps);
  // LLVM has no good code for them.
  if (options.code == CodeForm::bitcode && target == TargetKind::wasm) caps.byte_dots = false;
  if (options.code == CodeForm::c) {
    caps = target::for_any_machine(caps);
  } else if (target == TargetKind::cpu) {
    GS_ASSIGN(caps, for_processor(caps, options.cpu));
  }
  caps.has_f16 = target == TargetKind::webgpu && options.f16;
  return caps;
}

void use_layouts(stages::StageGraph& graph, const target::Capabilities& caps,
                 const Options& options) {
  layout::Ports ports;
  for (const auto& port : graph.inputs) ports.inputs.insert(port.buffer.get());
  for (const auto& port : graph.outputs) ports.outputs.insert(port.buffer.get());
  for (const auto& constant : graph.constants) ports.constants.insert(constant.buffer.get());
  ports.side = graph.side;
  for (const stages::Entry& entry : graph.program) {
    if (entry.is(stages::StepKind::copy)) ports.outputs.insert(entry.step()->from.get());
  }
  std::vector<std::pair<ir::Buffer, ir::Buffer>> replaced;
  const auto hardware = hardware_of(caps, options);
  layout::choose_layouts(graph.program, ports, caps, replaced, options.records,
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
void use_algorithms(stages::StageGraph& graph, const target::Capabilities& caps,
                    const Options& options) {
  if (!options.fuse || !options.winograd || options.code == CodeForm::c) return;
  std::set<const ir::BufferNode*> constants;
  for (const auto& constant : graph.constants) constants.insert(constant.buffer.get());
  const auto hardware = hardware_of(caps, options);
  rewrite::use_winograd(graph.program, constants, caps, options.records,
                        hardware ? &*hardware : nullptr);
}

// Of a constant that the graph holds.
std::optional<rewrite::IntegerRange> range_of(const stages::ConstantSource& source) {
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
  return rewrite::IntegerRange{static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

rewrite::HeldBuffers held_by(const stages::StageGraph& graph) {
  rewrite::HeldBuffers held{stages::states_of(graph), {}, {}};
  for (const auto& output : graph.outputs) held.outputs.insert(output.buffer.get());
  for (const auto& constant : graph.constants) held.constants.insert(constant.buffer.get());
  return held;
}

void use_integer_dots(stages::StageGraph& graph, const target::Capabilities& caps) {
  rewrite::HeldBuffers held = held_by(graph);
  rewrite::KnownIntegers known;
  for (const auto& constant : graph.constants) {
    if (const auto range = range_of(constant.source)) known[constant.buffer.get()] = *range;
  }
  held.states.merge(held.outputs);
  rewrite::use_dots(graph.program, held.constants, known, held.states, caps);
  stages::merge_duplicates(graph);
}

const ops::Catalog& catalog_of(const Options& options) {
  return options.catalog ? *options.catalog : ops::builtin_catalog();
}

Result<CompileCache::Stages> prepare(const graph::Graph& graph, const Options& options,
                                     const ModuleBuilder::Progress& progress) {
  GS_ASSIGN(const TargetKind target, target_named(options.target));
  GS_ASSIGN(const target::Capabilities caps, capabilities_for(target, options));
  GS_ASSIGN(const target::Capabilities side_caps, side_capabilities_for(target, options));

  progress("lower", 0.05);
  GS_ASSIGN(stages::StageGraph stages,
            lower::lower(graph, catalog_of(options), most_elements(target)));
  if (const auto implied = lower::implied_dims(stages, options.generate); !implied.empty()) {
    GS_ASSIGN(stages, lower::lower(lower::with_dims(graph, implied), catalog_of(options),
                                   most_elements(target)));
  }
  interp::fold_constants(stages);
  stages::merge_duplicates(stages);
  stages::drop_dead(stages);
  // No token is chosen by other rows of logits than the last ones.
  if (options.generate) stages::narrow_rows(stages, options.speculate);
  progress("fuse", 0.1);
  const int max_buffers = caps.texture_memory ? caps.max_textures : caps.max_storage_buffers;
  stages::FuseOptions fuse{.max_buffers = max_buffers};
  if (!caps.has_f64)
    fuse.kind = [](const stages::Stage& stage) { return !stages::needs_side(stage).empty(); };
  const bool launches_cost = caps.group_size > 1 && !caps.texture_memory;
  if (options.fuse) {
    stages::fuse(stages, fuse);
    // On GPUs, rows of known length are shared out as one axis.
    stages::unflatten_axes(stages, caps.is_vector_unit());
    if (launches_cost) stages::join_products(stages);
  }
  if (options.expose) stages::expose_stages(stages);
  // Kernels write textures whole; libraries take and give all of a tensor.
  if (options.state && !caps.texture_memory && options.code == CodeForm::finished)
    stages::append_rows(stages, launches_cost);
  stages::copy_rows(stages);
  rewrite::legalize_stages(stages.program, caps);
  stages::hoist_constants(stages, max_buffers);
  if (options.fuse && caps.is_vector_unit()) {
    rewrite::HeldBuffers held = held_by(stages);
    held.states.merge(held.outputs);
    rewrite::use_tables(stages.program, held.states);
  }
  // Sums of integers stay sums, which other algorithms would round.
  if (options.fuse && (caps.dots || caps.byte_dots)) use_integer_dots(stages, caps);
  use_algorithms(stages, caps, options);
  stages::drop_dead(stages);
  if (options.fuse) rewrite::widen_halves(stages.program, held_by(stages), caps);
  // Of textures as many are read.
  if (!caps.has_f64) stages::place_on_side(stages, max_buffers + (caps.texture_memory ? 1 : 0));
  use_layouts(stages, caps, options);
  return CompileCache::Stages{std::move(stages), target, caps, side_caps};
}

void tell_dims(const stages::StageGraph& stages, Report& report) {
  report.variables = stages::variables_of(stages.program).size();
  report.dims.clear();
  for (const stages::Dim& dim : stages.dims)
    if (dim.input >= 0 && dim.output < 0)
      report.dims.emplace_back(dim.var->name, dim.var->estimate);
}

}  // namespace

Result<package::Files> compile(const graph::Graph& graph, const Options& options, Report* report,
                               std::span<const std::byte> file) {
  const ModuleBuilder::Progress progress = [&](std::string_view step, double fraction) {
    if (options.progress) options.progress(step, fraction);
  };
  CompileCache own;
  std::optional<CompileCache::Stages>& stages = (options.cache ? *options.cache : own).stages;
  const bool fresh = !stages;
  if (fresh) {
    GS_ASSIGN(stages, prepare(graph, options, progress));
  }
  if (report && options.ir) report->stages = stages::print(stages->graph);

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
  std::optional<graph::Graph>& graph = options.cache ? options.cache->graph : own;
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
