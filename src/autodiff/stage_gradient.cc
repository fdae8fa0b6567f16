#include "autodiff/stage_gradient.h"

#include <algorithm>

#include "autodiff/pad_factors.h"
#include "ir/build.h"
#include "ops/elementwise.h"

namespace gossamer::autodiff {
namespace {

constexpr size_t most_parts = 4;  // of a sum in one stage

// Axes of more than one point; the others are 0 in what the stage says.
void add_axes(const std::vector<Var>& axes, const std::vector<Expr>& extents, Domain& domain,
              ir::VarMap& single) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (ir::is_const(extents[i], 1)) {
      single[axes[i].get()] = ir::index(0);
    } else {
      domain.axes.push_back(axes[i]);
      domain.extents.push_back(extents[i]);
    }
  }
}

void substitute(Stage& stage, const ir::VarMap& map) {
  stages::visit_exprs(stage, stages::may_load, [&](Expr& e) { e = ir::substitute(e, map); });
}

Expr without_cast(const Expr& e) {
  const auto* cast = ir::as<ir::Cast>(e);
  return cast && ir::is_float(cast->a->type.dtype) ? cast->a : e;
}

bool is_load(const Expr& e) { return without_cast(e)->kind == ir::NodeKind::Load; }

bool is_product(const Expr& e) {
  const auto* node = ir::as<ir::Binary>(e);
  return node && node->op == ir::BinaryOp::mul && is_load(node->a) && is_load(node->b);
}

bool has_load(const Expr& e) {
  bool found = false;
  ir::visit(e, [&](const Expr& node) {
    found = found || node->kind == ir::NodeKind::Load;
    return !found;
  });
  return found;
}

// Whether all loads stay within their tensors.
bool stays_inside(const Expr& e, const ir::Bounds& bounds) {
  bool inside = true;
  ir::visit(e, [&](const Expr& node) {
    const auto* load = ir::as<ir::Load>(node);
    if (!load) return inside;
    for (size_t d = 0; d < load->indices.size() && inside; ++d) {
      inside = ir::prove(load->indices[d] >= ir::index(0), bounds) &&
               ir::prove(load->indices[d] < load->buffer->shape[d], bounds);
    }
    return inside;
  });
  return inside;
}

// As a term of a sum. A product of loads stays one, which schedules know as a contraction: its
// factors are masked where they could read what is not there, and at least one of them.
Expr term_of(const Masked& masked, const ir::Bounds& bounds) {
  if (!masked.mask.get() || !is_product(masked.value)) return unmasked(masked);
  const auto* product = ir::as<ir::Binary>(masked.value);
  Expr a = product->a, b = product->b;
  const bool reads_b = !stays_inside(b, bounds);
  if (reads_b) b = unmasked({masked.mask, b});
  if (!reads_b || !stays_inside(a, bounds)) a = unmasked({masked.mask, a});
  return a * b;
}

}  // namespace

StageGradient::StageGradient(ops::Builder& builder, const Active& active, const Stage& stage)
    : b_(builder), active_(active), stage_(stage), output_{stage.output, std::nullopt} {
  ir::VarMap single;
  add_axes(stage.axes, stage.extents, points_, single);
  all_ = points_;
  if (stage.kind == stages::StageKind::reduce)
    add_axes(stage.reduce_axes, stage.reduce_extents, all_, single);
  if (!single.empty()) substitute(stage_, single);
}

Result<std::vector<Contribution>> StageGradient::run(const Tensor& cotangent) {
  switch (stage_.kind) {
    case stages::StageKind::compute: {
      const std::vector<ir::Buffer> inputs = stages::inputs_of(stage_);
      if (stage_.view && inputs.size() == 1 && inputs[0]->dtype == stage_.output->dtype) {
        made_.push_back({inputs[0], b_.reshape(name(".gradient"), cotangent, inputs[0]->shape)});
        break;
      }
      if (!stage_.accumulators.empty()) return unknown("searches");
      for (const Leaf& leaf : through_result(cotangent)) pull_back(leaf, points_);
      break;
    }
    case stages::StageKind::reduce:
      GS_TRY(of_reduction(cotangent));
      break;
    case stages::StageKind::scan:
      GS_TRY(of_scan(cotangent));
      break;
    case stages::StageKind::scatter:
      GS_TRY(of_scatter(cotangent));
      break;
    case stages::StageKind::sort:
      break;
  }
  return std::move(made_);
}

std::unexpected<Diagnostic> StageGradient::unknown(const std::string& what) const {
  return fail_at(stage_.origin, cat("has no gradient: its stage \"", stage_.name, "\" ", what),
                 "put ai.gossamer::StopGradient before it, or make it of other operators");
}

