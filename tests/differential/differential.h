// For tests: a definition's stages get layouts, schedules and passes for a target, without a
// device; the interpreter runs the kernels that a generator would be given, and the results must be
// those of the stages themselves.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>

#include "autoschedule/default_schedule.h"
#include "compiler/canonical.h"
#include "compiler/pipeline.h"
#include "group/group_stages.h"
#include "interp/eval.h"
#include "interp/stages.h"
#include "interp/steps.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "layout/layout.h"
#include "ops/test_case.h"
#include "records/layout_records.h"
#include "rewrite/legalize_stages.h"
#include "rewrite/winograd.h"
#include "schedule/lower.h"
#include "schedule/trace.h"
#include "stages/fuse.h"

namespace gossamer::differential {

using ops::Case;
using ops::OpDef;
using ops::TensorData;
using stages::Stage;
using stages::StageKind;

// How a case's stages reach the schedules.
enum class Form : uint8_t {
  as_defined,  // one kernel a stage, every input a port
  as_a_model,  // merged and fused as in compile(), all inputs but the first weights
};

using Dims =
    std::map<ir::Var, int64_t,
             decltype([](const ir::Var& a, const ir::Var& b) { return a.get() < b.get(); })>;

inline std::vector<int64_t> numbers(const std::vector<ir::Expr>& shape, const Dims& dims) {
  ir::VarMap map;
  for (const auto& [var, value] : dims) map[var.get()] = ir::index(value);
  std::vector<int64_t> result;
  for (const ir::Expr& extent : shape)
    result.push_back(ir::as_int(ir::simplify(ir::substitute(extent, map))).value_or(-1));
  return result;
}

// Calls back with the row-major number and the place in memory of each element. Not pack and
// unpack: their doubles do not hold every i64.
template <class F>
void each_element(const ir::BufferNode& buffer, const Dims& dims, const F& callback) {
  const interp::Place place(buffer, numbers(buffer.shape, dims));
  std::vector<int64_t> point(buffer.shape.size());
  for (int64_t n = 0; n < place.logical_elements(); ++n) {
    int64_t rest = n;
    for (size_t d = point.size(); d-- > 0; rest /= place.extents()[d])
      point[d] = rest % place.extents()[d];
    const int64_t size = ir::byte_size(buffer.storage);
    callback(static_cast<size_t>(n * size), static_cast<size_t>(place.offset(point) * size));
  }
}

inline std::vector<std::byte> to_memory(const ir::BufferNode& buffer, const TensorData& data,
                                        const Dims& dims) {
  const interp::Place place(buffer, numbers(buffer.shape, dims));
  const auto size = static_cast<size_t>(ir::byte_size(buffer.storage));
  std::vector<std::byte> bytes(static_cast<size_t>(place.elements()) * size, std::byte{0xff});
  each_element(buffer, dims,
               [&](size_t from, size_t to) { std::memcpy(&bytes[to], &data.bytes[from], size); });
  return bytes;
}

inline TensorData from_memory(const ir::BufferNode& buffer, const std::vector<std::byte>& bytes,
                              const Dims& dims) {
  TensorData data{buffer.dtype, numbers(buffer.shape, dims), {}, {}};
  const auto size = static_cast<size_t>(ir::byte_size(buffer.storage));
  data.bytes.resize(static_cast<size_t>(data.element_count()) * size);
  each_element(buffer, dims,
               [&](size_t to, size_t from) { std::memcpy(&data.bytes[to], &bytes[from], size); });
  return data;
}

// Floats within 1e-5 + 1e-4 of the greatest value, integers and small floats exactly, NaN and
// infinities the same.
inline std::string difference(const TensorData& got, const TensorData& want) {
  if (got.dtype != want.dtype || got.shape != want.shape) return "another type or shape";
  double greatest = 0;
  for (int64_t i = 0; i < want.element_count(); ++i) {
    const double y = interp::element(want, i).as_double();
    if (std::isfinite(y)) greatest = std::max(greatest, std::abs(y));
  }
  const bool exact = !ir::is_float(want.dtype) || ir::is_small(want.dtype);
  const double allowed = exact ? 0 : 1e-5 + 1e-4 * greatest;
  for (int64_t i = 0; i < want.element_count(); ++i) {
    const double x = interp::element(got, i).as_double();
    const double y = interp::element(want, i).as_double();
    const bool same = std::isfinite(y) ? std::abs(x - y) <= allowed
                      : std::isnan(y)  ? std::isnan(x)
                                       : x == y;
    if (!same) return cat("element ", i, " is ", std::to_string(x), ", not ", std::to_string(y));
  }
  return {};
}

struct Run {
  std::map<const ir::BufferNode*, TensorData> outputs;  // by the buffer of the definition
  std::string kernels;                                  // as text, to see what went wrong
  std::string error;
};

// The traces of a group's schedules make its kernel again.
inline Result<> reads_back(const stages::Group& group,
                           const std::vector<schedule::Schedule>& chosen,
                           const target::Capabilities& caps, const ir::Kernel& kernel) {
  const std::string trace = schedule::to_string(chosen);
  GS_ASSIGN(const auto read, schedule::parse_schedules(group, caps, trace));
  GS_ASSIGN(const ir::Kernel again, schedule::lower(group, read));
  if (ir::print(again) == ir::print(kernel)) return {};
  return fail(cat("its trace makes another kernel: ", trace));
}

// As after the layouts have replaced the ports' buffers.
inline group::Ends ends_of(const stages::Program& program, const layout::Ports& ports,
                           const std::vector<std::pair<ir::Buffer, ir::Buffer>>& replaced) {
  group::Ends ends;
  for (const auto& [old, fresh] : replaced) {
    if (ports.outputs.contains(old.get())) ends.kept.insert(fresh.get());
    if (ports.constants.contains(old.get())) ends.constants.insert(fresh.get());
  }
  for (const stages::Entry& entry : program) {
    if (!entry.step()) continue;
    for (const ir::Buffer& read : entry.inputs()) ends.kept.insert(read.get());
  }
  return ends;
}

// Variables that a run computes and that may be negative, as two scalars that are not: what
// ModuleBuilder gives a kernel.
struct Signs {
  std::vector<ir::Var> variables;
  std::vector<compiler::SignedParts> parts;
};
inline Signs signs_of(const stages::Program& program, const Dims& dims) {
  Signs signs;
  for (const ir::Var& var : stages::variables_of(program)) {
    const bool counts = std::ranges::any_of(program, [&](const stages::Entry& entry) {
      return entry.is(stages::StepKind::loop) && entry.step()->variables[0].same(var);
    });
    if (counts || dims.contains(var)) continue;
    signs.variables.push_back(var);
    signs.parts.push_back(compiler::split_sign(var));
  }
  return signs;
}

inline Run run_on(const target::Capabilities& caps, stages::Program program,
                  const layout::Ports& ports, const interp::Values& inputs, const Dims& dims) {
  std::vector<std::pair<ir::Buffer, ir::Buffer>> replaced;
  layout::choose_layouts(program, ports, caps, replaced);
  interp::Memory memory;
  for (const auto& [old, fresh] : replaced) {
    if (const auto given = inputs.find(old.get()); given != inputs.end())
      memory[fresh.get()] = to_memory(*fresh, given->second, dims);
  }
  Run result;
  interp::StepRunner steps;
  for (const auto& [var, value] : dims)
    steps.variables[var.get()] = ir::Scalar::of_int(ir::DType::index, value);
  const std::vector<ir::Var> variables = stages::variables_of(program);
  const Signs signs = signs_of(program, dims);
  const auto dims_now = [&] {
    Dims now = dims;
    for (const ir::Var& var : variables) {
      if (const auto known = steps.variables.find(var.get()); known != steps.variables.end())
        now[var] = known->second.as_int();
    }
    for (size_t i = 0; i < signs.variables.size(); ++i) {
      const auto known = now.find(signs.variables[i]);
      if (known == now.end()) continue;
      now[signs.parts[i].positive] = std::max<int64_t>(known->second, 0);
      now[signs.parts[i].negative] = std::max<int64_t>(-known->second, 0);
    }
    return now;
  };
  steps.element = [&](const ir::BufferNode* tensor, int64_t at) {
    const TensorData data = from_memory(*tensor, memory.at(tensor), dims_now());
    return interp::element(data, at);
  };
  // Of each launch the last stage stands for all, by what it writes.
  std::map<const ir::BufferNode*, stages::Group> groups;
  stages::Program launched;
  for (group::Launched& one :
       group::group_stages(program, ends_of(program, ports, replaced), caps)) {
    if (const auto* step = std::get_if<stages::Step>(&one)) {
      launched.emplace_back(*step);
      continue;
    }
    stages::Group& group = std::get<stages::Group>(one);
    launched.emplace_back(group.last());
    if (!is_single(group) || !group.in_place.empty())
      groups.emplace(group.last().output.get(), std::move(group));
  }
  steps.run = [&](const Stage& stage) -> Result<> {
    const auto found = groups.find(stage.output.get());
    const stages::Group group = found == groups.end() ? stages::single_group(stage) : found->second;
    const auto [chosen, scheduled] = autoschedule::schedule_default(group, caps);
    GS_TRY(reads_back(group, chosen, caps, scheduled));
    GS_ASSIGN(
        const ir::Kernel kernel,
        compiler::run_pipeline(with_parts(scheduled, signs.variables, signs.parts), caps.kind));
    const std::string text = ir::print(kernel);
    result.kernels += text;
    // Texts of shared expressions as long as a random generator's are cut short.
    if (text.find("...") == std::string::npos) {
      GS_ASSIGN(const ir::Kernel read, ir::parse_kernel(text));
      if (ir::print(read) != text) return fail("its text reads as another kernel");
    }
    // Passes keep the order of parameters, but replace buffers whose storage changes. What a kernel
    // writes is new memory, unless it updates a state in place.
    const bool in_place = stage.kind == StageKind::scatter && !stage.initial;
    std::map<const ir::BufferNode*, const ir::BufferNode*> before;
    for (const stages::InPlace& one : group.in_place) before[one.output.get()] = one.input.get();
    interp::Memory bound;
    for (size_t i = 0; i < kernel.params.size(); ++i) {
      const ir::BufferNode* buffer = scheduled.params[i].buffer.get();
      const auto known = memory.find(kernel.params[i].updated ? before.at(buffer) : buffer);
      if (known != memory.end() &&
          (!kernel.params[i].written || in_place || kernel.params[i].updated))
        bound[kernel.params[i].buffer.get()] = known->second;
    }
    std::vector<int64_t> scalars;
    const Dims now = dims_now();
    for (const ir::Var& scalar : kernel.scalars) scalars.push_back(now.at(scalar));
    GS_TRY(interp::run(kernel, bound, scalars));
    for (size_t i = 0; i < kernel.params.size(); ++i) {
      if (kernel.params[i].written)
        memory[scheduled.params[i].buffer.get()] = std::move(bound[kernel.params[i].buffer.get()]);
    }
    return {};
  };
  if (auto ran = interp::run_steps(launched, steps); !ran)
    return {{}, result.kernels, ran.error().to_string()};
  for (const auto& [old, fresh] : replaced) {
    if (ports.outputs.contains(old.get()) && memory.contains(fresh.get()))
      result.outputs[old.get()] = from_memory(*fresh, memory[fresh.get()], dims_now());
  }
  return result;
}

// What a case is: stages, data, and what the outputs must be.
struct Example {
  ops::DefinedCase made;
  interp::Values inputs, expected;
  std::vector<ir::Buffer> order;  // inputs and constants
  Dims dims;
};

inline Example example_of(ops::DefinedCase made, Dims dims = {}) {
  Example example;
  example.made = std::move(made);
  example.dims = std::move(dims);
  if (!example.made.status) return example;
  const ops::Builder& builder = *example.made.builder;
  for (const auto& [buffer, data] : example.made.memory) {
    example.inputs[buffer.get()] = data;
    example.order.push_back(buffer);
  }
  for (const auto& constant : builder.constants) {
    example.inputs[constant.buffer.get()] = constant.data;
    example.order.push_back(constant.buffer);
  }
  example.expected = example.inputs;
  interp::Variables variables;
  for (const auto& [var, value] : example.dims)
    variables[var.get()] = ir::Scalar::of_int(ir::DType::index, value);
  example.made.status = interp::run_program(builder.program, example.expected, variables);
  return example;
}

inline Example example_of(const OpDef& def, const Case& test) {
  const std::vector<TensorData> data = ops::case_inputs(def, test);
  return example_of(ops::define_case(def, test, data, ops::output_count_of(def, test)));
}

// The same case with the first axis of its first input a dimension of the model.
inline Example example_with_dim(const OpDef& def, const Case& test) {
  const std::vector<TensorData> data = ops::case_inputs(def, test);
  const ir::Var dim = ir::var("n");
  ops::DefinedCase made;
  for (size_t i = 0; i < data.size(); ++i) {
    ops::Shape shape;
    for (int64_t extent : data[i].shape) shape.push_back(ir::index(extent));
    if (i == 0) shape[0] = dim;
    made.inputs.push_back({ir::buffer(cat("input", i), data[i].dtype, shape), std::nullopt});
    made.memory.emplace_back(made.inputs.back().buffer, data[i]);
  }
  made.builder = std::make_unique<ops::Builder>(def, test.name, made.inputs, test.attributes, 1);
  made.status = made.builder->define();
  made.outputs = made.builder->outputs;
  return example_of(std::move(made), {{dim, data[0].shape[0]}});
}

inline stages::StageGraph graph_of(const Example& example, Form form) {
  const ops::Builder& builder = *example.made.builder;
  stages::StageGraph graph;
  graph.program = builder.program;
  for (const ir::Buffer& buffer : example.order) {
    if (form == Form::as_a_model && !graph.inputs.empty()) {
      const TensorData& data = example.inputs.at(buffer.get());
      graph.constants.push_back({buffer->name, buffer, {data.dtype, data.shape, data.bytes}});
    } else {
      graph.inputs.push_back({buffer->name, buffer});
    }
  }
  for (const ir::Buffer& output : example.made.output_memory())
    graph.outputs.push_back({output->name, output});
  return graph;
}

// Convolutions in tiles of one size, whatever that costs.
class AllInTiles : public records::LayoutWatch {
 public:
  explicit AllInTiles(int edge) : records::LayoutWatch(nullptr, nullptr), edge_(edge) {}
  std::optional<int> tile_of(const Stage&, const target::Capabilities&, int) const override {
    asked_ = true;
    return edge_;
  }
  bool asked() const { return asked_; }

