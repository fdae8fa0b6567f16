// For comparing a model with itself, compiled otherwise: its intermediate tensors as outputs.
#include <unordered_set>

#include "stages/stage_graph.h"

namespace gossamer::stages {

void expose_stages(StageGraph& graph) {
  std::unordered_set<std::string> names;
  std::unordered_set<const ir::BufferNode*> known = states_of(graph);
  for (const StageOutput& output : graph.outputs) {
    names.insert(output.name);
    known.insert(output.buffer.get());
  }
  for (const StageInput& input : graph.inputs) names.insert(input.name);
  const std::vector<int> blocks = blocks_of(graph.program);
  for (size_t i = 0; i < graph.program.size(); ++i) {
    const Stage* stage = graph.program[i].stage();
    if (!stage || blocks[i] != 0 || known.contains(stage->output.get())) continue;
    if (names.insert(stage->output->name).second)
      graph.outputs.push_back({stage->output->name, stage->output});
  }
}

}  // namespace gossamer::stages