bool StageGradient::is_active_load(const Expr& e) const {
  const auto* load = ir::as<ir::Load>(e);
  return load && active_(load->buffer);
}

bool StageGradient::is_accumulator(const Expr& e) const {
  return std::ranges::any_of(stage_.accumulators, [&](const stages::Accumulator& one) {
    return one.left.get() == e.get();
  });
}

Expr StageGradient::at_axes(const Tensor& tensor) const {
  std::vector<Expr> point;
  for (size_t i = 0; i < stage_.axes.size(); ++i)
    point.push_back(ir::is_const(stage_.extents[i], 1) ? ir::index(0) : Expr(stage_.axes[i]));
  return tensor.at(point);
}

std::vector<LeafCotangent> StageGradient::through_result(const Tensor& cotangent) {
  const Root root{stage_.result, {{}, at_axes(cotangent)}, at_axes(output_)};
  return cotangents_of({root},
                       [this](const Expr& e) { return is_active_load(e) || is_accumulator(e); });
}

void StageGradient::pull_back(const std::vector<Root>& roots, const Domain& domain) {
  const auto wanted = [this](const Expr& e) { return is_active_load(e); };
  for (const Leaf& leaf : cotangents_of(roots, wanted)) pull_back(leaf, domain);
}

void StageGradient::pull_back(const Leaf& leaf, const Domain& domain) {
  const auto& load = *ir::as<ir::Load>(leaf.leaf);
  const ir::DType wide = ops::accumulator(load.buffer->dtype);
  const Masked cotangent{leaf.cotangent.mask, ir::cast(wide, without_cast(leaf.cotangent.value))};
  // Of a product each term should be one of whole tensors, if many come to nothing.
  const bool whole = !cotangent.mask.get() && is_product(cotangent.value);
  const auto inverse = invert(load.indices, load.buffer->shape, domain, b_.bounds, !whole);
  made_.push_back({load.buffer, inverse ? gathered(load, *inverse, cotangent)
                                        : scattered(load, domain, cotangent)});
}

Tensor StageGradient::gathered(const ir::Load& load, const Inverse& inverse,
                               const Masked& cotangent) {
  const auto inverted = [&](const Expr& e) {
    return e ? ir::simplify(ir::substitute(e, inverse.axes), inverse.bounds) : e;
  };
  // Guards stand outside: what the mask reads may not be there where they fail.
  Masked found{inverted(cotangent.mask), inverted(cotangent.value)};
  if (found.mask.get() && has_load(found.mask)) found = {{}, unmasked(found)};
  for (const Expr& guard : inverse.guards) found.mask = conjunction(found.mask, guard);
  const ir::DType dtype = load.buffer->dtype;
  ir::VarMap map;
  const auto place = [&](ops::Point point) {
    for (size_t k = 0; k < point.size(); ++k) {
      if (const auto* var = ir::as<ir::VarNode>(inverse.element[k])) map[var] = point[k];
    }
  };
  if (inverse.rest.axes.empty()) {
    return b_.compute(name(".gradient"), dtype, load.buffer->shape, [&](ops::Point point) {
      place(point);
      return ir::cast(dtype, ir::substitute(unmasked(found), map));
    });
  }
  const auto padded =
      cotangent.mask.get() || inverse.guards.empty()
          ? std::nullopt
          : padded_product(b_, name(".gradient.pad"), found.value, inverse.guards, inverse.bounds);
  const Expr term = padded ? *padded : term_of(found, inverse.bounds);
  return b_.reduce(name(".gradient"), ops::Builder::Join::sum, dtype, load.buffer->shape,
                   inverse.rest.extents, [&](ops::Point point, ops::Point over) {
                     place(point);
                     for (size_t r = 0; r < over.size(); ++r)
                       map[inverse.rest.axes[r].get()] = over[r];
                     return ir::substitute(term, map);
                   });
}

