// Texts and stages that have no valid point, and keys of groups. src/tune/space_test.cc tests that
// points are read back.
#include "schedule/choice.h"

#include <gtest/gtest.h>

#include "schedule/test_stages.h"

namespace gossamer::schedule {
namespace {

std::string read_back(std::string_view text) {
  const auto point = parse_point(text);
  return point ? to_string(*point) : point.error().to_string();
}

TEST(Choice, WhatIsNoPoint) {
  EXPECT_EQ(read_back(""), "a point begins with its pattern");
  EXPECT_EQ(read_back("tile rows=4"),
            "there is no pattern \"tile\" (there are map, reduce, window, contraction, scan, "
            "scatter and rows)");
  EXPECT_EQ(read_back("rows lanes=4"), "a point of rows has no field \"lanes\"");
  EXPECT_EQ(read_back("contraction rows=many"), "\"many\" is no value of rows");
  EXPECT_EQ(read_back("contraction rows"), "\"\" is no value of rows");
}

// Whatever a file says, the compiler goes on with the default point.
TEST(Choice, PointsThatTheStageDoesNotHave) {
  const Group group = single_group(product());
  for (const char* text :
       {"map", "rows", "contraction vector_axis=7 lanes=4", "contraction row_axis=-1 rows=4",
        "contraction vector_axis=1 lanes=3", "contraction rows=1000000 row_axis=0",
        "contraction reduce_axis=4", "contraction vector_axis=1 lanes=4 vectors=64",
        "contraction joined_axis=1 row_axis=0", "contraction group_size=64",
        "contraction vector_axis=0 row_axis=0 rows=2 lanes=4",
        "contraction reduce_block=5 partial=1", "contraction group_rows=8 group_vectors=8",
        "contraction group_rows=100000 group_vectors=100000 vector_axis=1 reduce_axis=0",
        "contraction vector_axis=1 reduce_axis=0 parts=4 row_axis=7", "scan", "scatter",
        "contraction vector_axis=1 reduce_axis=3 parts=4"}) {
    const auto point = parse_point(text);
    ASSERT_TRUE(point) << text;
    for (TargetKind target : {TargetKind::cpu, TargetKind::wasm, TargetKind::webgpu}) {
      // It must not end the process; most are refused.
      const auto made = schedule_at(group, capabilities_of(target), *point);
      if (std::string_view(text) == "map") EXPECT_FALSE(made);
    }
  }
}

TEST(Choice, KeysAreOfWhatIsComputed) {
  Stage one = product(), other = product();
  other.name = "another";
  other.origin = "a layer";
  EXPECT_EQ(key_of(single_group(one)), key_of(single_group(other)));
  EXPECT_NE(key_of(single_group(one)),
            key_of(single_group(product(index(6), index(10), index(9)))));
  EXPECT_EQ(key_of(single_group(product(ir::var("n"), index(4), index(4)))),
            key_of(single_group(product(ir::var("m"), index(4), index(4)))));
  EXPECT_NE(key_of(single_group(twice())),
            key_of(single_group(twice(index(3), index(10), blocked))));
}

}  // namespace
}  // namespace gossamer::schedule
