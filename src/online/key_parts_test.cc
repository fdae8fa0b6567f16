// Attention of few rows as parts of the keys and their join.
#include "online/key_parts.h"

#include <gtest/gtest.h>

#include "autoschedule/test_stages.h"
#include "group/group_stages.h"

namespace gossamer::online {
namespace {

using autoschedule::ScheduledGroup;
using group::Launched;
using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::Var;
using stages::At;
using stages::Group;
using stages::RowCount;
using stages::Stage;
using stages::StageKind;
using target::Capabilities;

const Capabilities webgpu = target::capabilities_of(TargetKind::webgpu);

// softmax(Q K') V of heads, `shared` of which have the same keys.
struct Heads {
  stages::Program program;
  Buffer out;

  Heads(int64_t heads, int64_t shared, Expr queries, Expr keys, int64_t width) {
    const Var h = ir::var("h"), i = ir::var("i"), j = ir::var("j"), d = ir::var("d"),
              one = ir::var("one");
    const Expr zero = ir::index(0), columns = ir::index(width);
    const auto tensor = [](const char* name, int64_t count, Expr rows, Expr along) {
      return ir::buffer(name, DType::f32, {ir::index(count), std::move(rows), std::move(along)});
    };
    const Buffer q = tensor("q", heads, queries, columns),
                 k = tensor("k", heads / shared, keys, columns),
                 v = tensor("v", heads / shared, keys, columns),
                 scores = tensor("scores", heads, queries, keys),
                 peaks = tensor("peaks", heads, queries, ir::index(1)),
                 weights = tensor("weights", heads, queries, keys),
                 totals = tensor("totals", heads, queries, ir::index(1));
    out = tensor("out", heads, queries, columns);
    const Expr head = shared == 1 ? Expr(h) : ir::floordiv(h, shared);
    program.push_back(autoschedule::sum(scores, {h, i, j}, {d}, {columns},
                                        ir::load(q, {h, i, d}) * ir::load(k, {head, j, d})));
    Stage peak = autoschedule::sum(peaks, {h, i, one}, {j}, {keys}, ir::load(scores, {h, i, j}));
    peak.accumulators[0].joined = ir::max(peak.accumulators[0].left, peak.accumulators[0].right);
    peak.accumulators[0].identity = ir::lowest(DType::f32);
    program.push_back(peak);
    program.push_back(
        autoschedule::map("weights", weights, {h, i, j},
                          ir::exp(ir::load(scores, {h, i, j}) - ir::load(peaks, {h, i, zero}))));
    program.push_back(
        autoschedule::sum(totals, {h, i, one}, {j}, {keys}, ir::load(weights, {h, i, j})));
    program.push_back(autoschedule::sum(
        out, {h, i, d}, {j}, {keys},
        ir::load(weights, {h, i, j}) / ir::load(totals, {h, i, zero}) * ir::load(v, {head, j, d})));
  }

  std::vector<Group> groups(const Capabilities& caps = webgpu) const {
    std::vector<Group> found;
    for (const Launched& one : group::group_stages(program, {{out.get()}, {}}, caps))
      found.push_back(std::get<Group>(one));
    return found;
  }
};

TEST(KeyParts, AreTwoLaunches) {
  const Var keys = ir::dimension("keys", 64);
  for (const int64_t shared : {1, 3, 4}) {
    const auto groups = Heads(12, shared, ir::index(1), keys, 64).groups();
    ASSERT_EQ(groups.size(), 2U);
    EXPECT_EQ(groups[0].members[0].at, At::tile);
    // Heads, parts; heads of a workgroup, columns.
    const auto& extents = groups[0].last().extents;
    EXPECT_EQ(ir::print(extents[0]), shared == 4 ? "3" : "12");
    EXPECT_EQ(ir::print(extents[groups[0].outer]), shared == 4 ? "4" : "1");
    EXPECT_EQ(groups[1].last().kind, StageKind::reduce);
    EXPECT_EQ(groups[1].last().accumulators.size(), 3U);
  }
}

TEST(KeyParts, AreForRunsOfFewRows) {
  const auto groups =
      Heads(8, 2, ir::dimension("queries", 64), ir::dimension("keys", 64), 64).groups();
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].members[0].at, At::tile);
  EXPECT_EQ(groups[0].number, RowCount::few);
  EXPECT_EQ(ir::print(groups[0].last().extents[1]), "min(queries, 8)");
  EXPECT_EQ(groups[1].number, RowCount::few);
  EXPECT_TRUE(is_walk(groups[2]));
  EXPECT_EQ(groups[2].number, RowCount::more);
}

TEST(KeyParts, FitInAWorkgroup) {
  int made = 0;
  for (int64_t width = 16; width <= 256; width += 16) {
    for (const int64_t shared : {1, 2, 4, 8}) {
      const auto groups = Heads(8, shared, ir::index(1), ir::index(100), width).groups();
      if (groups.size() != 2) continue;
      ++made;
      EXPECT_TRUE(autoschedule::schedule_at(groups[0], webgpu,
                                            autoschedule::default_point(groups[0], webgpu)))
          << width;
    }
  }
  EXPECT_GE(made, 40);  // all but multiples of 144, 176 and such
}

TEST(KeyParts, ReadBack) {
  const auto groups = Heads(8, 4, ir::index(1), ir::index(100), 64).groups();
  const ScheduledGroup made = autoschedule::schedule_default(groups[0], webgpu);
  EXPECT_EQ(made.group_size(), 128);
  const auto read = schedule::parse_schedules(groups[0], webgpu, to_string(made.schedules));
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(ir::print(*lower(groups[0], *read)), ir::print(made.kernel));
}

TEST(KeyParts, AreForTargetsWithWorkgroups) {
  for (const TargetKind kind : {TargetKind::cpu, TargetKind::wasm, TargetKind::webgl}) {
    for (const Group& group :
         Heads(8, 4, ir::index(1), ir::index(100), 64).groups(target::capabilities_of(kind)))
      EXPECT_NE(group.members[0].at, At::tile);
  }
}

}  // namespace
}  // namespace gossamer::online
