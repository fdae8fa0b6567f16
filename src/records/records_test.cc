// Whose records a kernel takes: its own, else those of kernels that are like it but for their
// sizes.
#include "records/records.h"

#include <gtest/gtest.h>

#include "autoschedule/test_stages.h"

namespace gossamer::records {
namespace {

using autoschedule::blocked;
using schedule::Point;
using stages::Group;
using stages::Stage;

Group product_of(int64_t m, int64_t k, int64_t n) {
  return single_group(autoschedule::product(ir::index(m), ir::index(k), ir::index(n)));
}

constexpr const char* some_point = "contraction: tile(i0, 2) -> i0.tile, row";
constexpr const char* other_point = "contraction: tile(i0, 3) -> i0.tile, row";

Records::Record record_of(const Group& group, const char* point, std::string name) {
  std::optional<Point> parsed;
  if (point) parsed = *schedule::parse_point(point);
  return {key_of(group), "wasm", parsed, std::move(name), likeness_of(group)};
}

// "point of NAME", candidate by candidate.
std::vector<std::string> points_of(const Records& records, const Group& group,
                                   TargetKind target = TargetKind::wasm) {
  std::vector<std::string> texts;
  for (const auto& one : records.points_of(group, target::capabilities_of(target)))
    texts.push_back(cat(to_string(one.point), one.near.empty() ? "" : " of ", one.near));
  return texts;
}

using Texts = std::vector<std::string>;

TEST(Records, ByKeyAndClass) {
  Records records;
  records.add("a", "wasm", *schedule::parse_point("map: tile(i0, 4) -> i0.tile, lane"));
  records.add("a", "wasm", *schedule::parse_point("map"));
  EXPECT_EQ(to_string(*records.find("a", "wasm")), "map");
  EXPECT_EQ(records.find("a", "cpu"), nullptr);
  EXPECT_EQ(records.find("b", "wasm"), nullptr);
  EXPECT_EQ(records.size(), 1u);
}

TEST(Records, OwnPointsComeFirst) {
  Records records;
  records.add(record_of(product_of(64, 64, 64), some_point, "small"));
  records.add(record_of(product_of(64, 96, 64), other_point, "long"));
  EXPECT_EQ(points_of(records, product_of(64, 96, 64)),
            (Texts{other_point, cat(some_point, " of small")}));
  EXPECT_EQ(points_of(records, product_of(64, 96, 64), TargetKind::cpu), Texts{});
  records.set_exact();
  EXPECT_EQ(points_of(records, product_of(64, 96, 64)), (Texts{other_point}));
  EXPECT_EQ(points_of(records, product_of(64, 80, 64)), Texts{});
}

TEST(Records, TheNearestFirst) {
  Records records;
  records.add(record_of(product_of(64, 64, 64), some_point, "small"));
  records.add(record_of(product_of(64, 128, 64), other_point, "long"));
  EXPECT_EQ(points_of(records, product_of(64, 72, 64)),
            (Texts{cat(some_point, " of small"), cat(other_point, " of long")}));
  EXPECT_EQ(points_of(records, product_of(64, 120, 64)),
            (Texts{cat(other_point, " of long"), cat(some_point, " of small")}));
}

TEST(Records, NotOfWhatIsFar) {
  Records records;
  records.add(record_of(product_of(64, 64, 64), some_point, "small"));
  EXPECT_EQ(points_of(records, product_of(64, 64, 128)).size(), 1u);
  EXPECT_EQ(points_of(records, product_of(64, 64, 129)), Texts{});    // one extent by too much
  EXPECT_EQ(points_of(records, product_of(128, 128, 128)), Texts{});  // all of them together
  EXPECT_EQ(points_of(records, single_group(autoschedule::total(64))), Texts{});
  EXPECT_EQ(points_of(records, single_group(autoschedule::product(ir::var("m"), ir::index(64),
                                                                  ir::index(64)))),
            Texts{});
}

// Where the default point is the best known one nearby, what is better farther away says nothing.
TEST(Records, TheDefaultPointMayBeTheBest) {
  Records records;
  records.add(record_of(product_of(64, 64, 64), nullptr, "small"));
  records.add(record_of(product_of(64, 128, 64), some_point, "long"));
  EXPECT_EQ(points_of(records, product_of(64, 64, 64)), Texts{});
  EXPECT_EQ(points_of(records, product_of(64, 72, 64)), Texts{});
  EXPECT_EQ(points_of(records, product_of(64, 120, 64)), (Texts{cat(some_point, " of long")}));
  EXPECT_EQ(records.find(key_of(product_of(64, 64, 64)), "wasm"), nullptr);
}

TEST(Records, LayoutsAndStagesMakeTheStructure) {
  const auto structure = [](const Stage& stage) {
    return likeness_of(single_group(stage)).structure;
  };
  EXPECT_EQ(structure(autoschedule::twice(ir::index(3), ir::index(10))),
            structure(autoschedule::twice(ir::index(70), ir::index(11))));
  EXPECT_NE(structure(autoschedule::twice(ir::index(3), ir::index(12))),
            structure(autoschedule::twice(ir::index(3), ir::index(12), blocked)));
  EXPECT_NE(structure(autoschedule::twice()), structure(autoschedule::total(10)));
  const Likeness open =
      likeness_of(single_group(autoschedule::product(ir::var("m"), ir::index(4), ir::index(5))));
  EXPECT_EQ(open.extents, (std::vector<int64_t>{0, 5, 4, 0, 4, 4, 5}));
}

TEST(Records, Distances) {
  const Likeness one{"a", {8, 8, 0}};
  EXPECT_EQ(distance(one, one), 0.0);
  EXPECT_EQ(distance(one, {"a", {16, 4, 0}}), 2.0);
  EXPECT_EQ(distance(one, {"b", {8, 8, 0}}), std::nullopt);
  EXPECT_EQ(distance(one, {"a", {8, 8}}), std::nullopt);
  EXPECT_EQ(distance(one, {"a", {8, 8, 1}}), std::nullopt);
  EXPECT_EQ(distance(one, {"a", {8, 17, 0}}), std::nullopt);
  EXPECT_EQ(distance({"", {8}}, {"", {8}}), std::nullopt);
}

Records::Record shipped_of(const Group& group, const char* point, std::string name) {
  Records::Record record = record_of(group, point, std::move(name));
  record.shipped = "v8";
  return record;
}

TEST(Records, ShippedOnesComeAfterTheUsersOwn) {
  Records records;
  records.add(shipped_of(product_of(64, 64, 64), some_point, "theirs"));
  EXPECT_EQ(points_of(records, product_of(64, 64, 64)), (Texts{some_point}));
  EXPECT_EQ(points_of(records, product_of(64, 96, 64)), (Texts{cat(some_point, " of theirs")}));
  const Records::Candidate near =
      records.points_of(product_of(64, 96, 64), target::capabilities_of(TargetKind::wasm)).front();
  EXPECT_EQ(near.shipped, "v8");
  // One of a kernel near it, even, comes before a shipped one of its own.
  records.add(record_of(product_of(64, 96, 64), other_point, "mine"));
  EXPECT_EQ(points_of(records, product_of(64, 64, 64)),
            (Texts{cat(other_point, " of mine"), some_point}));
  EXPECT_EQ(to_string(*records.find(key_of(product_of(64, 64, 64)), "wasm")), some_point);
  // The user has found that the default point is the best one.
  records.add(record_of(product_of(64, 64, 64), nullptr, "mine"));
  EXPECT_EQ(points_of(records, product_of(64, 64, 64)), Texts{});
  EXPECT_EQ(records.find(key_of(product_of(64, 64, 64)), "wasm"), nullptr);
}

TEST(Records, AddsAllOfOthers) {
  Records mine, others;
  mine.add(record_of(product_of(64, 64, 64), other_point, "mine"));
  others.add(shipped_of(product_of(64, 64, 64), some_point, "theirs"));
  others.add(record_of(product_of(32, 32, 32), some_point, "small"));
  mine.add(std::move(others));
  EXPECT_EQ(mine.size(), 3u);
  EXPECT_EQ(points_of(mine, product_of(64, 64, 64)).front(), other_point);
}

}  // namespace
}  // namespace gossamer::records
