#include "stages/factors.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "stages/access.h"

namespace gossamer::stages {

using ir::Expr;

namespace {

Factors factors_of_term(const Expr& term) {
  if (const auto* dot = ir::as<ir::Dot>(term); dot && ir::is_const(dot->c, 0))
    return {dot->a, dot->b, dot->terms};
  const auto* product = ir::as<ir::Binary>(term);
  if (!product || product->op != ir::BinaryOp::mul) return {};
  return {product->a, product->b};
}

}  // namespace

Expr product_of(const Expr& a, const Expr& b, int64_t terms) {
  return terms == 1 ? a * b : ir::dot(a, b, ir::constant_int(ir::DType::i32, 0), terms);
}

Factors factors_of(const Stage& stage) {
  return is_sum(stage.accumulators) ? factors_of_term(stage.values[0]) : Factors{};
}

Expr decoded_factor(const Stage& stage) {
  if (!is_sums(stage.accumulators)) return {};
  const Factors factors = factors_of_term(stage.values[0]);
  if (!factors.a.get() || !ir::is_float(factors.a->type.dtype)) return {};
  const auto decodes = [](const Expr& factor) {
    return std::ranges::any_of(loads_of(factor), [](const ir::Load* load) {
      return ir::byte_size(load->buffer->dtype) == 1;
    });
  };
  const bool a = decodes(factors.a), b = decodes(factors.b);
  return a == b ? Expr() : a ? factors.a : factors.b;
}

ScaledFactor scaled_in_blocks(const Expr& factor, const ir::Var& axis) {
  const auto* product = ir::as<ir::Binary>(factor);
  if (!product || product->op != ir::BinaryOp::mul) return {factor, {}};
  const auto block_of = [&](const Expr& e) {
    int64_t block = 0;
    ir::visit(e, [&](const Expr& part) {
      const auto* quotient = ir::as<ir::Binary>(part);
      if (!quotient || quotient->op != ir::BinaryOp::floordiv || !quotient->a.same(axis))
        return true;
      block = std::gcd(block, ir::as_int(quotient->b).value_or(1));
      return true;
    });
    return block > 1 && is_shared(e, axis, block) ? block : 0;
  };
  for (const auto& [rest, scale] : {std::pair(product->a, product->b), {product->b, product->a}})
    if (const int64_t block = block_of(scale); block > 0 && ir::uses(rest, axis.get()))
      return {rest, scale, block};
  return {factor, {}};
}

ScaledFactor scaled_product(const Stage& stage) {
  const Factors factors = factors_of(stage);
  if (!factors.a.get() || factors.terms != 1 || stage.reduce_axes.size() != 1) return {};
  const ScaledFactor a = scaled_in_blocks(factors.a, stage.reduce_axes[0]);
  if (a.scale) return {a.factor * factors.b, a.scale, a.block};
  const ScaledFactor b = scaled_in_blocks(factors.b, stage.reduce_axes[0]);
  return {factors.a * b.factor, b.scale, b.block};
}

bool is_decoded_from(const Stage& stage, const ir::Load& load) {
  if (stage.kind != StageKind::reduce || stage.reduce_axes.size() != 1) return false;
  const Expr factor = decoded_factor(stage);
  return factor.get() && std::ranges::any_of(loads_of(factor), [&](const ir::Load* part) {
           return part == &load || ir::equal(Expr(part), Expr(&load));
         });
}

}  // namespace gossamer::stages
