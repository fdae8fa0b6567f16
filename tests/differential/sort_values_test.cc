// Sorts taken apart by digits give what the sort itself gives.
#include "rewrite/radix_sort.h"

#include <algorithm>
#include <limits>

#include "autoschedule/test_stages.h"
#include "interp/stages.h"
#include "rewrite/sort.h"

namespace gossamer::differential {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Var;
using stages::Stage;
using stages::StageKind;

// Where the first `wanted` of `length` elements lie, along the first or the last axis of two.
Stage ordered(int64_t length, int64_t wanted, int64_t rows, size_t along) {
  const auto shape = [&](int64_t extent) {
    std::vector<Expr> all{ir::index(rows)};
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(along), ir::index(extent));
    return all;
  };
  const Buffer a = ir::buffer("A", ir::DType::i32, shape(length));
  const Var r = ir::var("r");
  const Var left = ir::var("left", ir::DType::i32), right = ir::var("right", ir::DType::i32);
  Stage stage;
  stage.kind = StageKind::sort;
  stage.name = "ordered";
  stage.output = ir::buffer("P", ir::DType::i32, shape(wanted));
  stage.axes = {ir::var("i"), ir::var("j")};
  stage.extents = stage.output->shape;
  stage.along = along;
  stage.reduce_axes = {r};
  stage.reduce_extents = {ir::index(length)};
  std::vector<Expr> place(stage.axes.begin(), stage.axes.end());
  place[along] = r;
  stage.values = {ir::load(a, place)};
  stage.accumulators = {{left, right, Expr(left) < Expr(right), {}}};
  return stage;
}

std::vector<Stage> taken_apart(const Stage& sort,
                               const target::Capabilities& caps = autoschedule::wasm) {
  std::vector<Stage> stages{sort};
  rewrite::merge_sorts(stages, caps);
  return stages;
}

ops::TensorData run(const std::vector<Stage>& stages, const ops::TensorData& keys) {
  interp::Values values;
  for (const Stage& stage : stages) {
    for (const Buffer& input : stages::inputs_of(stage)) {
      if (input->name == "A") values[input.get()] = keys;
    }
    const auto status = interp::run_stage(stage, values, {});
    EXPECT_TRUE(status) << status.error().to_string();
  }
  return values.at(stages.back().output.get());
}

// The same numbers each time; few of them, so that many are equal, and both ends of i32.
int32_t key(int64_t at, int64_t length) {
  const auto mixed = static_cast<uint32_t>((at * 2654435761LL) ^ (length * 40503)) >> 7;
  if (mixed % 97 == 0) return std::numeric_limits<int32_t>::min();
  if (mixed % 89 == 0) return std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(mixed % 5 == 0 ? mixed % 7 : mixed * 77041) *
         (mixed % 2 == 0 ? 1 : -1);
}

TEST(RadixSort, GivesWhatTheSortGives) {
  struct Size {
    int64_t length, wanted, rows;
    size_t along;
  };
  for (const Size& size : {Size{1024, 1024, 1, 1},
                           {1025, 600, 2, 1},
                           {1500, 1500, 2, 0},
                           {8191, 8191, 1, 1},
                           {8192, 4096, 1, 1},
                           {65537, 65537, 1, 1}}) {
    const Stage sort = ordered(size.length, size.wanted, size.rows, size.along);
    const Buffer a = stages::inputs_of(sort)[0];
    std::vector<int32_t> keys;
    for (int64_t at = 0; at < size.length * size.rows; ++at) keys.push_back(key(at, size.length));
    ops::TensorData data = ops::int32s({*ir::as_int(a->shape[0]), *ir::as_int(a->shape[1])}, keys);
    ASSERT_TRUE(rewrite::has_digits(sort, autoschedule::wasm));
    EXPECT_EQ(run(taken_apart(sort), data).bytes, run({sort}, data).bytes) << size.length;
  }
}

TEST(RadixSort, OnlyWhereKernelsScatterKeysOf32Bits) {
  Stage sort = ordered(5000, 10, 1, 1);
  EXPECT_TRUE(rewrite::has_digits(sort, autoschedule::wasm));
  EXPECT_FALSE(rewrite::has_digits(sort, target::capabilities_of(TargetKind::webgpu)));
  EXPECT_FALSE(rewrite::has_digits(sort, target::capabilities_of(TargetKind::webgl)));
  EXPECT_FALSE(rewrite::has_digits(ordered(500, 10, 1, 1), autoschedule::wasm));
  sort.accumulators[0].joined = Expr(sort.accumulators[0].left) <= Expr(sort.accumulators[0].right);
  EXPECT_FALSE(rewrite::has_digits(sort, autoschedule::wasm));
}

// Each element is looked at six times however many there are, and tables take a share of that.
TEST(RadixSort, WorkIsLinear) {
  const auto work = [](int64_t length) {
    double points = 0;
    for (const Stage& stage : taken_apart(ordered(length, length, 1, 1))) {
      double all = 1;
      for (const Expr& extent : stage.extents) all *= static_cast<double>(*ir::as_int(extent));
      points += all;
    }
    return points;
  };
  EXPECT_LE(work(100'000), 9.0 * 100'000);
  EXPECT_LE(work(1'000'000), 8.0 * 1'000'000);
}

}  // namespace
}  // namespace gossamer::differential
