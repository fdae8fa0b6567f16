// Texts and stages that have no valid point, and keys of groups. src/tune/space_test.cc tests that
// points are read back.
#include "records/choice.h"

#include <gtest/gtest.h>

#include "autoschedule/default_schedule.h"
#include "autoschedule/test_stages.h"

namespace gossamer::records {
namespace {

using autoschedule::blocked;
using autoschedule::wasm;
using ir::Expr;
using schedule::List;
using stages::Group;
using stages::Stage;
using target::Capabilities;

std::string read_back(std::string_view text) {
  const auto point = schedule::parse_point(text);
  return point ? to_string(*point) : point.error().to_string();
}

TEST(Choice, WhatIsNoPoint) {
  EXPECT_EQ(read_back(""), "a point begins with its pattern");
  EXPECT_EQ(read_back("contraction rows=4"),
            "\"contraction rows=4\" is not the name of a pattern (a point is a list: \"map: "
            "fuse(..) -> item; bind(item, grid)\")");
  EXPECT_EQ(read_back("map: tile"), "tile: a step is a primitive with its loops in parentheses");
  EXPECT_EQ(read_back("rows: tile( i0,4 )->a ,b; reorder()|rows"),
            "rows: tile(i0, 4) -> a, b; reorder() | rows");
}

// Loops that a stage has not got are empty values.
TEST(Choice, ListsAreWrittenFromTexts) {
  List list{"map", {}};
  add(list, "unroll($0); reorder($1, $0, lane); fuse($1, $2) -> i$3.all; unit() -> item", "", "i0",
      64, 2);
  EXPECT_EQ(to_string(list), "map: reorder(i0, lane); fuse(i0, 64) -> i2.all; unit() -> item");
}

std::string refused(const Group& group, const Capabilities& caps, std::string_view text) {
  const auto point = schedule::parse_point(text);
  if (!point) return point.error().to_string();
  const auto made = autoschedule::schedule_at(group, caps, *point);
  return made ? "" : made.error().to_string();
}

// Whatever a file says, the compiler goes on with the default point.
TEST(Choice, PointsThatTheStageDoesNotHave) {
  const Group group = single_group(autoschedule::product());
  const std::pair<const char*, const char*> wrong[]{
      {"map", "a stage of pattern contraction has no point of map"},
      {"rows", "a stage of pattern contraction has no point of rows"},
      {"contraction | contraction", "2 schedules for a group that takes 1"},
      {"contraction: tile(i7, 4) -> i7.tile, lane",
       "tile(i7, 4) -> i7.tile, lane: there is no loop \"i7\" (there are i0, i1, k0)"},
      {"contraction: tile(i1, 4) -> lane", "tile(i1, 4) -> lane: it becomes 2 loops, named by 1"},
      {"contraction: tile(i0.i7, 4) -> i7.tile, row",
       "tile(i0.i7, 4) -> i7.tile, row: there is no loop \"i0.i7\" (there are i0, i1, k0)"},
      {"contraction: split(i1, 9000000000, guard)",
       "split(i1, 9000000000, guard): factors make at most 1073741824"},
      {"contraction: split(i1, 100000, 100000, guard)",
       "split(i1, 100000, 100000, guard): factors make at most 1073741824"},
      {"contraction: reorder(i1)",
       "reorder(i1): the order has each loop of the reduction once (k.. are all others)"},
      {"contraction: unroll(k.., 1000)", "unroll(k.., 1000): 1000 is not between 1 and 64"},
      {"contraction: split(k0, 100, guard) -> a, b; unroll(b)",
       "unroll(b): 100 is not between 1 and 64"},
      {"contraction: split(i1, 2) -> a, b; vectorize(b)",
       "vectorize(b): vectors have 4 lanes, not 2"},
      {"contraction: unit() -> item; bind(item, grid)",
       "schedule of \"sum\": the stage has no accumulators"},
  };
  for (const auto& [text, error] : wrong) EXPECT_EQ(refused(group, wasm, text), error);
  EXPECT_EQ(refused(group, target::capabilities_of(TargetKind::webgpu),
                    "contraction: reorder(k..); accumulate(k..); fuse(..) -> item; split(item, "
                    "1000, guard) -> item, t; bind(t, group)"),
            "bind(t, group): cannot bind t to group: a workgroup of webgpu has at most 256 "
            "invocations");
}

// Words whose result depends on the extents: one list for kernels of several sizes.
TEST(Choice, OneListForSeveralSizes) {
  const std::string text =
      "contraction: tile(i0, 4) -> i0.tile, row; split(k0, 8, guard) -> k0.block, k0; "
      "reorder(k.., k0, row); accumulate(k..); peel(k0.block); unroll(k.., 4); unroll(row); "
      "fuse(..) -> item; bind(item, grid)";
  const auto trace = [&](Expr m, Expr k) {
    const auto made = autoschedule::schedule_at(
        single_group(autoschedule::product(std::move(m), std::move(k), ir::index(3))), wasm,
        *schedule::parse_point(text));
    return made ? to_string(made->schedules) : made.error().to_string();
  };
  const std::string walk = "reorder(j, k.block, k, row); accumulate(k.block); ",
                    launch = "unroll(row); fuse(i.tile, j) -> item; bind(item, grid)";
  EXPECT_EQ(trace(ir::index(8), ir::index(16)),
            "contraction: split(i, 4) -> i.tile, row; split(k, 8) -> k.block, k; " + walk +
                "split(k, 4); unroll(k.inner); " + launch);
  EXPECT_EQ(trace(ir::index(6), ir::index(18)),
            "contraction: split(i, 4, shift) -> i.tile, row; split(k, 8, guard) -> k.block, k; " +
                walk + "peel(k.block) -> k'; unroll(k'); split(k, 4); unroll(k.inner); " + launch);
  EXPECT_EQ(trace(ir::var("m"), ir::index(16)),
            "contraction: split(i, 4, clamp) -> i.tile, row; split(k, 8) -> k.block, k; " + walk +
                "split(k, 4); unroll(k.inner); " + launch);
}

TEST(Choice, KeysAreOfWhatIsComputed) {
  Stage one = autoschedule::product(), other = autoschedule::product();
  other.name = "another";
  other.origin = "a layer";
  EXPECT_EQ(key_of(single_group(one)), key_of(single_group(other)));
  EXPECT_NE(key_of(single_group(one)),
            key_of(single_group(autoschedule::product(ir::index(6), ir::index(10), ir::index(9)))));
  EXPECT_EQ(key_of(single_group(autoschedule::product(ir::var("n"), ir::index(4), ir::index(4)))),
            key_of(single_group(autoschedule::product(ir::var("m"), ir::index(4), ir::index(4)))));
  EXPECT_NE(key_of(single_group(autoschedule::twice())),
            key_of(single_group(autoschedule::twice(ir::index(3), ir::index(10), blocked))));
}

}  // namespace
}  // namespace gossamer::records
