#include "passes/math_functions.h"

namespace gossamer::passes::math {

ir::Expr definition(ir::UnaryOp op, const ir::Expr& x, const Primitives& target) {
  switch (op) {
    case ir::UnaryOp::exp:
      return target.exp_and_log ? ir::Expr() : math::exp(x, target);
    case ir::UnaryOp::log:
      return target.exp_and_log ? ir::Expr() : math::log(x);
    case ir::UnaryOp::sin:
      return math::sin(x, target);
    case ir::UnaryOp::cos:
      return math::cos(x, target);
    case ir::UnaryOp::tan:
      return math::tan(x, target);
    case ir::UnaryOp::asin:
      return math::asin(x);
    case ir::UnaryOp::acos:
      return math::acos(x);
    case ir::UnaryOp::atan:
      return math::atan(x);
    case ir::UnaryOp::sinh:
      return math::sinh(x, target);
    case ir::UnaryOp::cosh:
      return math::cosh(x, target);
    case ir::UnaryOp::tanh:
      return math::tanh(x, target);
    case ir::UnaryOp::asinh:
      return math::asinh(x, target);
    case ir::UnaryOp::acosh:
      return math::acosh(x, target);
    case ir::UnaryOp::atanh:
      return math::atanh(x, target);
    case ir::UnaryOp::erf:
      return math::erf(x, target);
    default:
      return {};
  }
}

}  // namespace gossamer::passes::math
