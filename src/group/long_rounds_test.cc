#include "group/long_rounds.h"

#include "autoschedule/test_stages.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"

namespace gossamer::group {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::Var;
using stages::Group;
using stages::Stage;

Stage sums(Expr columns) {
  const Buffer a = ir::buffer("A", DType::f32, {ir::index(1000), columns});
  const Var i = ir::var("i"), k = ir::var("k");
  return autoschedule::sum(ir::buffer("C", DType::f32, {ir::index(1000)}), {i}, {k}, {columns},
                           ir::load(a, {i, k}));
}

std::vector<Launched> launches(Stage stage, TargetKind target) {
  std::vector<Launched> launched{single_group(std::move(stage))};
  add_long_rounds(launched, target::capabilities_of(target));
  return launched;
}

TEST(LongRounds, RunsOfLongReductionsLaunchPartsInstead) {
  const Var length = ir::var("n");
  const std::vector<Launched> launched = launches(sums(length), TargetKind::opengl);
  ASSERT_EQ(launched.size(), 3u);
  const auto times = [&](size_t i, int64_t n) {
    const Expr rounds = std::get<Group>(launched[i]).rounds;
    return *ir::as_int(ir::simplify(ir::substitute(rounds, {{length.get(), ir::index(n)}})));
  };
  for (const int64_t n : {0, 1, 32'768}) {
    EXPECT_EQ(times(0, n), 1);
    EXPECT_EQ(times(1, n), 0);
    EXPECT_EQ(times(2, n), 0);
  }
  EXPECT_EQ(times(0, 32'769), 0);
  EXPECT_EQ(times(1, 32'769), 1);
  EXPECT_EQ(times(2, 1'000'000), 1);
}

TEST(LongRounds, OthersStay) {
  EXPECT_EQ(launches(sums(ir::index(100'000)), TargetKind::opengl).size(), 1u);
  EXPECT_EQ(launches(sums(ir::min(ir::var("n"), ir::index(4096))), TargetKind::opengl).size(), 1u);
  EXPECT_EQ(launches(sums(ir::var("n")), TargetKind::wasm).size(), 1u);
  Stage walk = sums(ir::var("n"));
  walk.in_order = true;
  EXPECT_EQ(launches(std::move(walk), TargetKind::opengl).size(), 1u);
}

}  // namespace
}  // namespace gossamer::group
