// fuse and hoist_constants on small graphs, evaluated before and after.
#include "stages/fuse.h"

#include <gtest/gtest.h>

#include <functional>

#include "interp/stages.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/scalar.h"

namespace gossamer::stages {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::index;
using ops::TensorData;

using Point = std::vector<Expr>;

struct Chain {
  StageGraph graph;
  interp::Values values;

  Buffer buffer(const std::string& name, const std::vector<int64_t>& shape) {
    std::vector<Expr> extents;
    for (int64_t extent : shape) extents.push_back(index(extent));
    return ir::buffer(name, DType::f32, extents);
  }
  void fill(const Buffer& buffer, const std::vector<int64_t>& shape) {
    int64_t count = 1;
    for (int64_t extent : shape) count *= extent;
    std::vector<float> data;
    for (int64_t i = 0; i < count; ++i) data.push_back(static_cast<float>(i % 7) * 0.5f - 1);
    values[buffer.get()] = ops::floats(shape, data);
  }
  Buffer input(const std::string& name, const std::vector<int64_t>& shape) {
    graph.inputs.push_back({name, buffer(name, shape)});
    fill(graph.inputs.back().buffer, shape);
    return graph.inputs.back().buffer;
  }
  Buffer constant(const std::string& name, const std::vector<int64_t>& shape) {
    const Buffer made = buffer(name, shape);
    fill(made, shape);
    graph.constants.push_back({name, made, {DType::f32, shape, values[made.get()].bytes}});
    return made;
  }
  Buffer compute(const std::string& name, const std::vector<int64_t>& shape,
                 const std::function<Expr(Point)>& body) {
    Stage stage = stage_of(name, shape);
    stage.result = body(Point(stage.axes.begin(), stage.axes.end()));
    graph.program.push_back(stage);
    return stage.output;
  }
  Buffer sum(const std::string& name, const std::vector<int64_t>& shape, int64_t extent,
             const std::function<Expr(Point, Expr)>& body) {
    Stage stage = stage_of(name, shape);
    stage.kind = StageKind::reduce;
    const ir::Var r = ir::var("r");
    const ir::Var left = ir::var("left", DType::f32), right = ir::var("right", DType::f32);
    stage.reduce_axes = {r};
    stage.reduce_extents = {index(extent)};
    stage.accumulators = {sum_accumulator(left, right)};
    stage.values = {body(Point(stage.axes.begin(), stage.axes.end()), r)};
    stage.result = left;
    graph.program.push_back(stage);
    return stage.output;
  }
  void output(const Buffer& buffer) { graph.outputs.push_back({buffer->name, buffer}); }

  Stage stage_of(const std::string& name, const std::vector<int64_t>& shape) {
    Stage stage;
    stage.name = name;
    stage.output = buffer(name, shape);
    stage.extents = stage.output->shape;
    for (size_t i = 0; i < shape.size(); ++i) stage.axes.push_back(ir::var(cat("i", i)));
    return stage;
  }

  std::vector<TensorData> run() const {
    interp::Values copy = values;
    const auto status = interp::run_program(graph.program, copy);
    EXPECT_TRUE(status) << status.error().to_string();
    std::vector<TensorData> results;
    for (const StageOutput& out : graph.outputs) results.push_back(copy.at(out.buffer.get()));
    return results;
  }

  // Runs a pass; the outputs keep their bits.
  void expect_same_after(const std::function<void(StageGraph&)>& pass) {
    const auto before = run();
    pass(graph);
    const auto after = run();
    for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i].bytes, after[i].bytes);
  }
  void fuse_with(int max_buffers) {
    expect_same_after([&](StageGraph& g) { fuse(g, {.max_buffers = max_buffers}); });
  }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const Stage& stage : stages_of(graph.program)) result.push_back(stage.name);
    return result;
  }
};
using Names = std::vector<std::string>;

