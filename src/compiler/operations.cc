#include "compiler/operations.h"

#include <unordered_set>

#include "ir/build.h"

namespace gossamer::compiler {
namespace {

using ir::Expr;

constexpr int64_t most = int64_t{1} << 53;

bool is_number(const Expr& e) {
  return e->type.dtype != ir::DType::index && e->type.dtype != ir::DType::boolean;
}

int64_t weight_of(const Expr& e) {
  if (ir::as<ir::Fma>(e)) return 2;
  if (const auto* dot = ir::as<ir::Dot>(e)) return 2 * dot->terms - 1;  // c is another
  if (const auto* unary = ir::as<ir::Unary>(e)) return is_number(unary->a);
  if (const auto* binary = ir::as<ir::Binary>(e)) return is_number(binary->a);
  return 0;
}

// What expressions share is computed once.
int64_t operations_in(const std::vector<Expr>& expressions) {
  std::unordered_set<const ir::Node*> seen;
  int64_t count = 0;
  for (const Expr& expression : expressions) {
    if (expression.get() == nullptr) continue;
    ir::visit(expression, [&](const Expr& e) {
      if (!seen.insert(e.get()).second) return false;
      count += weight_of(e);
      return !ir::as<ir::Load>(e);  // below it are indices
    });
  }
  return count;
}

// A product of numbers and dimensions, whose known part does not wrap.
struct Product {
  int64_t known = 1;
  Expr open;
  bool counted = true;

  void times(const std::vector<Expr>& extents) {
    for (const Expr& extent : extents) {
      if (const auto number = ir::as_int(extent)) {
        counted = counted && !__builtin_mul_overflow(known, *number, &known) && known < most;
      } else {
        open = open ? open * extent : extent;
      }
    }
  }
  Expr of(int64_t count) const {
    int64_t all = 0;
    if (!counted || __builtin_mul_overflow(known, count, &all) || all >= most) return ir::index(0);
    return open && all > 0 ? ir::index(all) * open : ir::index(all);
  }
};

Expr operations_of(const stages::Stage& stage) {
  Product points;
  if (stage.kind == stages::StageKind::sort) {  // its keys, once each
    for (size_t axis = 0; axis < stage.extents.size(); ++axis)
      if (axis != stage.along) points.times({stage.extents[axis]});
    points.times(stage.reduce_extents);
    return points.of(operations_in(stage.values));
  }
  points.times(stage.extents);
  Product terms = points;
  terms.times(stage.reduce_extents);
  const int64_t once = operations_in({stage.result, stage.condition});
  std::vector<Expr> joined;
  for (const stages::Accumulator& one : stage.accumulators)
    if (!stage.in_order) joined.push_back(one.joined);
  return points.of(once) + terms.of(operations_in(stage.values) + operations_in(joined));
}

}  // namespace

Expr operations_of(const stages::Group& group) {
  Expr sum = ir::index(0);
  for (const stages::Member& member : group.members) sum = sum + operations_of(member.stage);
  return sum;
}

}  // namespace gossamer::compiler
