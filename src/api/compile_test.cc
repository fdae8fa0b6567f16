// Of target cpu.

#include "gossamer/compile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "onnx/model_writer.h"

namespace gossamer {
namespace {

using onnx::node;
using onnx::value;

const onnx::Message& perceptron() {
  static const onnx::Message message =
      onnx::model({{value("x", {"n", "3"})},
                   {node("MatMul", {"x", "w"}, {"h"}), node("Relu", {"h"}, {"y"})},
                   {value("y", {"n", "2"})},
                   {onnx::floats("w", {3, 2}, {1, 2, 3, 4, -5, -6})}});
  return message;
}

TEST(CompileApi, CompilesAndRunsInOneProgram) {
  auto package = compile(onnx::bytes_of(perceptron()));
  ASSERT_TRUE(package) << package.error().to_string();
  auto model = load(*package, {.threads = 1});
  ASSERT_TRUE(model) << model.error().to_string();
  const std::vector<float> x{1, 2, 1, 0, 0, 3};
  const auto outputs = model->run({{"x", Tensor::of<float>({2, 3}, x)}});
  ASSERT_TRUE(outputs) << outputs.error().to_string();
  const auto y = outputs->at("y").data<float>().value();
  EXPECT_EQ(std::vector<float>(y.begin(), y.end()), std::vector<float>({2, 4, 0, 0}));
}

// Each has code of its own, though both call their kernels alike.
TEST(CompileApi, SeveralModelsAreLoadedAtOnce) {
  std::vector<Model> models;
  for (const char* op : {"Neg", "Abs", "Exp"}) {
    const auto message =
        onnx::model({{value("x", {"2"})}, {node(op, {"x"}, {"y"})}, {value("y", {"2"})}, {}});
    CompileOptions options;
    options.name = "same";
    auto model = load(compile(onnx::bytes_of(message), options).value(), {.threads = 1});
    ASSERT_TRUE(model) << model.error().to_string();
    models.push_back(*std::move(model));
  }
  const std::vector<float> x{0, -1};
  std::vector<float> all;
  for (Model& model : models) {
    const auto outputs = model.run({{"x", Tensor::of<float>({2}, x)}}).value();
    for (float each : outputs.at("y").data<float>().value()) all.push_back(each);
  }
  EXPECT_EQ(std::vector<float>(all.begin(), all.begin() + 4), std::vector<float>({-0.0F, 1, 0, 1}));
  EXPECT_EQ(all[4], 1);
  EXPECT_NEAR(all[5], 0.36788, 1e-5);
}

TEST(CompileApi, WritesPackagesForEveryTarget) {
  for (const char* target : {"cpu", "wasm", "webgpu", "webgl", "opencl", "opengl"}) {
    CompileOptions options;
    options.target = target;
    options.dims["n"] = 4;
    options.name = "named";
    const auto package = compile(onnx::bytes_of(perceptron()), options);
    ASSERT_TRUE(package) << target << ": " << package.error().to_string();
    EXPECT_EQ(package->files[0].name, "manifest.json");
    const auto& manifest = package->files[0].bytes;
    const std::string text(reinterpret_cast<const char*>(manifest.data()), manifest.size());
    EXPECT_NE(text.find("\"named\""), std::string::npos);
    EXPECT_NE(text.find("[4,3]"), std::string::npos) << text;
    const auto loaded = load(*package);
    // Whether others load is a matter of the machine's drivers and engines.
    if (std::string_view(target) == "cpu") EXPECT_TRUE(loaded);
  }
}

// Sizes of open dimensions are computed beside the GPU, in code that says where it runs.
TEST(CompileApi, GpusOfPagesHaveASideForPagesOrForThisMachine) {
  CompileOptions options;
  for (const auto& [target, side] :
       {std::pair("webgpu", "wasm"), {"webgpu", "cpu"}, {"webgl", "wasm"}, {"webgl", "cpu"}}) {
    options.target = target;
    options.side = side;
    const auto package = compile(onnx::bytes_of(perceptron()), options);
    ASSERT_TRUE(package) << target << side << ": " << package.error().to_string();
    const bool native = std::string_view(side) == "cpu";
    const auto has = [&](std::string_view name) {
      return std::ranges::find(package->files, name, &Package::File::name) != package->files.end();
    };
    EXPECT_EQ(has("side.so"), native);
    EXPECT_EQ(has("plan.wasm"), !native);
    auto model = load(*package, {.threads = 1});
    if (!model) {  // for want of a driver, or of wasmtime
      const std::string problem = model.error().to_string();
      EXPECT_EQ(problem.find("--side cpu") != std::string::npos,
                problem.find("wasmtime") != std::string::npos)
          << problem;
      continue;
    }
    const std::vector<float> x{1, 2, 1, 0, 0, 3};
    const auto outputs = model->run({{"x", Tensor::of<float>({2, 3}, x)}});
    ASSERT_TRUE(outputs) << target << side << ": " << outputs.error().to_string();
    const auto y = outputs->at("y").data<float>().value();
    EXPECT_EQ(std::vector<float>(y.begin(), y.end()), std::vector<float>({2, 4, 0, 0}));
  }
  options.target = "wasm";
  EXPECT_FALSE(compile(onnx::bytes_of(perceptron()), options));
}

TEST(CompileApi, ErrorsSayWhatAndWhere) {
  const auto nothing = compile({});
  ASSERT_FALSE(nothing);
  EXPECT_FALSE(nothing.error().message.empty());
  const auto missing = compile_file("no/such/model.onnx");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().to_string(), "no/such/model.onnx: no such file");
  CompileOptions options;
  options.dims["m"] = 4;
  EXPECT_FALSE(compile(onnx::bytes_of(perceptron()), options));
}

}  // namespace
}  // namespace gossamer
