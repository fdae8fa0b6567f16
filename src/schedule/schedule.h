// A schedule: which loops compute a stage, made by primitives that each keep its meaning. The words
// are those of Halide and TVM.
//
// It starts as one serial loop an axis, the axes of the output outside those of the reduction, and
// ends as a kernel (lower.h) once a loop is bound to the grid and a reduction has accumulators. An
// illegal use is an error that names the primitive and the reason, and leaves the schedule as it
// was. docs/specs/schedule.md shows them on one page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schedule/nest.h"
#include "target/capabilities.h"

namespace gossamer::schedule {

// What a schedule does, by the place of its primitive in the trace.
enum class Primitive : uint8_t {
  split,
  fuse,
  unit,
  reorder,
  unroll,
  vectorize,
  bind,
  accumulate,
  rfactor,
  peel,
  stage_in,
  cache
};

struct Step {
  Primitive primitive;
  std::vector<LoopId> loops;
  std::vector<int64_t> factors = {};
  Tail tail = Tail::exact;
  ir::LoopKind kind = ir::LoopKind::serial;
  std::vector<LoopId> made = {};
  bool ahead = false;
};

class Schedule {
 public:
  // `pattern` names the schedule in dumps: "contraction".
  Schedule(stages::Stage stage, target::Capabilities capabilities, std::string pattern);

  const stages::Stage& stage() const { return stage_; }
  const target::Capabilities& capabilities() const { return capabilities_; }
  const std::string& pattern() const { return pattern_; }
  const Nest& nest() const { return nest_; }
  const std::vector<Step>& steps() const { return steps_; }
  // The standing loops, outermost first.
  const std::vector<LoopId>& order() const { return nest_.walks[0].order; }
  LoopId axis(size_t i) const { return nest_.axes[i]; }
  LoopId reduce_axis(size_t r) const { return nest_.walks[0].reduced[r]; }
  // Invocations of a workgroup: the extent of the loop bound to `group`.
  int group_size() const;

  // Walks a loop in tiles: the first of the parts over tiles, each other one over a factor. Parts
  // are called by `names`, or .outer and .inner. `tail` may stay away where the factors divide the
  // extent. Tails of reductions can only be guarded (see peel); round_up needs padding in memory.
  //
  //   for i in 0..10 { C[i] = A[i] }     split(i, 4, shift) -> i.tile, lane
  //   for i.tile in 0..3 { for lane in 0..4 {
  //     C[min(i.tile * 4, 6) + lane] = A[min(i.tile * 4, 6) + lane] } }
  //
  // In place of min(i.tile * 4, 6) + lane:    clamp     min(i.tile * 4 + lane, 9)
  //   round_up  i.tile * 4 + lane             guard     the same, if i.tile * 4 + lane < 10
  Result<std::vector<LoopId>> split(LoopId loop, std::vector<int64_t> factors,
                                    Tail tail = Tail::exact, std::vector<std::string> names = {});

  // One loop in place of neighbours, each of which becomes a quotient or remainder of its variable.
  //
  //   for i in 0..3 { for j in 0..5 { C[i, j] = A[i, j] } }     fuse(i, j) -> ij
  //   for ij in 0..15 { C[ij // 5, ij % 5] = A[ij // 5, ij % 5] }
  Result<LoopId> fuse(std::vector<LoopId> loops, std::string name);

  // An outermost loop of one iteration, for stages of a single point to bind.
  //
  //   C[] = A[]     unit() -> item
  //   for item in 0..1 { C[] = A[] }
  Result<LoopId> unit(std::string name);

  // The loops given, in that order, on the places that they have among them.
  //
  //   for i { for j { for k { ... } } }     reorder(k, i)
  //   for k { for j { for i { ... } } }
  Result<> reorder(std::vector<LoopId> loops);

  // The iterations written one after the other.
  //
  //   for j in 0..2 { C[i, j] = A[i, j] }     unroll(j)
  //   C[i, 0] = A[i, 0]
  //   C[i, 1] = A[i, 1]
  Result<> unroll(std::vector<LoopId> loops);

  // The iterations as lanes of vectors: for an innermost loop.
  //
  //   for lane in 0..4 { C[lane] = A[lane] }     vectorize(lane)
  //   C[ramp(0, 1, 4)] = A[ramp(0, 1, 4)]
  Result<> vectorize(LoopId loop);

  // To the launch: `grid` is its range (work items, workgroups, texels), `group` the invocations of
  // a workgroup. Loops that were fused into bound ones are computed from them once, by name.
  //
  //   for item in 0..15 { C[item // 5, item % 5] = 0.0 }     fuse(i, j) -> item; bind(item, grid)
  //   grid item in 0..15 {
  //     let i: index = item // 5
  //     let j: index = item % 5
  //     C[i, j] = 0.0 }
  Result<> bind(LoopId loop, ir::LoopKind kind);

