#include "tensor/recorder.h"

#include <gtest/gtest.h>

#include "lower/lower.h"
#include "stages/stage_graph.h"

namespace gossamer::tensor {
namespace {

using ir::DType;
using Shape = std::vector<int64_t>;

// Records nodes of one output, and stops a test where one cannot be.
class Tensors : public testing::Test {
 protected:
  Id f32(Shape shape) { return recorder.leaf(DType::f32, std::move(shape)); }
  Id make(std::string_view op, std::vector<Id> inputs, const ops::Attributes& attributes = {}) {
    const auto operation = recorder.operation(op, attributes);
    if (!operation) {
      ADD_FAILURE() << operation.error().to_string();
      return no_tensor;
    }
    const auto made = recorder.record(*operation, inputs);
    if (!made) {
      ADD_FAILURE() << made.error().to_string();
      return no_tensor;
    }
    return made->front();
  }
  std::string error(std::string_view op, std::vector<Id> inputs) {
    const auto made = recorder.record(*recorder.operation(op, {}), inputs);
    return made ? "none" : made.error().to_string();
  }
  Recorder::Plan plan(std::vector<Id> wanted) { return recorder.plan(wanted); }
  const Shape& shape(Id id) { return recorder.spec(id).shape; }

  Recorder recorder;
};

TEST_F(Tensors, HaveTypesAndShapesWhenTheyAreRecorded) {
  const Id a = f32({2, 3}), b = f32({3, 4});
  EXPECT_EQ(shape(make("MatMul", {a, b})), Shape({2, 4}));
  EXPECT_EQ(recorder.spec(make("Less", {a, a})).dtype, DType::boolean);
  const Id to = *recorder.constant(ops::int64s({2}, {3, -1}));
  EXPECT_EQ(shape(make("Reshape", {a, to})), Shape({3, 2}));
  const Id other = *recorder.constant(ops::int64s({1}, {6}));
  EXPECT_EQ(shape(make("Reshape", {a, other})), Shape({6}));
}

TEST_F(Tensors, WhatDoesNotFitIsAnErrorAtTheCall) {
  const std::string text = error("MatMul", {f32({2, 3}), f32({4, 5})});
  EXPECT_NE(text.find("[MatMul]"), std::string::npos) << text;
  EXPECT_NE(text.find("f32 [2, 3], f32 [4, 5]"), std::string::npos) << text;
  EXPECT_FALSE(recorder.operation("MatMuld", {}));
}

TEST_F(Tensors, AStepThatIsRepeatedIsOneProgram) {
  const auto step = [&](const Shape& extents) {
    const Id x = f32(extents), w = f32(extents);
    return plan({make("Tanh", {make("Mul", {x, w})})});
  };
  const auto first = step({4}), again = step({4}), other = step({5});
  EXPECT_EQ(first.program, again.program);
  EXPECT_NE(first.program, other.program);
  EXPECT_EQ(recorder.program_count(), 3u);  // and one for both
  ASSERT_EQ(again.feeds.size(), 2u);
  EXPECT_NE(again.feeds[0], first.feeds[0]);
}

TEST_F(Tensors, ProgramsOfOneShapeAreTheSameOnlyIfTheirConstantsAre) {
  const Id x = f32({4});
  const auto scaled = [&](float by) {
    return plan({make("Mul", {x, *recorder.constant(ops::floats({}, {by}))})}).program;
  };
  const int twice = scaled(2);
  EXPECT_EQ(twice, scaled(2));
  EXPECT_NE(twice, scaled(3));
}

TEST_F(Tensors, WhatHasBeenComputedIsFed) {
  const Id x = f32({4}), y = make("Exp", {x}), z = make("Neg", {y});
  EXPECT_EQ(plan({z}).feeds, std::vector<Id>({x}));
  recorder.settle(y, false);
  EXPECT_EQ(plan({z}).feeds, std::vector<Id>({y}));
  EXPECT_EQ(recorder.program(plan({z}).program).nodes.size(), 1u);
}

TEST_F(Tensors, GoWhenNobodyHoldsOrUsesThem) {
  const Id x = f32({4}), y = make("Exp", {x}), z = make("Neg", {y});
  recorder.release(x);
  recorder.release(y);
  EXPECT_EQ(recorder.size(), 3u);
  EXPECT_TRUE(recorder.take_unused().empty());
  recorder.settle(z, false);
  EXPECT_EQ(recorder.take_unused(), std::vector<Id>({x}));
  EXPECT_EQ(recorder.size(), 1u);
  recorder.release(z);
  EXPECT_EQ(recorder.take_unused(), std::vector<Id>({z}));
  EXPECT_EQ(recorder.size(), 0u);
}

// A loop of 10^5 steps keeps nothing.
TEST_F(Tensors, StepsLeaveNothingBehind) {
  Id state = f32({4});
  const Id rate = f32({});
  for (int step = 0; step < 100'000; ++step) {
    const Id part = make("Mul", {state, rate}), next = make("Sub", {state, part});
    recorder.release(part);
    recorder.release(state);
    ASSERT_EQ(plan({next}).program, 0);
    recorder.settle(next, false);
    ASSERT_EQ(recorder.take_unused(), std::vector<Id>({state}));
    ASSERT_EQ(recorder.size(), 2u);
    state = next;
  }
}

TEST_F(Tensors, ALongChainIsPlannedWithoutRecursion) {
  Id x = f32({4});
  for (int i = 0; i < 200'000; ++i) {
    const Id next = make("Neg", {x});
    recorder.release(x);
    x = next;
  }
  EXPECT_EQ(plan({x}).feeds.size(), 1u);
  recorder.settle(x, false);
  EXPECT_EQ(recorder.take_unused().size(), 1u);
  EXPECT_EQ(recorder.size(), 1u);
}

TEST_F(Tensors, OutputsMayBeFedConstantOrTwice) {
  const Id x = f32({2}), y = make("Neg", {x});
  const Id c = *recorder.constant(ops::floats({1}, {3}));
  const graph::Graph graph = recorder.program(plan({x, y, c, y}).program);
  ASSERT_EQ(graph.outputs.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(graph.values[graph.outputs[i]].name, cat("o", i));
    for (size_t k = 0; k < i; ++k) EXPECT_NE(graph.outputs[i], graph.outputs[k]);
  }
  EXPECT_TRUE(lower::lower(graph, ops::builtin_catalog()));
}

// d/dx sum(tanh(x * w)): of the shapes of the xs, by a program that feeds neither y nor its parts.
TEST_F(Tensors, GradientsAreRecordedAsNodes) {
  const Id x = f32({4}), w = f32({4}), y = make("Tanh", {make("Mul", {x, w})});
  const Id both[] = {x, w};
  const auto made = recorder.gradient(y, both);
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(shape((*made)[1]), Shape({4}));
  const auto before = plan(*made);
  EXPECT_EQ(before.feeds, std::vector<Id>({x, w}));
  const auto stages = lower::lower(recorder.program(before.program), ops::builtin_catalog());
  EXPECT_TRUE(stages) << stages.error().to_string();
  // A gradient goes through what has been computed, while its history is kept.
  recorder.settle(y, true);
  EXPECT_EQ(plan(*made).program, before.program);
  EXPECT_EQ(plan({make("Neg", {y})}).feeds, std::vector<Id>({y}));
  EXPECT_FALSE(recorder.gradient(make("Cast", {y}, {{"to", int64_t{6}}}), both));
  EXPECT_FALSE(recorder.gradient(y, both, f32({3})));
}

// They would be zeros, without a word.
TEST_F(Tensors, HowItWasMadeIsNotForgottenWhileAGradientIsToGoThroughIt) {
  const Id x = f32({4}), loss = make("Tanh", {x});
  const Id xs[] = {x};
  const auto made = recorder.gradient(loss, xs);
  ASSERT_TRUE(made) << made.error().to_string();
  recorder.settle(loss, true);
  const int before = plan(*made).program;
  EXPECT_FALSE(recorder.forget(loss));
  EXPECT_EQ(plan(*made).program, before);
  recorder.settle((*made)[0], false);
  EXPECT_TRUE(recorder.forget(loss));
  recorder.release(x);
  EXPECT_EQ(recorder.take_unused(), std::vector<Id>({x}));
}

// What else is kept changes no program: a loop that keeps one result would be compiled again.
TEST_F(Tensors, AHistoryElsewhereChangesNoGradient) {
  const Id x = f32({4}), loss = make("Tanh", {make("Exp", {x})});
  const Id xs[] = {x};
  const auto made = recorder.gradient(loss, xs);
  ASSERT_TRUE(made) << made.error().to_string();
  const int program = plan({loss, (*made)[0]}).program;
  recorder.settle(make("Exp", {f32({2})}), true);
  EXPECT_EQ(plan({loss, (*made)[0]}).program, program);
}

// Shapes that are computed from shapes are known as those are.
TEST_F(Tensors, WhatFollowsFromShapesIsConstant) {
  const Id x = f32({2, 3, 4});
  const Id last = make("Gather", {make("Shape", {x}), *recorder.constant(ops::int64s({1}, {2}))});
  const Id rest = *recorder.constant(ops::int64s({1}, {-1}));
  const Id to = make("Concat", {last, rest}, {{"axis", int64_t{0}}});
  EXPECT_EQ(shape(make("Reshape", {x, to})), Shape({4, 6}));
}

// relu(x) flattened, with a row of its own extent beside: shapes come as extents and as elements of
// constants.
TEST_F(Tensors, ExtentsThatDifferBecomeDimensions) {
  const auto program = [&](int64_t rows, int64_t columns) {
    const Id x = f32({rows, 3, columns});
    const Id to = *recorder.constant(ops::int64s({2}, {3 * rows, columns}));
    return plan({make("Reshape", {make("Relu", {x}), to})});
  };
  EXPECT_EQ(program(4, 5).general, -1);
  const Recorder::Plan second = program(6, 5);
  ASSERT_GE(second.general, 0);
  EXPECT_EQ(program(9, 5).general, second.general);
  EXPECT_EQ(program(1, 5).general, -1);
  EXPECT_EQ(program(9, 7).general, -1);
  const auto stages = lower::lower(recorder.program(second.general), ops::builtin_catalog());
  ASSERT_TRUE(stages) << stages.error().to_string();
  const std::string text = stages::print(*stages);
  EXPECT_NE(text.find("n0"), std::string::npos) << text;
}

TEST_F(Tensors, ALeafThatIsFrozenIsAWeightOfPrograms) {
  const Id x = f32({2, 3}), w = f32({3, 4}), other = f32({3, 4});
  const auto product = [&](Id weight) { return make("MatMul", {x, weight}); };
  const Recorder::Plan fed = plan({product(w)});
  recorder.freeze(w, 7);
  recorder.freeze(other, 8);
  const Recorder::Plan frozen = plan({product(w)});
  EXPECT_EQ(frozen.feeds, std::vector<Id>{x});
  EXPECT_EQ(recorder.weights(frozen.program), std::vector<int32_t>{7});
  const graph::Graph graph = recorder.program(frozen.program);
  EXPECT_EQ(graph.inputs.size(), 1u);
  ASSERT_EQ(graph.files, std::vector<std::string>{"w7"});
  EXPECT_EQ(graph.values[graph.nodes.at(0).inputs.at(1)].constant->length, 48u);
  // Another weight is another program, the same again the same one.
  EXPECT_NE(plan({product(other)}).program, frozen.program);
  EXPECT_EQ(plan({product(w)}).program, frozen.program);
  EXPECT_EQ(recorder.plan(std::vector<Id>{product(w)}, false).program, fed.program);
  // What a gradient is by is about to change.
  const Id y = product(w);
  const std::vector<Id> xs{w};
  ASSERT_TRUE(recorder.gradient(y, xs));
  EXPECT_EQ(plan({y}).program, fed.program);
  // A general program has it, too.
  const Id more = f32({5, 3});
  const Recorder::Plan second = plan({make("MatMul", {more, other})});
  ASSERT_GE(second.general, 0);
  EXPECT_EQ(recorder.weights(second.general), std::vector<int32_t>{8});
  EXPECT_EQ(recorder.program(second.general).files, std::vector<std::string>{"w8"});
}

TEST_F(Tensors, AShapeThatARunDecidesIsAskedFor) {
  const Id places = make("NonZero", {f32({5})});
  EXPECT_EQ(shape(places), Shape({1, -1}));
  const std::string text = error("Neg", {places});
  EXPECT_NE(text.find("i64 [1, ?]"), std::string::npos) << text;
  recorder.settle(places, false);
  recorder.decide(places, {1, 3});
  EXPECT_EQ(shape(make("Neg", {places})), Shape({1, 3}));
}

}  // namespace
}  // namespace gossamer::tensor