// Axes that the place does not hang on are summed before.
Tensor StageGradient::scattered(const ir::Load& load, const Domain& domain,
                                const Masked& cotangent) {
  const auto aims = [&](const Var& axis) {
    return std::ranges::any_of(load.indices,
                               [&](const Expr& e) { return ir::uses(e, axis.get()); });
  };
  const ir::DType dtype = load.buffer->dtype, wide = cotangent.value->type.dtype;
  Domain kept, summed;
  for (size_t i = 0; i < domain.axes.size(); ++i) {
    Domain& to = aims(domain.axes[i]) ? kept : summed;
    to.axes.push_back(domain.axes[i]);
    to.extents.push_back(domain.extents[i]);
  }
  ir::VarMap map;
  const auto place = [&map](const Domain& of, ops::Point point) {
    for (size_t i = 0; i < point.size(); ++i) map[of.axes[i].get()] = point[i];
  };
  const ir::Bounds bounds = with_axes(b_.bounds, domain);
  Masked update = cotangent;
  if (!summed.axes.empty()) {
    const Tensor sums =
        b_.reduce(name(".gradient.sum"), ops::Builder::Join::sum, wide, kept.extents,
                  summed.extents, [&](ops::Point point, ops::Point over) {
                    place(kept, point);
                    place(summed, over);
                    return ir::substitute(term_of(cotangent, bounds), map);
                  });
    update = {{}, sums.at(std::vector<Expr>(kept.axes.begin(), kept.axes.end()))};
  }
  for (size_t d = 0; d < load.indices.size(); ++d) {
    for (const Expr& inside :
         {Expr(load.indices[d] >= ir::index(0)), Expr(load.indices[d] < load.buffer->shape[d])}) {
      if (!ir::prove(inside, bounds)) update.mask = conjunction(update.mask, inside);
    }
  }
  const auto at = [&](const Expr& e, ops::Point point) {
    place(kept, point);
    return ir::substitute(e, map);
  };
  std::function<Expr(ops::Point)> condition;
  if (update.mask) condition = [&](ops::Point point) { return at(update.mask, point); };
  const Tensor all = b_.scatter(
      name(".gradient"), zeros(b_, name(".gradient.zeros"), wide, load.buffer->shape), kept.extents,
      ops::Builder::Join::sum,
      [&](ops::Point point) {
        std::vector<Expr> target;
        for (const Expr& e : load.indices) target.push_back(at(e, point));
        return target;
      },
      [&](ops::Point point) { return at(update.value, point); }, condition);
  if (dtype == wide) return all;
  return b_.compute(name(".gradient.cast"), dtype, load.buffer->shape,
                    [&](ops::Point point) { return ir::cast(dtype, all.at(point)); });
}

Tensor StageGradient::over_axes(const std::string& what, ir::DType dtype, const Expr& value) {
  return b_.compute(name(what), dtype, stage_.extents, [&](ops::Point point) {
    ir::VarMap map;
    for (size_t i = 0; i < point.size(); ++i) map[stage_.axes[i].get()] = point[i];
    return ir::cast(dtype, ir::substitute(value, map));
  });
}

Tensor StageGradient::reduced(const std::string& what, stages::Accumulators accumulators,
                              ir::DType dtype, const std::vector<Expr>& values,
                              const Expr& result) {
  ir::VarMap map;
  const auto at = [&](const Expr& e) { return ir::substitute(e, map); };
  return b_.reduce(
      name(what), std::move(accumulators), dtype, stage_.extents, stage_.reduce_extents,
      [&](ops::Point point, ops::Point over) {
        for (size_t i = 0; i < point.size(); ++i) map[stage_.axes[i].get()] = point[i];
        for (size_t r = 0; r < over.size(); ++r) map[stage_.reduce_axes[r].get()] = over[r];
        std::vector<Expr> terms;
        for (const Expr& value : values) terms.push_back(at(value));
        return terms;
      },
      [&](ops::Point, std::span<const Var>) { return at(result); });
}

JoinKind join_kind(const stages::Accumulator& accumulator) {
  const Expr left = accumulator.left, right = accumulator.right;
  const auto both = [&](const Expr& a, const Expr& b) {
    return (a.same(left) && b.same(right)) || (a.same(right) && b.same(left));
  };
  if (const auto* node = ir::as<ir::Binary>(accumulator.joined); node && both(node->a, node->b)) {
    if (node->op == ir::BinaryOp::add) return JoinKind::sum;
    if (node->op == ir::BinaryOp::mul) return JoinKind::product;
    if (node->op == ir::BinaryOp::max) return JoinKind::maximum;
    if (node->op == ir::BinaryOp::min) return JoinKind::minimum;
  }
  const auto* choice = ir::as<ir::Select>(accumulator.joined);
  return choice && both(choice->yes, choice->no) ? JoinKind::choice : JoinKind::other;
}

Tensor sum_of(ops::Builder& builder, const std::string& name, const std::vector<Tensor>& parts) {
  Tensor total = parts[0];
  for (size_t at = 1; at < parts.size();) {
    const size_t end = std::min(parts.size(), at + most_parts - 1);
    total = builder.compute(name, total.dtype(), total.shape(), [&](ops::Point point) {
      Expr value = total.at(point);
      for (size_t i = at; i < end; ++i) value = value + parts[i].at(point);
      return value;
    });
    at = end;
  }
  return total;
}

Tensor zeros(ops::Builder& builder, const std::string& name, ir::DType dtype,
             const std::vector<Expr>& shape) {
  return builder.compute(name, dtype, shape, [&](ops::Point) { return ir::zero(dtype); });
}

}  // namespace gossamer::autodiff
