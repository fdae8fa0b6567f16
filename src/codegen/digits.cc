#include "codegen/digits.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"

namespace gossamer::codegen {
namespace {

using ir::BinaryOp;
using ir::Expr;

struct Part {
  Digit digit;
  Expr stride;
};

const ir::Binary* binary_of(const Expr& e, BinaryOp op) {
  const auto* binary = ir::as<ir::Binary>(e);
  return binary && binary->op == op ? binary : nullptr;
}

bool is_var(const Expr& e, const ir::Var& var) { return e.get() == var.get(); }

}  // namespace

std::vector<Digit> digits_of(const ir::For& loop) {
  std::vector<Part> parts;
  std::vector<const ir::VarNode*> inside;
  const auto stands = [&](const Expr& e) {
    return std::ranges::none_of(inside, [&](const auto* var) { return ir::uses(e, var); });
  };
  bool open = false;
  ir::Stmt at = loop.body;
  while (const auto* let = ir::as<ir::Let>(at)) {
    const ir::Binary* rest = binary_of(let->value, BinaryOp::floormod);
    const Expr number = rest ? rest->a : let->value;
    const ir::Binary* quotient = binary_of(number, BinaryOp::floordiv);
    const Expr extent = rest ? rest->b : Expr{};
    const Expr stride = quotient ? quotient->b : ir::index(1);
    if ((rest || quotient) && is_var(quotient ? quotient->a : number, loop.var) &&
        stands(let->value)) {
      parts.push_back({{let, extent}, stride});
      open = open || !ir::as_int(stride) || (extent && !ir::as_int(extent));
    }
    inside.push_back(let->var.get());
    at = let->body;
  }
  std::vector<Digit> digits;
  Expr stride = ir::index(1);
  while (open && stride) {
    const auto next = std::ranges::find_if(
        parts, [&](const Part& part) { return ir::prove_equal(part.stride, stride); });
    if (next == parts.end()) break;
    digits.push_back(next->digit);
    const Expr& extent = next->digit.extent;
    stride = extent ? ir::simplify(stride * extent) : Expr{};
    parts.erase(next);
  }
  return digits;
}

}  // namespace gossamer::codegen
