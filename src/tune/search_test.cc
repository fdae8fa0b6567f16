#include "tune/search.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "autoschedule/test_stages.h"

namespace gossamer::tune {
namespace {

using ir::index;

std::string without_unrolling(schedule::Point point) {
  for (schedule::List& list : point) {
    for (schedule::Call& call : list.calls)
      if (call.word == "unroll" && limit_of(call)) call.arguments[*limit_of(call)] = "1";
  }
  return to_string(point);
}

// Of a kernel's first points, a page measures no more than these in its seconds.
TEST(Search, FirstPointsDifferInMoreThanUnrolling) {
  const auto group = stages::single_group(autoschedule::product(index(96), index(96), index(96)));
  const auto caps = target::capabilities_of(TargetKind::wasm);
  const CostModel nothing;
  Search search(group, caps, 1);
  std::set<std::string> seen{without_unrolling(search.space().start())};
  for (int turn = 0; turn < 12; ++turn) {
    const auto point = search.next(nothing);
    ASSERT_TRUE(point);
    EXPECT_TRUE(seen.insert(without_unrolling(*point)).second) << to_string(*point);
    if (turn % 2) search.tell(*point, 1.0);  // the others are under way
  }
}

// There may be no others.
TEST(Search, UnrollingIsSearchedAllTheSame) {
  const auto group = stages::single_group(autoschedule::total(64));
  const auto caps = target::capabilities_of(TargetKind::wasm);
  const CostModel nothing;
  Search search(group, caps, 1);
  std::set<std::string> points, rolled;
  while (!search.is_over()) {
    const auto point = search.next(nothing);
    if (!point) continue;
    points.insert(to_string(*point));
    rolled.insert(without_unrolling(*point));
    search.tell(*point, 1.0);
  }
  EXPECT_GT(points.size(), rolled.size());
}

}  // namespace
}  // namespace gossamer::tune
