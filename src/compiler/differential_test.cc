// The catalog times the targets, without a device: every case's stages get layouts, schedules and
// passes, the interpreter runs the kernels that a generator would be given, and the results must be
// those of the stages themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>

#include "compiler/canonical.h"
#include "compiler/pipeline.h"
#include "graph/fuse.h"
#include "interp/eval.h"
#include "interp/stages.h"
#include "interp/steps.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "ops/cases.h"
#include "schedule/default_schedule.h"
#include "schedule/group_stages.h"
#include "schedule/layout.h"
#include "schedule/legalize_stages.h"
#include "schedule/lower.h"
#include "schedule/trace.h"

namespace gossamer::compiler {
namespace {

using ir::DType;
using ops::Case;
using ops::int64s;
using ops::OpDef;
using ops::Stage;
using ops::StageKind;
using ops::TensorData;
using schedule::TargetKind;

// How a case's stages reach the schedules.
enum class Form : uint8_t {
  as_defined,  // one kernel a stage, every input a port
  as_a_model,  // merged and fused as in compile(), all inputs but the first weights
};

using Dims =
    std::map<ir::Var, int64_t,
             decltype([](const ir::Var& a, const ir::Var& b) { return a.get() < b.get(); })>;

std::vector<int64_t> numbers(const std::vector<ir::Expr>& shape, const Dims& dims) {
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

std::vector<std::byte> to_memory(const ir::BufferNode& buffer, const TensorData& data,
                                 const Dims& dims) {
  const interp::Place place(buffer, numbers(buffer.shape, dims));
  const auto size = static_cast<size_t>(ir::byte_size(buffer.storage));
  std::vector<std::byte> bytes(static_cast<size_t>(place.elements()) * size, std::byte{0xff});
  each_element(buffer, dims,
               [&](size_t from, size_t to) { std::memcpy(&bytes[to], &data.bytes[from], size); });
  return bytes;
}

TensorData from_memory(const ir::BufferNode& buffer, const std::vector<std::byte>& bytes,
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
std::string difference(const TensorData& got, const TensorData& want) {
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
Result<> reads_back(const schedule::Group& group, const std::vector<schedule::Schedule>& chosen,
                    const schedule::Capabilities& caps, const ir::Kernel& kernel) {
  const std::string trace = schedule::to_string(chosen);
  GS_ASSIGN(const auto read, schedule::parse_schedules(group, caps, trace));
  GS_ASSIGN(const ir::Kernel again, schedule::lower(group, read));
  if (ir::print(again) == ir::print(kernel)) return {};
  return fail(cat("its trace makes another kernel: ", trace));
}

// As after the layouts have replaced the ports' buffers.
schedule::Ends ends_of(const ops::Program& program, const schedule::Ports& ports,
                       const std::vector<std::pair<ir::Buffer, ir::Buffer>>& replaced) {
  schedule::Ends ends;
  for (const auto& [old, fresh] : replaced) {
    if (ports.outputs.contains(old.get())) ends.kept.insert(fresh.get());
    if (ports.constants.contains(old.get())) ends.constants.insert(fresh.get());
  }
  for (const ops::Entry& entry : program) {
    if (!entry.step()) continue;
    for (const ir::Buffer& read : entry.inputs()) ends.kept.insert(read.get());
  }
  return ends;
}

// Variables that a run computes and that may be negative, as two scalars that are not: what
// ModuleBuilder gives a kernel.
struct Signs {
  std::vector<ir::Var> variables;
  std::vector<SignedParts> parts;
};
Signs signs_of(const ops::Program& program, const Dims& dims) {
  Signs signs;
  for (const ir::Var& var : ops::variables_of(program)) {
    const bool counts = std::ranges::any_of(program, [&](const ops::Entry& entry) {
      return entry.is(ops::StepKind::loop) && entry.step()->variables[0].same(var);
    });
    if (counts || dims.contains(var)) continue;
    signs.variables.push_back(var);
    signs.parts.push_back(split_sign(var));
  }
  return signs;
}

Run run_on(const schedule::Capabilities& caps, ops::Program program, const schedule::Ports& ports,
           const interp::Values& inputs, const Dims& dims) {
  std::vector<std::pair<ir::Buffer, ir::Buffer>> replaced;
  schedule::choose_layouts(program, ports, caps, replaced);
  interp::Memory memory;
  for (const auto& [old, fresh] : replaced) {
    if (const auto given = inputs.find(old.get()); given != inputs.end())
      memory[fresh.get()] = to_memory(*fresh, given->second, dims);
  }
  Run result;
  interp::StepRunner steps;
  for (const auto& [var, value] : dims)
    steps.variables[var.get()] = ir::Scalar::of_int(ir::DType::index, value);
  const std::vector<ir::Var> variables = ops::variables_of(program);
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
  std::map<const ir::BufferNode*, schedule::Group> groups;
  ops::Program launched;
  for (schedule::Launched& one :
       schedule::group_stages(program, ends_of(program, ports, replaced), caps)) {
    if (const auto* step = std::get_if<ops::Step>(&one)) {
      launched.emplace_back(*step);
      continue;
    }
    schedule::Group& group = std::get<schedule::Group>(one);
    launched.emplace_back(group.last());
    if (group.form != schedule::GroupForm::single)
      groups.emplace(group.last().output.get(), std::move(group));
  }
  steps.run = [&](const Stage& stage) -> Result<> {
    const auto found = groups.find(stage.output.get());
    const schedule::Group group =
        found == groups.end() ? schedule::Group{schedule::GroupForm::single, {{stage, {}, true}}}
                              : found->second;
    const auto [chosen, scheduled] = schedule::schedule_default(group, caps);
    GS_TRY(reads_back(group, chosen, caps, scheduled));
    GS_ASSIGN(const ir::Kernel kernel,
              run_pipeline(with_parts(scheduled, signs.variables, signs.parts), caps.kind));
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
    interp::Memory bound;
    for (size_t i = 0; i < kernel.params.size(); ++i) {
      const auto known = memory.find(scheduled.params[i].buffer.get());
      if (known != memory.end() && (!kernel.params[i].written || in_place))
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

Example example_of(ops::DefinedCase made, Dims dims = {}) {
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

Example example_of(const OpDef& def, const Case& test) {
  const std::vector<TensorData> data = ops::case_inputs(def, test);
  return example_of(ops::define_case(def, test, data, ops::output_count_of(def, test)));
}

// The same case with the first axis of its first input a dimension of the model.
Example example_with_dim(const OpDef& def, const Case& test) {
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

graph::StageGraph graph_of(const Example& example, Form form) {
  const ops::Builder& builder = *example.made.builder;
  graph::StageGraph graph;
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

// The kernels as they ran.
std::string compare(const schedule::Capabilities& caps, const Example& example, Form form) {
  graph::StageGraph graph = graph_of(example, form);
  if (form == Form::as_a_model) {
    graph::merge_duplicates(graph);
    graph::drop_dead(graph);
    const int max_buffers =
        caps.kind == TargetKind::webgl ? caps.max_textures : caps.max_storage_buffers;
    graph::fuse(graph, {.max_buffers = max_buffers});
    graph::hoist_constants(graph, max_buffers);
    graph::drop_dead(graph);
  }
  schedule::legalize_stages(graph.program, caps);  // as compile() does
  schedule::Ports ports;
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

void compare(TargetKind target, const Example& example, Form form) {
  compare(schedule::capabilities_of(target), example, form);
}

using Parameter = std::tuple<const OpDef*, TargetKind>;
class DifferentialTest : public testing::TestWithParam<Parameter> {};

std::vector<const OpDef*> all_entries() {
  std::vector<const OpDef*> entries;
  for (const OpDef& def : ops::builtin_catalog().entries()) entries.push_back(&def);
  return entries;
}

TEST_P(DifferentialTest, KernelsComputeWhatStagesSay) {
  const auto& [def, target] = GetParam();
  ASSERT_FALSE(def->cases.empty());
  for (const Case& test : def->cases) {
    SCOPED_TRACE(test.name);
    const Example example = example_of(*def, test);
    ASSERT_TRUE(example.made.status) << example.made.status.error().to_string();
    compare(target, example, Form::as_defined);
    compare(target, example, Form::as_a_model);
  }
}

constexpr std::array targets{TargetKind::cpu, TargetKind::wasm, TargetKind::webgpu,
                             TargetKind::webgl};

// Larger than the catalog's cases: whole tiles, tiles past an edge, reductions with left-overs.
struct Sized {
  const char* op;
  Case test;
};
const std::vector<Sized>& sized() {
  static const std::vector<Sized> all{
      {"MatMul", {.name = "whole tiles", .shapes = {{16, 32}, {32, 64}}}},
      {"MatMul", {.name = "edges", .shapes = {{15, 37}, {37, 35}}}},
      {"MatMul", {.name = "one column", .shapes = {{33, 40}, {40, 1}}}},
      {"MatMul", {.name = "one row", .shapes = {{1, 40}, {40, 50}}}},
      {"MatMul", {.name = "batches", .shapes = {{3, 5, 18}, {3, 18, 17}}}},
      {"Conv", {.name = "channels", .shapes = {{1, 16, 5, 7}, {32, 16, 3, 3}, {32}}}},
      {"Conv",
       {.name = "odd",
        .shapes = {{2, 5, 6, 9}, {19, 5, 3, 2}},
        .attributes = {{"strides", std::vector<int64_t>{2, 1}},
                       {"pads", std::vector<int64_t>{1, 0, 2, 1}}}}},
      {"Conv",
       {.name = "depthwise",
        .shapes = {{1, 20, 6, 6}, {20, 1, 3, 3}},
        .attributes = {{"group", int64_t{20}}}}},
      {"MaxPool",
       {.name = "odd",
        .shapes = {{1, 19, 7, 9}},
        .attributes = {{"kernel_shape", std::vector<int64_t>{3, 2}}},
        .outputs = 1}},
      {"Softmax", {.name = "rows", .shapes = {{9, 37}}}},
      {"Softmax", {.name = "columns", .shapes = {{33, 18}}, .attributes = {{"axis", int64_t{0}}}}},
      {"ReduceSum", {.name = "all", .shapes = {{7, 53}}}},
      {"CumSum", {.name = "segments", .shapes = {{3, 301}}, .inputs = {{}, int64s({}, {1})}}},
      {"CumSum",
       {.name = "levels",
        .shapes = {{4999}},
        .attributes = {{"reverse", int64_t{1}}, {"exclusive", int64_t{1}}},
        .inputs = {{}, int64s({}, {0})}}},
      {"TopK", {.name = "runs", .shapes = {{3, 100}}, .inputs = {{}, int64s({1}, {60})}}},
      {"TopK",
       {.name = "columns",
        .shapes = {{75, 5}},
        .attributes = {{"axis", int64_t{0}}, {"largest", int64_t{0}}},
        .inputs = {{}, int64s({1}, {75})}}},
      {"TopK", {.name = "chunks", .shapes = {{2, 999}}, .inputs = {{}, int64s({1}, {3})}}},
      {"TopK",
       {.name = "equal data",
        .shapes = {{257}},
        .inputs = {{}, int64s({1}, {9})},
        .dtype = DType::i32,
        .low = 0,
        .high = 1}},
      {"Unique", {.name = "many", .shapes = {{130}}, .dtype = DType::i32, .low = -20, .high = 20}},
      {"Unique",
       {.name = "as they come",
        .shapes = {{60}},
        .attributes = {{"sorted", int64_t{0}}},
        .dtype = DType::i32,
        .low = -20,
        .high = 20}},
      {"NonZero",
       {.name = "segments", .shapes = {{3, 150}}, .dtype = DType::i32, .low = -1, .high = 1}},
      {"CumProd",
       {.name = "columns",
        .shapes = {{70, 36}},
        .inputs = {{}, int64s({}, {0})},
        .low = 0.9,
        .high = 1.1}},
      {"Transpose",
       {.name = "odd",
        .shapes = {{3, 17, 20}},
        .attributes = {{"perm", std::vector<int64_t>{2, 0, 1}}}}},
      {"LayerNormalization", {.name = "rows", .shapes = {{5, 48}, {48}, {48}}, .outputs = 1}},
      {"Add", {.name = "broadcast", .shapes = {{2, 17, 5, 4}, {17, 1, 1}}}},
      {"Concat",
       {.name = "three",
        .shapes = {{2, 5, 6}, {2, 18, 6}, {2, 9, 6}},
        .attributes = {{"axis", int64_t{1}}}}},
  };
  return all;
}

TEST(DifferentialSizes, TilesAndTheirEdges) {
  for (const Sized& one : sized()) {
    const Example example = example_of(*ops::builtin_catalog().find("", one.op), one.test);
    ASSERT_TRUE(example.made.status) << one.op << ": " << example.made.status.error().to_string();
    for (TargetKind target : targets) {
      SCOPED_TRACE(cat(one.op, " ", one.test.name, " on ", schedule::name_of(target)));
      compare(target, example, Form::as_defined);
      compare(target, example, Form::as_a_model);
    }
  }
}

TEST(DifferentialSizes, FirstAxisIsADimension) {
  for (const Sized& one : sized()) {
    const std::string_view name = one.test.name;
    if (name == "batches") continue;  // B's batch would have to match
    // Sorts of a free axis are 26 merges each: "many" and "columns" do.
    if (name == "equal data" || name == "as they come") continue;
    const Example example = example_with_dim(*ops::builtin_catalog().find("", one.op), one.test);
    if (!example.made.status) {
      ADD_FAILURE() << one.op << ": " << example.made.status.error().to_string();
      continue;
    }
    for (TargetKind target : targets) {
      SCOPED_TRACE(cat(one.op, " ", one.test.name, " on ", schedule::name_of(target)));
      compare(target, example, Form::as_defined);
      compare(target, example, Form::as_a_model);
    }
  }
}

// Contractions whose operands' tiles lie in group memory: at, on and beside the edges of tiles.
TEST(DifferentialSizes, TilesInGroupMemory) {
  using Ints = std::vector<int64_t>;
  schedule::Capabilities hardware = schedule::capabilities_of(TargetKind::webgpu);
  hardware.hardware = true;
  const std::vector<Sized> all{
      {"MatMul", {.name = "whole", .shapes = {{32, 32}, {32, 64}}}},
      {"MatMul", {.name = "edges", .shapes = {{33, 41}, {41, 36}}}},
      {"MatMul", {.name = "batches", .shapes = {{2, 17, 19}, {2, 19, 40}}}},
      {"MatMul", {.name = "wide", .shapes = {{16, 16}, {16, 68}}}},
      {"MatMulInteger",
       {.name = "integers", .shapes = {{18, 20}, {20, 32}, {}, {}}, .dtype = ir::DType::u8}},
      {"Gemm",
       {.name = "transposed",
        .shapes = {{35, 24}, {44, 24}, {44}},
        .attributes = {{"transB", int64_t{1}}}}},
      {"Conv",
       {.name = "taps",
        .shapes = {{1, 16, 4, 36}, {32, 16, 3, 3}, {32}},
        .attributes = {{"pads", Ints{1, 1, 1, 1}}}}},
      {"Conv",
       {.name = "strides and pads",
        .shapes = {{2, 20, 4, 72}, {36, 20, 3, 2}},
        .attributes = {{"strides", Ints{1, 2}}, {"pads", Ints{1, 0, 2, 1}}}}},
      {"Conv", {.name = "points", .shapes = {{1, 32, 2, 32}, {64, 32, 1, 1}}}},
  };
  for (const Sized& one : all) {
    SCOPED_TRACE(cat(one.op, " ", one.test.name));
    const Example example = example_of(*ops::builtin_catalog().find("", one.op), one.test);
    ASSERT_TRUE(example.made.status) << one.op << ": " << example.made.status.error().to_string();
    EXPECT_NE(compare(hardware, example, Form::as_defined).find("barrier"), std::string::npos);
    EXPECT_NE(compare(hardware, example, Form::as_a_model).find("barrier"), std::string::npos);
    if (std::string_view(one.test.name) == "batches") continue;  // B's batch would have to match
    const Example dynamic = example_with_dim(*ops::builtin_catalog().find("", one.op), one.test);
    ASSERT_TRUE(dynamic.made.status) << one.op << ": " << dynamic.made.status.error().to_string();
    compare(hardware, dynamic, Form::as_a_model);
  }
}

// Reductions and maps over the same rows in one launch: rows that lie along memory and across it,
// lengths beside those of vectors and workgroups, several invocations a row.
TEST(DifferentialSizes, RowsInOneLaunch) {
  const auto integer = [](const char* name, int64_t value) {
    return ops::Attributes{{name, value}};
  };
  const std::vector<Sized> all{
      {"Softmax", {.name = "short", .shapes = {{5, 7}}}},
      {"Softmax", {.name = "vectors", .shapes = {{67, 36}}}},
      {"Softmax", {.name = "left over", .shapes = {{3, 131}}}},
      {"Softmax", {.name = "long", .shapes = {{2, 1024}}}},
      {"Softmax", {.name = "longer", .shapes = {{2, 1030}}}},
      {"Softmax", {.name = "heads", .shapes = {{2, 3, 5, 64}}}},
      {"Softmax", {.name = "one", .shapes = {{260}}, .attributes = integer("axis", 0)}},
      {"Softmax",
       {.name = "channels", .shapes = {{2, 21, 4, 8}}, .attributes = integer("axis", 1)}},
      {"Softmax", {.name = "odd", .shapes = {{2, 9, 5, 7}}, .attributes = integer("axis", 1)}},
      {"LogSoftmax", {.name = "rows", .shapes = {{9, 200}}}},
      {"LayerNormalization", {.name = "outputs", .shapes = {{6, 96}, {96}, {96}}, .outputs = 3}},
      {"LayerNormalization",
       {.name = "two axes",
        .shapes = {{4, 6, 20}, {6, 20}, {6, 20}},
        .attributes = integer("axis", 1),
        .outputs = 1}},
      {"RMSNormalization", {.name = "rows", .shapes = {{7, 130}, {130}}}},
      {"GroupNormalization",
       {.name = "groups",
        .shapes = {{2, 12, 5, 7}, {12}, {12}},
        .attributes = integer("num_groups", 3)}},
      {"InstanceNormalization", {.name = "planes", .shapes = {{2, 5, 6, 10}, {5}, {5}}}},
      {"LpNormalization", {.name = "rows", .shapes = {{8, 70}}}},
      {"Hardmax", {.name = "rows", .shapes = {{4, 100}}}},
  };
  schedule::Capabilities hardware = schedule::capabilities_of(TargetKind::webgpu);
  hardware.hardware = true;
  for (const Sized& one : all) {
    SCOPED_TRACE(cat(one.op, " ", one.test.name));
    const OpDef& def = *ops::builtin_catalog().find("", one.op);
    const Example example = example_of(def, one.test);
    ASSERT_TRUE(example.made.status) << example.made.status.error().to_string();
    const Example dynamic = example_with_dim(def, one.test);
    for (TargetKind target : targets) {
      SCOPED_TRACE(schedule::name_of(target));
      const std::string kernels =
          compare(schedule::capabilities_of(target), example, Form::as_a_model);
      if (target != TargetKind::webgl)
        EXPECT_EQ(kernels.find("kernel "), kernels.rfind("kernel ")) << kernels;
      if (dynamic.made.status) compare(target, dynamic, Form::as_a_model);
    }
    const std::string kernels = compare(hardware, example, Form::as_a_model);
    EXPECT_EQ(kernels.find("kernel "), kernels.rfind("kernel ")) << kernels;
    if (dynamic.made.status) compare(hardware, dynamic, Form::as_a_model);
  }
}

// Few points with long reductions, which invocations share.
TEST(DifferentialSizes, PartsOfReductions) {
  schedule::Capabilities hardware = schedule::capabilities_of(TargetKind::webgpu);
  hardware.hardware = true;
  const std::vector<Sized> all{
      {"MatMul", {.name = "one row", .shapes = {{1, 256}, {256, 64}}}},
      {"MatMul", {.name = "edges", .shapes = {{1, 131}, {131, 36}}}},
      {"MatMul", {.name = "three rows", .shapes = {{3, 100}, {100, 44}}}},
      {"MatMul", {.name = "six rows", .shapes = {{6, 100}, {100, 12}}}},
      {"Conv", {.name = "one point", .shapes = {{1, 20, 3, 3}, {32, 20, 3, 3}, {32}}}},
      {"ReduceSum",
       {.name = "columns", .shapes = {{300, 24}, {1}}, .inputs = {{}, int64s({1}, {0})}}},
      {"ReduceMax",
       {.name = "middle", .shapes = {{2, 70, 20}, {1}}, .inputs = {{}, int64s({1}, {1})}}},
  };
  for (const Sized& one : all) {
    SCOPED_TRACE(cat(one.op, " ", one.test.name));
    const Example example = example_of(*ops::builtin_catalog().find("", one.op), one.test);
    ASSERT_TRUE(example.made.status) << one.op << ": " << example.made.status.error().to_string();
    EXPECT_NE(compare(hardware, example, Form::as_defined).find("barrier"), std::string::npos);
    compare(hardware, example, Form::as_a_model);
  }
}

std::string name_of_run(const testing::TestParamInfo<Parameter>& info) {
  const auto& [def, target] = info.param;
  std::string domain = def->domain.empty() ? "" : def->domain + "_";
  std::ranges::replace(domain, '.', '_');
  return cat(domain, def->name, "_", schedule::name_of(target));
}

INSTANTIATE_TEST_SUITE_P(Catalog, DifferentialTest,
                         testing::Combine(testing::ValuesIn(all_entries()),
                                          testing::Values(TargetKind::cpu, TargetKind::wasm,
                                                          TargetKind::webgpu, TargetKind::webgl)),
                         name_of_run);

}  // namespace
}  // namespace gossamer::compiler