TEST(Fuse, ChainsOfElementsBecomeOneStage) {
  Chain c;
  const Buffer x = c.input("x", {3, 4});
  const Buffer a = c.compute("a", {3, 4}, [&](Point p) { return ir::load(x, p) * 2.0; });
  const Buffer b = c.compute("b", {3, 4}, [&](Point p) { return ir::load(a, p) + 1.0; });
  c.output(c.compute("c", {3, 4}, [&](Point p) { return ir::max(ir::load(b, p), 0.0); }));
  c.fuse_with(8);
  EXPECT_EQ(c.names(), (Names{"c"}));
}

// The scale and the activation enter the sum's result, not the terms of the next sum: there they
// would be computed once a column.
TEST(Fuse, EpilogueBeforeTerms) {
  Chain c;
  const Buffer x = c.input("x", {4, 6}), w = c.input("w", {6, 5}), v = c.input("v", {5, 3});
  const Buffer s = c.sum("first", {4, 5}, 6, [&](Point p, Expr r) {
    return ir::load(x, {p[0], r}) * ir::load(w, {r, p[1]});
  });
  const Buffer a =
      c.compute("relu", {4, 5}, [&](Point p) { return ir::max(ir::load(s, p) * 0.5, 0.0); });
  c.output(c.sum("second", {4, 3}, 5,
                 [&](Point p, Expr r) { return ir::load(a, {p[0], r}) * ir::load(v, {r, p[1]}); }));
  c.fuse_with(8);
  ASSERT_EQ(c.graph.program.size(), 2u);
  EXPECT_EQ(c.names(), (Names{"first", "second"}));
  EXPECT_NE(c.graph.program[0].stage()->result->kind, ir::NodeKind::Var);
  EXPECT_EQ(c.graph.program[1].stage()->result->kind, ir::NodeKind::Var);
}

// Elements that a reduction reads once are computed where they are read.
TEST(Fuse, TermsReadOnceAreComputedInPlace) {
  Chain c;
  const Buffer x = c.input("x", {4, 6});
  const Buffer a =
      c.compute("square", {4, 6}, [&](Point p) { return ir::load(x, p) * ir::load(x, p); });
  c.output(c.sum("sum", {4}, 6, [&](Point p, Expr r) { return ir::load(a, {p[0], r}); }));
  c.fuse_with(8);
  EXPECT_EQ(c.names(), (Names{"sum"}));
}

// Two reductions compute a short term twice; a long one, such as a chain of roundings, lies in
// memory.
TEST(Fuse, LongTermsOfTwoReductionsStayApart) {
  for (const bool is_long : {false, true}) {
    Chain c;
    const Buffer x = c.input("x", {4, 6});
    const Buffer a = c.compute("term", {4, 6}, [&](Point p) {
      const Expr once = ir::exp(ir::load(x, p));
      return is_long ? ir::unary(ir::UnaryOp::round, once * 8.0) : once;
    });
    for (const char* name : {"sum", "other"})
      c.output(c.sum(name, {4}, 6, [&](Point p, Expr r) { return ir::load(a, {p[0], r}); }));
    c.fuse_with(8);
    EXPECT_EQ(c.names(), is_long ? (Names{"term", "sum", "other"}) : (Names{"sum", "other"}));
  }
}

// A moved tensor is read through its move by everybody who reads it.
TEST(Fuse, MovesEnterAllConsumers) {
  Chain c;
  const Buffer x = c.input("x", {4, 6});
  const Buffer t =
      c.compute("transpose", {6, 4}, [&](Point p) { return ir::load(x, {p[1], p[0]}); });
  c.output(c.compute("a", {6, 4}, [&](Point p) { return ir::load(t, p) + 1.0; }));
  c.output(c.compute("b", {6, 4}, [&](Point p) { return ir::load(t, p) * 3.0; }));
  c.fuse_with(8);
  EXPECT_EQ(c.names(), (Names{"a", "b"}));
}

TEST(Fuse, WorkWithTwoReadersStaysApart) {
  Chain c;
  const Buffer x = c.input("x", {4, 6});
  const Buffer e = c.compute("exp", {4, 6}, [&](Point p) { return ir::exp(ir::load(x, p)); });
  c.output(c.compute("a", {4, 6}, [&](Point p) { return ir::load(e, p) + 1.0; }));
  c.output(c.compute("b", {4, 6}, [&](Point p) { return ir::load(e, p) * 3.0; }));
  c.fuse_with(8);
  EXPECT_EQ(c.names(), (Names{"exp", "a", "b"}));
}

