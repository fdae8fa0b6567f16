#include "compiler/instructions.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "ir/build.h"
#include "ir/estimate.h"

namespace gossamer::compiler {
namespace {

using ir::Expr;
using ir::Stmt;

constexpr double division = 20, known_division = 4, function = 10;
constexpr double rounds_of_while = 8;

bool is_division(ir::BinaryOp op) {
  using enum ir::BinaryOp;
  return op == floordiv || op == floormod || op == div || op == rem;
}

double cost_of(const Expr& e) {
  const bool index = e->type.dtype == ir::DType::index;
  if (const auto* binary = ir::as<ir::Binary>(e)) {
    const bool integers = ir::is_int(binary->a->type.dtype) || index;
    if (integers && is_division(binary->op)) {
      const auto by = ir::as_int(binary->b);
      const bool shifts = by && *by > 0 && (*by & (*by - 1)) == 0;
      return shifts ? 1 : by ? known_division : division;
    }
    return index ? 0 : 1;
  }
  if (const auto* unary = ir::as<ir::Unary>(e))
    return ir::is_float(unary->a->type.dtype) && unary->op != ir::UnaryOp::neg ? function : 1;
  const bool leaf = ir::as<ir::VarNode>(e) || ir::as<ir::IntImm>(e) || ir::as<ir::FloatImm>(e);
  const bool free = leaf || ir::as<ir::Ramp>(e) || ir::as<ir::Bitcast>(e);
  return free || index ? 0 : 1;
}

class Counter {
 public:
  explicit Counter(ir::VarValues values) : values_(std::move(values)) {}

  double count(const ir::Kernel& kernel, int64_t range) {
    range_ = range;
    walk(kernel.body);
    return count_;
  }

 private:
  // Counts what was not computed in an outer loop; gives the number of loops around it.
  size_t visit(const Expr& e) {
    if (const auto* variable = ir::as<ir::VarNode>(e)) {
      const auto known = depth_.find(variable);
      return known == depth_.end() ? 0 : known->second;
    }
    const auto [known, fresh] = seen_.try_emplace(e.get(), 0);
    if (!fresh) return known->second;
    // What is stored meanwhile changes a load.
    size_t depth = ir::as<ir::Load>(e) ? times_.size() - 1 : 0;
    ir::visit_operands(*e, [&](const Expr& operand) { depth = std::max(depth, visit(operand)); });
    seen_[e.get()] = depth;
    if (ir::as<ir::Load>(e)) loads_.push_back(e.get());
    count_ += cost_of(e) * times_[depth];
    return depth;
  }

  // Loads of one statement are made again for the next.
  size_t count(const Expr& e) {
    const size_t depth = visit(e);
    for (const auto* load : loads_) seen_.erase(load);
    loads_.clear();
    return depth;
  }

  void walk_times(double times, const Stmt& body) {
    times_.push_back(times_.back() * times);
    walk(body);
    times_.pop_back();
  }

  void walk(const Stmt& stmt) {
    if (!stmt) return;
    if (const auto* block = ir::as<ir::Block>(stmt)) {
      for (const Stmt& one : block->stmts) walk(one);
    } else if (const auto* let = ir::as<ir::Let>(stmt)) {
      depth_[let->var.get()] = count(let->value);
      if (const auto value = ir::estimated_value(let->value, values_))
        values_[let->var.get()] = value->as_int();
      walk(let->body);
    } else if (const auto* loop = ir::as<ir::For>(stmt)) {
      count(loop->extent);
      const int64_t extent =
          loop->loop == ir::LoopKind::grid ? range_ : ir::estimated_size(loop->extent, values_);
      if (extent <= 0) return;
      values_[loop->var.get()] = extent / 2;
      depth_[loop->var.get()] = times_.size();
      walk_times(static_cast<double>(extent), loop->body);
    } else if (const auto* rounds = ir::as<ir::While>(stmt)) {
      times_.push_back(times_.back() * rounds_of_while);
      count(rounds->condition);
      times_.pop_back();
      walk_times(rounds_of_while, rounds->body);
    } else if (const auto* choice = ir::as<ir::If>(stmt)) {
      count(choice->condition);
      const auto decided = ir::estimated_value(choice->condition, values_);
      if (!decided || decided->truthy()) walk(choice->yes);
      if (!decided || !decided->truthy()) walk(choice->no);
    } else if (const auto* store = ir::as<ir::Store>(stmt)) {
      for (const Expr& index : store->indices) count(index);
      count(store->value);
      count_ += times_.back();
    } else if (const auto* alloc = ir::as<ir::Alloc>(stmt)) {
      walk(alloc->body);
    }
  }

  ir::VarValues values_;
  std::unordered_map<const ir::VarNode*, size_t> depth_;  // loops around a variable's value
  std::unordered_map<const ir::ExprNode*, size_t> seen_;
  std::vector<const ir::ExprNode*> loads_;  // of this statement
  std::vector<double> times_{1};            // that each depth is executed
  int64_t range_ = 0;
  double count_ = 0;
};

}  // namespace

double instructions_of(const ir::Kernel& kernel, std::span<const int64_t> scalars, int64_t range) {
  ir::VarValues values;
  for (size_t at = 0; at < scalars.size(); ++at) values[kernel.scalars[at].get()] = scalars[at];
  return range > 0 ? Counter(std::move(values)).count(kernel, range) : 0;
}

}  // namespace gossamer::compiler
