// Removes stages and constants that no output depends on.
#include <unordered_set>

#include "graph/stage_graph.h"
#include "ir/rewrite.h"
#include "ops/steps.h"

namespace gossamer::graph {
namespace {

using ops::Stage;
using ops::StageKind;
using ops::StepKind;

// Marks what is needed until nothing is added: a round of a loop needs what the last one made.
class Liveness {
 public:
  explicit Liveness(const StageGraph& graph) : graph_(graph), live_(graph.stages.size(), false) {
    for (const StageOutput& output : graph.outputs) {
      buffers_.insert(output.buffer.get());
      use(output.buffer->shape);
    }
    while (mark()) {
    }
  }
  const std::vector<bool>& stages() const { return live_; }
  bool needs(const ir::Buffer& buffer) const { return buffers_.contains(buffer.get()); }

 private:
  void use(const ir::Expr& expr) {
    if (!expr) return;
    ir::visit(expr, [&](const ir::Expr& e) {
      if (const auto* var = ir::as<ir::VarNode>(e)) variables_.insert(var);
      return true;
    });
  }
  void use(const std::vector<ir::Expr>& exprs) {
    for (const ir::Expr& expr : exprs) use(expr);
  }

  bool wanted(const Stage& stage) const {
    if (stage.kind != StageKind::step) return buffers_.contains(stage.output.get());
    if (stage.step == StepKind::check) return true;
    bool wanted = false;
    if (stage.step == StepKind::read || stage.step == StepKind::set) {
      for (const ir::Var& var : stage.axes) wanted = wanted || variables_.contains(var.get());
    }
    return wanted;
  }

  void need(const Stage& stage) {
    for (const ir::Buffer& input : ops::inputs_of(stage)) {
      buffers_.insert(input.get());
      use(input->shape);
    }
    if (stage.output) use(stage.output->shape);
    use(stage.extents);
    use(stage.reduce_extents);
    use(stage.values);
    use(stage.target);
    use(stage.result);
    use(stage.condition);
  }

  bool mark() {
    bool added = false;
    std::vector<size_t> open;  // positions of the steps that open the blocks around
    for (size_t i = 0; i < graph_.stages.size(); ++i) {
      const Stage& stage = graph_.stages[i];
      if (ops::is_step(stage, StepKind::end)) {
        const size_t opener = open.back();
        open.pop_back();
        if (live_[opener] && !live_[i]) live_[i] = added = true;
        continue;
      }
      if (ops::is_step(stage, StepKind::otherwise)) {
        if (live_[open.back()] && !live_[i]) live_[i] = added = true;
        continue;
      }
      if (!live_[i] && wanted(stage)) {
        live_[i] = added = true;
        need(stage);
        for (size_t opener : open) {
          if (live_[opener]) continue;
          live_[opener] = true;
          need(graph_.stages[opener]);
        }
      }
      if (ops::is_step(stage, StepKind::branch) || ops::is_step(stage, StepKind::loop))
        open.push_back(i);
    }
    return added;
  }

  const StageGraph& graph_;
  std::vector<bool> live_;
  std::unordered_set<const ir::BufferNode*> buffers_;
  std::unordered_set<const ir::VarNode*> variables_;
};

}  // namespace

void drop_dead(StageGraph& graph) {
  const Liveness liveness(graph);
  std::vector<Stage> kept;
  for (size_t i = 0; i < graph.stages.size(); ++i) {
    if (liveness.stages()[i]) kept.push_back(std::move(graph.stages[i]));
  }
  graph.stages = std::move(kept);
  std::erase_if(graph.constants,
                [&](const StageConstant& constant) { return !liveness.needs(constant.buffer); });
}

}  // namespace gossamer::graph
