// Tiles of operands in group memory.
#pragma once

#include <functional>
#include <span>

#include "schedule/coordinates.h"
#include "schedule/schedule.h"
#include "stages/stage.h"

namespace gossamer::schedule {

// The loop bound to the group's invocations, or the loops that were fused into it; empty: none.
std::vector<LoopId> group_loops(const Nest& nest);

// The loop whose partial results the invocations of a workgroup hold: their numbers are
// ... + iteration * stride + ...
struct Joined {
  LoopId loop = -1;
  int64_t extent = 1, stride = 1;
  ir::Var invocation;
  int64_t invocations = 1;
};
Joined joined_of(const Nest& nest);
// Invocations' worth of group memory in which the latter half of the iterations hands its results
// over to the first.
int64_t handed_over(const Joined& joined);

// The size of the tiles of all staged factors.
int64_t tile_bytes(const Schedule& schedule);

// The tile of one staged factor: where it lies, and what fills it.
// Tiles of at most so many bytes are padded: half of the memory that every workgroup has.
constexpr int64_t most_padded_bytes = 8192;

class OperandTile {
 public:
  // `factor`: over the variables of the nest's loops. `inside`: the loops inside of the one that
  // it is loaded in.
  OperandTile(const Nest& nest, const StageIn& staged, ir::Expr factor,
              const std::vector<LoopId>& inside);

  LoopId loop() const { return staged_.loop; }
  int64_t bytes() const { return 4 * padded_elements(); }
  // The factor in the present iterations.
  ir::Expr value() const;
  // The body with the memory that the tile needs.
  ir::Stmt alloc(const ir::Stmt& body) const;
  // Before the loop; inside of it, between barriers; after these. May be null.
  ir::Stmt prologue() const;
  ir::Stmt fill() const;
  ir::Stmt fetch_next() const;

 private:
  void order_loops(const std::vector<LoopId>& inside);
  void choose_padding();
  int64_t padded_elements() const { return elements_ + elements_ / run_ * padding_; }
  // Where an element is stored, by its number.
  ir::Expr padded(const ir::Expr& element) const;
  // All vectors, shared among the invocations: `body` has the place of a vector's first element,
  // that of the invocation's own copy of it, and the vector's number.
  using Copy = std::function<ir::Stmt(const ir::Expr& place, const ir::Expr& own,
                                      const ir::Expr& vector, const ir::Expr& lane)>;
  ir::Stmt copy(const Copy& body) const;
  ir::Expr factor_at(const ir::Expr& vector, const ir::Expr& lane, const ir::Expr& iteration) const;

  const Nest& nest_;
  StageIn staged_;
  ir::Expr factor_;
  std::vector<LoopId> loops_;  // that tell its elements apart, outermost first
  int64_t elements_ = 1, lanes_ = 1, steps_ = 1, invocations_ = 1;
  int64_t run_ = 1, padding_ = 0;  // after so many elements, so many that nothing uses
  ir::Expr invocation_;
  ir::Buffer tile_, registers_;
};

}  // namespace gossamer::schedule
