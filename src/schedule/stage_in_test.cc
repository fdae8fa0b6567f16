// Tiles of operands in group memory, as loop IR.
#include <gtest/gtest.h>

#include "autoschedule/test_stages.h"
#include "autoschedule/tiling.h"

namespace gossamer::schedule {
namespace {

using autoschedule::wasm;
using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::Var;
using stages::Stage;
using target::Capabilities;

const Capabilities webgpu = target::capabilities_of(TargetKind::webgpu);

// The steps between the splits and the launch.
std::string tiles(const std::string& splits, const std::string& staged) {
  return splits +
         "; reorder(i.tile, j.tile, ti, tj, k.block, k, row, lane); accumulate(k.block); " +
         staged +
         "; unroll(row); vectorize(lane); fuse(i.tile, j.tile) -> item; "
         "fuse(ti, tj) -> invocation; bind(invocation, group); bind(item, grid)";
}
const std::string splits =
    "split(i, 2, 2) -> i.tile, row, ti; split(j, 2, 4) -> j.tile, tj, lane; "
    "split(k, 4) -> k.block, k";

TEST(StageIn, InvocationsLoadATileTogether) {
  EXPECT_EQ(
      autoschedule::loops(autoschedule::product(ir::index(8), ir::index(12), ir::index(16)),
                          tiles(splits, "stage_in(k.block, 0); stage_in(k.block, 1)"), webgpu),
      R"(
  grid item in 0..4 {
    group invocation in 0..4 {
      let ti: index = invocation // 2
      let tj: index = invocation % 2
      let i.tile: index = item // 2
      let j.tile: index = item % 2
      alloc b.tile: f32[32] group
      alloc a.tile: f32[16] group
      alloc acc: f32[2, 4]
      unrolled row in 0..2 {
        vectorized lane in 0..4 {
          acc[row, lane] = 0.0
        }
      }
      for k.block in 0..3 {
        barrier group
        vectorized lane_1 in 0..4 {
          a.tile[invocation * 4 + lane_1] = A[i.tile * 4 + invocation, k.block * 4 + lane_1]
        }
        unrolled step in 0..2 {
          vectorized lane_2 in 0..4 {
            b.tile[invocation * 4 + step * 16 + lane_2] = B[invocation // 2 + k.block * 4 + step * 2, j.tile * 8 + invocation % 2 * 4 + lane_2]
          }
        }
        barrier group
        for k in 0..4 {
          unrolled row in 0..2 {
            vectorized lane in 0..4 {
              acc[row, lane] = fma(a.tile[ti * 4 + k + row * 8], b.tile[tj * 4 + k * 8 + lane], acc[row, lane])
            }
          }
        }
      }
      unrolled row in 0..2 {
        vectorized lane in 0..4 {
          C[i.tile * 4 + ti + row * 2, j.tile * 8 + tj * 4 + lane] = acc[row, lane]
        }
      }
    }
  }
)");
}

// Points past the end are computed, of zeros and of what lies there, and left out when stored: all
// invocations come to the barriers.
TEST(StageIn, EdgesAreZerosAndGuardedStores) {
  const std::string text = autoschedule::loops(
      autoschedule::product(ir::index(7), ir::index(10), ir::index(16)),
      tiles("split(i, 2, 2, guard) -> i.tile, row, ti; split(j, 2, 4) -> j.tile, tj, lane; "
            "split(k, 4, guard) -> k.block, k",
            "stage_in(k.block, 0, ahead); stage_in(k.block, 1)"),
      webgpu);
  const auto* sum =
      "acc[row, lane] = fma(a.tile[ti * 4 + k + row * 8], b.tile[tj * 4 + k * 8 + lane], "
      "acc[row, lane])";
  for (const char* part :
       {"a.tile.next[lane_1] = A[i.tile * 4 + invocation, lane_1]",
        "a.tile.next[lane_4] = select(k.block * 4 + lane_4 < 6, A[", "if k.block < 2 {",
        "a.tile[invocation * 4 + lane_2] = a.tile.next[lane_2]",
        "select(k.block * 2 + step < 5, B[", sum, "if i.tile * 4 + ti + row * 2 < 7 {"})
    EXPECT_NE(text.find(part), text.npos) << part << text;
  EXPECT_EQ(text.find("if"), text.find("if k.block")) << text;
}

TEST(StageIn, IllegalUses) {
  const auto error_of = [](const Stage& stage, const std::string& steps,
                           const Capabilities& caps = webgpu) {
    return autoschedule::loops(stage, steps, caps);
  };
  const Stage stage = autoschedule::product(ir::index(8), ir::index(12), ir::index(16));
  EXPECT_EQ(error_of(stage, "stage_in(k, 2)"),
            "stage_in(k, 2): cannot stage operand 2 in k: operands are 0 and 1");
  EXPECT_EQ(error_of(stage, "stage_in(i, 0)"),
            "stage_in(i, 0): cannot stage operand 0 in i: it is no loop of a reduction");
  EXPECT_EQ(error_of(stage, "stage_in(k)"), "stage_in(k): stage_in takes a loop and an operand");
  EXPECT_EQ(error_of(stage, "stage_in(k, first)"),
            "stage_in(k, first): \"first\" is no operand (operands are 0 and 1)");
  EXPECT_EQ(error_of(stage, "stage_in(k, 0); stage_in(k, 0)"),
            "stage_in(k, 0): cannot stage operand 0 in k: it is staged already");
  EXPECT_EQ(error_of(autoschedule::total(8), "stage_in(k, 0)"),
            "stage_in(k, 0): cannot stage operand 0 in k: the stage is no sum of products");
  EXPECT_EQ(error_of(stage, "stage_in(k, 0)", wasm),
            "stage_in(k, 0): cannot stage operand 0 in k: wasm has no group memory");
  EXPECT_EQ(error_of(stage, "accumulate(k); stage_in(k, 0); fuse(i, j) -> item; bind(item, grid)"),
            "schedule of \"sum\": operands are staged, but no loop is bound to the group");
  Capabilities small = webgpu;
  small.max_group_bytes = 100;
  EXPECT_EQ(error_of(stage, tiles(splits, "stage_in(k.block, 0); stage_in(k.block, 1)"), small),
            "schedule of \"sum\": tiles of 192 bytes; a workgroup of webgpu shares 100");
}

// Rows of a register tile and invocations of a workgroup are fewer where processors would be idle.
TEST(StageIn, HardwareGetsTilesForAllProcessors) {
  Capabilities hardware = webgpu;
  hardware.hardware = true;
  // Too short a reduction for tiles in group memory.
  const auto numbers = [](const Capabilities& caps, int64_t m, int64_t n) {
    const Point point = autoschedule::default_point(
        single_group(autoschedule::product(ir::index(m), ir::index(8), ir::index(n))), caps);
    return std::pair(*factor_of(point, "row") * *factor_of(point, "vec"),
                     *factor_of(point, "invocation"));
  };
  EXPECT_EQ(numbers(hardware, 4096, 4096), std::pair(int64_t{16}, int64_t{64}));
  EXPECT_LT(numbers(hardware, 2048, 512).first, 8);
  EXPECT_EQ(numbers(hardware, 64, 64), std::pair(int64_t{1}, int64_t{32}));
  EXPECT_EQ(numbers(webgpu, 64, 64).second, 64);
}

// Sizes on, at and beside the edges of tiles, small ones and those that are not known.
TEST(StageIn, HardwareGetsTilesWhereTheyPay) {
  Capabilities hardware = webgpu;
  hardware.hardware = true;
  const auto tiling = [&](int64_t m, int64_t k, int64_t n) {
    return autoschedule::default_text(
        autoschedule::product(ir::index(m), ir::index(k), ir::index(n)), hardware);
  };
  // Rows and vectors of an invocation, invocations along both, parts, steps of a block.
  const auto numbers = [&](int64_t m, int64_t k, int64_t n) {
    const Point point = autoschedule::default_point(
        single_group(autoschedule::product(ir::index(m), ir::index(k), ir::index(n))), hardware);
    std::string text;
    for (const char* loop : {"row", "vec", "i0.thread", "i1.thread", "part", "k0"})
      text += cat(*factor_of(point, loop), " ");
    return text + (to_string(point).find("ahead") == std::string::npos ? "" : "ahead");
  };
  EXPECT_EQ(numbers(2048, 2048, 2048), "8 2 16 16 1 16 ");
  EXPECT_EQ(numbers(1000, 1000, 1000), "4 1 16 16 1 16 ahead");
  EXPECT_EQ(numbers(49, 512, 512), "2 1 4 4 8 16 ahead");
  EXPECT_EQ(numbers(128, 768, 768), "4 1 8 8 4 8 ahead");
  // Too short for parts.
  EXPECT_EQ(numbers(128, 32, 768), "4 1 8 8 1 16 ahead");
  EXPECT_EQ(tiling(8, 512, 512).find("stage_in"), std::string::npos);
  EXPECT_EQ(tiling(512, 8, 512).find("stage_in"), std::string::npos);
  EXPECT_EQ(tiling(512, 512, 16).find("stage_in"), std::string::npos);
  EXPECT_EQ(autoschedule::default_text(
                autoschedule::product(ir::index(2048), ir::index(2048), ir::index(2048)), webgpu)
                .find("stage_in"),
            std::string::npos);
}

// Parts whose results meet in group memory: each hands its tile to the one that it is added to.
TEST(StageIn, PartsOfTiles) {
  const std::string splits =
      "split(i, 2, 2) -> i.tile, ti, row; split(j, 2, 4) -> j.tile, tj, lane; "
      "split(k, 3, 4, guard) -> k.block, part, k; rfactor(part); "
      "reorder(i.tile, j.tile, part, ti, tj, k.block, k, row, lane); accumulate(k.block); ";
  const std::string bound =
      "; vectorize(lane); fuse(i.tile, j.tile) -> item; fuse(part, ti, tj) -> invocation; "
      "bind(invocation, group); bind(item, grid)";
  const Stage stage = autoschedule::product(ir::index(8), ir::index(26), ir::index(16));
  const std::string text = autoschedule::loops(
      stage, splits + "stage_in(k.block, 0); stage_in(k.block, 1)" + bound, webgpu);
  // The third part first, then the second.
  for (const char* line :
       {"alloc acc.shared: f32[64] group", "if part >= 2 {", "if part < 1 {",
        "acc.shared[invocation * 8 + row * 4 + lane - 64] = acc[row, lane]",
        "let joined0: f32 = acc[row, lane] + acc.shared[invocation * 8 + row * 4 + lane]",
        "if part == 0 {"})
    EXPECT_NE(text.find(line), text.npos) << line << text;
  Capabilities small = webgpu;
  small.max_group_bytes = 800;
  EXPECT_EQ(autoschedule::loops(
                stage, splits + "stage_in(k.block, 0); stage_in(k.block, 1)" + bound, small),
            "schedule of \"sum\": invocations hold the partial results of part, 832 bytes; a "
            "workgroup of webgpu shares 800");
}

// Its tile would hold an element for each point and step; so would that of windows over both axes.
TEST(StageIn, FactorsAlongBothAxesGetNoTiles) {
  Capabilities hardware = webgpu;
  hardware.hardware = true;
  const Expr extent = ir::index(64);
  const Buffer a = ir::buffer("A", DType::f32, {ir::index(127), extent});
  const Buffer b = ir::buffer("B", DType::f32, {extent, extent});
  const Var i = ir::var("i"), j = ir::var("j"), k = ir::var("k");
  const Stage stage =
      autoschedule::sum(ir::buffer("C", DType::f32, {extent, extent}), {i, j}, {k}, {extent},
                        ir::load(a, {Expr(i) + Expr(j), k}) * ir::load(b, {k, j}));
  EXPECT_EQ(autoschedule::default_text(stage, hardware).find("stage_in"), std::string::npos);
  // A limit that refuses them leads to the kernel without.
  hardware.max_group_bytes = 1024;
  const Schedule made =
      autoschedule::default_schedule(autoschedule::product(extent, extent, extent), hardware);
  EXPECT_EQ(to_string(made).find("stage_in"), std::string::npos);
}

}  // namespace
}  // namespace gossamer::schedule
