// Sums weighted by a softmax as one launch, and where they stay several.
#include <gtest/gtest.h>

#include "autoschedule/test_stages.h"
#include "group/group_stages.h"
#include "layout/layout.h"
#include "online/online.h"

namespace gossamer::online {
namespace {

using autoschedule::ScheduledGroup;
using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::Var;
using layout::Ports;
using stages::Group;
using stages::RowCount;
using stages::Stage;
using target::Capabilities;

const Capabilities webgpu = target::capabilities_of(TargetKind::webgpu);

Buffer matrix(const char* name, Expr rows, Expr columns) {
  return ir::buffer(name, DType::f32, {std::move(rows), std::move(columns)});
}

// softmax(Q K') V.
struct WeightedSum {
  Buffer scores, peaks, weights, totals, out;
  stages::Program program;

  // With `part`, the weights are summed in parts of so many, as long sums are defined.
  WeightedSum(Expr queries, Expr keys, int64_t width = 16, int64_t part = 0)
      : scores(matrix("scores", queries, keys)),
        peaks(matrix("peaks", queries, ir::index(1))),
        weights(matrix("weights", queries, keys)),
        totals(matrix("totals", queries, ir::index(1))),
        out(matrix("out", queries, ir::index(width))) {
    const Buffer q = matrix("q", queries, ir::index(width)),
                 k = matrix("k", keys, ir::index(width));
    const Buffer v = matrix("v", keys, ir::index(width));
    const Var i = ir::var("i"), j = ir::var("j"), d = ir::var("d"), one = ir::var("one");
    const Expr zero = ir::index(0);
    program.push_back(autoschedule::sum(scores, {i, j}, {d}, {ir::index(width)},
                                        ir::load(q, {i, d}) * ir::load(k, {j, d})));
    Stage peak = autoschedule::sum(peaks, {i, one}, {j}, {keys}, ir::load(scores, {i, j}));
    peak.accumulators[0].joined = ir::max(peak.accumulators[0].left, peak.accumulators[0].right);
    peak.accumulators[0].identity = ir::lowest(DType::f32);
    program.push_back(peak);
    program.push_back(
        autoschedule::map("weights", weights, {i, j},
                          ir::exp(ir::load(scores, {i, j}) - ir::load(peaks, {i, zero}))));
    if (part == 0) {
      program.push_back(
          autoschedule::sum(totals, {i, one}, {j}, {keys}, ir::load(weights, {i, j})));
    } else {
      const int64_t count = *ir::as_int(keys), some = (count + part - 1) / part;
      const Buffer parts = matrix("parts", queries, ir::index(some));
      const Var p = ir::var("p"), r = ir::var("r");
      const Expr place = p * ir::index(part) + r;
      program.push_back(autoschedule::sum(
          parts, {i, p}, {r}, {ir::index(part)},
          ir::select(place < keys, ir::load(weights, {i, ir::min(place, keys - ir::index(1))}),
                     ir::zero(DType::f32))));
      program.push_back(
          autoschedule::sum(totals, {i, one}, {p}, {ir::index(some)}, ir::load(parts, {i, p})));
    }
    program.push_back(autoschedule::sum(
        out, {i, d}, {j}, {keys},
        ir::load(weights, {i, j}) / ir::load(totals, {i, zero}) * ir::load(v, {j, d})));
  }

