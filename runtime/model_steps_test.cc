// Packages with steps, written by hand: loops, branches, reads and memory that grows.
#include <gtest/gtest.h>

#include <limits>

#include "codegen/llvm/emit.h"
#include "ir/build.h"
#include "package/write.h"
#include "runtime/manifest.h"
#include "runtime/model.h"
#include "runtime/null/device.h"
#include "runtime/test_folder.h"
#include "runtime/wasm/device.h"

namespace gossamer::runtime {
namespace {

using ir::DType;
using ir::Expr;
using ir::index;
using package::Number;
using package::Step;

enum Variable : uint8_t { n, i, w, k };
// Values of the plan: n and 4 n in segment 0; i in 1; k and 4 k in 2; i + 1 and 4 (i + 1) in 3.
enum Value : uint8_t { of_n, bytes_of_n, of_i, of_k, bytes_of_k, after_i, bytes_after_i };
enum Tensor : uint8_t { x, m, state, next, condition, count, made, grown };
enum Kernel : uint8_t { copy, add, less, whole, iota };
enum Launch : uint8_t { begin, add_round, add_one, keep, test, count_x, make, grow, add_ten };

std::vector<std::byte> make_code() {
  constexpr int64_t most = 1 << 16;
  const auto floats = [](const char* name) { return ir::buffer(name, DType::f32, {index(most)}); };
  const ir::Buffer in = floats("in"), out = floats("out"),
                   flag = ir::buffer("flag", DType::boolean, {index(1)}),
                   number = ir::buffer("number", DType::i32, {index(1)});
  const ir::Var g = ir::var("g"), s = ir::var("s");
  const auto grid = [&](ir::Stmt body) {
    return ir::loop(g, index(most), ir::LoopKind::grid, std::move(body));
  };
  const Expr element = ir::load(in, {Expr(g)});
  const Expr scalar = ir::cast(ir::Type(DType::f32), Expr(s));
  const std::vector<ir::Kernel> kernels{
      {"copy", {{in, false}, {out, true}}, {}, grid(ir::store(out, {Expr(g)}, element))},
      {"add", {{in, false}, {out, true}}, {s}, grid(ir::store(out, {Expr(g)}, element + scalar))},
      {"less",
       {{in, false}, {flag, true}},
       {s},
       grid(ir::store(flag, {Expr(g)}, element < scalar))},
      {"whole",
       {{in, false}, {number, true}},
       {},
       grid(ir::store(number, {Expr(g)}, ir::cast(ir::Type(DType::i32), element)))},
      {"iota",
       {{out, true}},
       {},
       grid(ir::store(out, {Expr(g)}, ir::cast(ir::Type(DType::f32), Expr(g))))}};
  codegen::PlanFunction plan;
  plan.dims = {ir::var("n"), ir::var("i"), ir::var("w"), ir::var("k")};
  const Expr vn = plan.dims[n], vi = plan.dims[i], vk = plan.dims[k];
  plan.values = {
      vn, vn * index(4), vi, vk, vk * index(4), vi + index(1), (vi + index(1)) * index(4)};
  plan.segments = {0, 0, 1, 2, 2, 3, 3};
  const auto object = codegen::llvm_::emit_object(kernels, &plan, {});
  GS_CHECK(object.has_value(), "object");
  const auto library = codegen::llvm_::link_shared_library(*object);
  GS_CHECK(library.has_value(), "library");
  return *library;
}

// Inputs x, f32 [n], and m, i64 [1]; the output is what a test makes it.
package::Module make_module() {
  package::Module module;
  module.name = "steps";
  module.target = TargetKind::cpu;
  module.plan_values = 7;
  module.plan_segments = 4;
  module.dims = {{"n", 0, 0}, {"i"}, {"w"}, {"k"}};
  const Number four_n = Number::plan(bytes_of_n);
  module.slots = {{four_n, {}, false},
                  {Number(8), {}, false},
                  {four_n, {}, false},
                  {four_n, {}, false},
                  {Number(1), {}, false},
                  {Number(4), {}, false},
                  {Number::plan(bytes_of_k), {}, false, 2},
                  {Number::plan(bytes_after_i), {}, false, 3}};
  const auto f32 = DType::f32;
  module.tensors = {{"x", f32, f32, Number::plan(of_n), 0},
                    {"m", DType::i64, DType::i64, Number(1), 1},
                    {"state", f32, f32, Number::plan(of_n), 2},
                    {"next", f32, f32, Number::plan(of_n), 3},
                    {"condition", DType::boolean, DType::boolean, Number(1), 4},
                    {"count", DType::i32, DType::i32, Number(1), 5},
                    {"made", f32, f32, Number::plan(of_k), 6},
                    {"grown", f32, f32, Number::plan(after_i), 7}};
  module.inputs = {{"x", f32, {Number(-1)}, {"n"}, x}, {"m", DType::i64, {Number(1)}, {""}, m}};
  module.kernels = {{.name = "copy", .entry = "k0", .buffers = 2},
                    {.name = "add", .entry = "k1", .buffers = 2, .scalars = 1},
                    {.name = "less", .entry = "k2", .buffers = 2, .scalars = 1},
                    {.name = "whole", .entry = "k3", .buffers = 2},
                    {.name = "iota", .entry = "k4", .buffers = 1}};
  const Number all = Number::plan(of_n), one = Number(1);
  module.run = {{copy, {x, state}, {}, all},
                {add, {state, next}, {Number::plan(of_i)}, all},
                {add, {state, next}, {one}, all},
                {copy, {next, state}, {}, all},
                {less, {state, condition}, {Number(5)}, one},
                {whole, {x, count}, {}, one},
                {iota, {made}, {}, Number::plan(of_k)},
                {iota, {grown}, {}, Number::plan(after_i)},
                {add, {x, state}, {Number(10)}, all}};
  return module;
}

Step launch(Launch at) { return {.kind = Step::Kind::launch, .first = at, .last = at + 1}; }
Step read(Tensor tensor, Variable first, int elements = 1) {
  return {.kind = Step::Kind::read, .tensor = tensor, .dim = first, .count = elements};
}
Step plan(int segment) { return {.kind = Step::Kind::plan, .segment = segment}; }
Step set(Variable dim, Number value) { return {.kind = Step::Kind::set, .sets = {{dim, value}}}; }
Step loop(Number rounds, std::vector<Step> body, int while_variable = -1) {
  return {.kind = Step::Kind::loop,
          .dim = i,
          .number = rounds,
          .condition = while_variable,
          .body = std::move(body)};
}
Step branch(Number number, std::vector<Step> yes, std::vector<Step> no) {
  return {.kind = Step::Kind::branch,
          .number = number,
          .body = std::move(yes),
          .otherwise = std::move(no)};
}

class StepsTest : public FolderTest {
 protected:
  Result<std::unique_ptr<Model>> load(LoadOptions options = {}) const {
    static const std::vector<std::byte> code = make_code();
    const package::Files files{{"kernels.so", code}, {"side.wasm", {}}};
    for (const package::File& file : files) put(file.name, file.bytes);
    put("manifest.json", package::write_manifest(module, files).bytes);
    options.threads = 1;
    return Model::load(folder, std::move(options));
  }
  std::unique_ptr<Model> loaded(std::vector<Step> steps, Tensor output, Value shape) {
    module.steps = std::move(steps);
    module.outputs = {{"y", DType::f32, {Number::plan(shape)}, {}, output}};
    auto model = load();
    EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().to_string());
    return model ? std::move(*model) : nullptr;
  }
  static HostTensor floats(std::vector<float> values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {DType::f32, {static_cast<int64_t>(values.size())}, {bytes.begin(), bytes.end()}};
  }
  static Result<std::vector<HostTensor>> run(Model& model, std::vector<float> values,
                                             int64_t number) {
    const auto bytes = std::as_bytes(std::span(&number, 1));
    const std::vector<HostTensor> feeds{floats(std::move(values)),
                                        {DType::i64, {1}, {bytes.begin(), bytes.end()}}};
    return model.run(feeds);
  }
  static void expect(Model& model, std::vector<float> values, int64_t number,
                     const std::vector<float>& wanted) {
    const auto outputs = run(model, std::move(values), number);
    ASSERT_TRUE(outputs.has_value()) << outputs.error().to_string();
    const HostTensor expected = floats(wanted);
    EXPECT_EQ((*outputs)[0].shape, expected.shape) << number;
    EXPECT_EQ((*outputs)[0].bytes, expected.bytes) << number;
  }
  package::Module module = make_module();
};

#define EXPECT_SAYS(text, piece) EXPECT_NE((text).find(piece), std::string::npos) << (text)

TEST_F(StepsTest, LoopCarriesATensor) {
  auto model = loaded({read(m, k), plan(2), launch(begin),
                       loop(Number::plan(of_k), {plan(1), launch(add_round), launch(keep)})},
                      state, of_n);
  ASSERT_TRUE(model);
  expect(*model, {1, 2, 3}, 4, {7, 8, 9});
  expect(*model, {1, 2}, 0, {1, 2});
  expect(*model, {5, 6, 7, 8}, 1, {5, 6, 7, 8});
  const Report report = model->report();
  EXPECT_EQ(report.launches[add_round].times, 1);
  EXPECT_EQ(report.launches[begin].times, 1);
  EXPECT_EQ(report.launches[add_one].times, 0);
  EXPECT_EQ(report.launches[keep].range, 4);
  const std::vector<float> one{5, 6, 7, 8};
  const int64_t rounds = 3;
  const auto bytes = std::as_bytes(std::span(&rounds, 1));
  const std::vector<HostTensor> feeds{floats(one), {DType::i64, {1}, {bytes.begin(), bytes.end()}}};
  const auto profile = model->profile(feeds, {2});
  ASSERT_TRUE(profile.has_value()) << profile.error().to_string();
  EXPECT_EQ(profile->launches.size(), 1u + 2 * 3) << profile->table();
}

TEST_F(StepsTest, WhileEndsByABooleanOfTheDevice) {
  // A number of rounds beyond 32 bits is as good as endless; the counter keeps how many there were.
  auto model = loaded({read(m, i), plan(1), set(w, 1), launch(begin),
                       loop(Number::plan(of_i),
                            {launch(add_one), launch(keep), launch(test), read(condition, w)}, w),
                       plan(3), launch(grow)},
                      state, of_n);
  ASSERT_TRUE(model);
  expect(*model, {1, 10}, std::numeric_limits<int64_t>::max(), {5, 14});
  EXPECT_EQ(model->report().launches[add_one].times, 4);
  EXPECT_EQ(model->report().launches[grow].range, 5);
  expect(*model, {1, 10}, 2, {3, 12});
  EXPECT_EQ(model->report().launches[grow].range, 3);
}

TEST_F(StepsTest, BranchTakesOneSide) {
  auto model =
      loaded({read(m, k), plan(2), branch(Number::plan(of_k), {launch(add_ten)}, {launch(begin)})},
             state, of_n);
  ASSERT_TRUE(model);
  expect(*model, {1, 2}, 0, {1, 2});
  expect(*model, {1, 2}, 3, {11, 12});
}

TEST_F(StepsTest, ReadGivesAShape) {
  auto model = loaded({launch(count_x), read(count, k), plan(2), launch(make)}, made, of_k);
  ASSERT_TRUE(model);
  for (float length : {3.0f, 0.0f, 100.0f, 2.0f}) {
    std::vector<float> wanted;
    for (float at = 0; at < length; ++at) wanted.push_back(at);
    expect(*model, {length}, 0, wanted);
  }
  const auto negative = run(*model, {-3}, 0);
  ASSERT_FALSE(negative.has_value());
  EXPECT_SAYS(negative.error().to_string(), "negative size");
}

TEST_F(StepsTest, MemoryGrowsInALoop) {
  auto model = loaded({read(m, k), plan(2), loop(Number::plan(of_k), {plan(3), launch(grow)})},
                      grown, after_i);
  ASSERT_TRUE(model);
  std::vector<float> wanted;
  for (float at = 0; at < 500; ++at) wanted.push_back(at);
  expect(*model, {}, 500, wanted);
  EXPECT_LT(model->report().memory_bytes, 4 * 500 * 3);
  expect(*model, {}, 3, {0, 1, 2});
}

TEST_F(StepsTest, NumbersAreReadBeforeAnyVariableChanges) {
  // k and i change places, by way of the plan's values of both.
  module.tensors[m].elements = Number(1);
  auto model = loaded(
      {read(m, k), plan(2), set(i, 7), plan(1),
       Step{.kind = Step::Kind::set, .sets = {{k, Number::plan(of_i)}, {i, Number::plan(of_k)}}},
       plan(2), plan(3), launch(make), launch(grow)},
      made, of_k);
  ASSERT_TRUE(model);
  expect(*model, {}, 2, {0, 1, 2, 3, 4, 5, 6});
  EXPECT_EQ(model->report().launches[grow].range, 3);
}

TEST_F(StepsTest, ChecksFollowTheirSegment) {
  module.checks = {{Number::plan(of_k), "m may not be 0", 2}};
  auto model = loaded({launch(begin), read(m, k), plan(2)}, state, of_n);
  ASSERT_TRUE(model);
  expect(*model, {1}, 1, {1});
  const auto zero = run(*model, {1}, 0);
  ASSERT_FALSE(zero.has_value());
  EXPECT_SAYS(zero.error().to_string(), "m may not be 0");
}

TEST_F(StepsTest, WhatARunCannotDoIsAnError) {
  const auto error = [&](std::vector<Step> steps, Tensor output = state, Value shape = of_n) {
    auto model = loaded(std::move(steps), output, shape);
    const auto outputs = run(*model, {1, 2}, 1);
    return outputs ? "" : outputs.error().to_string();
  };
  EXPECT_SAYS(error({read(m, w, 2)}), "\"m\": has fewer than the 2 elements");
  EXPECT_SAYS(error({read(count, w, 2)}), "\"count\": has fewer than the 2 elements");
  EXPECT_SAYS(error({launch(grow)}), "\"grown\": is used before its size is known");
  EXPECT_SAYS(error({read(m, k)}, made, of_k), "\"y\": was not computed");
  EXPECT_EQ(error({read(m, k), plan(2), launch(make)}, made, of_k), "");
}

TEST_F(StepsTest, NullDeviceTakesEverySteps) {
  module.steps = {launch(begin), loop(Number(3), {launch(add_one), read(condition, w)}), plan(2)};
  LoadOptions options;
  options.device = make_null_device();
  auto model = load(std::move(options));
  ASSERT_TRUE(model.has_value()) << model.error().to_string();
  EXPECT_TRUE(run(**model, {}, 1).has_value());
}

TEST_F(StepsTest, DamagedStepsAreErrorsThatNameThem) {
  module.steps = {launch(begin)};
  const package::File file = package::write_manifest(module, {});
  const std::string text(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
  const std::string sound = R"([{"launch":[0,1]}])";
  ASSERT_NE(text.find(sound), std::string::npos);
  const auto error = [&](const std::string& steps) {
    std::string changed = text;
    changed.replace(changed.find(sound), sound.size(), steps);
    const auto manifest = parse_manifest(changed);
    return manifest ? "" : manifest.error().to_string();
  };
  EXPECT_EQ(error(sound), "");
  EXPECT_SAYS(error("7"), "steps is not a list");
  EXPECT_SAYS(error("[7]"), "steps[0]");
  EXPECT_SAYS(error("[{}]"), "steps[0]");
  EXPECT_SAYS(error(R"([{"jump":0}])"), "steps[0].* is not a step");
  for (const char* range : {"[0,10]", "[2,1]", "[-1,1]", "[0]", "3", "[0,1,2]", "[0.5,1]"})
    EXPECT_SAYS(error(cat("[{\"launch\":", range, "}]")), "steps[0].launch");
  EXPECT_SAYS(error(R"([{"read":8,"dims":0,"count":1}])"), "read is not in [0, 8)");
  EXPECT_SAYS(error(R"([{"read":1,"dims":3,"count":2}])"), "dims is not in [0, 3)");
  EXPECT_SAYS(error(R"([{"read":1,"dims":0,"count":5}])"), "count is not");
  EXPECT_SAYS(error(R"([{"read":1,"dims":0,"count":-1}])"), "count is not");
  EXPECT_SAYS(error(R"([{"read":0,"dims":0,"count":1}])"), "read is not a tensor of integers");
  EXPECT_SAYS(error(R"([{"plan":4}])"), "plan is not in [0, 4)");
  EXPECT_SAYS(error(R"([{"set":[[4,0]]}])"), "steps[0].set[0][0] is not in [0, 4)");
  EXPECT_SAYS(error(R"([{"set":[[0]]}])"), "steps[0].set[0] is not 2 items long");
  EXPECT_SAYS(error(R"([{"set":[[0,{"plan":7}]]}])"), "set[0][1].plan is not in [0, 7)");
  EXPECT_SAYS(error(R"([{"if":{"plan":0},"then":[]}])"), "else is not a list");
  EXPECT_SAYS(error(R"([{"if":"yes","then":[],"else":[]}])"), "if is not an integer");
  EXPECT_SAYS(error(R"([{"loop":1,"dim":4,"body":[]}])"), "dim is not");
  EXPECT_SAYS(error(R"([{"loop":1,"dim":0,"while":9,"body":[]}])"), "while is not");
  EXPECT_SAYS(error(R"([{"loop":1,"dim":1,"body":[{"plan":9}]}])"), "steps[0].body[0].plan");
  std::string deep, end;
  for (int level = 0; level < 100000; ++level) {
    deep += R"([{"loop":1,"dim":1,"body":)";
    end += "}]";
  }
  deep += "[]" + end;
  EXPECT_SAYS(error(deep), "deep");

  const auto changed = [&](const char* from, const char* to) {
    std::string manifest = text;
    manifest.replace(manifest.find(from), std::string(from).size(), to);
    const auto read = parse_manifest(manifest);
    return read ? "" : read.error().to_string();
  };
  EXPECT_SAYS(changed(R"("segments":4)", R"("segments":0)"), "segments is not");
  EXPECT_SAYS(changed(R"("segment":3)", R"("segment":4)"), "slots[7].segment is not");
  EXPECT_SAYS(changed(R"(,"steps":[{"launch":[0,1]}])", ""),
              "plan.segments is not a number of segments that steps run");
  EXPECT_SAYS(changed(R"("slot":0)", R"("slot":7)"),
              "inputs[0].tensor is not in memory of the first segment");
}

TEST_F(StepsTest, ChangedManifestsNeverCrash) {
  module.side = package::Side{TargetKind::wasm, "side.wasm"};
  module.slots[made].device = 1;
  module.steps = {read(m, k),
                  plan(2),
                  set(w, 1),
                  {.kind = Step::Kind::copy, .tensor = x, .to = made},
                  branch(Number::plan(of_k), {launch(begin)}, {plan(1)}),
                  loop(Number(3), {plan(3), launch(grow)}, w)};
  const package::File file = package::write_manifest(module, {});
  const std::string text(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
  for (size_t at = 0; at < text.size(); ++at) {
    for (const char* other : {"9", "-1", "{}", "[", "\"", ""}) {
      std::string changed = text;
      changed.replace(at, 1, other);
      const auto manifest = parse_manifest(changed);
      if (manifest) continue;
      EXPECT_FALSE(manifest.error().message.empty());
    }
  }
}

TEST_F(StepsTest, ASideOfPagesNeedsTheirEngine) {
  module.target = TargetKind::webgpu;
  for (package::Tensor& tensor : module.tensors)
    if (tensor.dtype != DType::f32) tensor.storage = DType::i32;  // as GPUs hold it
  module.slots[condition].bytes = Number(4);
  for (package::KernelInfo& kernel : module.kernels) kernel.source = "a shader";
  module.side = package::Side{TargetKind::wasm, "side.wasm"};
  module.slots[made].device = 1;
  module.kernels.push_back({.name = "side", .entry = "k4", .buffers = 1, .device = 1});
  module.run[make].kernel = iota + 1;
  module.run[make].reason = "no f64";
  module.steps = {launch(begin), {.kind = Step::Kind::copy, .tensor = state, .to = made}};
  package::write_kernel_sources(module);
  const auto manifest = [&] {
    const package::File file = package::write_manifest(module, {{"side.wasm", {}}});
    return parse_manifest({reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()});
  };
  const auto error = [&] {
    const auto read = manifest();
    return read ? "" : read.error().to_string();
  };
  const auto sound = manifest();
  ASSERT_TRUE(sound.has_value()) << sound.error().to_string();
  EXPECT_EQ(sound->module.side->code, "side.wasm");
  EXPECT_EQ(sound->module.kernels.back().device, 1);
  EXPECT_EQ(sound->module.run[make].reason, "no f64");
  EXPECT_EQ(sound->module.steps[1].to, made);
  LoadOptions options;
  options.device = make_null_device();
  const auto model = load(std::move(options));
  ASSERT_FALSE(model.has_value());
  EXPECT_SAYS(model.error().to_string(),
              wasm_engine().empty() ? "is WebAssembly, and" : "has no plan.wasm");

  module.steps[1].to = next;
  EXPECT_SAYS(error(), "steps[1].copy is not a pair");
  module.steps[1] = {.kind = Step::Kind::launch, .first = count_x, .last = grow};
  EXPECT_SAYS(error(), "steps[1].launch is not a part of run on one device");
  module.steps.pop_back();
  module.run[make].kernel = iota;
  EXPECT_SAYS(error(), "run[6].kernel is not on the device of its tensors");
  module.side = {};
  EXPECT_SAYS(error(), "slots[6].device is not in [0, 1)");
}

}  // namespace
}  // namespace gossamer::runtime
