#include "memory/plan_memory.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/rewrite.h"

namespace gossamer::memory {
namespace {

ir::Buffer tensor(const char* name) { return ir::buffer(name, ir::DType::f32, {}); }
PlannedTensor linear(const ir::Buffer& buffer, ir::Expr bytes, bool exclusive = false) {
  return {buffer, {.bytes = std::move(bytes)}, exclusive};
}
PlannedTensor texture(const ir::Buffer& buffer, int width, ir::Expr height) {
  return {buffer, {.width = width, .height = std::move(height)}, false};
}

struct Chain : testing::Test {
  ir::Buffer x = tensor("x"), a = tensor("a"), b = tensor("b"), c = tensor("c"), y = tensor("y");
  std::vector<PlanStep> steps{{{x}, {a}}, {{a}, {b}}, {{b}, {c}}, {{c}, {y}}};
};

TEST_F(Chain, NeighboursAlternateBetweenTwoSlots) {
  auto plan = plan_memory(
      {linear(x, ir::index(64), true), linear(a, ir::index(100)), linear(b, ir::index(400)),
       linear(c, ir::index(200)), linear(y, ir::index(64), true)},
      steps);
  EXPECT_EQ(plan.slots.size(), 4u);
  EXPECT_EQ(plan.slot_of[a.get()], plan.slot_of[c.get()]);
  EXPECT_NE(plan.slot_of[a.get()], plan.slot_of[b.get()]);
  EXPECT_EQ(ir::as_int(plan.slots[plan.slot_of[c.get()]].need.bytes), 200);
  EXPECT_TRUE(plan.slots[plan.slot_of[x.get()]].exclusive);
}

// One slot from the first to the last, apart from what is alive in between.
TEST_F(Chain, UpdatesInPlaceKeepTheSlot) {
  const auto in_place = [](const ir::Buffer& buffer, const ir::Buffer& before) {
    PlannedTensor tensor = linear(buffer, ir::index(64));
    tensor.in_place_of = before;
    return tensor;
  };
  auto plan = plan_memory({linear(x, ir::index(64), true), linear(a, ir::index(64)), in_place(b, a),
                           linear(c, ir::index(64)), in_place(y, b)},
                          {{{x}, {a}}, {{a}, {b}}, {{x}, {c}}, {{b, c}, {y}}});
  EXPECT_EQ(plan.slots.size(), 3u);
  EXPECT_EQ(plan.slot_of[a.get()], plan.slot_of[b.get()]);
  EXPECT_EQ(plan.slot_of[a.get()], plan.slot_of[y.get()]);
  EXPECT_NE(plan.slot_of[a.get()], plan.slot_of[c.get()]);
  // What is an output, or in an input's place, shares with nobody else.
  plan = plan_memory({linear(x, ir::index(64), true), in_place(a, x), linear(b, ir::index(64))},
                     {{{x}, {a}}, {{a}, {b}}});
  EXPECT_EQ(plan.slot_of[a.get()], plan.slot_of[x.get()]);
  EXPECT_TRUE(plan.slots[plan.slot_of[a.get()]].exclusive);
}

TEST_F(Chain, SymbolicSizesShareAtTheirMaximum) {
  ir::Var h = ir::var("h"), w = ir::var("w");
  ir::Expr eh = h, ew = w;
  ir::Bounds bounds;
  bounds.set(h.get(), {1, 1000});
  bounds.set(w.get(), {1, 1000});
  auto plan = plan_memory({linear(x, eh, true), linear(a, eh * 4.0), linear(b, ir::index(8)),
                           linear(c, eh * 2.0), linear(y, ew, true)},
                          steps, bounds);
  EXPECT_EQ(plan.slot_of[a.get()], plan.slot_of[c.get()]);
  EXPECT_TRUE(ir::prove_equal(plan.slots[plan.slot_of[a.get()]].need.bytes, eh * 4.0, bounds));

  plan = plan_memory({linear(x, eh, true), linear(a, eh * 4.0), linear(b, ir::index(8)),
                      linear(c, ew * 3.0), linear(y, ew, true)},
                     steps, bounds);
  EXPECT_EQ(plan.slot_of[a.get()], plan.slot_of[c.get()]);
  const ir::Expr& size = plan.slots[plan.slot_of[a.get()]].need.bytes;
  auto at = [&](int64_t height, int64_t width) {
    ir::VarMap dims{{h.get(), ir::index(height)}, {w.get(), ir::index(width)}};
    return ir::as_int(ir::simplify(ir::substitute(size, dims)));
  };
  EXPECT_EQ(at(10, 1), 40);
  EXPECT_EQ(at(1, 10), 30);
}

TEST_F(Chain, TexturesShareOnlyWithTheirKind) {
  auto plan = plan_memory(
      {texture(x, 64, ir::index(4)), texture(a, 64, ir::index(8)), texture(b, 64, ir::index(8)),
       texture(c, 32, ir::index(8)), texture(y, 64, ir::index(2))},
      {{{}, {x}}, {{x}, {a}}, {{a}, {b}}, {{b}, {c}}, {{c}, {y}}});
  EXPECT_NE(plan.slot_of[c.get()], plan.slot_of[a.get()]);
  EXPECT_EQ(plan.slot_of[y.get()], plan.slot_of[a.get()]);
  EXPECT_EQ(plan.slot_of[x.get()], plan.slot_of[b.get()]);
}

TEST_F(Chain, LongLivedTensorsKeepTheirSlot) {
  steps[3].reads.push_back(a);
  auto plan =
      plan_memory({linear(x, ir::index(4), true), linear(a, ir::index(4)), linear(b, ir::index(4)),
                   linear(c, ir::index(4)), linear(y, ir::index(4))},
                  steps);
  EXPECT_NE(plan.slot_of[a.get()], plan.slot_of[c.get()]);
  EXPECT_EQ(plan.slot_of[y.get()], plan.slot_of[b.get()]);
}

}  // namespace
}  // namespace gossamer::memory
