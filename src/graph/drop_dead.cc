// Removes stages and constants that no output depends on.
#include <unordered_set>

#include "graph/stage_graph.h"

namespace gossamer::graph {

void drop_dead(StageGraph& graph) {
  std::unordered_set<const ir::BufferNode*> needed;
  for (const StageOutput& output : graph.outputs) needed.insert(output.buffer.get());
  std::vector<ops::Stage> kept;
  for (size_t i = graph.stages.size(); i-- > 0;) {
    ops::Stage& stage = graph.stages[i];
    bool live = needed.contains(stage.output.get());
    for (const ir::Buffer& output : stage.outputs) live = live || needed.contains(output.get());
    for (const ir::Buffer& state : stage.states) live = live || needed.contains(state.get());
    if (!live) continue;
    for (const ir::Buffer& input : ops::inputs_of(stage)) needed.insert(input.get());
    kept.push_back(std::move(stage));
  }
  graph.stages.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  std::erase_if(graph.constants, [&](const StageConstant& constant) {
    return !needed.contains(constant.buffer.get());
  });
}

}  // namespace gossamer::graph
