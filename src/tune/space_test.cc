// The points of a search space: each is legal, reads back from its text and is listed once.
#include "tune/space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "autoschedule/default_schedule.h"
#include "autoschedule/test_stages.h"

namespace gossamer::tune {
namespace {

using ir::index;
using schedule::Point;

template <class F>
void each_space(const F& check) {
  using namespace schedule;
  for (const stages::Stage& stage :
       {autoschedule::twice(), autoschedule::product(),
        autoschedule::product(index(64), index(64), index(64)), autoschedule::total(100)}) {
    for (const TargetKind target : {TargetKind::cpu, TargetKind::wasm, TargetKind::webgpu}) {
      for (const bool hardware : {false, true}) {
        target::Capabilities caps = target::capabilities_of(target);
        if (hardware && !has_adapters(target)) continue;
        caps.hardware = hardware;
        const stages::Group group = single_group(stage);
        SCOPED_TRACE(records::class_of(caps) + " " + stage.name);
        check(group, caps);
      }
    }
  }
}

std::set<std::string> texts_of(const std::vector<Point>& points) {
  std::set<std::string> texts;
  for (const Point& point : points) EXPECT_TRUE(texts.insert(to_string(point)).second);
  return texts;
}

TEST(Space, PointsAreLegalAndReadBack) {
  each_space([](const stages::Group& group, const target::Capabilities& caps) {
    const Space space(group, caps);
    const std::vector<Point> points = space.some_legal(100);
    EXPECT_GT(points.size(), 1u);
    EXPECT_LE(points.size(), 100u);
    EXPECT_EQ(to_string(points[0]), to_string(autoschedule::default_point(group, caps)));
    texts_of(points);
    for (const Point& point : points) {
      const auto read = schedule::parse_point(to_string(point));
      ASSERT_TRUE(read) << read.error().to_string();
      EXPECT_EQ(to_string(*read), to_string(point));
      EXPECT_TRUE(autoschedule::schedule_at(group, caps, point)) << to_string(point);
    }
  });
}

// A small space is listed whole.
TEST(Space, SomeAreAllThatThereAre) {
  const auto group = stages::single_group(autoschedule::product());
  const auto caps = target::capabilities_of(TargetKind::cpu);
  const Space space(group, caps);
  std::vector<Point> all = space.all();
  std::erase_if(all, [&](const Point& point) { return !space.legal(point); });
  EXPECT_EQ(texts_of(space.some_legal(100000)), texts_of(all));
}

// Of large ones the points have all values of every argument.
TEST(Space, SomeAreFromAllParts) {
  const auto group = stages::single_group(autoschedule::product(index(96), index(96), index(96)));
  auto caps = target::capabilities_of(TargetKind::webgpu);
  caps.hardware = true;
  const Space space(group, caps);
  ASSERT_GT(space.all().size(), 10000u);
  std::set<int64_t> rows, parts, blocks;
  for (const Point& point : space.some_legal(200)) {
    rows.insert(*factor_of(point, "row"));
    parts.insert(*factor_of(point, "part"));
    blocks.insert(*factor_of(point, "k0"));
  }
  EXPECT_EQ(rows, (std::set<int64_t>{1, 2, 4, 8}));
  EXPECT_EQ(parts, (std::set<int64_t>{1, 2, 4, 8}));
  EXPECT_EQ(blocks, (std::set<int64_t>{4, 8, 16, 32}));
}

}  // namespace
}  // namespace gossamer::tune
