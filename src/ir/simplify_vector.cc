// Vectors of indices and conditions: computed as scalars over a variable that stands for the lane
// number, so that every rule of scalar sums holds for them too, then spelled as vectors again.
#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplifier.h"

namespace gossamer::ir {
namespace {

constexpr int innermost = 1 << 20;  // the depth of lane variables: last in every sum

}  // namespace

bool Simplifier::is_lane_algebra(const Expr& e) const {
  return !e->type.is_scalar() && (e->type.dtype == DType::index || e->type.dtype == DType::boolean);
}

Expr Simplifier::lane_variable(int lanes) {
  Expr& known = lane_variables_[lanes];
  if (!known.get()) {
    Var v = var(cat("lane.", lanes));
    known = v;
    bounds_.ranges_[v.get()] = {0, lanes - 1};
    order_.set_depth(v.get(), innermost);
  }
  return known;
}

Expr Simplifier::stand_in(const Expr& vector) {
  const size_t key = hash(vector);
  auto [first, last] = stand_in_hashes_.equal_range(key);
  for (auto it = first; it != last; ++it) {
    if (equal(stand_in_list_[it->second].first, vector)) return stand_in_list_[it->second].second;
  }
  Var v = var(cat("vector.", stand_in_list_.size()), vector->type.dtype);
  bounds_.ranges_[v.get()] = ranges_.of(vector);
  order_.set_depth(v.get(), innermost);
  stand_ins_.emplace(v.get(), vector);
  stand_in_hashes_.emplace(key, stand_in_list_.size());
  stand_in_list_.emplace_back(vector, v);
  return v;
}

Expr Simplifier::vector(const Expr& e) {
  const int lanes = e->type.lanes;
  return raised(expr(lowered(e, lanes)), lanes);
}

Expr Simplifier::lowered(const Expr& e, int lanes) {
  if (const Expr* known = memory_.lowered.find(e)) return *known;
  const Expr result = compute_lowered(e, lanes);
  memory_.lowered.add(e, result);
  return result;
}

Expr Simplifier::compute_lowered(const Expr& e, int lanes) {
  auto low = [this, lanes](const Expr& child) { return lowered(child, lanes); };
  switch (e->kind) {
    case NodeKind::Broadcast:
      return as<Broadcast>(e)->a;
    case NodeKind::Ramp: {
      auto* r = as<Ramp>(e);
      return r->base + lane_variable(lanes) * index(r->stride);
    }
    case NodeKind::Unary:
      if (auto* u = as<Unary>(e); is_lane_algebra(u->a)) return unary(u->op, low(u->a));
      break;
    case NodeKind::Binary:
      if (auto* b = as<Binary>(e); is_lane_algebra(b->a))
        return binary(b->op, low(b->a), low(b->b));
      break;
    case NodeKind::Select: {
      auto* s = as<Select>(e);
      return select(low(s->condition), low(s->yes), low(s->no));
    }
    case NodeKind::Cast:
      if (auto* c = as<Cast>(e); is_lane_algebra(c->a)) {
        return cast(e->type.with_lanes(1), low(c->a));
      }
      break;
    case NodeKind::MakeVector: {
      auto* parts = as<MakeVector>(e);
      if (e->type.dtype != DType::index) break;
      // base, base + s, base + 2 s, ... is a ramp.
      const Poly base = poly(parts->lanes[0]);
      std::optional<int64_t> stride;
      bool regular = true;
      for (size_t i = 1; i < parts->lanes.size() && regular; ++i) {
        const Poly apart = merged(algebra_.add(poly(parts->lanes[i]), base, -1));
        if (i == 1 && apart.is_constant()) stride = apart.constant;
        regular = stride && apart.is_constant() && apart.constant == *stride * int64_t(i);
      }
      if (regular && stride) return finish(base) + lane_variable(lanes) * index(*stride);
      break;
    }
    default:
      break;
  }
  const Expr simple = plain(e);
  if (auto* splat = as<Broadcast>(simple)) return splat->a;
  return stand_in(simple);
}

bool Simplifier::varies(const Expr& e) {
  if (auto* v = as<VarNode>(e)) {
    if (stand_ins_.contains(v)) return true;
    for (const auto& [lanes, lane_var] : lane_variables_) {
      if (lane_var.same(e)) return true;
    }
    return false;
  }
  if (e->kind == NodeKind::IntImm || e->kind == NodeKind::FloatImm) return false;
  if (const bool* known = varies_.find(e)) return *known;
  bool any = false;
  visit_operands(*e, [&](const Expr& child) { any = any || varies(child); });
  varies_.add(e, any);
  return any;
}

Expr Simplifier::raised(const Expr& e, int lanes) {
  if (!varies(e)) return broadcast(e, lanes);
  auto& known = memory_.raised[lanes];
  if (const Expr* found = known.find(e)) return *found;
  const Expr result = compute_raised(e, lanes);
  known.add(e, result);
  return result;
}

Expr Simplifier::compute_raised(const Expr& e, int lanes) {
  switch (e->kind) {
    case NodeKind::Var: {
      auto stands_for = stand_ins_.find(as<VarNode>(e));
      return stands_for == stand_ins_.end() ? ramp(index(0), 1, lanes) : stands_for->second;
    }
    case NodeKind::Unary:
      return unary(as<Unary>(e)->op, raised(as<Unary>(e)->a, lanes));
    case NodeKind::Binary: {
      auto* b = as<Binary>(e);
      if (e->type.dtype == DType::index &&
          (b->op == BinaryOp::add || b->op == BinaryOp::sub || b->op == BinaryOp::mul)) {
        return raised_sum(e, lanes);
      }
      return binary(b->op, raised(b->a, lanes), raised(b->b, lanes));
    }
    case NodeKind::Select: {
      auto* s = as<Select>(e);
      return select(raised(s->condition, lanes), raised(s->yes, lanes), raised(s->no, lanes));
    }
    case NodeKind::Cast:
      return cast(e->type.with_lanes(lanes), raised(as<Cast>(e)->a, lanes));
    default:
      GS_CHECK(false, "a lane variable inside ", name_of(e->kind));
  }
  return {};
}

// Terms that are the same in every lane and multiples of the lane number make one Ramp; others stay
// vectors.
Expr Simplifier::raised_sum(const Expr& e, int lanes) {
  const Poly sum = poly(e);
  const Expr lane_var = lane_variable(lanes);
  Poly uniform(sum.constant);
  int64_t stride = 0;
  Expr others;
  for (const Term& term : sum.terms) {
    if (term.factors.size() == 1 && term.factors[0].same(lane_var)) {
      stride = term.coefficient;
      continue;
    }
    Expr same = index(term.coefficient), varying;
    for (const Expr& factor : term.factors) {
      if (!varies(factor)) {
        same = factor * same;
      } else {
        // A sum that is a factor was kept as it is, being too long to expand.
        const auto* kept = as<Binary>(factor);
        const Expr part = kept ? binary(kept->op, raised(kept->a, lanes), raised(kept->b, lanes))
                               : raised(factor, lanes);
        varying = varying ? varying * part : part;
      }
    }
    if (!varying.get()) {
      uniform.terms.push_back(term);
      continue;
    }
    if (!is_const(same, 1)) varying = varying * broadcast(same, lanes);
    others = others ? others + varying : varying;
  }
  if (others && stride == 0 && uniform.is_constant() && uniform.constant == 0) return others;
  const Expr affine = ramp(finish(uniform), stride, lanes);
  return others ? others + affine : affine;
}

Expr Simplifier::simplified_lane(const Lane& l) {
  const Expr a = expr(l.a), number = expr(l.lane);
  const Expr picked = lane(a, number);
  if (!as<Lane>(picked)) return expr(picked);
  if (is_lane_algebra(a)) {
    const Expr scalar = lowered(a, a->type.lanes);
    const Expr lane_var = lane_variable(a->type.lanes);
    const Expr chosen = substitute(scalar, {{as<VarNode>(lane_var), number}});
    if (!varies(chosen)) return expr(chosen);
  }
  return picked;
}

}  // namespace gossamer::ir
