#include "codegen/text/bounded_rewrite.h"

#include <limits>

#include "ir/build.h"

namespace gossamer::codegen::text {
namespace {

using namespace ir;

class Walker {
 public:
  Walker(const Bounds& bounds, const BoundedRewriter& rewriter)
      : known_(bounds), rewriter_(rewriter) {}

  Stmt stmt(const Stmt& old) {
    if (auto* node = as<Block>(old)) {
      std::vector<Stmt> made;
      for (const Stmt& s : node->stmts) made.push_back(stmt(s));
      return block(std::move(made));
    }
    if (auto* node = as<Let>(old)) {
      if (node->value->type == Type(DType::index)) {
        known_.learn(node->var.get(), known_.range_of(node->value),
                     known_.multiple_of(node->value));
      }
      const Expr value = expr(node->value);
      return let(node->var, value, stmt(node->body));
    }
    if (auto* node = as<For>(old)) {
      const int64_t high = known_.range_of(node->extent).high;
      const bool known = high > 0 && high < std::numeric_limits<int64_t>::max();
      known_.learn(node->var.get(), {0, known ? high - 1 : std::numeric_limits<int32_t>::max()});
      const Expr extent = expr(node->extent);
      return loop(node->var, extent, node->loop, stmt(node->body));
    }
    if (auto* node = as<While>(old)) {
      const Expr condition = expr(node->condition);
      return while_loop(condition, stmt(node->body));
    }
    if (auto* node = as<If>(old)) {
      const Expr condition = expr(node->condition);
      const Stmt yes = stmt(node->yes);
      return branch(condition, yes, node->no ? stmt(node->no) : Stmt());
    }
    if (auto* node = as<Store>(old)) {
      if (rewriter_.store) {
        if (Stmt made = rewriter_.store(*node, known_)) return made;
      }
      std::vector<Expr> indices;
      for (const Expr& index : node->indices) indices.push_back(expr(index));
      return store(node->buffer, std::move(indices), expr(node->value));
    }
    if (auto* node = as<Alloc>(old)) return alloc(node->buffer, stmt(node->body));
    return old;
  }

 private:
  Expr expr(const Expr& old) {
    if (!rewriter_.expr) return old;
    Expr made = rewriter_.expr(old, known_);
    return made ? made : old;
  }

  Knowledge known_;
  const BoundedRewriter& rewriter_;
};

}  // namespace

Stmt rewrite_bounded(const Stmt& stmt, const Bounds& bounds, const BoundedRewriter& rewriter) {
  return Walker(bounds, rewriter).stmt(stmt);
}

Bounds bounds_of_scalars(const Kernel& kernel) {
  Bounds bounds;
  for (const Var& scalar : kernel.scalars) {
    bounds.set(scalar.get(), {0, std::numeric_limits<int32_t>::max()});
  }
  return bounds;
}

}  // namespace gossamer::codegen::text
