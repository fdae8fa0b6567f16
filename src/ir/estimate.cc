#include "ir/estimate.h"

#include <algorithm>
#include <optional>

#include "ir/build.h"
#include "ir/scalar.h"

namespace gossamer::ir {
namespace {

std::optional<Scalar> value_of(const Expr& e) {
  if (const auto* number = as<IntImm>(e)) return Scalar::of_int(e->type.dtype, number->value);
  if (const auto* variable = as<VarNode>(e))
    return Scalar::of_int(e->type.dtype, variable->estimate);
  if (const auto* binary = as<Binary>(e)) {
    const auto a = value_of(binary->a), b = value_of(binary->b);
    return a && b ? std::optional(apply(binary->op, *a, *b)) : std::nullopt;
  }
  if (const auto* select = as<Select>(e)) {
    const auto condition = value_of(select->condition);
    return condition ? value_of(condition->as_int() ? select->yes : select->no) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

int64_t estimate(const Expr& extent) {
  constexpr int64_t most = 1 << 20;  // products of several must not overflow
  if (const auto known = as_int(extent)) return *known;
  const auto value = value_of(extent);
  return value ? std::clamp<int64_t>(value->as_int(), 0, most) : default_estimate;
}

}  // namespace gossamer::ir
