// A package written by hand, for tests of models on the CPU.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "codegen/llvm/emit.h"
#include "ir/build.h"
#include "package/write.h"
#include "runtime/model.h"
#include "runtime/test_folder.h"

namespace gossamer::runtime {

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

inline Example make_example() {
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

}  // namespace gossamer::runtime
