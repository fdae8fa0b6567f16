// The loops of a schedule, and how the axes of its stage follow from them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/nodes.h"
#include "stages/stage.h"

namespace gossamer::schedule {

// Place in Nest::loops. A loop keeps it when others replace it in the nest.
using LoopId = int;

// What a split does about iterations past the end, where its factors do not divide the extent.
enum class Tail : uint8_t {
  exact,  // there are none
  guard,  // they are skipped: by an `if`, a mask on a reduction's terms, or a loop over lanes
  mask,   // they are computed, and not stored
  shift,  // the last tile starts early enough to end at the end; some points are computed twice
  clamp,  // they repeat the last iteration; rows of a tile on CPUs shift in a run that has enough
  round_up,  // they are computed, into padding of the output's layout
};

// Part of the launch.
constexpr bool is_bound(ir::LoopKind kind) {
  return kind == ir::LoopKind::grid || kind == ir::LoopKind::group;
}

struct Loop {
  ir::Var var;       // in the kernel
  std::string name;  // in the schedule: the variable's, and a tick for each namesake before it
  ir::Expr extent;
  ir::LoopKind kind = ir::LoopKind::serial;
  bool reduction = false;
  bool partial = false;  // a reduction's loop whose iterations keep results of their own (rfactor)
  bool carried = false;  // a scan's loop: each iteration goes on from the accumulators of the last
  int split = -1;        // place in Nest::splits of what replaced it; -1: none did
  int fuse = -1;         // likewise in Nest::fuses
};

// whole = start + parts[0] * (product of factors) + ... + parts[n - 1]: part k + 1 runs over
// factors[k].
struct Split {
  LoopId whole;
  std::vector<LoopId> parts;
  std::vector<int64_t> factors;
  Tail tail = Tail::exact;
  ir::Expr start;  // null: 0
};

// The row-major number of the parts is `whole`.
struct Fuse {
  std::vector<LoopId> parts;
  LoopId whole;
};

// One pass over the reduction's domain (or, without a reduction, over the points). Loops outside of
// the accumulators are the same ones in every walk.
struct Walk {
  std::vector<LoopId> order;    // outermost first
  std::vector<LoopId> reduced;  // the loops that stood for the reduction's axes at first
  std::optional<std::pair<LoopId, ir::Expr>> mask;  // iterations of a loop that count
};

// What the two parts of a split are called unless it says so: i.outer and i.inner.
std::vector<std::string> part_names(const std::string& whole);

// A factor of the terms whose tile lies in group memory, loaded anew in each iteration of `loop`.
struct StageIn {
  LoopId loop;
  int operand;         // 0 or 1: which factor of the product
  bool ahead = false;  // the next tile is read into registers while this one is used
};

// A factor of the terms that is computed once in each iteration of `loop`, into memory of the
// invocation.
struct Cached {
  LoopId loop;
  int operand;         // 0 or 1: which factor of the product
  int64_t most_bytes;  // of the memory
};

struct Nest {
  std::vector<Loop> loops;
  std::vector<Split> splits;
  std::vector<Fuse> fuses;
  std::vector<LoopId> axes;  // the loops that stood for the stage's axes at first
  std::vector<Walk> walks;   // the whole nest, and after `peel` what it left over
  bool accumulates = false;
  std::optional<LoopId> accumulators;  // before which loop they start; none: inside all loops
  std::vector<StageIn> staged;
  std::optional<Cached> cached;

  const Loop& loop(LoopId id) const { return loops[static_cast<size_t>(id)]; }
  Loop& loop(LoopId id) { return loops[static_cast<size_t>(id)]; }
  // Part of the present nest: nothing has replaced it.
  bool stands(LoopId id) const;
  // Put together from others.
  bool is_fused(LoopId id) const;
  // The standing loops that a loop's value is computed from.
  std::vector<LoopId> leaves(LoopId id) const;
  // Loops of the first walk outside of the accumulators: all of them where there are none.
  std::vector<LoopId> outside() const;
  // Loops of a walk inside of the accumulators.
  std::vector<LoopId> inside(const Walk& walk) const;
  // Of those, the ones that tell accumulators apart.
  std::vector<LoopId> tile() const;
  // The loops whose partial results the invocations of a workgroup hold, one each.
  std::vector<LoopId> joined() const;
  // The split with the tail clamp of whose loops the innermost is of this kind: for each extent
  // that a run may tell, the kernel has a form (lower.cc).
  std::optional<size_t> clamped(ir::LoopKind kind) const;
  // Whether the invocations of a workgroup wait for each other: all of them come to each barrier.
  bool waits() const { return !staged.empty() || !joined().empty(); }
};

}  // namespace gossamer::schedule