 private:
  int edge_;
  mutable bool asked_ = false;
};

// The case's stages as compile() hands them to the layouts.
inline stages::StageGraph legalized(const target::Capabilities& caps, const Example& example,
                                    Form form) {
  stages::StageGraph graph = graph_of(example, form);
  if (form == Form::as_a_model) {
    stages::merge_duplicates(graph);
    stages::drop_dead(graph);
    const int max_buffers = caps.texture_memory ? caps.max_textures : caps.max_storage_buffers;
    stages::fuse(graph, {.max_buffers = max_buffers});
    stages::hoist_constants(graph, max_buffers);
    stages::drop_dead(graph);
  }
  rewrite::legalize_stages(graph.program, caps);
  return graph;
}

// Expects the stages of `graph`, which are those of the example, to compute what the example says.
// Returns the kernels that ran.
inline std::string compare(const target::Capabilities& caps, const Example& example,
                           const stages::StageGraph& graph) {
  layout::Ports ports;
  for (const auto& input : graph.inputs) ports.inputs.insert(input.buffer.get());
  for (const auto& constant : graph.constants) ports.constants.insert(constant.buffer.get());
  for (const auto& output : graph.outputs) ports.outputs.insert(output.buffer.get());
  const std::vector<ir::Buffer> defined_outputs = example.made.output_memory();
  const Run run = run_on(caps, graph.program, ports, example.inputs, example.dims);
  EXPECT_EQ(run.error, "") << run.kernels;
  if (!run.error.empty()) return run.kernels;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const ir::BufferNode* output = graph.outputs[i].buffer.get();
    if (example.inputs.contains(output)) continue;  // handed through
    EXPECT_TRUE(run.outputs.contains(output)) << output->name << " is written by no kernel";
    if (!run.outputs.contains(output)) continue;
    const ir::BufferNode* defined = defined_outputs[i].get();
    EXPECT_EQ(difference(run.outputs.at(output), example.expected.at(defined)), "")
        << output->name << "\n"
        << run.kernels;
  }
  return run.kernels;
}
inline std::string compare(const target::Capabilities& caps, const Example& example, Form form) {
  return compare(caps, example, legalized(caps, example, form));
}
inline void compare(TargetKind target, const Example& example, Form form) {
  compare(target::capabilities_of(target), example, form);
}

