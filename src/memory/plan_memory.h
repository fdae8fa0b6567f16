// The static memory plan: which tensors share which slot of device memory.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/nodes.h"
#include "ir/simplify.h"

namespace gossamer::memory {

// What a tensor needs of its slot.
struct MemoryNeed {
  ir::Expr bytes = {};  // linear memory: its size, of type index, in terms of the dimensions
  // A texture (width > 0): shares only with textures of the same width, layers and texel type.
  int width = 0, layers = 1;
  ir::Expr height = {};  // in texels, of type index
  ir::DType texel = ir::DType::f32;
  int segment = 0;  // of the plan, after which the size is known; shares only within one
  int device = 0;   // shares only within one
};

// One tensor of the plan. `exclusive` ones share with nobody: inputs, outputs, weights, results of
// init.
struct PlannedTensor {
  ir::Buffer buffer;
  MemoryNeed need;
  bool exclusive = false;
  ir::Buffer in_place_of = {};  // a tensor before it, whose slot it has: a launch updates that
};

// One launch.
struct PlanStep {
  std::vector<ir::Buffer> reads, writes;
};

// A loop over steps [first, last): what is alive when it starts and used in it stays alive in it.
struct PlanLoop {
  size_t first = 0, last = 0;
};

struct MemoryPlan {
  struct Slot {
    MemoryNeed need;  // the largest of its tensors; `max` of sizes that can't be compared now
    bool exclusive = false;
  };
  std::vector<Slot> slots;
  std::unordered_map<const ir::BufferNode*, int> slot_of;
};

// Assigns a slot to every tensor. Two tensors share one only if no step has both alive, so a launch
// never reads and writes one slot but
// to update a tensor in place. Every buffer of `steps` must be among `tensors`, each written
// before it is read unless exclusive. `bounds` says what is known of the dimensions. The result
// depends on the order of `tensors` and `steps` only.
MemoryPlan plan_memory(const std::vector<PlannedTensor>& tensors,
                       const std::vector<PlanStep>& steps, const ir::Bounds& bounds = {},
                       const std::vector<PlanLoop>& loops = {});

}  // namespace gossamer::memory
