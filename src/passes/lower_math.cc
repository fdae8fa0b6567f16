#include "passes/lower_math.h"

#include "ir/rewrite.h"
#include "passes/math_functions.h"

namespace gossamer::passes {
namespace {

using ir::BinaryOp;
using ir::Expr;

Expr lower_binary(BinaryOp op, const Expr& a, const Expr& b) {
  switch (op) {
    case BinaryOp::pow:
      return math::pow(a, b);
    case BinaryOp::rem:
      return math::rem(a, b);
    case BinaryOp::floormod:
      return math::floormod(a, b);
    default:
      return {};
  }
}

Expr lower(const Expr& e, bool ldexp) {
  const ir::DType dtype = e->type.dtype;
  if (dtype != ir::DType::f32 && dtype != ir::DType::f64) return {};
  if (auto* unary = ir::as<ir::Unary>(e))
    return math::definition(unary->op, unary->a, {.ldexp = ldexp});
  if (auto* binary = ir::as<ir::Binary>(e)) return lower_binary(binary->op, binary->a, binary->b);
  return {};
}

ir::Rewriter lowering(bool ldexp) {
  ir::Rewriter rewriter;
  rewriter.expr = [ldexp](const Expr& e) { return lower(e, ldexp); };
  return rewriter;
}

}  // namespace

ir::Stmt lower_math(const ir::Stmt& body, bool ldexp) { return ir::rewrite(body, lowering(ldexp)); }
ir::Expr lower_math(const ir::Expr& expr, bool ldexp) { return ir::rewrite(expr, lowering(ldexp)); }

}  // namespace gossamer::passes
