// Operands of reductions, copied into the order in which they are walked.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "layout/placed_buffers.h"
#include "stages/program.h"
#include "target/costs.h"

namespace gossamer::layout {

class Packing {
 public:
  // `constant`: buffers that a run does not change; packed ones join them.
  Packing(PlacedBuffers& placed, std::set<const ir::BufferNode*>& constant,
          const target::Capabilities& caps)
      : placed_(placed), constant_(constant), caps_(caps), costs_(costs_of(caps)) {}

  // A constant that a reduction walks in a simple way.
  bool may_pack(const stages::Stage& stage, const ir::Load& load) const;

  // A constant that a factor is decoded from (stage_in.h), whose lanes along `axis` can lie beside
  // each other: its index in one dimension is the axis, which stands in no other.
  bool may_pack_decoded(const stages::Stage& stage, const ir::Load& load, int axis) const;
  // Such a constant, of which many steps of the reduction read one element, as of scales.
  bool is_read_seldom(const stages::Stage& stage, const ir::Load& load) const;

  // Also where a run makes the copy: of a product's operand that vectors along `axis` would gather.
  bool would_pack(const stages::Stage& stage, const ir::Load& load, int axis) const;

  // Operands of a reduction that a vector along `axis` would gather, or that are constant, are laid
  // out in the order in which the reduction walks them: [axis/lanes, other axes, reduction loops,
  // axis%lanes]. Copies that a run makes stand in `block` (stages::blocks_of).
  void pack_operands(stages::Stage& stage, int axis, int block, stages::Program& result);

  // On CPUs: constants that the scores [.., q, k] of a walk over keys are added to or multiplied
  // by, as biases of positions, are transposed: the walk's vectors lie along q.
  void pack_biases(stages::Stage& scores, stages::Program& result);

 private:
  ir::Layout packed_layout(const stages::Stage& stage, const ir::Load& load, int axis,
                           int vector) const;
  bool reused(const stages::Stage& stage, int axis) const;
  bool reduces_along_vector(const stages::Stage& stage, size_t r) const;

  PlacedBuffers& placed_;
  std::set<const ir::BufferNode*>& constant_;
  const target::Capabilities& caps_;
  const target::Costs& costs_;
  // By source and block: a copy made in one branch is not there in the other.
  std::map<std::pair<const ir::BufferNode*, int>, ir::Buffer> packed_;
  // By source and the dimension that changed places with the last.
  std::map<std::pair<const ir::BufferNode*, size_t>, ir::Buffer> turned_;
};

}  // namespace gossamer::layout
