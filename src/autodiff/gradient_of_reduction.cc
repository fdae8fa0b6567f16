// Gradients of reductions: of the accumulators first, then of the terms.
#include <algorithm>

#include "autodiff/stage_gradient.h"
#include "ir/build.h"

namespace gossamer::autodiff {
namespace {

stages::Accumulators sum_of(ir::Type type) {
  return {stages::sum_accumulator(ir::var("acc", type), ir::var("term", type))};
}

stages::Accumulators product_of(ir::Type type) {
  const Var left = ir::var("acc", type), right = ir::var("term", type);
  return {{left, right, Expr(left) * Expr(right), ir::constant(type, 1)}};
}

}  // namespace

Result<> StageGradient::of_reduction(const Tensor& cotangent) {
  std::vector<Leaf> sums;
  for (const Leaf& leaf : through_result(cotangent)) {
    if (leaf.leaf->kind == ir::NodeKind::Load) {
      pull_back(with_accumulators(leaf), points_);
      continue;
    }
    const auto k =
        static_cast<size_t>(std::ranges::find_if(stage_.accumulators,
                                                 [&](const stages::Accumulator& one) {
                                                   return one.left.get() == leaf.leaf.get();
                                                 }) -
                            stage_.accumulators.begin());
    const auto active = [this](const Expr& e) { return is_active_load(e); };
    const Expr& term = stage_.values[k];
    const Root probe{term, {{}, ir::constant(term->type, 1)}};
    if (stage_.in_order) return unknown("goes on from what it has so far");
    if (cotangents_of({probe}, active).empty()) continue;
    if (join_kind(stage_.accumulators[k]) == JoinKind::sum) {
      sums.push_back({term, {{}, stored(k, leaf.cotangent)}});
    } else {
      GS_TRY(of_accumulator(k, stored(k, leaf.cotangent)));
    }
  }
  std::vector<Root> roots;
  for (const Leaf& one : sums) roots.push_back({one.leaf, one.cotangent});
  if (!roots.empty()) pull_back(roots, all_);
  return {};
}

Result<> StageGradient::of_accumulator(size_t k, const Expr& cotangent) {
  switch (join_kind(stage_.accumulators[k])) {
    case JoinKind::maximum:
    case JoinKind::minimum:
      of_extreme(k, cotangent);
      return {};
    case JoinKind::product:
      of_product(k, cotangent);
      return {};
    case JoinKind::choice:
      return of_choice(k, cotangent);
    default:
      return unknown("joins its terms in a way of its own");
  }
}

Expr StageGradient::stored(size_t k, const Masked& cotangent) {
  const Expr value = with_accumulators(unmasked(cotangent));
  Expr inner = value;
  while (const auto* cast = ir::as<ir::Cast>(inner)) inner = cast->a;
  if (inner->kind == ir::NodeKind::Load) return value;
  return at_axes(over_axes(cat(".cotangent", k ? cat(k) : ""), value->type.dtype, value));
}

Expr StageGradient::with_accumulators(const Expr& e) {
  ir::VarMap map;
  for (size_t k = 0; k < stage_.accumulators.size(); ++k) {
    const Var& left = stage_.accumulators[k].left;
    if (ir::uses(e, left.get()))
      map[left.get()] =
          stage_.kind == stages::StageKind::scan ? at_axes(running(k)) : accumulated(k);
  }
  return ir::substitute(e, map);
}

LeafCotangent StageGradient::with_accumulators(const Leaf& leaf) {
  const Masked& found = leaf.cotangent;
  return {leaf.leaf,
          {found.mask ? with_accumulators(found.mask) : Expr(), with_accumulators(found.value)}};
}

Expr StageGradient::accumulated(size_t k) {
  const Expr left = stage_.accumulators[k].left;
  if (stage_.result.same(left)) return at_axes(output_);
  accumulators_.resize(stage_.accumulators.size());
  if (!accumulators_[k]) {
    accumulators_[k] = reduced(cat(".joined", k ? cat(k) : ""), stage_.accumulators,
                               left->type.dtype, stage_.values, left);
  }
  return at_axes(accumulators_[k]);
}

// Equals share it.
void StageGradient::of_extreme(size_t k, const Expr& cotangent) {
  const Expr& term = stage_.values[k];
  const ir::Type type = term->type;
  const Expr hits = term == accumulated(k);
  const stages::Accumulators sum = sum_of(type);
  const Expr one = ir::select(hits, ir::constant(type, 1), ir::zero(type));
  const Tensor count = reduced(".equals", sum, type.dtype, {one}, sum[0].left);
  const Tensor share = over_axes(".share", type.dtype, cotangent / at_axes(count));
  pull_back({{term, {hits, at_axes(share)}}}, all_);
}

// What the other terms make: all but one zero is theirs to be 0 by.
void StageGradient::of_product(size_t k, const Expr& cotangent) {
  const Expr& term = stage_.values[k];
  const ir::Type type = term->type;
  const Expr is_zero = term == 0.0, one = ir::constant(type, 1), none = ir::zero(type);
  const stages::Accumulators sum = sum_of(type), product = product_of(type);
  const Tensor zero_count =
      reduced(".zeros", sum, type.dtype, {ir::select(is_zero, one, none)}, sum[0].left);
  const Tensor rest =
      reduced(".rest", product, type.dtype, {ir::select(is_zero, one, term)}, product[0].left);
  const Tensor scaled = over_axes(".scaled", type.dtype, cotangent * at_axes(rest));
  const Expr counts = at_axes(zero_count);
  const Expr mask = counts == ir::select(is_zero, one, none);
  pull_back({{term, {mask, at_axes(scaled) / ir::select(is_zero, one, term)}}}, all_);
}

Expr StageGradient::term_number() const {
  Expr number = ir::index(0);
  for (size_t r = 0; r < stage_.reduce_axes.size(); ++r) {
    if (!ir::is_const(stage_.reduce_extents[r], 1))
      number = number * stage_.reduce_extents[r] + Expr(stage_.reduce_axes[r]);
  }
  return ir::cast(ir::DType::i32, number);
}

// The term that was chosen, by its number.
Result<> StageGradient::of_choice(size_t k, const Expr& cotangent) {
  stages::Accumulators accumulators = stage_.accumulators;
  const auto& choice = *ir::as<ir::Select>(stage_.accumulators[k].joined);
  const Var left = ir::var("at", ir::DType::i32), right = ir::var("at", ir::DType::i32);
  const bool keeps = choice.yes.same(accumulators[k].left);
  accumulators.push_back({left, right,
                          ir::select(choice.condition, keeps ? left : right, keeps ? right : left),
                          ir::constant_int(ir::DType::i32, -1)});
  std::vector<Expr> values = stage_.values;
  values.push_back(term_number());
  const Tensor chosen = reduced(".chosen", accumulators, ir::DType::i32, values, left);
  const Expr& term = stage_.values[k];
  pull_back({{term, {term_number() == at_axes(chosen), cotangent}}}, all_);
  return {};
}

}  // namespace gossamer::autodiff
