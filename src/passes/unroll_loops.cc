#include "passes/unroll_loops.h"

#include "ir/build.h"
#include "ir/rewriting.h"
#include "ir/simplify.h"

namespace gossamer::passes {
namespace {

using ir::Expr;

// One iteration. Of selects that it decides the other arm goes at once, as later passes would look
// at all arms of all iterations.
class Iteration {
 public:
  Iteration(const ir::VarNode* var, int64_t value)
      : map_{{var, ir::index(value)}}, rewriting_(rewriter()) {}

  ir::Stmt of(const ir::Stmt& body) {
    ir::Rewriter each;
    each.expr_before = [&](const Expr& e) { return rewriting_(e); };
    return ir::rewrite(body, each);
  }

 private:
  ir::Rewriter rewriter() {
    ir::Rewriter rewriter;
    rewriter.expr_before = [this](const Expr& e) -> Expr {
      if (const auto* var = ir::as<ir::VarNode>(e)) {
        const auto found = map_.find(var);
        return found == map_.end() ? e : found->second;
      }
      const auto* select = ir::as<ir::Select>(e);
      if (!select || !ir::uses(select->condition, map_.begin()->first)) return {};
      const auto known = ir::as_int(ir::simplify(ir::substitute(select->condition, map_)));
      return known ? rewriting_(*known ? select->yes : select->no) : Expr{};
    };
    return rewriter;
  }

  const ir::VarMap map_;
  ir::Rewriting rewriting_;
};

}  // namespace

ir::Stmt unroll_loops(const ir::Stmt& body) {
  ir::Rewriter rewriter;
  rewriter.stmt = [](const ir::Stmt& s) -> ir::Stmt {
    const auto* loop = ir::as<ir::For>(s);
    if (!loop || loop->loop != ir::LoopKind::unrolled) return {};
    const auto extent = ir::as_int(loop->extent);
    GS_CHECK(extent, "an unrolled loop has a constant extent");
    std::vector<ir::Stmt> copies;
    for (int64_t i = 0; i < *extent; ++i)
      copies.push_back(Iteration(loop->var.get(), i).of(loop->body));
    return ir::block(std::move(copies));
  };
  return ir::rewrite(body, rewriter);
}

}  // namespace gossamer::passes
