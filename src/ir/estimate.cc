#include "ir/estimate.h"

#include <algorithm>

#include "ir/build.h"

namespace gossamer::ir {

std::optional<Scalar> estimated_value(const Expr& e, const VarValues& values) {
  if (const auto* number = as<IntImm>(e)) return Scalar::of_int(e->type.dtype, number->value);
  if (const auto* variable = as<VarNode>(e)) {
    const auto known = values.find(variable);
    return Scalar::of_int(e->type.dtype,
                          known == values.end() ? variable->estimate : known->second);
  }
  if (const auto* number = as<FloatImm>(e)) return Scalar::of_float(e->type.dtype, number->value);
  if (const auto* cast = as<Cast>(e)) {
    const auto a = estimated_value(cast->a, values);
    return a ? std::optional(convert(e->type.dtype, *a)) : std::nullopt;
  }
  if (const auto* unary = as<Unary>(e)) {
    const auto a = estimated_value(unary->a, values);
    return a ? std::optional(apply(unary->op, *a)) : std::nullopt;
  }
  if (const auto* binary = as<Binary>(e)) {
    const auto a = estimated_value(binary->a, values), b = estimated_value(binary->b, values);
    return a && b ? std::optional(apply(binary->op, *a, *b)) : std::nullopt;
  }
  if (const auto* select = as<Select>(e)) {
    const auto condition = estimated_value(select->condition, values);
    return condition ? estimated_value(condition->truthy() ? select->yes : select->no, values)
                     : std::nullopt;
  }
  return std::nullopt;
}

int64_t estimated_size(const Expr& e, const VarValues& values) {
  const auto value = estimated_value(e, values);
  return value ? value->as_int() : default_estimate;
}

int64_t estimate(const Expr& extent) {
  constexpr int64_t most = 1 << 20;  // products of several must not overflow
  if (const auto known = as_int(extent)) return *known;
  return std::clamp<int64_t>(estimated_size(extent), 0, most);
}

}  // namespace gossamer::ir
