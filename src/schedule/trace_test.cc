#include "schedule/trace.h"

#include <gtest/gtest.h>

#include <array>

#include "autoschedule/default_schedule.h"
#include "autoschedule/test_stages.h"
#include "layout/layout.h"
#include "rewrite/scatter.h"

namespace gossamer::schedule {
namespace {

using autoschedule::ScheduledGroup;
using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::Var;
using layout::Ports;
using stages::Stage;
using stages::StageKind;
using target::Capabilities;

constexpr std::array all_targets{TargetKind::cpu, TargetKind::wasm, TargetKind::webgpu,
                                 TargetKind::webgl};

// C[n, o, h, w] = sum over c, y, x of A[n, c, h + y, w + x] * W[o, c, y, x]
Stage windowed(int64_t channels, int64_t out, int64_t side) {
  const Buffer a =
      ir::buffer("A", DType::f32,
                 {ir::index(1), ir::index(channels), ir::index(side + 2), ir::index(side + 2)});
  const Buffer w = ir::buffer("W", DType::f32,
                              {ir::index(out), ir::index(channels), ir::index(3), ir::index(3)});
  const Var n = ir::var("n"), o = ir::var("o"), h = ir::var("h"), v = ir::var("w");
  const Var c = ir::var("c"), y = ir::var("y"), x = ir::var("x");
  return autoschedule::sum(
      ir::buffer("C", DType::f32, {ir::index(1), ir::index(out), ir::index(side), ir::index(side)}),
      {n, o, h, v}, {c, y, x}, {ir::index(channels), ir::index(3), ir::index(3)},
      ir::load(a, {n, c, Expr(h) + Expr(y), Expr(v) + Expr(x)}) * ir::load(w, {o, c, y, x}));
}

// C[i[k]] = B[k], and A elsewhere.
Stage scattered() {
  const Buffer a = ir::buffer("A", DType::f32, {ir::index(9)}),
               b = ir::buffer("B", DType::f32, {ir::index(5)});
  const Buffer i = ir::buffer("I", DType::i32, {ir::index(5)});
  const Var k = ir::var("k");
  Stage stage;
  stage.kind = StageKind::scatter;
  stage.name = "put";
  stage.output = ir::buffer("C", DType::f32, {ir::index(9)});
  stage.axes = {k};
  stage.extents = {ir::index(5)};
  stage.initial = a;
  stage.target = {ir::cast(DType::index, ir::load(i, {k}))};
  stage.values = {ir::load(b, {k})};
  return stage;
}

// The stages that a target makes of one: its operands but the first are constants.
std::vector<Stage> laid_out(const Stage& stage, const Capabilities& caps) {
  const bool gathers = !caps.scatters && stage.kind == StageKind::scatter;
  stages::Program program{gathers ? rewrite::gather_form(stage) : stage};
  Ports ports;
  const std::vector<Buffer> inputs = stages::inputs_of(stage);
  for (const Buffer& input : inputs)
    (input.same(inputs[0]) ? ports.inputs : ports.constants).insert(input.get());
  ports.outputs = {stage.output.get()};
  std::vector<std::pair<Buffer, Buffer>> replaced;
  choose_layouts(program, ports, caps, replaced);
  std::vector<Stage> stages;
  for (const Stage& one : stages::stages_of(program)) stages.push_back(one);
  return stages;
}

std::string default_text(const Stage& stage, TargetKind target) {
  const Capabilities caps = target::capabilities_of(target);
  for (const Stage& one : laid_out(stage, caps)) {
    if (one.name == stage.name) return to_string(autoschedule::default_schedule(one, caps));
  }
  return {};
}

TEST(Trace, MakesTheSameKernelAgain) {
  const Expr n = ir::var("n");
  const std::vector<Stage> stages{
      autoschedule::twice(),
      autoschedule::twice(n, ir::index(10)),
      autoschedule::twice(ir::index(64), ir::index(64)),
      autoschedule::product(),
      autoschedule::product(n, ir::index(10), ir::index(8)),
      autoschedule::product(ir::index(33), ir::index(37), ir::index(48)),
      autoschedule::product(ir::index(4), n, ir::index(1)),
      autoschedule::total(8),
      autoschedule::total(53),
      autoschedule::total(2),
      windowed(16, 32, 7),
      windowed(3, 8, 14),
      windowed(18, 5, 6),
      scattered()};
  for (TargetKind target : all_targets) {
    const Capabilities caps = target::capabilities_of(target);
    for (const Stage& stage : stages) {
      for (const Stage& one : laid_out(stage, caps)) {
        const ScheduledGroup scheduled = autoschedule::schedule_default(single_group(one), caps);
        const std::string text = to_string(scheduled.schedules[0]);
        const auto again = parse_schedule(one, caps, text);
        ASSERT_TRUE(again) << text << "\n" << again.error().to_string();
        EXPECT_EQ(to_string(*again), text);
        const auto kernel = lower(*again);
        ASSERT_TRUE(kernel) << text << "\n" << kernel.error().to_string();
        EXPECT_EQ(ir::print(*kernel), ir::print(scheduled.kernel)) << text;
      }
    }
  }
}

TEST(Trace, NamesThePattern) {
  EXPECT_EQ(
      default_text(autoschedule::product(ir::index(60), ir::index(32), ir::index(64)),
                   TargetKind::wasm),
      "contraction: split(i, 5) -> i.tile, row; split(j, 2, 4) -> j.tile, vec, lane; split(k, 4) "
      "-> k.block, k; reorder(j.tile, k.block, k, row, vec, lane); accumulate(k.block); unroll(k); "
      "unroll(row, vec); vectorize(lane); fuse(i.tile, j.tile) -> item; bind(item, grid)");
  // Rows and steps of x read the same elements: unrolled, they would all be held in registers.
  EXPECT_EQ(
      default_text(windowed(16, 32, 7), TargetKind::wasm),
      "contraction: split(o, 2, 4) -> o.tile, vec, lane; fuse(h, w) -> h.w; split(h.w, 5, shift) "
      "-> w.tile, row; reorder(w.tile, c, y, x, row, vec, lane); accumulate(c); unroll(row, vec); "
      "vectorize(lane); fuse(n, o.tile, w.tile) -> item; bind(item, grid)");
  EXPECT_EQ(default_text(windowed(18, 32, 8), TargetKind::webgpu),
            "contraction: split(o, 2, 4) -> o.tile, vec, lane; split(w, 8) -> w.tile, row; "
            "reorder(h, w.tile, c, y, x, row, vec, lane); accumulate(c); unroll(x); unroll(row, "
            "vec); vectorize(lane); fuse(n, o.tile, h, w.tile) -> item; split(item, 64, guard) -> "
            "item, invocation; bind(invocation, group); bind(item, grid)");
  EXPECT_EQ(
      default_text(windowed(16, 32, 8), TargetKind::webgl),
      "contraction: split(o, 4) -> o.tile, lane; reorder(h, w, c, y, x, lane); accumulate(c); "
      "unroll(x); vectorize(lane); fuse(n, o.tile, h, w) -> item; bind(item, grid)");
  EXPECT_EQ(default_text(autoschedule::total(53), TargetKind::cpu),
            "reduce: split(k, 16, guard) -> k.block, lane; rfactor(lane); accumulate(k.block); "
            "peel(k.block); unroll(k.block); vectorize(lane); unit() -> item; bind(item, grid)");
  EXPECT_EQ(default_text(autoschedule::twice(), TargetKind::webgl),
            "map: fuse(i, j) -> flat; split(flat, 4, round_up) -> texel, lane; vectorize(lane); "
            "fuse(texel) -> item; bind(item, grid)");
  EXPECT_EQ(default_text(autoschedule::twice(ir::index(64), ir::index(64)), TargetKind::cpu),
            "map: split(j, 16) -> j.tile, lane; vectorize(lane); unit() -> item; bind(item, grid)");
  EXPECT_EQ(default_text(autoschedule::twice(ir::index(64), ir::index(56)), TargetKind::cpu),
            "map: split(j, 16, guard) -> j.tile, lane; vectorize(lane); unit() -> item; bind(item, "
            "grid)");
  EXPECT_EQ(default_text(scattered(), TargetKind::wasm), "scatter");
  EXPECT_EQ(default_text(scattered(), TargetKind::webgpu),
            "window: split(p0, 4, round_up) -> p0.tile, lane; split(k, 4, guard) -> k.block, k; "
            "reorder(k.block, k, lane); accumulate(k.block); peel(k.block) -> k'; unroll(k); "
            "vectorize(lane); fuse(p0.tile) -> item; split(item, 64, guard) -> item, invocation; "
            "bind(invocation, group); bind(item, grid)");
}

}  // namespace
}  // namespace gossamer::schedule
