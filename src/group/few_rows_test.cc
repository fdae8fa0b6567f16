// What products of few rows take with them, and what runs with more rows keep.
#include "group/few_rows.h"

#include <gtest/gtest.h>

#include "autoschedule/test_stages.h"
#include "autoschedule/tiling_decoded.h"
#include "ir/rewrite.h"

namespace gossamer::group {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::Var;
using stages::Group;
using stages::RowCount;
using stages::Stage;
using target::Capabilities;

Capabilities hardware() {
  Capabilities caps = target::capabilities_of(TargetKind::webgpu);
  caps.hardware = true;
  return caps;
}

// Rows divided by the root of their squares' sum, and two products of them, the second of which
// multiplies by the first.
struct FewRows : testing::Test {
  static constexpr int64_t length = 256, columns = 512;

  explicit FewRows(Expr rows = ir::var("rows"))
      : x(ir::buffer("x", DType::f32, {rows, ir::index(length)})),
        w(ir::buffer("w", DType::f32, {ir::index(length)})) {
    const Var i = ir::var("i"), k = ir::var("k"), j = ir::var("j");
    norm = autoschedule::sum(ir::buffer("norm", DType::f32, {rows}), {i}, {k}, {ir::index(length)},
                             ir::load(x, {i, k}) * ir::load(x, {i, k}));
    norm.name = "norm";
    norm.result = 1.0 / ir::sqrt(norm.accumulators[0].left + 1e-5);
    const Var r = ir::var("i");
    scaled.name = "scaled";
    scaled.output = ir::buffer("scaled", DType::f32, x->shape);
    scaled.axes = {r, j};
    scaled.extents = x->shape;
    scaled.result = ir::load(x, {r, j}) * ir::load(norm.output, {r}) * ir::load(w, {j});
    gate = product_of(rows, "gate");
    up = product_of(rows, "up");
    up.result = Expr(up.accumulators[0].left) * ir::load(gate.output, {up.axes[0], up.axes[1]});
  }
  Stage product_of(const Expr& rows, const char* name) {
    Stage stage = autoschedule::decoded_product(rows, ir::index(length), ir::index(columns));
    stage.name = name;
    stage.output = ir::buffer(name, DType::f32, stage.output->shape);
    Buffer a;
    for (const Buffer& input : stages::inputs_of(stage))
      if (input->name == "A") a = input;
    stages::replace_inputs(stage, {{a.get(), scaled.output}});
    return stage;
  }
  // "norm + scaled > 8 rows; gate + up ...": launches in order, and the runs that they are for.
  std::string launches(std::set<const ir::BufferNode*> kept = {}) {
    kept.insert(up.output.get());
    const Ends ends{kept, {}};
    auto launched = group_stages({norm, scaled, gate, up}, ends, hardware());
    merge_for_few_rows(launched, ends, hardware());
    std::string text;
    for (const Launched& one : launched) {
      const Group& group = std::get<Group>(one);
      const char* runs[] = {"", " of few", " of more"};
      text += cat(text.empty() ? "" : "; ", title_of(group), runs[static_cast<int>(group.number)]);
      if (group.number == RowCount::few) merged = group.last();
    }
    return text;
  }

  Buffer x, w;
  Stage norm, scaled, gate, up, merged;
};

TEST_F(FewRows, OneLaunchSumsBothProductsAndTheNorm) {
  EXPECT_EQ(launches(), "norm + scaled of more; gate of more; up of more; norm + gate + up of few");
  ASSERT_EQ(merged.values.size(), 3u);
  EXPECT_TRUE(stages::is_sums(merged.accumulators));
  EXPECT_FALSE(stages::is_sum(merged.accumulators));
  for (const Buffer& input : stages::inputs_of(merged)) {
    EXPECT_FALSE(input.same(scaled.output));
    EXPECT_FALSE(input.same(gate.output));
  }
  EXPECT_TRUE(autoschedule::list_for_few_rows(merged, hardware()));
}

TEST_F(FewRows, WhatOthersReadStays) {
  EXPECT_EQ(launches({scaled.output.get()}),
            "norm + scaled; gate of more; up of more; gate + up of few");
  EXPECT_EQ(
      launches({gate.output.get()}),
      "norm + scaled of more; gate of more; norm + gate of few; up of more; norm + up of few");
}

// A product of the last row alone has few rows where another one has many.
TEST_F(FewRows, ProductsOfOtherRowsStay) {
  const Stage last = product_of(ir::index(1), "last");
  const Ends ends{{gate.output.get(), last.output.get()}, {}};
  auto launched = group_stages({norm, scaled, gate, last}, ends, hardware());
  merge_for_few_rows(launched, ends, hardware());
  for (const Launched& one : launched)
    EXPECT_TRUE(std::get<Group>(one).number == RowCount::any) << title_of(std::get<Group>(one));
}

TEST_F(FewRows, SoftwareAdaptersHaveNoPieces) {
  const Ends ends{{up.output.get()}, {}};
  const Capabilities software = target::capabilities_of(TargetKind::webgpu);
  auto launched = group_stages({norm, scaled, gate, up}, ends, software);
  merge_for_few_rows(launched, ends, software);
  EXPECT_EQ(launched.size(), 3u);
}

struct OneRow : FewRows {
  OneRow() : FewRows(ir::index(1)) {}
};

TEST_F(OneRow, ReplacesTheOthers) { EXPECT_EQ(launches(), "norm + gate + up"); }

}  // namespace
}  // namespace gossamer::group
