// A package written by hand, of dynamic length: runs, from C++ and from C.
#include "runtime/model_test.h"

#include <cstring>
#include <filesystem>

#include "codegen/llvm/emit.h"
#include "gossamer/gossamer.h"
#include "gossamer/gossamer.hpp"
#include "ir/build.h"
#include "runtime/null/device.h"

namespace gossamer::runtime {

using ir::DType;
using ir::Expr;
using ir::index;
using package::Number;

Example make_example() {
  const auto buffer = [](const char* name) { return ir::buffer(name, DType::f32, {index(64)}); };
  const ir::Buffer x = buffer("x"), w = buffer("w"), y = buffer("y"), raw = buffer("raw"),
                   doubled = buffer("doubled");
  const ir::Var g = ir::var("g"), h = ir::var("h");
  const auto lane = ir::floormod(Expr(g), 4);
  const std::vector<ir::Kernel> kernels{
      {"twice",
       {{raw, false}, {doubled, true}},
       {},
       ir::loop(h, index(4), ir::LoopKind::grid,
                ir::store(doubled, {Expr(h)}, ir::load(raw, {Expr(h)}) * 2.0))},
      {"add",
       {{x, false}, {w, false}, {y, true}},
       {},
       ir::loop(g, index(64), ir::LoopKind::grid,
                ir::store(y, {Expr(g)}, ir::load(x, {Expr(g)}) + ir::load(w, {lane})))}};
  codegen::PlanFunction plan;
  plan.dims = {ir::var("n")};
  const Expr n = plan.dims[0];
  plan.values = {n, n * index(4), ir::select(ir::floormod(n, 4) == index(0), index(1), index(0))};

  Example example;
  package::Module& module = example.module;
  module.name = "example";
  module.target = TargetKind::cpu;
  module.plan_values = 3;
  module.slots = {{Number::plan(1), {}, false},
                  {Number::plan(1), {}, false},
                  {Number(16), {}, true},
                  {Number(16), {}, true}};
  module.tensors = {{"x", DType::f32, DType::f32, Number::plan(0), 0},
                    {"y", DType::f32, DType::f32, Number::plan(0), 1},
                    {"raw", DType::f32, DType::f32, Number(4), 2},
                    {"w", DType::f32, DType::f32, Number(4), 3}};
  module.inputs = {{"x", DType::f32, {Number(-1)}, {"n"}, 0}};
  module.outputs = {{"y", DType::f32, {Number::plan(0)}, {}, 1}};
  module.dims = {{"n", 0, 0}};
  module.checks = {{Number::plan(2), "n must be a multiple of 4"}};
  module.weights = {{"w", DType::f32, {4}, 2}};
  module.kernels = {
      {.name = "twice", .entry = "k0", .buffers = 2, .schedule = "serial"},
      {.name = "add", .entry = "k1", .buffers = 3, .writes = 2, .schedule = "serial"}};
  module.init = {{.kernel = 0, .tensors = {2, 3}, .range = 4, .origin = "weights"}};
  module.run = {
      {.kernel = 1, .tensors = {0, 3, 1}, .range = Number::plan(0), .origin = "Add \"sum\""}};
  module.run[0].operations = Number::plan(0);

  const auto object = codegen::llvm_::emit_object(kernels, &plan, {});
  GS_CHECK(object.has_value(), "object");
  const auto library = codegen::llvm_::link_shared_library(*object);
  GS_CHECK(library.has_value(), "library");
  example.code = *library;
  static const float values[] = {1, 2, 3, 4};
  const package::Constant constant{"w", DType::f32, {4}, std::as_bytes(std::span(values))};
  auto weights = package::write_safetensors({&constant, 1});
  GS_CHECK(weights.has_value(), "weights");
  example.weights = *std::move(weights);
  return example;
}

void ModelTest::put_package(const std::string& from, const std::string& to) {
  static const Example example = make_example();
  const package::Files files{{"kernels.so", example.code}, example.weights};
  for (const package::File& file : files) put(file.name, file.bytes);
  const package::File manifest = package::write_manifest(example.module, files);
  std::string text(reinterpret_cast<const char*>(manifest.bytes.data()), manifest.bytes.size());
  if (!from.empty()) {
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from << " in " << text;
    text.replace(at, from.size(), to);
  }
  put("manifest.json", std::as_bytes(std::span(text)));
}

std::string ModelTest::error_of_load() {
  LoadOptions options;
  options.threads = 1;
  auto model = Model::load(folder, std::move(options));
  return model ? "" : model.error().to_string();
}

HostTensor ModelTest::ramp(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t at = 0; at < values.size(); ++at) values[at] = static_cast<float>(10 * at);
  const auto bytes = std::as_bytes(std::span(values));
  return {DType::f32, {count}, {bytes.begin(), bytes.end()}};
}

