// Packages written by hand: a model of dynamic length, and every way in which a package can be bad.
#include "runtime/model.h"

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "codegen/llvm/emit.h"
#include "gossamer/gossamer.h"
#include "gossamer/gossamer.hpp"
#include "ir/build.h"
#include "package/sha256.h"
#include "package/write.h"
#include "runtime/device_tensor.h"
#include "runtime/manifest.h"
#include "runtime/null/device.h"
#include "runtime/test_folder.h"
#include "runtime/wasm/device.h"

namespace gossamer::runtime {
namespace {

namespace fs = std::filesystem;
using ir::DType;
using ir::Expr;
using ir::index;
using package::Number;

// y[i] = x[i] + w[i % 4] for x of length n, a multiple of 4; w is doubled at load.
struct Example {
  package::Module module;
  std::vector<std::byte> code;
  package::File weights;
};

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
  module.target = "cpu";
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
  module.kernels = {{"twice", "k0", "", "serial", 1, 2, 0, 1},
                    {"add", "k1", "", "serial", 1, 3, 0, 2}};
  module.init = {{0, {2, 3}, {}, Number(4), "weights"}};
  module.run = {{1, {0, 3, 1}, {}, Number::plan(0), "Add \"sum\""}};
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

class ModelTest : public FolderTest {
 protected:
  // Writes the package, its manifest changed by replacing a piece of text.
  void put_package(const std::string& from = {}, const std::string& to = {}) {
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
  std::string error_of_load() {
    LoadOptions options;
    options.threads = 1;
    auto model = Model::load(folder, std::move(options));
    return model ? "" : model.error().to_string();
  }
  static HostTensor ramp(int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    for (size_t at = 0; at < values.size(); ++at) values[at] = static_cast<float>(10 * at);
    const auto bytes = std::as_bytes(std::span(values));
    return {DType::f32, {count}, {bytes.begin(), bytes.end()}};
  }
  static void expect_sum(const HostTensor& y, int64_t count) {
    EXPECT_EQ(y.shape, std::vector<int64_t>{count});
    std::vector<float> values(static_cast<size_t>(count));
    ASSERT_EQ(y.bytes.size(), values.size() * 4);
    if (!y.bytes.empty()) std::memcpy(values.data(), y.bytes.data(), y.bytes.size());
    for (size_t at = 0; at < values.size(); ++at)
      EXPECT_EQ(values[at], static_cast<float>(10 * at + 2 * (at % 4 + 1)));
  }
};

#define EXPECT_SAYS(text, piece) EXPECT_NE((text).find(piece), std::string::npos) << (text)

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
  const std::vector<std::byte> expected = (*(*model)->run(outputs))[0].bytes;
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

class OnDeviceTest : public ModelTest {
 protected:
  // The example with other launches and ends.
  std::unique_ptr<Model> load_changed(const std::function<void(package::Module&)>& change) {
    Example example = make_example();
    change(example.module);
    const package::Files files{{"kernels.so", example.code}, example.weights};
    for (const package::File& file : files) put(file.name, file.bytes);
    put("manifest.json", package::write_manifest(example.module, files).bytes);
    auto model = Model::load(folder);
    EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().to_string());
    return model ? std::move(*model) : nullptr;
  }
  DeviceTensor only_output(Model& model, const DeviceFeed& feed) {
    auto results = model.run_on_device({&feed, 1}, pool);
    EXPECT_TRUE(results.has_value()) << (results ? "" : results.error().to_string());
    return results ? std::move(results->outputs.at(0)) : DeviceTensor{};
  }
  static HostTensor read(const DeviceTensor& tensor) { return *tensor.read(); }

