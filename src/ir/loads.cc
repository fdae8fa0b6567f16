#include "ir/loads.h"

#include "ir/rewrite.h"

namespace gossamer::ir {

std::vector<const Load*> loads_of(const Expr& expr) { return loads_of(std::vector<Expr>{expr}); }

std::vector<const Load*> loads_of(const std::vector<Expr>& exprs) {
  std::vector<const Load*> loads;
  for (const Expr& expr : exprs) {
    if (!expr.get()) continue;
    visit(expr, [&](const Expr& e) {
      const auto* load = as<Load>(e);
      if (!load) return true;
      for (const Load* known : loads) {
        if (known == load || equal(Expr(known), Expr(load))) return false;
      }
      loads.push_back(load);
      return true;
    });
  }
  return loads;
}

}  // namespace gossamer::ir
