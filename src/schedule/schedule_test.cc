#include "schedule/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "autoschedule/default_schedule.h"
#include "autoschedule/tiling.h"
#include "ir/build.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "layout/layout.h"
#include "layout/texture_layout.h"
#include "stages/access.h"
#include "stages/pattern.h"

namespace gossamer::schedule {
namespace {

using autoschedule::Tiling;
using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::index;
using ir::Var;
using stages::Along;
using stages::Pattern;
using stages::Stage;
using stages::StageKind;
using target::Capabilities;

constexpr std::array all_targets{TargetKind::cpu, TargetKind::wasm, TargetKind::webgpu,
                                 TargetKind::webgl};

Stage sum_over(Buffer output, std::vector<Var> axes, Var reduce_axis, int64_t extent, Expr term) {
  Stage stage;
  stage.kind = StageKind::reduce;
  stage.name = "sum";
  stage.output = std::move(output);
  stage.axes = std::move(axes);
  stage.extents = stage.output->shape;
  stage.reduce_axes = {std::move(reduce_axis)};
  stage.reduce_extents = {index(extent)};
  const Var left = ir::var("left", DType::f32), right = ir::var("right", DType::f32);
  stage.accumulators = {stages::sum_accumulator(left, right)};
  stage.values = {std::move(term)};
  stage.result = left;
  return stage;
}

// C[i, j] = sum over k of A[i, k] * B[k, j].
struct Product {
  Buffer a, b, c;
  Stage stage;
  Product(int64_t m, int64_t k, int64_t n)
      : a(ir::buffer("A", DType::f32, {index(m), index(k)})),
        b(ir::buffer("B", DType::f32, {index(k), index(n)})),
        c(ir::buffer("C", DType::f32, {index(m), index(n)})) {
    const Var i = ir::var("i"), j = ir::var("j"), r = ir::var("k");
    stage = sum_over(c, {i, j}, r, k, ir::load(a, {i, r}) * ir::load(b, {r, j}));
  }
};

TEST(TextureWidth, IsAPowerOfTwoNearASquare) {
  EXPECT_EQ(layout::texture_width(0, 4096), 1);
  EXPECT_EQ(layout::texture_width(1, 4096), 1);
  EXPECT_EQ(layout::texture_width(2, 4096), 2);
  EXPECT_EQ(layout::texture_width(16, 4096), 4);
  EXPECT_EQ(layout::texture_width(17, 4096), 8);
  EXPECT_EQ(layout::texture_width(int64_t{1} << 30, 4096), 4096);
}

TEST(Access, VectorDimIsTheBlockedOneElseTheLast) {
  EXPECT_EQ(stages::vector_dim({}, 3), 2);
  EXPECT_EQ(stages::vector_dim({}, 0), -1);
  ir::Layout blocked;
  blocked.axes = {{0, 1, 0}, {1, 8, 0}, {2, 1, 0}, {1, 1, 8}};
  EXPECT_EQ(stages::vector_dim(blocked, 3), 1);
  EXPECT_TRUE(stages::is_blocked(blocked));
  EXPECT_FALSE(stages::is_blocked({}));
}

TEST(Access, AlongAnAxis) {
  const Var i = ir::var("i"), j = ir::var("j");
  const Buffer a = ir::buffer("A", DType::f32, {index(8), index(16)});
  const auto along_j = [&](std::vector<Expr> at) {
    const Expr load = ir::load(a, std::move(at));
    return stages::along(*ir::as<ir::Load>(load), {}, j, 4, {});
  };
  EXPECT_EQ(along_j({i, j}), Along::contiguous);
  EXPECT_EQ(along_j({i, Expr(j) + index(3)}), Along::contiguous);
  EXPECT_EQ(along_j({i, index(3)}), Along::still);
  EXPECT_EQ(along_j({j, i}), Along::gather);
  EXPECT_EQ(along_j({i, Expr(j) * index(2)}), Along::gather);
}

TEST(Access, RowsThatEndInPaddingAreInOrder) {
  const Var i = ir::var("i"), j = ir::var("j");
  const Buffer a = ir::buffer("A", DType::f32, {index(8), index(18)});
  const ir::Layout rows{.axes = {{0, 1, 0}, {1, 4, 0}, {1, 1, 4}}};
  const auto along_j = [&](const Expr& at, int64_t extent) {
    ir::Bounds bounds;
    bounds.set(j.get(), {0, extent - 1});
    const Expr load = ir::load(a, {i, at});
    return stages::along(*ir::as<ir::Load>(load), rows, j, 4, bounds);
  };
  EXPECT_EQ(along_j(j, 18), Along::contiguous);
  EXPECT_EQ(along_j(Expr(j) + index(2), 16), Along::contiguous);
  EXPECT_EQ(along_j(Expr(j) + index(2), 15), Along::gather);  // the last vector would end past it
  EXPECT_EQ(along_j(Expr(j) * index(2), 8), Along::gather);
}

// Constants are copied into the order they are read in, once, and ports stay plain.
TEST(Layouts, ConstantsArePackedAndPortsStayPlain) {
  for (TargetKind target : all_targets) {
    const Capabilities caps = target::capabilities_of(target);
    Product p(16, 64, 64);
    stages::Program stages{p.stage};
    std::vector<std::pair<Buffer, Buffer>> replaced;
    layout::choose_layouts(stages, {{p.a.get()}, {p.c.get()}, {p.b.get()}}, caps, replaced);
    ASSERT_GE(stages.size(), 2u) << name_of(caps.kind);
    EXPECT_EQ(stages[0].stage()->name, "pack");
    EXPECT_EQ(stages[0].output()->layout.axes.back().modulo, caps.vector_lanes)
        << name_of(caps.kind);
    for (const auto& [old, fresh] : replaced) {
      if (!old.same(p.a) && !old.same(p.c)) continue;
      EXPECT_EQ(fresh->layout.flat, caps.texture_memory) << name_of(caps.kind);
      if (!caps.texture_memory) EXPECT_TRUE(fresh->layout.axes.empty()) << name_of(caps.kind);
    }
    EXPECT_EQ(
        std::ranges::count_if(replaced, [&](const auto& pair) { return pair.first.same(p.c); }), 1);
  }
}

// A norm over groups of four channels of an open image lies as the convolution before it.
TEST(Layouts, NormsOfGroupsKeepChannelsInLanes) {
  const Capabilities caps = target::capabilities_of(TargetKind::cpu);
  const Var h = ir::var("h"), w = ir::var("w");
  const std::vector<Expr> shape{index(1), index(32), h, w};
  const auto image = [&](const char* name) { return ir::buffer(name, DType::f32, shape); };
  const Buffer in = image("in"), sums = image("sums"), norm = image("norm"), out = image("out");
  const Buffer weights = ir::buffer("weights", DType::f32, {index(32), index(32)});
  const std::vector<Expr> groups{index(1), index(8)};
  const Buffer means = ir::buffer("means", DType::f32, groups);
  const Buffer scales = ir::buffer("scales", DType::f32, groups);
  const Var n = ir::var("n"), c = ir::var("c"), y = ir::var("y"), x = ir::var("x");
  const Var k = ir::var("k");
  const auto map = [&](const Buffer& output, const Expr& result) {
    Stage stage;
    stage.output = output;
    stage.axes = {n, c, y, x};
    stage.extents = shape;
    stage.result = result;
    return stage;
  };
  const Expr group = ir::floordiv(c, 4);
  const Expr centred = ir::load(sums, {n, c, y, x}) - ir::load(means, {n, group});
  stages::Program stages{
      sum_over(sums, {n, c, y, x}, k, 32, ir::load(in, {n, k, y, x}) * ir::load(weights, {c, k})),
      map(norm, centred * ir::load(scales, {n, group})), map(out, ir::load(norm, {n, c, y, x}))};
  std::vector<std::pair<Buffer, Buffer>> replaced;
  layout::choose_layouts(stages,
                         {{in.get(), means.get(), scales.get()}, {out.get()}, {weights.get()}},
                         caps, replaced);
  const auto channels_in_lanes = [&](size_t from_end) {
    return stages::vector_dim(stages[stages.size() - from_end].output()->layout, 4) == 1;
  };
  EXPECT_TRUE(channels_in_lanes(3));
  EXPECT_TRUE(channels_in_lanes(2));
}

// A row times a matrix: several sums at a time, whose weights lie in one stream.
// A long reduction gains more by another axis than the copy behind it costs, a short one does not.
TEST(Layouts, ShortReductionsThatLeaveTheModelAreNotCopied) {
  for (TargetKind target : {TargetKind::cpu, TargetKind::wasm}) {
    const auto is_copied = [&](int64_t length) {
      const Capabilities caps = target::capabilities_of(target);
      Product p(64, length, 64);
      stages::Program stages{p.stage};
      std::vector<std::pair<Buffer, Buffer>> replaced;
      layout::choose_layouts(stages, {{p.b.get()}, {p.c.get()}, {p.a.get()}}, caps, replaced);
      return stages.back().stage()->name == "unblock";
    };
    EXPECT_TRUE(is_copied(64)) << name_of(target);
    EXPECT_FALSE(is_copied(16)) << name_of(target);
  }
}

// Of two inputs, the one whose rows are far apart is copied where many rows are multiplied by it.
TEST(Tilings, LargeInputsOfManyRowsAreCopiedTileByTile) {
  for (TargetKind target : {TargetKind::cpu, TargetKind::wasm, TargetKind::webgpu}) {
    const auto copied = [&](int64_t rows, int64_t length) {
      return autoschedule::default_tiling(Product(rows, length, 1024).stage,
                                          target::capabilities_of(target))
          .cache;
    };
    EXPECT_EQ(copied(256, 1024), target == TargetKind::webgpu ? -1 : 1) << name_of(target);
    EXPECT_EQ(copied(64, 1024), -1) << name_of(target);
    EXPECT_EQ(copied(256, 128), -1) << name_of(target);
  }
}

// The copy of a tile of columns is no larger than a work item's memory.
TEST(Tilings, LongReductionsHaveNarrowTilesOfColumns) {
  const Capabilities caps = target::capabilities_of(TargetKind::cpu);
  for (const int64_t length : {4096, 8192, 16384}) {
    const Tiling t = autoschedule::default_tiling(Product(256, length, 1024).stage, caps);
    EXPECT_EQ(t.cache, 1) << length;
    EXPECT_LE(4 * length * t.vectors * t.lanes, caps.max_private_bytes) << length;
  }
  EXPECT_EQ(autoschedule::default_tiling(Product(256, 32768, 1024).stage, caps).cache, -1);
}

TEST(Layouts, ConstantsOfARowsProductArePackedAcrossItsTile) {
  for (TargetKind target : {TargetKind::cpu, TargetKind::wasm}) {
    const Capabilities caps = target::capabilities_of(target);
    Product p(1, 64, 4096);
    stages::Program stages{p.stage};
    std::vector<std::pair<Buffer, Buffer>> replaced;
    layout::choose_layouts(stages, {{p.a.get()}, {p.c.get()}, {p.b.get()}}, caps, replaced);
    const Tiling t = autoschedule::default_tiling(*stages.back().stage(), caps);
    EXPECT_EQ(t.vectors, 8) << t.vectors;
    EXPECT_EQ(stages[0].output()->layout.axes.back().modulo, t.vectors * t.lanes) << t.vectors;
  }
}

TEST(Layouts, PortsThatNoStageTouchesAreTexturesToo) {
  const Buffer x = ir::buffer("x", DType::f32, {index(3), index(5)});
  const Buffer w = ir::buffer("w", DType::f32, {});
  stages::Program stages;
  std::vector<std::pair<Buffer, Buffer>> replaced;
  layout::choose_layouts(stages, {{x.get()}, {x.get(), w.get()}, {w.get()}},
                         target::capabilities_of(TargetKind::webgl), replaced);
  ASSERT_EQ(replaced.size(), 2u);
  for (const auto& [old, fresh] : replaced) {
    EXPECT_EQ(fresh->layout.memory, ir::Memory::texture);
    EXPECT_EQ(fresh->layout.width, old.same(x) ? 2 : 1);
  }
}

TEST(Tiling, StaysWithinTheRegisters) {
  for (TargetKind target : all_targets) {
    const Capabilities caps = target::capabilities_of(target);
    for (int64_t m : {1, 5, 16, 37, 100}) {
      for (int64_t n : {1, 4, 16, 30, 64, 1000}) {
        Product p(m, 32, n);
        const Tiling t = autoschedule::default_tiling(p.stage, caps);
        EXPECT_LE(t.rows * t.vectors + t.vectors + 1, caps.vector_registers)
            << to_string(autoschedule::default_list(p.stage, caps));
        EXPECT_LE(t.rows, std::max<int64_t>(caps.tile_rows, 1))
            << to_string(autoschedule::default_list(p.stage, caps));
        if (t.rows > 1)
          EXPECT_LE(t.rows, t.row_axis == 0 ? m : n)
              << to_string(autoschedule::default_list(p.stage, caps));
        if (t.vector_axis != 1) continue;
        EXPECT_LE(t.lanes * t.vectors, n) << to_string(autoschedule::default_list(p.stage, caps));
        if (t.vectors > 1 || caps.group_size > 1)
          EXPECT_EQ(n % (t.lanes * t.vectors), 0)
              << to_string(autoschedule::default_list(p.stage, caps));
      }
    }
  }
}

TEST(Tiling, OfAProductIsARegisterTile) {
  Product p(60, 32, 64);
  const Tiling t = autoschedule::default_tiling(p.stage, target::capabilities_of(TargetKind::cpu));
  EXPECT_EQ(t.pattern, Pattern::contraction);
  EXPECT_EQ(t.vector_axis, 1);
  EXPECT_EQ(t.row_axis, 0);
  EXPECT_GT(t.rows * t.vectors, 8);
}

TEST(Lower, KernelsVerifyAsScheduled) {
  for (TargetKind target : all_targets) {
    const Capabilities caps = target::capabilities_of(target);
    for (int64_t m : {1, 7, 16}) {
      for (int64_t n : {1, 6, 32}) {
        Product p(m, 19, n);
        stages::Program stages{p.stage};
        std::vector<std::pair<Buffer, Buffer>> replaced;
        layout::choose_layouts(stages, {{p.a.get()}, {p.c.get()}, {p.b.get()}}, caps, replaced);
        for (const Stage& stage : stages::stages_of(stages)) {
          const ir::Kernel kernel =
              autoschedule::schedule_default(single_group(stage), caps).kernel;
          const auto checked =
              ir::verify(kernel, static_cast<ir::Properties>(ir::Property::scheduled));
          EXPECT_TRUE(checked) << checked.error().to_string() << "\n" << ir::print(kernel);
          EXPECT_TRUE(kernel.params.back().written);
          EXPECT_TRUE(kernel.scalars.empty());
        }
      }
    }
  }
}

TEST(Lower, DimensionsBecomeScalars) {
  const Var n = ir::var("n"), i = ir::var("i");
  const Buffer a = ir::buffer("A", DType::f32, {n}), c = ir::buffer("C", DType::f32, {n});
  Stage stage;
  stage.name = "twice";
  stage.output = c;
  stage.axes = {i};
  stage.extents = {n};
  stage.result = ir::load(a, {i}) * 2.0;
  const ir::Kernel kernel =
      autoschedule::schedule_default(single_group(stage), target::capabilities_of(TargetKind::wasm))
          .kernel;
  ASSERT_EQ(kernel.scalars.size(), 1u);
  EXPECT_TRUE(kernel.scalars[0].same(n));
}

}  // namespace
}  // namespace gossamer::schedule
