// Illegal uses of primitives are errors that say why.
#include <gtest/gtest.h>

#include "autoschedule/test_stages.h"

namespace gossamer::schedule {
namespace {

using autoschedule::blocked;
using autoschedule::texels;
using autoschedule::wasm;
using stages::Stage;
using target::Capabilities;

// An illegal use, and why it is one.
struct Illegal {
  Stage stage;
  std::string steps, error;
};
void expect_errors(const std::vector<Illegal>& uses, const Capabilities& caps = wasm) {
  for (const Illegal& use : uses)
    EXPECT_EQ(autoschedule::loops(use.stage, use.steps, caps), use.error);
}

TEST(Illegal, Split) {
  expect_errors({
      {autoschedule::twice(), "split(k, 2)",
       "split(k, 2): there is no loop \"k\" (there are i, j)"},
      {autoschedule::twice(), "split(j, 0)", "split(j, 0): cannot split j: factors are at least 1"},
      {autoschedule::twice(), "split(j)", "split(j): cannot split j: there is no factor"},
      {autoschedule::twice(), "split(j, 4)",
       "split(j, 4): cannot split j: 4 does not divide its extent of 10 (name a tail: guard, mask, "
       "shift, clamp or round_up)"},
      {autoschedule::twice(), "split(j, four)",
       "split(j, four): \"four\" is neither a factor nor a tail (tails are guard, mask, shift, "
       "clamp and "
       "round_up)"},
      {autoschedule::twice(), "split(j, 2, 4, guard) -> j.tile, lane",
       "split(j, 2, 4, guard) -> j.tile, lane: cannot split j: it becomes 3 loops, named by 2"},
      {autoschedule::twice(), "split(i, 4, shift)",
       "split(i, 4, shift): cannot split i: a tile of 4 cannot start early in an extent of 3 (name "
       "the tail clamp)"},
      {autoschedule::twice(ir::index(3), ir::var("n")), "split(j, 4, shift)",
       "split(j, 4, shift): cannot split j: a tile of 4 cannot start early in an extent that is "
       "not known (name the tail clamp)"},
      {autoschedule::twice(), "split(j, 4, round_up)",
       "split(j, 4, round_up): cannot split j: memory does not pad j"},
      {autoschedule::twice(ir::index(3), ir::index(10), blocked), "split(j, 8, round_up)",
       "split(j, 8, round_up): cannot split j: memory pads j to a multiple of 4, not of 8"},
      {autoschedule::product(), "split(k, 4, shift)",
       "split(k, 4, shift): cannot split k: iterations of a reduction count once (name the tail "
       "guard)"},
      {autoschedule::twice(), "vectorize(j); split(j, 2)",
       "split(j, 2): loop j is vectorized already"},
      {autoschedule::total(8), "rfactor(k); split(k, 2)",
       "split(k, 2): cannot split k: it holds partial results (split before rfactor)"},
      {autoschedule::twice(), "split(j, 5) -> i, lane",
       "split(j, 5) -> i, lane: the loop named \"i\" is called \"i'\" (names of loops differ, by "
       "ticks if nothing else)"},
      {autoschedule::twice(), "split(j, 5) -> j.tile, 3+",
       "split(j, 5) -> j.tile, 3+: \"3+\" is no name of a loop"},
  });
}

TEST(Illegal, Fuse) {
  expect_errors({
      {autoschedule::twice(), "fuse() -> item", "fuse() -> item: cannot fuse: no loop is given"},
      {autoschedule::twice(), "fuse(i, j)", "fuse(i, j): fuse makes one loop, named after \"->\""},
      {autoschedule::product(), "fuse(i, k) -> ik",
       "fuse(i, k) -> ik: cannot fuse i with k: one of them is of the reduction"},
      {autoschedule::product(), "fuse(j, k) -> jk",
       "fuse(j, k) -> jk: cannot fuse j with k: one of them is of the reduction"},
      {autoschedule::twice(), "fuse(j, i) -> ji",
       "fuse(j, i) -> ji: cannot fuse j with what follows: the loops are not directly inside each "
       "other (reorder them first)"},
      {autoschedule::twice(), "unroll(j); fuse(i, j) -> ij",
       "fuse(i, j) -> ij: loop j is unrolled already"},
  });
}

TEST(Illegal, Reorder) {
  expect_errors({
      {autoschedule::twice(), "reorder(i, i)", "reorder(i, i): cannot reorder: i is given twice"},
      {autoschedule::product(),
       "split(k, 4, guard) -> k.block, k; accumulate(k.block); peel(k.block); reorder(j, k.block)",
       "reorder(j, k.block): cannot reorder: a walk was peeled off in this order"},
      {autoschedule::product(),
       "split(k, 4, guard) -> k.block, k; accumulate(k.block); peel(k.block); reorder(k', j)",
       "reorder(k', j): cannot reorder k': it belongs to a left-over walk (reorder before peel)"},
  });
}

TEST(Illegal, KindsOfLoops) {
  expect_errors({
      {autoschedule::twice(ir::index(3), ir::var("n")), "unroll(j)",
       "unroll(j): cannot unroll j: its extent is not known"},
      {autoschedule::twice(ir::index(3), ir::var("n")), "vectorize(j)",
       "vectorize(j): cannot vectorize j: its extent is not known"},
      {autoschedule::twice(), "vectorize(i); vectorize(j)",
       "vectorize(j): cannot vectorize j: i is vectorized already"},
      {autoschedule::product(), "vectorize(k)",
       "vectorize(k): cannot vectorize k: lanes of a reduction would write one accumulator "
       "(rfactor it first)"},
      {autoschedule::twice(), "unroll(j); vectorize(j)",
       "vectorize(j): loop j is unrolled already"},
      {autoschedule::product(), "bind(k, grid)",
       "bind(k, grid): cannot bind k to grid: invocations cannot share the accumulators of a "
       "reduction"},
      {autoschedule::twice(), "bind(i, serial)",
       "bind(i, serial): cannot bind i to serial: a loop is bound to grid or group"},
      {autoschedule::twice(), "bind(i, grid); bind(j, grid)",
       "bind(j, grid): cannot bind j to grid: i is, and a launch has one range"},
      {autoschedule::twice(ir::index(3), ir::index(1000)), "bind(j, group)",
       "bind(j, group): cannot bind j to group: a workgroup of wasm has at most 256 invocations"},
  });
}

TEST(Illegal, Reductions) {
  expect_errors({
      {autoschedule::twice(), "accumulate(j)",
       "accumulate(j): cannot accumulate: the stage is no reduction and no scan"},
      {autoschedule::product(), "accumulate(k); accumulate(k)",
       "accumulate(k): cannot accumulate: there are accumulators already"},
      {autoschedule::twice(), "rfactor(j)",
       "rfactor(j): cannot rfactor j: it is no loop of a reduction"},
      {autoschedule::product(ir::index(6), ir::var("n"), ir::index(8)), "rfactor(k)",
       "rfactor(k): cannot rfactor k: its extent is not known"},
      {autoschedule::product(), "rfactor(k); rfactor(k)",
       "rfactor(k): cannot rfactor k: it holds partial results already"},
      {autoschedule::twice(), "split(j, 4, guard); peel(j.outer)",
       "peel(j.outer): cannot peel j.outer: points past the end are the business of their split's "
       "tail"},
      {autoschedule::product(), "split(k, 5); peel(k.outer)",
       "peel(k.outer): cannot peel k.outer: it does not count the tiles of a guarded split"},
      {autoschedule::product(), "peel(k)",
       "peel(k): cannot peel k: it does not count the tiles of a guarded split"},
      {autoschedule::product(ir::index(6), ir::index(3), ir::index(8)),
       "split(k, 4, guard); peel(k.outer)",
       "peel(k.outer): cannot peel k.outer: there is no whole tile of 4"},
      {autoschedule::product(), "split(k, 16, guard); peel(k.outer)",
       "peel(k.outer): cannot peel k.outer: there is no whole tile of 16"},
      {autoschedule::product(), "split(k, 4, guard); unroll(k.inner); peel(k.outer)",
       "peel(k.outer): cannot peel k.outer: what is left over of k.inner is shorter (peel before "
       "that is split or unrolled)"},
      {autoschedule::product(), "split(k, 4, guard); rfactor(k.outer); peel(k.outer)",
       "peel(k.outer): cannot peel k.outer: it holds partial results"},
      {autoschedule::product(), "split(k, 4, guard); peel(k.outer); peel(k.outer)",
       "peel(k.outer): cannot peel k.outer: a walk was peeled off already"},
      {autoschedule::product(), "split(k, 4, guard); peel(k.outer); rfactor(k.inner)",
       "rfactor(k.inner): cannot rfactor k.inner: walks share accumulators (rfactor before peel)"},
      {autoschedule::product(), "split(k, 4, guard); peel(k.outer); accumulate(k.inner')",
       "accumulate(k.inner'): cannot accumulate before k.inner': it belongs to a left-over walk"},
  });
}

TEST(Illegal, WhatIsNoKernel) {
  expect_errors({
      {autoschedule::twice(), "unroll(j)", "schedule of \"twice\": no loop is bound to the grid"},
      {autoschedule::twice(), "bind(j, grid)",
       "schedule of \"twice\": the grid's loop j is not the outermost one: i is"},
      {autoschedule::twice(ir::index(3), ir::index(4)),
       "fuse(i) -> item; bind(item, grid); bind(j, group); unit() -> one",
       "schedule of \"twice\": the grid's loop item is not the outermost one: one is"},
      {autoschedule::product(), "vectorize(j); accumulate(k); bind(i, grid)",
       "schedule of \"sum\": the vectorized loop j is not the innermost one: k is"},
      {autoschedule::twice(), "split(j, 4, mask); vectorize(j.inner); bind(i, grid)",
       "schedule of \"twice\": lanes of j past its end can be neither skipped nor repeated (split "
       "it with "
       "the tail shift or round_up)"},
      {autoschedule::product(), "bind(i, grid)",
       "schedule of \"sum\": the stage has no accumulators"},
      {autoschedule::product(),
       "bind(i, grid); split(k, 5); reorder(k.outer, j); accumulate(k.inner)",
       "schedule of \"sum\": the reduction's loop k.outer is outside of the accumulators, which "
       "start before k.inner"},
      {autoschedule::product(), "bind(i, grid); accumulate()",
       "schedule of \"sum\": the reduction's loop k is outside of the accumulators, which start "
       "inside of all loops"},
      {autoschedule::product(), "accumulate(i); bind(i, grid)",
       "schedule of \"sum\": the bound loop i is inside of the accumulators"},
      {autoschedule::product(ir::index(6), ir::index(10), ir::var("n")),
       "reorder(k, j); accumulate(k); bind(i, grid)",
       "schedule of \"sum\": a register tile has fixed extents, but that of j is not known"},
      {autoschedule::total(8), "rfactor(k); accumulate(k); unit() -> item; bind(item, grid)",
       "schedule of \"sum\": the partial results of k are not lanes (vectorize it or bind it "
       "to the group)"},
      {autoschedule::product(),
       "rfactor(k); reorder(k, j); fuse(i, k) -> t; accumulate(j); unit() -> item; "
       "bind(item, grid)",
       "schedule of \"sum\": the partial results of t are not lanes (bind it to the group)"},
  });
}

TEST(Illegal, Texels) {
  expect_errors(
      {
          {autoschedule::twice(ir::index(3), ir::index(8), texels),
           "split(j, 4) -> j.tile, lane; fuse(i, j.tile) -> item; bind(item, grid)",
           "schedule of \"twice\": a fragment computes the texels of its place, but the values of "
           "a texel, lane, are not lanes (split the axes as the output's layout does and fuse all "
           "but layers and lanes)"},
          {autoschedule::twice(ir::index(3), ir::index(8), texels),
           "split(j, 4) -> j.tile, lane; vectorize(lane); reorder(j.tile, i); fuse(j.tile, i) -> "
           "item; bind(item, grid)",
           "schedule of \"twice\": a fragment computes the texels of its place, but the grid does "
           "not count them in their order (split the axes as the output's layout does and fuse all "
           "but layers and lanes)"},
          {autoschedule::twice(ir::index(3), ir::index(8), texels),
           "fuse(i, j) -> item; bind(item, grid)",
           "schedule of \"twice\": a fragment computes the texels of its place, but loop j is not "
           "split as the layout divides it (split the axes as the output's layout does and fuse "
           "all but layers and lanes)"},
      },
      target::capabilities_of(TargetKind::webgl));
}

TEST(Illegal, Text) {
  expect_errors({
      {autoschedule::twice(), "turn(i)",
       "turn(i): there is no primitive \"turn\" (there are split, fuse, unit, reorder, unroll, "
       "vectorize, bind, accumulate, rfactor, peel, stage_in and cache)"},
      {autoschedule::twice(), "bind i to grid",
       "bind i to grid: a step is a primitive with its loops in parentheses"},
      {autoschedule::twice(), "bind(i, grid) j",
       "bind(i, grid) j: after the parentheses follows \"->\" or nothing"},
      {autoschedule::twice(), "bind(i, grid);",
       "a step is a primitive with its loops in parentheses"},
      {autoschedule::twice(), "vectorize(i, j)", "vectorize(i, j): vectorize takes one loop"},
      {autoschedule::twice(), "split(j, 5) -> a, b, c",
       "split(j, 5) -> a, b, c: cannot split j: it becomes 2 loops, named by 3"},
      {autoschedule::product(), "accumulate(k, j)",
       "accumulate(k, j): accumulate takes one loop or none"},
  });
}

}  // namespace
}  // namespace gossamer::schedule
