#include "rewrite/winograd.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "autoschedule/default_schedule.h"
#include "autoschedule/test_stages.h"
#include "interp/stages.h"
#include "records/layout_records.h"
#include "stages/access.h"
#include "stages/pattern.h"

namespace gossamer::differential {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Var;
using stages::Stage;

struct Shape {
  int64_t batch = 1, channels = 4, columns = 8, rows = 9, width = 11, pad = 1;
  int64_t window = 3, stride = 1, dilation = 1;
};

// Y[n, o, y, x] = max(0, sum over c, k, l of X[n, c, y + k - pad, x + l - pad] W[o, c, k, l] +
// B[o])
Stage convolution(const Shape& s, ir::DType dtype = ir::DType::f32) {
  const int64_t reach = s.dilation * (s.window - 1) + 1;
  const Expr down = ir::index((s.rows + 2 * s.pad - reach) / s.stride + 1);
  const Expr across = ir::index((s.width + 2 * s.pad - reach) / s.stride + 1);
  const Buffer x = ir::buffer(
      "X", dtype,
      {ir::index(s.batch), ir::index(s.channels), ir::index(s.rows), ir::index(s.width)});
  const Buffer w = ir::buffer(
      "W", dtype,
      {ir::index(s.columns), ir::index(s.channels), ir::index(s.window), ir::index(s.window)});
  const Buffer b = ir::buffer("B", dtype, {ir::index(s.columns)});
  const Var n = ir::var("n"), o = ir::var("o"), y = ir::var("y"), q = ir::var("x");
  const Var c = ir::var("c"), k = ir::var("k"), l = ir::var("l");
  const Expr row =
      Expr(y) * ir::index(s.stride) + Expr(k) * ir::index(s.dilation) - ir::index(s.pad);
  const Expr column =
      Expr(q) * ir::index(s.stride) + Expr(l) * ir::index(s.dilation) - ir::index(s.pad);
  Expr value = ir::cast(ir::DType::f32, ir::load(x, {n, c, row, column}));
  if (s.pad > 0) {
    const Expr inside = row >= ir::index(0) && row < ir::index(s.rows) && column >= ir::index(0) &&
                        column < ir::index(s.width);
    value = ir::select(inside, value, ir::constant(ir::DType::f32, 0));
  }
  Stage stage = autoschedule::sum(
      ir::buffer("Y", ir::DType::f32, {ir::index(s.batch), ir::index(s.columns), down, across}),
      {n, o, y, q}, {c, k, l}, {ir::index(s.channels), ir::index(s.window), ir::index(s.window)},
      value * ir::cast(ir::DType::f32, ir::load(w, {o, c, k, l})));
  stage.name = "conv";
  stage.result = ir::max(stage.result + ir::cast(ir::DType::f32, ir::load(b, {o})), 0.0);
  return stage;
}

class Tiles : public records::LayoutWatch {
 public:
  explicit Tiles(int edge) : records::LayoutWatch(nullptr, nullptr), edge_(edge) {}
  std::optional<int> tile_of(const Stage&, const target::Capabilities&, int rule) const override {
    rule_ = rule;
    return edge_;
  }
  mutable std::optional<int> rule_;