void ModelTest::expect_sum(const HostTensor& y, int64_t count) {
  EXPECT_EQ(y.shape, std::vector<int64_t>{count});
  std::vector<float> values(static_cast<size_t>(count));
  ASSERT_EQ(y.bytes.size(), values.size() * 4);
  if (!y.bytes.empty()) std::memcpy(values.data(), y.bytes.data(), y.bytes.size());
  for (size_t at = 0; at < values.size(); ++at)
    EXPECT_EQ(values[at], static_cast<float>(10 * at + 2 * (at % 4 + 1)));
}

namespace {

namespace fs = std::filesystem;

TEST_F(ModelTest, RunsWithDimensionsThatChange) {
  put_package();
  auto model = Model::load(folder);
  ASSERT_TRUE(model.has_value()) << model.error().to_string();
  EXPECT_EQ((*model)->inputs()[0].shape, std::vector<int64_t>{-1});
  for (int64_t count : {8, 4, 0, 64, 8}) {
    const HostTensor x = ramp(count);
    auto outputs = (*model)->run({&x, 1});
    ASSERT_TRUE(outputs.has_value()) << outputs.error().to_string();
    expect_sum((*outputs)[0], count);
  }
  const Report report = (*model)->report();
  ASSERT_EQ(report.launches.size(), 1u);
  EXPECT_EQ(report.launches[0].range, 8);
  EXPECT_EQ(report.launches[0].origin, "Add \"sum\"");
}

TEST_F(ModelTest, RefusesWrongInputs) {
  put_package();
  auto model = Model::load(folder);
  ASSERT_TRUE(model.has_value());
  const auto error = [&](std::vector<HostTensor> feeds) {
    auto outputs = (*model)->run(feeds);
    return outputs ? "" : outputs.error().to_string();
  };
  EXPECT_SAYS(error({}), "1 inputs, 0 are given");
  EXPECT_SAYS(error({ramp(6)}), "n must be a multiple of 4");
  HostTensor wrong = ramp(4);
  wrong.dtype = DType::i32;
  EXPECT_SAYS(error({wrong}), "\"x\": is f32, the tensor given is i32");
  wrong = ramp(4);
  wrong.shape = {2, 2};
  EXPECT_SAYS(error({wrong}), "[2, 2]");
  wrong = ramp(4);
  wrong.shape = {8};
  EXPECT_SAYS(error({wrong}), "has 16 bytes");
  wrong.shape = {int64_t{1} << 62};
  EXPECT_NE(error({wrong}), "");
  expect_sum((*(*model)->run({std::vector{ramp(4)}}))[0], 4);
}

TEST_F(ModelTest, RunsIntoMemoryThatIsThere) {
  put_package();
  auto model = Model::load(folder);
  ASSERT_TRUE(model.has_value());
  std::vector<HostTensor> outputs;
  ASSERT_TRUE((*model)->run(std::vector{ramp(64)}, outputs));
  const std::byte* const memory = outputs[0].bytes.data();
  for (int64_t count : {64, 8, 0, 64}) {
    ASSERT_TRUE((*model)->run(std::vector{ramp(count)}, outputs));
    expect_sum(outputs[0], count);
    EXPECT_EQ(outputs[0].bytes.data(), memory);
  }
  // What fails changes nothing.
  EXPECT_FALSE((*model)->run(std::vector{ramp(6)}, outputs));
  expect_sum(outputs[0], 64);
  // A feed may be what the run before gave, and is no copy of it.
  const TensorBytes expected = (*(*model)->run(outputs))[0].bytes;
  ASSERT_TRUE((*model)->run(outputs, outputs));
  EXPECT_EQ(outputs[0].bytes, expected);
  EXPECT_EQ(outputs[0].bytes.data(), memory);
}

TEST_F(ModelTest, SharedFilesAreReadOnceAndOthersAgain) {
  put_package();
  const auto shared = std::make_shared<Shared>();
  const auto load = [&](const std::shared_ptr<Shared>& with) {
    LoadOptions options;
    options.threads = 1;
    options.shared = with;
    return Model::load(folder, std::move(options));
  };
  const auto sum_of = [&](auto& model) {
    expect_sum((*(*model)->run(std::vector{ramp(64)}))[0], 64);
  };
  {
    auto first = load(shared);
    ASSERT_TRUE(first.has_value()) << first.error().to_string();
    sum_of(first);
  }
  // What the model before had stays until the next one, even when that is gone.
  fs::remove(fs::path(folder) / "weights.safetensors");
  EXPECT_FALSE(load(nullptr).has_value());
  auto second = load(shared);
  ASSERT_TRUE(second.has_value()) << second.error().to_string();
  sum_of(second);
  auto third = load(shared);
  ASSERT_TRUE(third.has_value()) << third.error().to_string();
  sum_of(second);
  sum_of(third);
  shared->forget();
  sum_of(second);
  EXPECT_FALSE(load(shared).has_value());
}

TEST_F(ModelTest, NullDeviceTakesEveryPackage) {
  put_package();
  LoadOptions options;
  options.device = make_null_device();
  auto model = Model::load(folder, std::move(options));
  ASSERT_TRUE(model.has_value()) << model.error().to_string();
  const HostTensor x = ramp(8);
  // Its plan says zero to everything, the check included.
  const auto outputs = (*model)->run({&x, 1});
  ASSERT_FALSE(outputs.has_value());
}

// What packs weights leaves nothing behind.
TEST_F(ModelTest, MemoryOfWeightsThatArePackedGoes) {
  put_package();
  const auto model = Model::load(folder);
  ASSERT_TRUE(model.has_value());
  const int64_t before = (*model)->report().memory_bytes;
  const HostTensor x = ramp(64);
  ASSERT_TRUE((*model)->run({&x, 1}).has_value());
  // Of w nothing, of what is made of it all. The output is the caller's, and so is the input,
  // unless what lies behind it cannot be read.
  EXPECT_EQ(before, 16);
  EXPECT_LE((*model)->report().memory_bytes, 16 + 4 * 64);
}

TEST_F(ModelTest, PublicApi) {
  put_package();
  auto model = gossamer::load(folder);
  ASSERT_TRUE(model.has_value()) << model.error().to_string();
  const std::vector<float> x{0, 10, 20, 30};
  auto outputs = model->run({{"x", Tensor::of<float>({4}, x)}});
  ASSERT_TRUE(outputs.has_value()) << outputs.error().to_string();
  const auto y = outputs->at("y").data<float>();
  ASSERT_TRUE(y.has_value());
  EXPECT_EQ((*y)[3], 38);
  EXPECT_FALSE(outputs->at("y").data<int32_t>().has_value());
  EXPECT_SAYS(model->run({}).error().to_string(), "\"x\": is not given");
  EXPECT_SAYS(model->run({{"x", Tensor::of<float>({4}, x)}, {"z", Tensor()}}).error().to_string(),
              "\"z\": is no input");
  EXPECT_SAYS(gossamer::load(folder + "/nothing").error().to_string(), "no such folder");
}

TEST_F(ModelTest, CAbi) {
  put_package();
  EXPECT_EQ(gossamer_load((folder + "/nothing").c_str(), 1), nullptr);
  EXPECT_SAYS(std::string(gossamer_error()), "no such folder");
  gossamer_model* model = gossamer_load(folder.c_str(), 1);
  ASSERT_NE(model, nullptr) << gossamer_error();
  ASSERT_EQ(gossamer_input_count(model), 1u);
  EXPECT_STREQ(gossamer_output_name(model, 0), "y");
  EXPECT_EQ(gossamer_input_port(model, 0).shape[0], -1);
  const float x[] = {0, 10, 20, 30};
  const int64_t shape[] = {4};
  const gossamer_tensor input{GOSSAMER_F32, 1, shape, x, sizeof x};
  gossamer_tensor output{};
  EXPECT_NE(gossamer_run(model, &input, 0, &output, 1), 0);
  ASSERT_EQ(gossamer_run(model, &input, 1, &output, 1), 0) << gossamer_error();
  EXPECT_EQ(output.bytes, 16u);
  EXPECT_EQ(static_cast<const float*>(output.data)[2], 26);
  gossamer_free(model);
}

}  // namespace
}  // namespace gossamer::runtime