TEST(Fuse, OutputsAreKept) {
  Chain c;
  const Buffer x = c.input("x", {4});
  const Buffer a = c.compute("a", {4}, [&](Point p) { return ir::load(x, p) * 2.0; });
  c.output(a);
  c.output(c.compute("b", {4}, [&](Point p) { return ir::load(a, p) + 1.0; }));
  c.fuse_with(8);
  EXPECT_EQ(c.names(), (Names{"a", "b"}));
}

// What depends on constants alone runs once, at load.
TEST(Fuse, ConstantsStayApart) {
  Chain c;
  const Buffer x = c.input("x", {4}), w = c.constant("w", {4});
  const Buffer s = c.compute("scale", {4}, [&](Point p) { return ir::exp(ir::load(w, p)); });
  c.output(c.compute("y", {4}, [&](Point p) { return ir::load(x, p) * ir::load(s, p); }));
  c.fuse_with(8);
  EXPECT_EQ(c.names(), (Names{"scale", "y"}));
}

TEST(Fuse, BindsNoMoreThanMaxBuffers) {
  for (int limit : {3, 4, 8}) {
    Chain c;
    std::vector<Buffer> inputs;
    for (int i = 0; i < 8; ++i) inputs.push_back(c.input(cat("x", i), {4}));
    Buffer sum = inputs[0];
    for (size_t i = 1; i < inputs.size(); ++i) {
      sum = c.compute(cat("s", i), {4},
                      [&](Point p) { return ir::load(sum, p) + ir::load(inputs[i], p); });
    }
    c.output(sum);
    c.fuse_with(limit);
    for (const Stage& stage : stages_of(c.graph.program))
      EXPECT_LE(inputs_of(stage).size() + 1, static_cast<size_t>(limit));
    // Two inputs and the output, three and the output, all that fit.
    EXPECT_EQ(c.graph.program.size(), limit == 3 ? 7u : limit == 4 ? 4u : 2u);
  }
}

void hoist(StageGraph& graph) { hoist_constants(graph); }

TEST(HoistConstants, GuardedLoadsStayUnderTheirGuard) {
  Chain c;
  const Buffer x = c.input("x", {6}), w = c.constant("w", {4});
  c.output(c.compute("y", {6}, [&](Point p) {
    const Expr inside = p[0] < 4.0;
    return ir::select(inside, ir::exp(ir::load(w, p)), ir::load(x, p));
  }));
  c.expect_same_after(hoist);
  EXPECT_EQ(c.names(), (Names{"y"}));
}

// Weights of a byte with a scale each sixteen: they are decoded in the product, and nothing is left
// at load. What saves less is computed there.
TEST(Fuse, FactorsOfFewBytesAreDecodedInTheProduct) {
  for (const bool few : {true, false}) {
    Chain c;
    const Buffer x = c.input("x", {3, 16});
    const Buffer bytes = ir::buffer("bytes", few ? DType::u8 : DType::u16, {index(4), index(16)});
    const std::vector<int64_t> shape{4, 16};
    std::vector<std::byte> data(static_cast<size_t>(64 * ir::byte_size(bytes->dtype)),
                                std::byte{3});
    c.values[bytes.get()] = {bytes->dtype, shape, data, {}};
    c.graph.constants.push_back({"bytes", bytes, {bytes->dtype, shape, data}});
    const Buffer scales = c.constant("scales", {4, 1});
    const Buffer weights = c.compute("weights", {4, 16}, [&](Point p) {
      return ir::cast(DType::f32, ir::load(bytes, p)) *
             ir::load(scales, {p[0], ir::floordiv(p[1], 16)});
    });
    c.output(c.sum("y", {3, 4}, 16, [&](Point p, Expr r) {
      return ir::load(x, {p[0], r}) * ir::load(weights, {p[1], r});
    }));
    c.fuse_with(8);
    EXPECT_EQ(c.names(), few ? (Names{"y"}) : (Names{"weights", "y"}));
  }
}