// Whether two graphs of one example have the same stages and the same constants.
inline bool alike(const stages::StageGraph& a, const stages::StageGraph& b) {
  const std::string text = stages::print(a);
  // Long expressions are cut short.
  return text.find("...") == std::string::npos && text == stages::print(b);
}

// Compares the example as defined and, where fusion or constants change its stages, as a model. If
// the model has convolutions that Winograd's algorithm computes, also with each of its tiles.
inline void compare_forms(TargetKind target, const Example& example) {
  const target::Capabilities caps = target::capabilities_of(target);
  const stages::StageGraph defined = legalized(caps, example, Form::as_defined);
  const stages::StageGraph model = legalized(caps, example, Form::as_a_model);
  compare(caps, example, defined);
  if (!alike(defined, model)) compare(caps, example, model);
  std::set<const ir::BufferNode*> constants;
  for (const auto& constant : model.constants) constants.insert(constant.buffer.get());
  for (const int edge : records::winograd_tiles) {
    const AllInTiles tiles(edge);
    stages::StageGraph tiled = model;
    rewrite::use_winograd(tiled.program, constants, caps, &tiles);
    if (!tiles.asked()) return;
    const std::string kernels = compare(caps, example, tiled);
    EXPECT_NE(kernels.find(".products"), std::string::npos) << kernels;
  }
}

constexpr std::array targets{TargetKind::cpu, TargetKind::wasm, TargetKind::webgpu,
                             TargetKind::webgl};

}  // namespace gossamer::differential