  std::shared_ptr<BufferPool> pool = std::make_shared<BufferPool>();
};

TEST_F(OnDeviceTest, OutputsAreFeedsWhereTheyLie) {
  const auto model = load_changed([](package::Module&) {});
  ASSERT_TRUE(model);
  const HostTensor x = ramp(8);
  const DeviceTensor once = only_output(*model, {view_of(x)});
  const DeviceTensor twice = only_output(*model, {{}, &once});
  expect_sum(read(once), 8);  // it is what it was
  EXPECT_NE(once.memory->buffer(), twice.memory->buffer());
  EXPECT_EQ(read(twice).bytes, (*model->run(std::vector{read(once)}))[0].bytes);
  // Runs of other lengths, and from and to the host, go on as before.
  for (int64_t count : {16, 4, 8}) expect_sum((*model->run(std::vector{ramp(count)}))[0], count);
  EXPECT_EQ(read(twice).bytes, (*model->run(std::vector{read(once)}))[0].bytes);
}

TEST_F(OnDeviceTest, MemoryThatNobodyHasIsTakenAgain) {
  const auto model = load_changed([](package::Module&) {});
  ASSERT_TRUE(model);
  const HostTensor x = ramp(8);
  std::set<const runtime::Buffer*> seen;
  for (int turn = 0; turn < 100; ++turn)
    seen.insert(only_output(*model, {view_of(x)}).memory->buffer().get());
  EXPECT_LE(seen.size(), 2u);
  // What the host gave stays where it was written, if it is to.
  const DeviceFeed feed{view_of(x)};
  auto kept = model->run_on_device({&feed, 1}, pool, true);
  ASSERT_TRUE(kept.has_value());
  ASSERT_TRUE(kept->feeds[0].has_value());
  EXPECT_EQ(read(*kept->feeds[0]).bytes, x.bytes);
  expect_sum(read(only_output(*model, {{}, &*kept->feeds[0]})), 8);
}

TEST_F(OnDeviceTest, FeedsStayWhatTheyAreWhereTheirSlotIsWritten) {
  // y = x + w, then z = y + w in the place of x.
  const auto model = load_changed([](package::Module& module) {
    module.tensors.push_back({"z", DType::f32, DType::f32, Number::plan(0), 0});
    module.outputs[0].tensor = 4;
    module.run.push_back({1, {1, 3, 4}, {}, Number::plan(0), "Add \"again\""});
  });
  ASSERT_TRUE(model);
  const auto first = load_changed([](package::Module&) {});
  const HostTensor x = ramp(8);
  const DeviceTensor y = only_output(*first, {view_of(x)});
  const DeviceTensor z = only_output(*model, {{}, &y});
  expect_sum(read(y), 8);
  const DeviceTensor again = only_output(*model, {{}, &y});
  EXPECT_EQ(read(again).bytes, read(z).bytes);
  EXPECT_EQ(read(z).bytes, (*model->run(std::vector{read(y)}))[0].bytes);
}

TEST_F(OnDeviceTest, AnOutputThatIsAnInputIsACopy) {
  const auto model = load_changed([](package::Module& module) { module.outputs[0].tensor = 0; });
  ASSERT_TRUE(model);
  const HostTensor x = ramp(8);
  const DeviceTensor once = only_output(*model, {view_of(x)});
  const DeviceTensor twice = only_output(*model, {{}, &once});
  EXPECT_NE(once.memory->buffer(), twice.memory->buffer());
  EXPECT_EQ(read(once).bytes, x.bytes);
  EXPECT_EQ(read(twice).bytes, x.bytes);
}

TEST_F(OnDeviceTest, WhatIsElsewhereComesByTheHostAndWhatIsWrongIsRefused) {
  const auto model = load_changed([](package::Module&) {});
  ASSERT_TRUE(model);
  const HostTensor x = ramp(8);
  const DeviceTensor host{DType::f32, {8}, DType::f32, nullptr, x};
  expect_sum(read(only_output(*model, {{}, &host})), 8);
  const std::shared_ptr<Device> null = make_null_device();
  std::shared_ptr<runtime::Buffer> memory = *null->allocate(32);
  ASSERT_TRUE(null->queue().write(*memory, 0, x.bytes));
  const DeviceTensor elsewhere{
      DType::f32, {8}, DType::f32, std::make_shared<Block>(pool, BufferPool::Kind{null}, memory)};
  expect_sum(read(only_output(*model, {{}, &elsewhere})), 8);

  DeviceTensor wrong = only_output(*model, {view_of(x)});
  const DeviceFeed feed{{}, &wrong};
  const auto error = [&] {
    auto results = model->run_on_device({&feed, 1}, pool);
    return results ? "" : results.error().to_string();
  };
  wrong.dtype = DType::i32;
  EXPECT_SAYS(error(), "\"x\": is f32, the tensor given is i32");
  wrong.dtype = DType::f32;
  wrong.shape = {2, 4};
  EXPECT_SAYS(error(), "[2, 4]");
  wrong.shape = {6};
  EXPECT_SAYS(error(), "n must be a multiple of 4");
  EXPECT_FALSE(model->run_on_device({}, pool).has_value());
  wrong.shape = {8};
  EXPECT_EQ(error(), "");
}

// Slots 2 and 3 of the example: a weight, and what a launch makes of it.
TEST_F(ModelTest, OriginsSayWhatConstantsAreMadeOf) {
  Manifest manifest;
  manifest.module = make_example().module;
  manifest.module.kernels[1].writes = 1;
  manifest.files = {{"weights.safetensors", 16, "", "abc"}};
  const std::string code = "twice", other = "thrice";
  const auto origins = [&](const std::string* source) {
    return origins_of(manifest, {source, &code});
  };
  const Origins first = origins(&code);
  EXPECT_FALSE(first[0] || first[1]) << "what runs write";
  ASSERT_TRUE(first[2] && first[3]);
  EXPECT_NE(first[2], first[3]);
  EXPECT_EQ(origins(&code), first);
  EXPECT_EQ(origins(&other)[2], first[2]);
  EXPECT_NE(origins(&other)[3], first[3]);
  EXPECT_FALSE(origins(nullptr)[3]) << "by code that is not known";
  const auto changes = [&](auto change, bool weight) {
    const Manifest before = manifest;
    change();
    const Origins now = origins(&code);
    manifest = before;
    EXPECT_EQ(now[2] != first[2], weight);
    EXPECT_NE(now[3], first[3]);
  };
  package::Module& module = manifest.module;
  changes([&] { manifest.files[0].sha256 = "abd"; }, true);
  changes([&] { manifest.files[0].sha256 = ""; }, true);
  changes([&] { module.weights[0].name = "v"; }, true);
  changes([&] { module.weights[0].dtype = DType::i32; }, true);
  changes([&] { module.init[0].range = Number(8); }, false);
  changes([&] { module.init[0].scalars = {Number(1)}; }, false);
  changes([&] { module.kernels[0].group_size = 2; }, false);
  changes([&] { module.tensors[1].slot = 3; }, false);    // two tensors in one piece of memory
  changes([&] { module.run[0].tensors[2] = 3; }, false);  // a run writes it
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

TEST_F(ModelTest, GroupsSayWhatBelongsTogether) {
  const auto with = [&](const std::string& group) {
    put_package("\"dims\":", "\"groups\":[{\"name\":\"l\"," + group + "}],\"dims\":");
    return error_of_load();
  };
  EXPECT_SAYS(with(R"("kind":"map","inputs":[0,1])"), "groups[0].kind is not");
  EXPECT_SAYS(with(R"("kind":"sequence","outputs":[0,9])"),
              "groups[0].outputs[1] is not in [0, 2)");
  EXPECT_SAYS(with(R"("kind":"sequence","inputs":[-1,1])"), "groups[0].inputs[0] is not in");
  EXPECT_SAYS(with(R"("kind":"optional","inputs":[0,1])"), "kind is not that of something");
  EXPECT_EQ(with(R"("kind":"sequence","inputs":[0,1])"), "");
  const auto model = Model::load(folder);
  ASSERT_TRUE(model.has_value());
  EXPECT_TRUE((*model)->output_groups().empty());
  ASSERT_EQ((*model)->input_groups().size(), 1u);
  EXPECT_EQ((*model)->input_groups()[0].name, "l");
  EXPECT_EQ((*model)->input_groups()[0].count, 1u);
}

TEST_F(ModelTest, BadPackagesAreErrorsThatNameTheFile) {
  EXPECT_SAYS(error_of_load(), "manifest.json: no such file");
  put("manifest.json", {});
  EXPECT_SAYS(error_of_load(), "not JSON");
  const auto changed = [&](const char* from, const char* to) {
    put_package(from, to);
    return error_of_load();
  };
  EXPECT_EQ(changed("example", "example"), "");
  EXPECT_SAYS(changed("gossamer-package", "zip"), "not a package");
  EXPECT_SAYS(changed("\"version\":2", "\"version\":1"),
              "version 1, this run time reads versions 2 to 4");
  EXPECT_SAYS(changed("\"target\":\"cpu\"", "\"target\":\"wasm\""),
              wasm_engine().empty() ? "wasmtime" : "the package has no kernels.wasm");
  EXPECT_SAYS(changed("\"needs\":[]", "\"needs\":[\"cpu-abacus\"]"), "needs cpu-abacus");
  EXPECT_SAYS(changed("\"slot\":3", "\"slot\":4"), "tensors[3].slot is not in [0, 4)");
  EXPECT_SAYS(changed("\"kernel\":1", "\"kernel\":-1"), "run[0].kernel is not");
  EXPECT_SAYS(changed("\"tensors\":[0,3,1]", "\"tensors\":[0,3]"),
              "run[0].kernel is not one with a buffer a tensor");
  EXPECT_SAYS(changed("\"tensors\":[0,3,1]", "\"tensors\":[0,3,9]"),
              "run[0].tensors[2] is not in [0, 4)");
  EXPECT_SAYS(changed("\"entry\":\"k1\"", "\"entry\":\"k9\""), "no kernel k9");
  EXPECT_SAYS(changed("{\"plan\":2}", "{\"plan\":3}"), "checks[0].value.plan is not in [0, 3)");
  EXPECT_SAYS(changed("\"name\":\"kernels.so\"", "\"name\":\"../kernels.so\""),
              "files[0].name is not a plain name");
  EXPECT_SAYS(changed("\"shape\":[4]", "\"shape\":[5]"), "weights[0].shape is not within");
  EXPECT_SAYS(changed("\"shape\":[4]", "\"shape\":[3]"), "weight \"w\"");

  put_package();
  const auto content = std::string(1000, 'x');
  put("weights.safetensors", std::as_bytes(std::span(content)));
  EXPECT_SAYS(error_of_load(), "weights.safetensors: has 1000 bytes, the manifest says");
  put_package();
  {
    std::fstream file(folder + "/kernels.so", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100);
    file.put('!');
  }
  EXPECT_SAYS(error_of_load(), "kernels.so: is not the file that the manifest describes");
  fs::remove(folder + "/kernels.so");
  EXPECT_SAYS(error_of_load(), "kernels.so: no such file");
}

// A package's weights may lie in any of its files, and in the folder above it.
TEST_F(ModelTest, WeightsLieInOtherFiles) {
  const std::string outer = folder;
  folder = outer + "/package";
  fs::create_directory(folder);
  const auto loads = [&](const std::string& from, const std::string& to) {
    put_package(from, to);
    return error_of_load();
  };
  EXPECT_EQ(loads("\"tensor\":2}]", "\"tensor\":2,\"file\":1}]"), "");
  EXPECT_SAYS(loads("\"tensor\":2}]", "\"tensor\":2,\"file\":2}]"),
              "weights[0].file is not in [0, 2)");
  EXPECT_SAYS(loads("\"tensor\":2}]", "\"tensor\":2,\"file\":0}]"), "kernels.so");
  static const Example example = make_example();
  std::string digits = package::sha256(example.weights.bytes);
  const auto described = [&](const std::string& more) {
    return loads("}],\"inputs\"", "," + more + "}],\"inputs\"");
  };
  EXPECT_EQ(described("\"sha256\":\"" + digits + "\""), "");
  EXPECT_SAYS(described("\"sha256\":\"" + digits + "a\""),
              "files[1].sha256 is not 64 hexadecimal digits");
  // As of a file that was made to have this xxh3.
  digits[0] = digits[0] == '0' ? '1' : '0';
  EXPECT_SAYS(described("\"sha256\":\"" + digits + "\""), "its SHA-256 differs");
  EXPECT_SAYS(described("\"above\":1"), "files[1].above is not true or false");
  const fs::path above = fs::path(outer) / "weights.safetensors";
  EXPECT_SAYS(described("\"above\":true"), "/../weights.safetensors: no such file");
  fs::rename(fs::path(folder) / "weights.safetensors", above);
  auto model = Model::load(folder);
  ASSERT_TRUE(model.has_value()) << model.error().to_string();
  const HostTensor x = ramp(64);
  const auto outputs = (*model)->run({&x, 1});
  ASSERT_TRUE(outputs.has_value());
  expect_sum((*outputs)[0], 64);
  EXPECT_GT((*model)->report().weight_bytes, 16);
  folder = outer;
}

// What packs weights leaves nothing behind.
TEST_F(ModelTest, MemoryOfWeightsThatArePackedGoes) {
  put_package();
  const auto model = Model::load(folder);
  ASSERT_TRUE(model.has_value());
  const int64_t before = (*model)->report().memory_bytes;
  const HostTensor x = ramp(64);
  ASSERT_TRUE((*model)->run({&x, 1}).has_value());
  // Of w nothing, of what is made of it all.
  EXPECT_EQ(before, 16);
  EXPECT_EQ((*model)->report().memory_bytes, 16 + 2 * 4 * 64);
}

TEST_F(ModelTest, TruncatedManifestsNeverCrash) {
  put_package();
  std::string text;
  {
    std::ifstream in(folder + "/manifest.json", std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (size_t length = 0; length < text.size(); length += 7)
    EXPECT_FALSE(parse_manifest(std::string_view(text).substr(0, length)).has_value()) << length;
}

TEST_F(ModelTest, ProfilesSayWhatEachLaunchDoes) {
  put_package();
  auto model = Model::load(folder);
  ASSERT_TRUE(model.has_value()) << model.error().to_string();
  const HostTensor x = ramp(64);
  const auto profile = (*model)->profile({&x, 1}, {3});
  ASSERT_TRUE(profile.has_value()) << profile.error().to_string();
  ASSERT_EQ(profile->launches.size(), 1u);
  const LaunchProfile& launch = profile->launches[0];
  EXPECT_EQ(launch.name, "add");
  EXPECT_EQ(launch.bytes, 4 * (64 + 4 + 64));
  EXPECT_EQ(launch.operations, 64);
  EXPECT_GT(launch.ms, 0);
  EXPECT_EQ(profile->kernel_ms, launch.ms);
  EXPECT_LT(profile->kernel_ms, 2 * profile->run_ms + 0.1);
  const Limits& limits = profile->limits;
  EXPECT_GT(limits.copy_rate, 0.1);
  EXPECT_GT(limits.arithmetic_rate, 0.1);
  ASSERT_EQ(profile->kernels.size(), 2u);  // `twice` runs at load
  const KernelProfile& kernel = profile->kernels[0];
  EXPECT_EQ(kernel.launches, 1);
  EXPECT_EQ(profile->kernels[1].launches, 0);
  EXPECT_EQ(kernel.limit, "memory");
  EXPECT_DOUBLE_EQ(kernel.share, kernel.bytes / limits.copy_rate / 1e6 / kernel.ms);
  EXPECT_SAYS(profile->table(), "Add \"sum\"");
  EXPECT_EQ(profile->table().find("twice"), std::string::npos) << profile->table();
  // The model still computes, and its errors are those of a run.
  auto outputs = (*model)->run({&x, 1});
  ASSERT_TRUE(outputs.has_value()) << outputs.error().to_string();
  expect_sum((*outputs)[0], 64);
  const HostTensor odd = ramp(6);
  const auto refused = (*model)->profile({&odd, 1});
  ASSERT_FALSE(refused.has_value());
  EXPECT_SAYS(refused.error().to_string(), "n must be a multiple of 4");
}

TEST_F(ModelTest, TracesOfProfilesAreInOrder) {
  put_package();
  auto model = gossamer::load(folder);
  ASSERT_TRUE(model.has_value()) << model.error().to_string();
  const std::vector<float> values(8, 1.0f);
  auto profile = model->profile({{"x", Tensor::of<float>({8}, values)}}, {2});
  ASSERT_TRUE(profile.has_value()) << profile.error().to_string();
  profile->launches.push_back(profile->launches[0]);
  rapidjson::Document trace;
  trace.Parse(profile->trace().c_str());
  ASSERT_FALSE(trace.HasParseError()) << profile->trace();
  double end = 0;
  size_t events = 0;
  for (const auto& event : trace["traceEvents"].GetArray()) {
    for (const char* key : {"name", "ph", "pid", "tid"}) ASSERT_TRUE(event.HasMember(key)) << key;
    if (event["ph"] == "M") continue;
    EXPECT_STREQ(event["ph"].GetString(), "X");
    EXPECT_NEAR(event["ts"].GetDouble(), end, 1e-6);
    end = event["ts"].GetDouble() + event["dur"].GetDouble();
    ++events;
  }
  EXPECT_EQ(events, 2u);
  EXPECT_NEAR(end, 2000 * profile->kernel_ms, 2e-3);
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
  EXPECT_SAYS(gossamer::load(folder + "/nothing").error().to_string(), "no such file");
}

TEST_F(ModelTest, CAbi) {
  put_package();
  EXPECT_EQ(gossamer_load((folder + "/nothing").c_str(), 1), nullptr);
  EXPECT_SAYS(std::string(gossamer_error()), "no such file");
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