// The sum of squares overflows f16, its root does not.
TEST(Fuse, HalvesAreRoundedWhereTheyAreStored) {
  Chain c;
  const Buffer x = c.input("x", {8});
  const Buffer squares = c.sum("squares", {1}, 8, [&](Point, Expr r) {
    return ir::load(x, {r}) * ir::load(x, {r}) * 640000.0;
  });
  Stage& sum = *c.graph.program.back().stage();
  sum.output = ir::buffer("squares", DType::f16, {index(1)});
  sum.result = ir::cast(DType::f16, sum.result);
  c.compute("root", {1}, [&](Point p) { return ir::sqrt(ir::load(sum.output, p) + 1.0); });
  Stage& root = *c.graph.program.back().stage();
  root.output = ir::buffer("root", DType::f16, {index(1)});
  c.output(root.output);
  fuse(c.graph, {.max_buffers = 8});
  ASSERT_EQ(c.graph.program.size(), 1u);
  ASSERT_TRUE(interp::run_program(c.graph.program, c.values));
  const ops::TensorData& made = c.values.at(c.graph.outputs[0].buffer.get());
  EXPECT_EQ(ir::read_scalar(DType::f16, made.bytes.data()).f, 2498);
}

TEST(HoistConstants, NoMoreBuffersThanAKernelMayHave) {
  for (int limit : {2, 3, 4, 5, 6}) {
    Chain c;
    const Buffer x = c.input("x", {4}), w = c.constant("w", {4});
    c.output(c.compute("y", {4}, [&](Point p) {
      const Expr e = ir::load(w, p);
      return ((ir::load(x, p) * ir::exp(e) + ir::sin(e)) * ir::load(x, p) + ir::cos(e)) *
             ir::load(x, p);
    }));
    c.expect_same_after([&](StageGraph& graph) { hoist_constants(graph, limit); });
    for (const Stage& stage : stages_of(c.graph.program))
      EXPECT_LE(inputs_of(stage).size() + 1, static_cast<size_t>(std::max(limit, 3)));
    EXPECT_EQ(c.graph.program.size(), limit < 4 ? 1u : limit == 4 ? 2u : limit == 5 ? 3u : 4u);
  }
}

TEST(HoistConstants, ArithmeticOnConstantsBecomesAStage) {
  Chain c;
  const Buffer x = c.input("x", {3, 4}), w = c.constant("w", {4}), b = c.constant("b", {4});
  c.output(c.compute("y", {3, 4}, [&](Point p) {
    return ir::load(x, p) * (ir::exp(ir::load(w, {p[1]})) + ir::load(b, {p[1]}));
  }));
  c.expect_same_after(hoist);
  ASSERT_EQ(c.names(), (Names{"y.constant", "y"}));
  EXPECT_EQ(c.graph.program[0].stage()->extents.size(), 1u);  // along the axis it depends on
  EXPECT_EQ(inputs_of(*c.graph.program[1].stage()).size(), 2u);
}

TEST(HoistConstants, OneStageForEqualArithmetic) {
  Chain c;
  const Buffer x = c.input("x", {4}), w = c.constant("w", {4});
  c.output(c.compute("y", {4}, [&](Point p) {
    const Expr e = ir::exp(ir::load(w, p));
    return ir::load(x, p) * e + ir::max(ir::load(x, p), ir::exp(ir::load(w, p)));
  }));
  c.expect_same_after(hoist);
  EXPECT_EQ(c.names(), (Names{"y.constant", "y"}));
}

TEST(HoistConstants, PlainLoadsAndConstantStagesStay) {
  Chain c;
  const Buffer x = c.input("x", {4}), w = c.constant("w", {4});
  const Buffer s = c.compute("s", {4}, [&](Point p) { return ir::load(w, p) + 1.0; });
  c.output(c.compute("y", {4},
                     [&](Point p) { return ir::load(x, p) * ir::load(w, p) + ir::load(s, p); }));
  c.expect_same_after(hoist);
  EXPECT_EQ(c.names(), (Names{"s", "y"}));
}

}  // namespace
}  // namespace gossamer::stages
