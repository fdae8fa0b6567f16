#include "ops/bounds_check.h"

#include <unordered_map>
#include <unordered_set>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"

namespace gossamer::ops {
namespace {

using ir::Var;
using stages::Stage;

class Reads {
 public:
  Reads(const Stage& stage, const FitsFn& fits) : fits_(fits) {
    add(stage.axes, stage.extents);
    add(stage.reduce_axes, stage.reduce_extents);
  }
  bool empty() const { return empty_; }

  void look(const Expr& expr) {
    if (expr.get() == nullptr) return;
    ir::visit(expr, [this](const Expr& node) {
      if (!seen_.insert(node.get()).second) return false;
      if (const auto* select = ir::as<ir::Select>(node)) {
        look(select->condition);
        return false;
      }
      if (const auto* load = ir::as<ir::Load>(node)) {
        for (size_t axis = 0; axis < load->indices.size(); ++axis) check(*load, axis);
      }
      return true;
    });
  }

 private:
  void add(const std::vector<Var>& axes, const std::vector<Expr>& extents) {
    for (size_t i = 0; i < axes.size(); ++i) {
      extents_[axes[i].get()] = extents[i];
      auto extent = ir::as_int(extents[i]);
      if (!extent) continue;
      empty_ = empty_ || *extent == 0;
      bounds_.set(axes[i].get(), {0, *extent - 1});
    }
  }

  // A sum in which every axis occurs once reaches both ends of its range.
  bool dense(const Expr& place, std::unordered_set<const ir::VarNode*>& axes) const {
    if (ir::as_int(place)) return true;
    if (const auto* var = ir::as<ir::VarNode>(place)) {
      auto extent = extents_.find(var);
      return extent != extents_.end() && ir::as_int(extent->second) && axes.insert(var).second;
    }
    const auto* sum = ir::as<ir::Binary>(place);
    if (!sum) return false;
    if (sum->op == ir::BinaryOp::add || sum->op == ir::BinaryOp::sub)
      return dense(sum->a, axes) && dense(sum->b, axes);
    return sum->op == ir::BinaryOp::mul && ir::as_int(sum->b) && dense(sum->a, axes);
  }

  void check(const ir::Load& load, size_t axis) {
    const Expr &place = load.indices[axis], &extent = load.buffer->shape[axis];
    auto text = [&](const std::string& read) {
      return cat("\"", load.buffer->name, "\" has ", ir::print(extent), " elements along axis ",
                 axis, ", ", read);
    };
    std::unordered_set<const ir::VarNode*> axes;
    auto count = ir::as_int(extent);
    if (count && dense(place, axes)) {
      ir::Range range = bounds_.of(place);
      if (range.low >= 0 && range.high < *count) return;
      // Never: the range may end where no number follows.
      fits_(ir::index(1), ir::index(0),
            text(cat("elements ", range.low, " to ", range.high, " are read")));
      return;
    }
    const auto* var = ir::as<ir::VarNode>(place);
    auto found = var ? extents_.find(var) : extents_.end();
    if (found == extents_.end() || ir::prove_equal(found->second, extent)) return;
    fits_(found->second, extent, text(cat(ir::print(found->second), " are read")));
  }

  const FitsFn& fits_;
  std::unordered_map<const ir::VarNode*, Expr> extents_;
  ir::Bounds bounds_;
  std::unordered_set<const ir::Node*> seen_;
  bool empty_ = false;
};

}  // namespace

void check_reads(const Stage& stage, const FitsFn& fits) {
  Reads reads(stage, fits);
  if (reads.empty()) return;
  reads.look(stage.result);
  for (const Expr& value : stage.values) reads.look(value);
  for (const Expr& target : stage.target) reads.look(target);
  reads.look(stage.condition);
}

}  // namespace gossamer::ops