  size_t launches(std::set<const ir::BufferNode*> kept = {}, const Capabilities& caps = webgpu) {
    kept.insert(out.get());
    return group::group_stages(program, {std::move(kept), {}}, caps).size();
  }
};

TEST(Online, IsOneLaunch) {
  EXPECT_EQ(WeightedSum(ir::index(37), ir::index(45)).launches(), 1U);
  const Var keys = ir::dimension("keys", 64);
  EXPECT_EQ(WeightedSum(ir::index(37), keys).launches(), 1U);
}

TEST(Online, WeightsMayBeSummedInParts) {
  EXPECT_EQ(WeightedSum(ir::index(37), ir::index(45), 16, 9).launches(), 1U);
  EXPECT_EQ(WeightedSum(ir::index(37), ir::index(45), 16, 8).launches(), 1U);
}

TEST(Online, ReadsBack) {
  for (const TargetKind kind : {TargetKind::webgpu, TargetKind::cpu, TargetKind::wasm}) {
    const Capabilities caps = target::capabilities_of(kind);
    WeightedSum weighted(ir::index(37), ir::index(45));
    const auto launched = group::group_stages(weighted.program, {{weighted.out.get()}, {}}, caps);
    ASSERT_EQ(launched.size(), 1U);
    const auto& group = std::get<Group>(launched[0]);
    const ScheduledGroup made = autoschedule::schedule_default(group, caps);
    EXPECT_EQ(made.group_size(), kind == TargetKind::webgpu ? 128 : 1);
    const auto read = schedule::parse_schedules(group, caps, to_string(made.schedules));
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(ir::print(*lower(group, *read)), ir::print(made.kernel));
  }
}

// In the memory that every workgroup has.
TEST(Online, TilesFitInGroupMemory) {
  for (const int64_t rows : {37, 1 << 15}) {
    for (int64_t width = 16; width <= 256; width += 16) {
      WeightedSum weighted(ir::index(rows), ir::index(45), width);
      const auto launched =
          group::group_stages(weighted.program, {{weighted.out.get()}, {}}, webgpu);
      ASSERT_EQ(launched.size(), 1U) << rows << " x " << width;
      const auto& group = std::get<Group>(launched[0]);
      EXPECT_TRUE(
          autoschedule::schedule_at(group, webgpu, autoschedule::default_point(group, webgpu)))
          << rows << " x " << width;
    }
  }
}

// A causal mask that a stage makes is made again for each score on CPUs, whoever reads it, too.
TEST(Online, MasksOfPositionsAreComputedAgain) {
  const Capabilities cpu = target::capabilities_of(TargetKind::cpu);
  WeightedSum weighted(ir::index(37), ir::index(45));
  const Buffer mask = matrix("mask", ir::index(37), ir::index(45));
  const Var i = ir::var("i"), j = ir::var("j");
  const Expr hidden = ir::lowest(DType::f32), shown = ir::zero(DType::f32);
  Stage& scores = *weighted.program[0].stage();
  scores.result = scores.result + ir::load(mask, {scores.axes[0], scores.axes[1]});
  weighted.program.insert(
      weighted.program.begin(),
      autoschedule::map("mask", mask, {i, j},
                        ir::select(j <= ir::min(i + 3, ir::index(40)), shown, hidden)));
  EXPECT_EQ(weighted.launches({}, cpu), 1U);
  EXPECT_EQ(weighted.launches({mask.get()}, cpu), 2U);
  EXPECT_EQ(weighted.launches({}, webgpu), 2U);

  const auto launched = group::group_stages(weighted.program, {{weighted.out.get()}, {}}, cpu);
  const Online online = online_of(std::get<Group>(launched[0]));
  ASSERT_TRUE(online.bound.get());
  EXPECT_EQ(ir::print(ir::simplify(online.bound)), "min(i + 3, 40) + 1");
}

TEST(Online, StoresScoresThatOthersRead) {
  WeightedSum weighted(ir::index(37), ir::index(45));
  EXPECT_GT(weighted.launches({weighted.scores.get()}), 1U);
  EXPECT_GT(weighted.launches({weighted.totals.get()}), 1U);
}

TEST(Online, StoresScoresOfFewOrShortRows) {
  EXPECT_GT(WeightedSum(ir::index(64), ir::index(64)).launches(), 1U);  // few workgroups
  EXPECT_GT(WeightedSum(ir::index(8), ir::index(45)).launches(), 1U);

  EXPECT_EQ(WeightedSum(ir::index(1 << 15), ir::index(64)).launches(), 1U);
}

TEST(Online, FewRowsOfARunStoreTheirScores) {
  // Of a width that key_parts has no shape for.
  WeightedSum weighted(ir::dimension("queries", 64), ir::index(45), 144);
  const auto launched = group::group_stages(weighted.program, {{weighted.out.get()}, {}}, webgpu);
  ASSERT_EQ(launched.size(), 4U);
  for (size_t i = 0; i < launched.size(); ++i) {
    const auto& group = std::get<Group>(launched[i]);
    EXPECT_EQ(group.number, i == 3 ? RowCount::more : RowCount::few);
    EXPECT_EQ(is_walk(group), i == 3);
    if (i == 0) EXPECT_EQ(ir::print(group.last().output->shape[0]), "min(queries, 8)");
  }
}

TEST(Online, StoresScoresInTextures) {
  const Capabilities caps = target::capabilities_of(TargetKind::webgl);
  EXPECT_GT(WeightedSum(ir::index(37), ir::index(45)).launches({}, caps), 1U);
}

// On CPUs a vector has a query in each lane: half of them would be idle.
TEST(Online, FewRowsStoreTheirScoresOnCpus) {
  for (const TargetKind kind : {TargetKind::cpu, TargetKind::wasm}) {
    const Capabilities caps = target::capabilities_of(kind);
    const int64_t few = caps.vector_lanes / 2;
    EXPECT_GT(WeightedSum(ir::index(few), ir::index(45)).launches({}, caps), 1U);
    EXPECT_EQ(WeightedSum(ir::index(few + 1), ir::index(45)).launches({}, caps), 1U);

    // A row alone stores its scores; few rows that are left over have a narrow tile.
    WeightedSum open(ir::dimension("queries", 64), ir::index(45));
    const auto launched = group::group_stages(open.program, {{open.out.get()}, {}}, caps);
    EXPECT_EQ(ir::print(std::get<Group>(launched[0]).last().output->shape[0]), "min(queries, 1)");
    const auto& many = std::get<Group>(launched.back());
    EXPECT_TRUE(is_walk(many));
    EXPECT_EQ(many.number, RowCount::more);
    EXPECT_EQ(autoschedule::default_point(many, caps).size(), 2 * vector_parts);
  }
}

// The memory that a work item of a machine with a small stack has.
TEST(Online, TilesFitInPrivateMemory) {
  const Capabilities caps = for_any_machine(target::capabilities_of(TargetKind::cpu));
  for (const int64_t width : {16, 32, 64, 80}) {
    WeightedSum weighted(ir::index(37), ir::index(45), width);
    const auto launched = group::group_stages(weighted.program, {{weighted.out.get()}, {}}, caps);
    ASSERT_EQ(launched.size(), 1U) << width;
    int64_t bytes = 0;
    ir::visit(
        autoschedule::schedule_default(std::get<Group>(launched[0]), caps).kernel.body,
        [&](const ir::Stmt& stmt) {
          const auto* alloc = ir::as<ir::Alloc>(stmt);
          int64_t elements = alloc ? 4 : 0;
          for (const Expr& extent : alloc ? alloc->buffer->shape : std::vector<Expr>())
            elements *= *ir::as_int(extent);
          bytes += elements;
          return true;
        },
        [](const Expr&) { return false; });
    EXPECT_GT(bytes, 0) << width;
    EXPECT_LE(bytes, caps.max_private_bytes) << width;
  }
}

// A walk reads its operands where they are.
TEST(Online, CopiesNoOperands) {
  for (const TargetKind kind : {TargetKind::cpu, TargetKind::wasm}) {
    const Capabilities caps = target::capabilities_of(kind);
    for (const Expr& queries : {ir::index(197), Expr(ir::dimension("queries", 64))}) {
      WeightedSum weighted(queries, ir::index(197), 64);
      Ports ports;
      ports.outputs = {weighted.out.get()};
      std::vector<std::pair<Buffer, Buffer>> replaced;
      const size_t stages = weighted.program.size();
      choose_layouts(weighted.program, ports, caps, replaced);
      EXPECT_EQ(weighted.program.size(), stages);
    }
  }
}

// A bias of positions lies along the queries, which vectors hold.
TEST(Online, TransposesConstantBiases) {
  const Capabilities caps = target::capabilities_of(TargetKind::cpu);
  const Expr queries = ir::index(49), keys = ir::index(49);
  WeightedSum weighted(queries, keys, 64);
  const Buffer bias = matrix("bias", queries, keys);
  Stage& scores = *weighted.program[0].stage();
  scores.result = scores.result + ir::load(bias, {scores.axes[0], scores.axes[1]});
  const Ports ports{{}, {weighted.out.get()}, {bias.get()}};
  std::vector<std::pair<Buffer, Buffer>> replaced;
  choose_layouts(weighted.program, ports, caps, replaced);
  EXPECT_EQ(weighted.program[0].output()->name, "bias.turned");
  const Stage& turned = *weighted.program[1].stage();
  EXPECT_EQ(ir::print(turned.result), "left + bias.turned[j, i]");
}

TEST(Online, OtherSumsStay) {
  WeightedSum weighted(ir::index(37), ir::index(45));
  // Weights of the squared scores: the maximum is of something else.
  Stage& weights = *weighted.program[2].stage();
  const Expr score = ir::load(weighted.scores, {weights.axes[0], weights.axes[1]});
  weights.result =
      ir::exp(score * score - ir::load(weighted.peaks, {weights.axes[0], ir::index(0)}));
  EXPECT_GT(weighted.launches(), 1U);
}

}  // namespace
}  // namespace gossamer::online