 private:
  int edge_;
};

stages::Program in_tiles(const Stage& stage, int edge, bool constant = true,
                         const target::Capabilities& caps = autoschedule::wasm) {
  std::set<const ir::BufferNode*> constants;
  for (const Buffer& input : stages::inputs_of(stage))
    if (constant && input->name != "X") constants.insert(input.get());
  stages::Program program{stage};
  const Tiles tiles(edge);
  rewrite::use_winograd(program, constants, caps, &tiles);
  return program;
}

// What the rule says of it.
int rule_of(const Shape& shape, const target::Capabilities& caps) {
  const Stage stage = convolution(shape);
  std::set<const ir::BufferNode*> constants;
  for (const Buffer& input : stages::inputs_of(stage))
    if (input->name != "X") constants.insert(input.get());
  stages::Program program{stage};
  const Tiles tiles(records::direct);
  rewrite::use_winograd(program, constants, caps, &tiles);
  return tiles.rule_.value_or(-1);
}

interp::Values inputs_of_run(const Stage& stage) {
  std::mt19937 numbers(1);
  std::normal_distribution<float> normal;
  interp::Values values;
  for (const Buffer& input : stages::inputs_of(stage)) {
    ops::TensorData data{input->dtype, {}, {}};
    size_t count = 1;
    for (const Expr& extent : input->shape) {
      data.shape.push_back(*ir::as_int(extent));
      count *= static_cast<size_t>(data.shape.back());
    }
    data.bytes.resize(4 * count);
    for (size_t at = 0; at < count; ++at) {
      const float number = normal(numbers);
      std::memcpy(data.bytes.data() + 4 * at, &number, 4);
    }
    values[input.get()] = std::move(data);
  }
  return values;
}

std::vector<float> floats_of(const ops::TensorData& data) {
  std::vector<float> numbers(data.bytes.size() / 4);
  std::memcpy(numbers.data(), data.bytes.data(), data.bytes.size());
  return numbers;
}

std::vector<float> run(const stages::Program& program, const Buffer& output,
                       interp::Values values) {
  const auto status = interp::run_program(program, values);
  EXPECT_TRUE(status) << status.error().to_string();
  return floats_of(values.at(output.get()));
}

TEST(Winograd, ComputesTheSum) {
  const std::vector<Shape> shapes{
      {},                                   // rows that tiles do not fill
      {.batch = 2, .rows = 8, .width = 8},  // and that they do
      {.channels = 1, .columns = 1, .rows = 6, .width = 5, .pad = 0},
      {.batch = 3, .channels = 5, .columns = 3, .rows = 3, .width = 3, .pad = 2},
      {.channels = 3, .columns = 2, .rows = 4, .width = 17, .pad = 1},
  };
  for (const Shape& shape : shapes) {
    const Stage stage = convolution(shape);
    const interp::Values values = inputs_of_run(stage);
    const std::vector<float> expected = run({stage}, stage.output, values);
    for (const int edge : records::winograd_tiles) {
      const stages::Program program = in_tiles(stage, edge);
      ASSERT_EQ(program.size(), 4u);
      const std::vector<float> points = run(program, stage.output, values);
      ASSERT_EQ(points.size(), expected.size());
      const float largest = *std::ranges::max_element(expected);
      for (size_t at = 0; at < points.size(); ++at)
        ASSERT_NEAR(points[at], expected[at], 1e-5 * largest) << at << " in tiles of " << edge;
    }
  }
}

TEST(Winograd, WhatIsInfiniteReachesNoOtherTile) {
  const Stage stage = convolution({.channels = 1, .columns = 1, .rows = 12, .width = 12, .pad = 0});
  interp::Values values = inputs_of_run(stage);
  const float infinite = std::numeric_limits<float>::infinity();
  for (auto& [buffer, data] : values)
    if (buffer->name == "X") std::memcpy(data.bytes.data(), &infinite, 4);
  const std::vector<float> points = run(in_tiles(stage, 4), stage.output, values);
  for (size_t at = 0; at < points.size(); ++at) {
    const bool first_tile = at / 10 < 4 && at % 10 < 4;
    if (!first_tile) EXPECT_TRUE(std::isfinite(points[at])) << at;
  }
}

TEST(Winograd, StagesAreProductsBetweenTransforms) {
  const stages::Program program = in_tiles(convolution({.channels = 4, .columns = 8}), 4);
  ASSERT_EQ(program.size(), 4u);
  const auto shape_of = [&](size_t at) {
    std::vector<int64_t> shape;
    for (const Expr& extent : program[at].stage()->extents) shape.push_back(*ir::as_int(extent));
    return shape;
  };
  EXPECT_EQ(shape_of(0), (std::vector<int64_t>{36, 8, 4}));
  EXPECT_EQ(shape_of(1), (std::vector<int64_t>{36, 3 * 3, 4}));
  EXPECT_EQ(shape_of(2), (std::vector<int64_t>{36, 3 * 3, 8}));
  EXPECT_EQ(pattern_of(*program[2].stage()), stages::Pattern::contraction);
  EXPECT_EQ(runs_of(*program[1].stage()), (std::vector<int64_t>{36, 1, 1}));
  EXPECT_EQ(runs_of(*program[3].stage()), (std::vector<int64_t>{1, 1, 4, 4}));
  EXPECT_EQ(runs_of(*program[2].stage()), (std::vector<int64_t>{1, 1, 1}));
  EXPECT_EQ(program[3].stage()->name, "conv");
}

// A batch that a run tells is an axis of its own.
TEST(Winograd, BatchesMayBeOpen) {
  const Var n = ir::var("batch");
  Stage stage = convolution({.batch = 2});
  const Stage known = stage;
  stage.extents[0] = n;
  stage.output = ir::buffer("Y", ir::DType::f32, stage.extents);
  const stages::Program program = in_tiles(stage, 2);
  ASSERT_EQ(program.size(), 4u);
  EXPECT_EQ(program[1].stage()->extents.size(), 4u);
  EXPECT_TRUE(program[1].stage()->extents[1].same(stage.extents[0]));
  interp::Values values = inputs_of_run(known);
  const std::vector<float> expected = run({known}, known.output, values);
  const interp::Variables variables{{n.get(), ir::Scalar::of_int(ir::DType::index, 2)}};
  // Inputs are other buffers of the same names.
  interp::Values given;
  for (const Buffer& input : stages::inputs_of(stage))
    for (const auto& [buffer, data] : values)
      if (buffer->name == input->name) given[input.get()] = data;
  const auto status = interp::run_program(program, given, variables);
  ASSERT_TRUE(status) << status.error().to_string();
  const std::vector<float> points = floats_of(given.at(stage.output.get()));
  ASSERT_EQ(points.size(), expected.size());
  const float largest = *std::ranges::max_element(expected);
  for (size_t at = 0; at < points.size(); ++at)
    ASSERT_NEAR(points[at], expected[at], 1e-5 * largest) << at;
}

TEST(Winograd, OthersStay) {
  const std::vector<Stage> others{
      convolution({.stride = 2}),
      convolution({.dilation = 2}),
      convolution({.window = 5}),
      convolution({.pad = 0, .window = 1}) /* a product */,
      convolution({}, ir::DType::u8) /* rounds to integers later */,
      autoschedule::product(),
      autoschedule::twice(),
  };
  for (const Stage& stage : others) EXPECT_EQ(in_tiles(stage, 4).size(), 1u);
  EXPECT_EQ(in_tiles(convolution({}), records::direct).size(), 1u);
  EXPECT_EQ(in_tiles(convolution({}), 4, false).size(), 1u) << "weights that are no constants";
  const target::Capabilities webgl = target::capabilities_of(TargetKind::webgl);
  EXPECT_EQ(in_tiles(convolution({}), 4, true, webgl).size(), 1u) << "a texel is one element";
}

// Rows that only a run tells are as many as their estimate (tests/open has the values).
TEST(Winograd, TilesRowsOfOpenExtents) {
  Stage open = convolution({});
  open.extents[2] = ir::dimension("h", 56);
  const stages::Program program = in_tiles(open, 4);
  ASSERT_EQ(program.size(), 4u);
  EXPECT_FALSE(ir::as_int(program[2].stage()->extents[1])) << "the number of tiles";
}

TEST(Winograd, PaysWhereTilesAreManyAndChannels) {
  const target::Capabilities cpu = target::capabilities_of(TargetKind::cpu);
  for (const target::Capabilities& caps : {cpu, autoschedule::wasm}) {
    EXPECT_EQ(rule_of({.channels = 64, .columns = 64, .rows = 56, .width = 56}, caps), 4);
    EXPECT_EQ(rule_of({.channels = 256, .columns = 256, .rows = 14, .width = 14}, caps), 2);
    EXPECT_EQ(rule_of({.channels = 512, .columns = 512, .rows = 7, .width = 7}, caps),
              records::direct);
    EXPECT_EQ(rule_of({.channels = 3, .columns = 32, .rows = 224, .width = 224}, caps),
              records::direct);
  }
}

// All points of a tile from one reading of its products; those past the edge are not stored.
TEST(Winograd, ATileIsReadOnce) {
  const stages::Program program = in_tiles(convolution({.columns = 8, .rows = 7, .width = 8}), 2);
  const schedule::Schedule points =
      autoschedule::default_schedule(*program[3].stage(), autoschedule::wasm);
  EXPECT_NE(to_string(points).find("split(y, 2, mask) -> y.tile, y"), std::string::npos)
      << to_string(points);
  const schedule::Schedule tiles =
      autoschedule::default_schedule(*program[1].stage(), autoschedule::wasm);
  EXPECT_NE(to_string(tiles).find("unroll(place)"), std::string::npos) << to_string(tiles);
  // What many read without sharing it stays as it is.
  EXPECT_EQ(to_string(autoschedule::default_schedule(autoschedule::twice(), autoschedule::wasm))
                .find("mask"),
            std::string::npos);
}

}  // namespace
}  // namespace gossamer::differential
