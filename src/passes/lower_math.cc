#include "passes/lower_math.h"

#include "ir/rewrite.h"
#include "passes/math_functions.h"

namespace gossamer::passes {
namespace {

using ir::BinaryOp;
using ir::Expr;
using ir::UnaryOp;

Expr lower_unary(UnaryOp op, const Expr& x) {
  switch (op) {
    case UnaryOp::exp:
      return math::exp(x);
    case UnaryOp::log:
      return math::log(x);
    case UnaryOp::sin:
      return math::sin(x);
    case UnaryOp::cos:
      return math::cos(x);
    case UnaryOp::tan:
      return math::tan(x);
    case UnaryOp::asin:
      return math::asin(x);
    case UnaryOp::acos:
      return math::acos(x);
    case UnaryOp::atan:
      return math::atan(x);
    case UnaryOp::sinh:
      return math::sinh(x);
    case UnaryOp::cosh:
      return math::cosh(x);
    case UnaryOp::tanh:
      return math::tanh(x);
    case UnaryOp::asinh:
      return math::asinh(x);
    case UnaryOp::acosh:
      return math::acosh(x);
    case UnaryOp::atanh:
      return math::atanh(x);
    case UnaryOp::erf:
      return math::erf(x);
    default:
      return {};
  }
}

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

Expr lower(const Expr& e) {
  const ir::DType dtype = e->type.dtype;
  if (dtype != ir::DType::f32 && dtype != ir::DType::f64) return {};
  if (auto* unary = ir::as<ir::Unary>(e)) return lower_unary(unary->op, unary->a);
  if (auto* binary = ir::as<ir::Binary>(e)) return lower_binary(binary->op, binary->a, binary->b);
  return {};
}

}  // namespace

ir::Stmt lower_math(const ir::Stmt& body) {
  ir::Rewriter rewriter;
  rewriter.expr = lower;
  return ir::rewrite(body, rewriter);
}

ir::Expr lower_math(const ir::Expr& expr) {
  ir::Rewriter rewriter;
  rewriter.expr = lower;
  return ir::rewrite(expr, rewriter);
}

}  // namespace gossamer::passes
