#include "ops/builder.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/rewrite.h"

namespace gossamer::ops {
namespace {

Tensor tensor(std::string name, Shape shape, DType dtype = DType::f32) {
  return {ir::buffer(std::move(name), dtype, std::move(shape)), std::nullopt};
}

Tensor known(std::vector<int64_t> values) {
  std::vector<Expr> elements;
  for (int64_t value : values) elements.push_back(ir::index(value));
  Tensor made = tensor("known", {ir::index(static_cast<int64_t>(values.size()))}, DType::i64);
  made.host = std::move(elements);
  return made;
}

// One node at a time, host values carried along, as the graph does it.
struct Chain {
  ir::Bounds bounds;
  std::vector<Builder::Check> checks;

  Tensor operator()(std::string_view op, const std::vector<Tensor>& inputs,
                    Attributes attributes = {}) {
    Builder b(*builtin_catalog().find("", op), std::string(op), inputs, std::move(attributes), 1);
    b.bounds = bounds;
    Result<> status = b.define();
    EXPECT_TRUE(status) << (status ? "" : status.error().to_string());
    for (auto& check : b.checks) checks.push_back(check);
    for (const Stage& stage : stages_of(b.program)) stages.push_back(stage);
    return status ? b.outputs[0] : Tensor();
  }
  std::vector<Stage> stages;
};

TEST(Builder, CarriesShapesThroughArithmetic) {
  Var batch = ir::var("batch");
  Chain run;
  run.bounds.set(batch.get(), {1, 1 << 20});
  Tensor x = tensor("x", {batch, ir::index(12), ir::index(5)});
  // The usual way to say "flatten all but the first axis", and to split heads.
  Tensor shape = run("Shape", {x});
  Tensor first = run("Gather", {shape, known({0})});
  Tensor heads = run("Concat", {first, known({3, 4, -1})}, {{"axis", 0}});
  ASSERT_TRUE(heads.host);
  Tensor y = run("Reshape", {x, heads});
  ASSERT_EQ(y.rank(), 4);
  EXPECT_TRUE(ir::equal(y.dim(0), batch));
  EXPECT_EQ(ir::as_int(y.dim(3)), 5);
  EXPECT_TRUE(run.stages.back().view);
  // The batch is read as it is, only the rest is divided.
  const auto* load = ir::as<ir::Load>(run.stages.back().result);
  ASSERT_TRUE(load);
  EXPECT_TRUE(load->indices[0].same(run.stages.back().axes[0]));
  EXPECT_TRUE(run.checks.empty());
}

// Groups of channels and back, as exporters write GroupNorm: channels stay a number.
TEST(Builder, ReshapesOpenImages) {
  Var height = ir::var("height"), width = ir::var("width");
  Chain run;
  run.bounds.set(height.get(), {0, 1 << 20});
  run.bounds.set(width.get(), {0, 1 << 20});
  Tensor x = tensor("x", {ir::index(1), ir::index(64), height, width});
  Tensor tokens = run("Reshape", {x, known({0, 64, -1})});
  Tensor dims = run("Slice", {run("Shape", {x}), known({2}), known({4})});
  Tensor shape = run("Concat", {known({1, -1}), dims}, {{"axis", 0}});
  Tensor y = run("Reshape", {tokens, shape});
  EXPECT_EQ(ir::as_int(y.dim(1)), 64);
  Tensor groups = run("Reshape", {x, known({0, 32, -1})});
  const auto* load = ir::as<ir::Load>(run.stages.back().result);
  ASSERT_TRUE(load);
  EXPECT_EQ(ir::print(load->indices[1]), "i1 * 2 + i2 // (height * width)");
  EXPECT_EQ(ir::print(load->indices[3]), "i2 % width");
}

TEST(Builder, KnowsFloatsOnTheHost) {
  Var height = ir::var("height");
  Chain run;
  run.bounds.set(height.get(), {1, 1 << 20});
  Tensor x = tensor("x", {ir::index(1), ir::index(3), height, ir::index(7)});
  Tensor dims = run("Slice", {run("Shape", {x}), known({2}), known({4})});
  Tensor reals = run("Cast", {dims}, {{"to", 1}});
  Tensor two = tensor("two", {}, DType::f32);
  two.host = {ir::constant(DType::f32, 2)};
  Tensor sizes = run("Cast", {run("Floor", {run("Mul", {reals, two})})}, {{"to", 7}});
  ASSERT_TRUE(sizes.host);
  EXPECT_TRUE(ir::prove_equal((*sizes.host)[0], Expr(height) * ir::index(2)));
  EXPECT_EQ(ir::as_int((*sizes.host)[1]), 14);
  Tensor all = run("Concat", {known({1, 3}), sizes}, {{"axis", 0}});
  Tensor y = run("Resize", {x, {}, {}, all}, {{"mode", "linear"}});
  EXPECT_TRUE(ir::prove_equal(y.dim(2), Expr(height) * ir::index(2)));
  EXPECT_EQ(ir::as_int(y.dim(3)), 14);
}

TEST(Builder, ReducesOnTheHost) {
  Chain run;
  Tensor total = run("ReduceProd", {known({2, 3, 4})}, {{"keepdims", 0}});
  ASSERT_TRUE(total.host);
  EXPECT_EQ(ir::as_int((*total.host)[0]), 24);
  Tensor less = run("Less", {known({1, 5}), known({3, 3})});
  ASSERT_TRUE(less.host);
  EXPECT_EQ(ir::as_int((*less.host)[0]), 1);
  EXPECT_EQ(ir::as_int((*less.host)[1]), 0);
  Tensor chosen = run("Where", {less, known({7, 7}), known({9, 9})});
  EXPECT_EQ(ir::as_int((*chosen.host)[1]), 9);
}

TEST(Builder, ChecksWhatOnlyARunKnows) {
  Var left = ir::var("left"), right = ir::var("right"), late = ir::var("late");
  Chain run;
  run.bounds.set(left.get(), {1, 1 << 20});
  run.bounds.set(right.get(), {1, 1 << 20});
  Tensor y = run("Add", {tensor("a", {left}), tensor("b", {right})});
  ASSERT_EQ(run.checks.size(), 1u);
  EXPECT_NE(run.checks[0].message.find("do not broadcast"), std::string::npos);
  run.checks.clear();
  y = run("Add", {tensor("a", {left}), tensor("b", {ir::index(7)})});
  EXPECT_EQ(ir::as_int(y.dim(0)), 7);
  EXPECT_EQ(run.checks.size(), 1u);
  // An extent that a step reads may be 1: broadcasting is decided in the run.
  y = run("Add", {tensor("a", {late}), tensor("b", {ir::index(7)})});
  for (int64_t extent : {1, 7}) {
    const Expr made = ir::substitute(y.dim(0), {{late.get(), ir::index(extent)}});
    EXPECT_EQ(ir::as_int(ir::simplify(made)), 7);
  }
  // Either of two may be 1, or both the same, or nothing.
  for (const auto& [a, b] : {std::pair{late, left}, std::pair{left, late}}) {
    y = run("Add", {tensor("a", {a}), tensor("b", {b})});
    for (const auto& [x, other, wide] :
         {std::array{1, 5, 5}, {5, 1, 5}, {5, 5, 5}, {1, 0, 0}, {0, 1, 0}}) {
      const ir::VarMap extents{{a.get(), ir::index(x)}, {b.get(), ir::index(other)}};
      EXPECT_EQ(ir::as_int(ir::simplify(ir::substitute(y.dim(0), extents))), wide);
    }
    // What was broadcast to an extent takes it again.
    const Tensor again = run("Add", {y, tensor("b", {b})});
    EXPECT_TRUE(ir::prove_equal(again.dim(0), y.dim(0))) << ir::print(again.dim(0));
  }
}

TEST(Builder, MakesContractionsOfTwoLoads) {
  Chain run;
  run("Conv",
      {tensor("x", {ir::index(1), ir::index(4), ir::index(8), ir::index(8)}),
       tensor("w", {ir::index(6), ir::index(4), ir::index(3), ir::index(3)})},
      {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  ASSERT_EQ(run.stages.size(), 2u);
  EXPECT_EQ(run.stages[0].name, "conv.pad");
  const Stage& conv = run.stages[1];
  EXPECT_EQ(conv.kind, StageKind::reduce);
  EXPECT_TRUE(stages::is_sum(conv.accumulators));
  const auto* product = ir::as<ir::Binary>(conv.values[0]);
  ASSERT_TRUE(product);
  EXPECT_TRUE(ir::as<ir::Load>(product->a) && ir::as<ir::Load>(product->b));
}

}  // namespace
}  // namespace gossamer::ops
