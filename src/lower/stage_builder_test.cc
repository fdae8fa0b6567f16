// What is built in a stage graph, and coming back to a state of it.
#include <gtest/gtest.h>

#include "ir/build.h"
#include "lower/stage_builder.h"

namespace gossamer::lower {
namespace {

using ir::DType;
using stages::ConstantSource;
using stages::StageGraph;

// A graph of one input x f32[n].
struct Signature {
  ir::Var n = ir::var("n");
  ir::Buffer x = ir::buffer("x", DType::f32, {n});
  StageBuilder stages{graph(), ir::Bounds()};

  StageGraph graph() const {
    StageGraph made;
    made.inputs.push_back({"x", x});
    made.dims.push_back({n, 0, 0});
    return made;
  }
};

ConstantSource floats(int64_t count) {
  return {DType::f32, {count}, std::vector<std::byte>(static_cast<size_t>(count) * 4)};
}

stages::Stage stage_of(const std::string& name, const Expr& extent) {
  stages::Stage stage;
  stage.name = name;
  stage.axes = {ir::var("i")};
  stage.extents = {extent};
  stage.result = ir::zero(DType::f32);
  stage.output = ir::buffer(name, DType::f32, {extent});
  return stage;
}

TEST(StageBuilder, ConstantsHaveNamesOfTheirOwn) {
  Signature of;
  const Tensor first = of.stages.add_constant("w", floats(2));
  const Tensor second = of.stages.add_constant("w", floats(3));
  ASSERT_TRUE(second.host);
  EXPECT_EQ(second.host->size(), 3U);
  const StageGraph made = of.stages.finish();
  ASSERT_EQ(made.constants.size(), 2U);
  EXPECT_EQ(made.constants[0].name, "w");
  EXPECT_EQ(made.constants[1].name, "w#2");
  EXPECT_TRUE(made.constants[1].buffer.same(second.buffer));
}

TEST(StageBuilder, StringsAreTwoConstantsAndPackedNumbersAStage) {
  Signature of;
  ConstantSource text;
  text.dtype = DType::string;
  text.shape = {2};
  text.strings = {"a", "bcd"};
  const Tensor strings = of.stages.add_constant("s", text);
  ConstantSource packed;
  packed.dtype = DType::i4;
  packed.shape = {6};
  packed.file = 0;
  packed.length = 3;
  packed.packed = 2;
  const Tensor numbers = of.stages.add_constant("k", packed);
  const StageGraph made = of.stages.finish();
  ASSERT_EQ(made.constants.size(), 3U);
  EXPECT_TRUE(made.constants[0].buffer.same(strings.bytes));
  EXPECT_TRUE(made.constants[1].buffer.same(strings.lengths));
  EXPECT_EQ(made.constants[2].name, "k.packed");
  EXPECT_EQ(made.constants[2].source.shape, std::vector<int64_t>{3});
  ASSERT_EQ(made.program.size(), 1U);
  EXPECT_TRUE(made.program[0].output().same(numbers.buffer));
}

TEST(StageBuilder, ChecksOfDimensionsComeBeforeTheRun) {
  Signature of;
  const ir::Var read = ir::var("read");
  of.stages.add_check(Expr(of.n) >= 3.0, "early");
  of.stages.add_check(Expr(of.n) + read >= 3.0, "late");
  const StageGraph made = of.stages.finish();
  ASSERT_EQ(made.checks.size(), 1U);
  EXPECT_EQ(made.checks[0].message, "early");
  ASSERT_EQ(made.program.size(), 1U);
  EXPECT_TRUE(made.program[0].is(stages::StepKind::check));
}

// A check stands once, but for blocks that a run may leave out.
TEST(StageBuilder, AConditionIsCheckedOnce) {
  Signature of;
  const ir::Var read = ir::var("read");
  const auto added = [&] {
    const size_t before = of.stages.program().size();
    of.stages.add_check(Expr(of.n) >= 3.0, "early");
    of.stages.add_check(Expr(read) >= 3.0, "late");
    return of.stages.program().size() - before;
  };
  of.stages.append(stages::branch_step(Expr(read) >= 0.0));
  EXPECT_EQ(added(), 1U);
  EXPECT_EQ(added(), 0U);
  of.stages.append(stages::otherwise_step());
  EXPECT_EQ(added(), 1U);
  of.stages.append(stages::end_step());
  const StageBuilder before = of.stages;
  const size_t outside = of.stages.program().size();
  EXPECT_EQ(added(), 1U);
  of.stages.append(stages::loop_step(ir::var("round"), ir::index(2), {}));
  EXPECT_EQ(added(), 0U);
  of.stages.append(stages::end_step());
  EXPECT_EQ(added(), 0U);
  stages::Program cut = of.stages.cut(outside);
  EXPECT_EQ(added(), 1U);
  of.stages = before;
  of.stages.append(std::move(cut));
  EXPECT_EQ(added(), 0U);
  of.stages = before;
  EXPECT_EQ(added(), 1U);
  EXPECT_EQ(of.stages.finish().checks.size(), 1U);
}

TEST(StageBuilder, ACopyIsAStateToComeBackTo) {
  Signature of;
  of.stages.append(stage_of("kept", of.n));
  const StageBuilder before = of.stages;
  of.stages.append(stage_of("dropped", of.n));
  of.stages.add_constant("w", floats(1));
  of.stages.known.add(of.x, {ir::index(1)});
  EXPECT_EQ(of.stages.unique_origin("Add"), "Add");
  EXPECT_TRUE(of.stages.known.of(Tensor{of.x, std::nullopt}).host);
  of.stages = before;
  EXPECT_FALSE(of.stages.known.of(Tensor{of.x, std::nullopt}).host);
  EXPECT_EQ(of.stages.unique_origin("Add"), "Add");
  of.stages.add_constant("w", floats(1));
  const StageGraph made = of.stages.finish();
  ASSERT_EQ(made.program.size(), 1U);
  EXPECT_EQ(made.program[0].output()->name, "kept");
  ASSERT_EQ(made.constants.size(), 1U);
  EXPECT_EQ(made.constants[0].name, "w");
}

TEST(StageBuilder, CutTakesOutTheLastEntries) {
  Signature of;
  for (const char* name : {"a", "b", "c"}) of.stages.append(stage_of(name, of.n));
  stages::Program cut = of.stages.cut(1);
  ASSERT_EQ(cut.size(), 2U);
  EXPECT_EQ(cut[0].output()->name, "b");
  EXPECT_EQ(of.stages.program().size(), 1U);
  of.stages.append(std::move(cut));
  EXPECT_EQ(of.stages.program().back().output()->name, "c");
}

}  // namespace
}  // namespace gossamer::lower
