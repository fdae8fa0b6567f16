// Removes stages and constants that no output depends on.
#include <algorithm>
#include <unordered_set>

#include "ir/rewrite.h"
#include "stages/stage_graph.h"

namespace gossamer::stages {
namespace {

// Marks what is needed until nothing is added: a round of a loop needs what the last one made.
class Liveness {
 public:
  explicit Liveness(const StageGraph& graph) : graph_(graph), live_(graph.program.size(), false) {
    for (const StageOutput& output : graph.outputs) {
      buffers_.insert(output.buffer.get());
      use(output.buffer->shape);
    }
    while (mark()) {
    }
  }
  const std::vector<bool>& entries() const { return live_; }
  bool needs(const ir::Buffer& buffer) const { return buffers_.contains(buffer.get()); }

 private:
  void use(const ir::Expr& expr) {
    if (!expr.get()) return;
    ir::visit(expr, [&](const ir::Expr& e) {
      if (const auto* var = ir::as<ir::VarNode>(e)) variables_.insert(var);
      return true;
    });
  }
  void use(const std::vector<ir::Expr>& exprs) {
    for (const ir::Expr& expr : exprs) use(expr);
  }

  bool wanted(const Entry& entry) const {
    if (entry.output() && buffers_.contains(entry.output().get())) return true;
    if (entry.is(StepKind::check)) return true;
    return (entry.is(StepKind::read) || entry.is(StepKind::set)) &&
           std::ranges::any_of(entry.step()->variables,
                               [&](const ir::Var& var) { return variables_.contains(var.get()); });
  }

  void need(const Entry& entry) {
    for (const ir::Buffer& input : entry.inputs()) {
      buffers_.insert(input.get());
      use(input->shape);
    }
    if (entry.output()) use(entry.output()->shape);
    if (const Stage* stage = entry.stage()) {
      visit_exprs(*stage, any_role, [&](const ir::Expr& expr) { use(expr); });
    } else {
      const Step& step = *entry.step();
      use(step.values);
      use(step.condition);
      use(step.elements);
      use(step.rounds);
    }
  }

  bool mark() {
    bool added = false;
    std::vector<size_t> open;  // positions of the steps that open the blocks around
    for (size_t i = 0; i < graph_.program.size(); ++i) {
      const Entry& entry = graph_.program[i];
      if (entry.is(StepKind::end)) {
        const size_t opener = open.back();
        open.pop_back();
        if (live_[opener] && !live_[i]) live_[i] = added = true;
        continue;
      }
      if (entry.is(StepKind::otherwise)) {
        if (live_[open.back()] && !live_[i]) live_[i] = added = true;
        continue;
      }
      if (!live_[i] && wanted(entry)) {
        live_[i] = added = true;
        need(entry);
        for (size_t opener : open) {
          if (live_[opener]) continue;
          live_[opener] = true;
          need(graph_.program[opener]);
        }
      }
      if (entry.is(StepKind::branch) || entry.is(StepKind::loop)) open.push_back(i);
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
  Program kept;
  for (size_t i = 0; i < graph.program.size(); ++i) {
    if (liveness.entries()[i]) kept.push_back(std::move(graph.program[i]));
  }
  graph.program = std::move(kept);
  std::erase_if(graph.constants,
                [&](const StageConstant& constant) { return !liveness.needs(constant.buffer); });
}

}  // namespace gossamer::stages