  // Where a reduction's accumulators live: started before `loop`, which holds all loops of the
  // reduction, and written back as results after it. Inside of it, each iteration of the output's
  // loops has its own: a register tile. (Halide's compute_at of the update, TVM's cache_write with
  // decompose_reduction.) Without a loop: around a reduction over nothing.
  //
  //   for k in 0..8 { for row in 0..2 { ... } }     accumulate(k)
  //   alloc acc: f32[2, 1]
  //   for row in 0..2 { acc[row, 0] = 0.0 }
  //   for k in 0..8 { for row in 0..2 { acc[row, 0] = fma(A[row, k], B[k], acc[row, 0]) } }
  //   for row in 0..2 { C[row] = acc[row, 0] }
  Result<> accumulate(std::optional<LoopId> loop = {});

  // Partial results for each iteration of a reduction's loop, which then is one of the register
  // tile, joined after the last walk.
  //
  //   for k.block in 0..2 { for lane in 0..4 { ... } }     rfactor(lane); vectorize(lane)
  //   acc[0, ramp(0, 1, 4)] = x4(0.0)
  //   for k.block in 0..2 { acc[0, ramp(0, 1, 4)] = acc[...] + A[ramp(k.block * 4, 1, 4)] }
  //   C[] = lane(acc[...], 0) + lane(acc[...], 1) + lane(acc[...], 2) + lane(acc[...], 3)
  Result<> rfactor(LoopId loop);

  // The left-over iterations of a reduction's guarded split as a walk of their own, whose loops
  // have a tick in their names, after the whole tiles. Returns them, in the order of the nest.
  //
  //   for k.block in 0..3 { for k in 0..4 {           split(k, 4, guard) -> k.block, k
  //     acc += select(k.block * 4 + k < 10, A[k.block * 4 + k], 0.0) } }
  //                                                   peel(k.block)
  //   for k.block in 0..2 { for k in 0..4 { acc += A[k.block * 4 + k] } }
  //   for k in 0..2 { acc += A[8 + k] }
  Result<std::vector<LoopId>> peel(LoopId loop);

  // A factor of a sum's products in group memory: in each iteration of the reduction's loop `loop`
  // the invocations of the group load its tile together, in vectors, then wait for each other.
  // The tile has an element for each iteration of the loops inside of `loop`, and of the group's,
  // that the factor depends on. `ahead`: the next tile is read into registers while this one is
  // used. Points that guards leave out are computed and not stored, so that all invocations wait.
  //
  //   group t in 0..4 { for k.block in 0..2 { for k in 0..8 { acc += A[k.block * 8 + k] * B[t] } }
  //   }
  //                                                   stage_in(k.block, 0)
  //   alloc A.tile: f32[8] in group
  //   for k.block in 0..2 { barrier
  //     for step in 0..1 { if t < 2 { A.tile[ramp(t * 4)] = A[ramp(k.block * 8 + t * 4)] } }
  //     barrier for k in 0..8 { acc += A.tile[k] * B[t] } }
  Result<> stage_in(LoopId loop, int operand, bool ahead = false);

  // A factor of a sum's products in memory of the invocation: in each iteration of the outermost
  // loop it is computed before all else, for every step of the reduction and every column of the
  // tile. For factors that take work, where several tiles of rows share them, and for those whose
  // rows lie far apart. A length that only a run tells needs rows and lanes that end clamped: runs
  // whose steps the memory does not hold take another form.
  //
  //   for j.tile { for i.tile { for k { for row { for lane { acc += A[i, k] * f(B[k, j]) } } } } }
  //                                                   cache(j.tile, 1)
  //   for j.tile { alloc factor: f32[K, 4]
  //     for step in 0..K { for lane in 0..4 { factor[step, lane] = f(B[step, j]) } }
  //     for i.tile { for k { for row { for lane { acc += A[i, k] * factor[k, lane] } } } } }
  Result<> cache(LoopId loop, int operand);

 private:
  LoopId add(std::string name, ir::Expr extent, bool reduction);
  std::string fresh(std::string name) const;
  void replace(const std::vector<LoopId>& old, const std::vector<LoopId>& fresh);
  Result<> standing(LoopId loop) const;
  Result<> serial(LoopId loop) const;
  Result<> pads(LoopId loop, int64_t block) const;
  std::vector<LoopId> copy_reduction(const Walk& walk);

  stages::Stage stage_;
  target::Capabilities capabilities_;
  std::string pattern_;
  Nest nest_;
  std::vector<Step> steps_;
};

// Whether the schedule is a kernel: what no single primitive can see. lower() asks it.
Result<> check(const Schedule& schedule);
// Its part about cached operands.
Result<> check_cached(const Schedule& schedule);

}  // namespace gossamer::schedule
