// Outputs of maps in the place of inputs.
#include "schedule/in_place.h"

#include <gtest/gtest.h>

#include "autoschedule/default_schedule.h"
#include "autoschedule/test_stages.h"
#include "group/group_stages.h"

namespace gossamer::schedule {
namespace {

using autoschedule::ScheduledGroup;
using autoschedule::wasm;
using group::Launched;
using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::Var;
using stages::Group;
using stages::InPlace;
using stages::Stage;
using target::Capabilities;

const Capabilities webgpu = target::capabilities_of(TargetKind::webgpu);

Buffer plain(const char* name, Expr extent = ir::index(64)) {
  return ir::buffer(name, DType::f32, {std::move(extent)});
}

Stage map(const Buffer& output, const std::function<Expr(const Var&)>& value) {
  const Var i = ir::var("i");
  Stage stage;
  stage.name = output->name;
  stage.output = output;
  stage.axes = {i};
  stage.extents = output->shape;
  stage.result = value(i);
  return stage;
}

Expr at(const Buffer& buffer, const Expr& i) { return ir::load(buffer, {i}); }

// Two means and what follows from them, as optimizers have it.
struct Optimizer {
  Buffer weight = plain("W"), gradient = plain("G"), mean = plain("M"), square = plain("V"),
         rate = plain("R", ir::index(1)), decay = plain("D", ir::index(1)),
         next_weight = plain("W2"), next_mean = plain("M2"), next_square = plain("V2");
  stages::Program program() const {
    const auto first = [](const Buffer& b) { return at(b, ir::index(0)); };
    return {
        map(next_mean, [&](const Var& i) { return at(mean, i) * first(decay) + at(gradient, i); }),
        map(next_square,
            [&](const Var& i) {
              return at(square, i) * first(decay) + at(gradient, i) * at(gradient, i);
            }),
        map(next_weight, [&](const Var& i) {
          return at(weight, i) - first(rate) * at(next_mean, i) / at(next_square, i);
        })};
  }
  std::set<const ir::BufferNode*> kept() const {
    return {next_weight.get(), next_mean.get(), next_square.get()};
  }
};

std::string places(const std::vector<Launched>& launched) {
  std::string text;
  for (const Launched& one : launched) {
    const auto& group = std::get<Group>(one);
    text += cat(text.empty() ? "" : "; ", title_of(group));
    for (const InPlace& pair : group.in_place)
      text += cat(" ", pair.output->name, "=", pair.input->name);
  }
  return text;
}

// Nine tensors, and eight bindings at most.
TEST(InPlace, AnOptimizerIsOneLaunch) {
  const Optimizer optimizer;
  const auto launched = group::group_stages(optimizer.program(), {optimizer.kept(), {}}, webgpu);
  EXPECT_EQ(places(launched), "M2 + V2 + W2 M2=M V2=G W2=V");
  const ScheduledGroup made = autoschedule::schedule_default(std::get<Group>(launched[0]), webgpu);
  EXPECT_EQ(made.kernel.params.size(), 6u);
  const std::string text = ir::print(made.kernel);
  EXPECT_NE(text.find("update M2: f32[64]"), text.npos) << text;
  const auto verified =
      ir::verify(made.kernel, static_cast<ir::Properties>(ir::Property::scheduled));
  EXPECT_TRUE(verified) << verified.error().to_string();
  // Where nothing forbids it, the inputs of a model stay as they are.
  EXPECT_EQ(places(group::group_stages(optimizer.program(), {optimizer.kept(), {}}, wasm)),
            "M2 + V2 + W2");
}

// C = B + B of a product B, which no map joins.
struct Doubled {
  Stage b = autoschedule::product(ir::index(8), ir::index(16), ir::index(8));
  Buffer c = ir::buffer("C", DType::f32, b.output->shape);
  Stage map(const Buffer& to, const Expr& row, const Var& i, const Var& j) const {
    Stage stage;
    stage.name = to->name;
    stage.output = to;
    stage.axes = {i, j};
    stage.extents = to->shape;
    const Expr one = ir::load(b.output, {row, j});
    stage.result = ir::cast(to->dtype, one + one);
    return stage;
  }
  Stage map(const Buffer& to) const {
    const Var i = ir::var("i"), j = ir::var("j");
    return map(to, i, i, j);
  }
  Stage reversed(const Buffer& to) const {
    const Var i = ir::var("i"), j = ir::var("j");
    return map(to, ir::index(7) - Expr(i), i, j);
  }
};

TEST(InPlace, WhatIsReadLaterStays) {
  const Doubled d;
  const Buffer other = ir::buffer("D", DType::f32, d.c->shape);
  EXPECT_EQ(places(group::group_stages({d.b, d.map(d.c)}, {{d.c.get()}, {}}, wasm)), "sum; C C=C");
  EXPECT_EQ(places(group::group_stages({d.b, d.reversed(d.c)}, {{d.c.get()}, {}}, wasm)), "sum; C");
  EXPECT_EQ(
      places(group::group_stages({d.b, d.map(d.c)}, {{d.b.output.get(), d.c.get()}, {}}, wasm)),
      "sum; C");
  EXPECT_EQ(places(group::group_stages(
                {d.b, d.map(d.c), autoschedule::product(ir::index(8), ir::index(8), ir::index(8)),
                 d.reversed(other)},
                {{d.c.get(), other.get()}, {}}, wasm)),
            "sum; C; sum; D");
  // Nor what several stages write, as they do states of loops.
  const Doubled e;
  EXPECT_EQ(
      places(group::group_stages({d.b, d.map(d.c), e.b, e.map(d.c)}, {{d.c.get()}, {}}, wasm)),
      "sum; C; sum; C");
  const Buffer wide = ir::buffer("C", DType::f64, d.c->shape);
  EXPECT_EQ(places(group::group_stages({d.b, d.map(wide)}, {{wide.get()}, {}}, wasm)), "sum; C");
}

TEST(InPlace, PointsAreNotComputedTwice) {
  const Buffer a = plain("A", ir::index(10)), b = plain("B", ir::index(10));
  Group group = single_group(map(b, [&](const Var& i) { return at(a, i) + at(a, i); }));
  group.in_place = {{a, b}};
  Schedule schedule(group.last(), wasm, "map");
  ASSERT_TRUE(schedule.split(schedule.axis(0), {4}, Tail::shift));
  ASSERT_TRUE(schedule.bind(schedule.order()[0], ir::LoopKind::grid));
  const auto kernel = lower(group, {&schedule, 1});
  ASSERT_FALSE(kernel);
  EXPECT_NE(kernel.error().to_string().find("computes points twice"), std::string::npos);
}

}  // namespace
}  // namespace gossamer::schedule
