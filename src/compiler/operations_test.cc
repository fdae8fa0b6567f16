#include "compiler/operations.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "ir/build.h"
#include "ir/simplify.h"
#include "onnx/model_writer.h"

namespace gossamer::compiler {
namespace {

using onnx::bytes_of;
using onnx::model;
using onnx::node;
using onnx::value;

// What the manifest says of each launch of a run, in order.
std::vector<std::string> operations(const onnx::Message& message, const std::string& target) {
  Options options;
  options.target = target;
  const auto files = compile(bytes_of(message), options);
  if (!files) return {files.error().to_string()};
  const package::File& file = files->front();
  std::string text(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
  text.erase(0, text.find("\"run\":"));
  std::vector<std::string> found;
  const std::string key = "\"operations\":";
  for (size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
    const size_t from = at + key.size();
    found.push_back(text.substr(from, text.find(",\"", from) - from));
  }
  return found;
}

using Counts = std::vector<std::string>;

TEST(Operations, OfAProductAreTwoATerm) {
  const onnx::Message product = model({{value("a", {"64", "64"}), value("b", {"64", "64"})},
                                       {node("MatMul", {"a", "b"}, {"c"})},
                                       {value("c", {"64", "64"})}});
  for (const char* target : {"wasm", "webgpu", "webgl"})
    EXPECT_EQ(operations(product, target), Counts{std::to_string(2 * 64 * 64 * 64)}) << target;
}

TEST(Operations, OfAConvolutionHaveItsPaddingAndWhatIsFused) {
  const onnx::Message convolution = model(
      {{value("x", {"1", "4", "10", "10"}), value("w", {"8", "4", "3", "3"}), value("b", {"8"})},
       {node("Conv", {"x", "w", "b"}, {"c"},
             {onnx::attribute("pads", std::vector<int64_t>{1, 1, 1, 1})}),
        node("Relu", {"c"}, {"y"})},
       {value("y", {"1", "8", "10", "10"})}});
  // A multiply-add a term, the bias and the maximum with 0.
  EXPECT_EQ(operations(convolution, "wasm").back(), std::to_string(800 * (2 * 4 * 9 + 2)));
}

TEST(Operations, OfAGroupAreThoseOfItsStages) {
  const onnx::Message softmax = model(
      {{value("x", {"4", "100"})}, {node("Softmax", {"x"}, {"y"})}, {value("y", {"4", "100"})}});
  // Maximum, difference and exponential, sum, product; the reciprocal of each sum.
  EXPECT_EQ(operations(softmax, "wasm"), Counts{std::to_string(400 * 5 + 4)});
  int64_t sum = 0;  // one launch a stage
  for (const std::string& one : operations(softmax, "webgl")) sum += std::stoll(one);
  EXPECT_EQ(sum, 400 * 5 + 4);
}

TEST(Operations, OfWhatOnlyMovesElementsAreNone) {
  const onnx::Message moved =
      model({{value("x", {"4", "100"})},
             {node("Transpose", {"x"}, {"t"}),
              node("Cast", {"t"}, {"y"}, {onnx::attribute("to", int64_t{6})})},
             {value("y", {"100", "4"}, 6)}});
  EXPECT_EQ(operations(moved, "wasm"), Counts{});
}

TEST(Operations, OfOpenShapesAreAValueOfThePlan) {
  const onnx::Message open = model({{value("a", {"n", "64"}), value("b", {"64", "n"})},
                                    {node("MatMul", {"a", "b"}, {"c"})},
                                    {value("c", {"n", "n"})}});
  const Counts found = operations(open, "wasm");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].starts_with("{\"plan\":")) << found[0];
}

stages::Group product_of(ir::Expr rows, ir::Expr columns, ir::Expr terms) {
  const ir::Buffer a = ir::buffer("a", ir::DType::f32, {rows, terms});
  const ir::Buffer b = ir::buffer("b", ir::DType::f32, {terms, columns});
  const ir::Var i = ir::var("i"), j = ir::var("j"), k = ir::var("k");
  stages::Stage stage;
  stage.kind = stages::StageKind::reduce;
  stage.axes = {i, j};
  stage.extents = {rows, columns};
  stage.reduce_axes = {k};
  stage.reduce_extents = {terms};
  const ir::Var left = ir::var("left", ir::DType::f32), right = ir::var("right", ir::DType::f32);
  stage.accumulators = {{left, right, ir::Expr(left) + right, ir::zero(ir::DType::f32)}};
  stage.values = {ir::load(a, {i, k}) * ir::load(b, {k, j})};
  stage.result = left;
  return stages::single_group(stage);
}

TEST(Operations, AreAnExpressionOfTheDimensions) {
  const ir::Var n = ir::var("n");
  const ir::Expr found =
      ir::simplify(operations_of(product_of(n, ir::index(8), ir::Expr(n) + ir::index(1))));
  const ir::Expr wanted = ir::simplify(ir::index(16) * n * (ir::Expr(n) + ir::index(1)));
  EXPECT_TRUE(ir::equal(found, wanted));
}

TEST(Operations, ThatNobodyCanCountAreNotSaid) {
  const auto side = ir::index(int64_t{1} << 20);
  const auto known = [](const ir::Expr& e) { return ir::as_int(ir::simplify(e)); };
  EXPECT_EQ(known(operations_of(product_of(side, ir::index(2), side))), int64_t{1} << 42);
  EXPECT_EQ(known(operations_of(product_of(side, side, side))), 0);
  const auto wide = ir::index(int64_t{1} << 31);
  EXPECT_EQ(known(operations_of(product_of(wide, wide, wide))), 0);
}

}  // namespace
}  // namespace gossamer::compiler
