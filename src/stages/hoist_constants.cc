// Moves arithmetic on constants out of stages into stages of their own, which run once, at load: 1
// / sqrt(var + eps) of a normalisation, a scale times a scale.
#include <algorithm>
#include <set>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "stages/stage_graph.h"

namespace gossamer::stages {
namespace {

using ir::Expr;

class Hoister {
 public:
  Hoister(StageGraph& graph, int max_buffers) : graph_(graph), max_buffers_(max_buffers) {
    for (const StageConstant& constant : graph.constants) constant_.insert(constant.buffer.get());
    states_ = states_of(graph);
  }

  void run() {
    Program result;
    for (Entry& entry : graph_.program) {
      if (Stage* stage = entry.stage()) look_at(*stage, result);
      result.push_back(std::move(entry));
    }
    graph_.program = std::move(result);
  }

 private:
  void look_at(Stage& stage, Program& out) {
    const bool constant = !states_.contains(stage.output.get()) &&
                          std::ranges::all_of(inputs_of(stage), [&](const ir::Buffer& b) {
                            return constant_.contains(b.get());
                          });
    if (constant) {
      constant_.insert(stage.output.get());
      return;
    }
    if (stage.kind != StageKind::compute && stage.kind != StageKind::reduce) return;
    stage_ = &stage;
    out_ = &out;
    count_ = 0;
    made_.clear();
    buffers_ = static_cast<int>(inputs_of(stage).size()) + 1;
    bounds_ = bounds_of(stage);
    stage.result = hoist(stage.result);
  }

  // Only loads of constants, at least one, at axes of the stage; and enough arithmetic to be worth
  // a stage.
  bool worth(const Expr& e) const {
    int loads = 0, work = 0;
    bool movable = ir::is_float(e->type.dtype);
    ir::visit(e, [&](const Expr& node) {
      if (const auto* load = ir::as<ir::Load>(node)) {
        ++loads;
        movable &= constant_.contains(load->buffer.get()) && is_inside(*load);
      }
      if (node->kind == ir::NodeKind::Var) movable &= axis_of(node) >= 0;
      if (node->kind == ir::NodeKind::Binary && ir::is_float(node->type.dtype)) ++work;
      if (node->kind == ir::NodeKind::Unary) work += 2;
      if (node->kind == ir::NodeKind::Cast && !ir::is_int(node->type.dtype)) ++work;
      return movable;
    });
    return movable && loads > 0 && work > 0;
  }

  // A load that a condition guards would lose its guard.
  bool is_inside(const ir::Load& load) const {
    for (size_t i = 0; i < load.indices.size(); ++i) {
      const Expr& index = load.indices[i];
      if (!ir::prove(index >= 0.0, bounds_) || !ir::prove(index < load.buffer->shape[i], bounds_))
        return false;
    }
    return true;
  }

  int axis_of(const Expr& var) const {
    for (size_t i = 0; i < stage_->axes.size(); ++i) {
      if (stage_->axes[i].get() == var.get()) return static_cast<int>(i);
    }
    return -1;
  }

  Expr hoist(const Expr& expr) {
    ir::Rewriter rewriter;
    rewriter.expr_before = [&](const Expr& e) -> Expr {
      return buffers_ < max_buffers_ && worth(e) ? move_out(e) : Expr{};
    };
    return ir::rewrite(expr, rewriter);
  }

  Expr move_out(const Expr& e) {
    for (const auto& [known, load] : made_) {
      if (ir::equal(known, e)) return load;
    }
    std::vector<int> used;
    for (size_t i = 0; i < stage_->axes.size(); ++i) {
      if (ir::uses(e, stage_->axes[i].get())) used.push_back(static_cast<int>(i));
    }
    Stage stage;
    stage.name = stage_->name + ".constant" + (count_ ? std::to_string(count_) : "");
    ++count_;
    stage.origin = stage_->origin;
    ir::VarMap map;
    std::vector<Expr> point;
    for (int i : used) {
      const ir::Var& axis = stage_->axes[static_cast<size_t>(i)];
      stage.axes.push_back(ir::var(axis->name));
      stage.extents.push_back(stage_->extents[static_cast<size_t>(i)]);
      map[axis.get()] = stage.axes.back();
      point.push_back(axis);
    }
    stage.output = ir::buffer(stage.name, e->type.dtype, stage.extents);
    stage.result = ir::substitute(e, map);
    constant_.insert(stage.output.get());
    const Expr load = ir::load(stage.output, point);
    out_->push_back(std::move(stage));
    made_.emplace_back(e, load);
    ++buffers_;  // at most: what the moved arithmetic read may be gone
    return load;
  }

  StageGraph& graph_;
  std::set<const ir::BufferNode*> constant_;
  std::unordered_set<const ir::BufferNode*> states_;
  const Stage* stage_ = nullptr;
  Program* out_ = nullptr;
  std::vector<std::pair<Expr, Expr>> made_;
  ir::Bounds bounds_;  // of the stage's axes
  int count_ = 0;
  int buffers_ = 0, max_buffers_;
};

}  // namespace

void hoist_constants(StageGraph& graph, int max_buffers) { Hoister(graph, max_buffers).run(); }

}  // namespace gossamer::stages
