#include "stages/stage.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/rewrite.h"

namespace gossamer::stages {
namespace {

std::string shape_text(const std::vector<Expr>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + ir::print(shape[i]);
  return text + "]";
}

std::string axes_text(const std::vector<Var>& axes, const std::vector<Expr>& extents) {
  std::string text;
  for (size_t i = 0; i < axes.size(); ++i) {
    text += cat(i ? ", " : "", axes[i]->name, " < ", ir::print(extents[i]));
  }
  return text;
}

std::string list_text(const std::vector<Expr>& exprs) {
  std::string text;
  for (size_t i = 0; i < exprs.size(); ++i) text += (i ? ", " : "") + ir::print(exprs[i]);
  return text;
}

std::string_view kind_text(StageKind kind) {
  switch (kind) {
    case StageKind::compute:
      return "compute";
    case StageKind::reduce:
      return "reduce";
    case StageKind::scan:
      return "scan";
    case StageKind::sort:
      return "sort";
    case StageKind::scatter:
      return "scatter";
  }
  return "?";
}

}  // namespace

Stage::Stage() = default;
Stage::Stage(const Stage&) = default;
Stage::Stage(Stage&&) noexcept = default;
Stage& Stage::operator=(const Stage&) = default;
Stage& Stage::operator=(Stage&&) noexcept = default;
Stage::~Stage() = default;

Accumulator sum_accumulator(Var left, Var right) {
  Expr joined = Expr(left) + Expr(right), zero = ir::zero(left->type);
  return {std::move(left), std::move(right), std::move(joined), std::move(zero)};
}

bool is_sum(const Accumulators& accumulators) {
  return accumulators.size() == 1 && is_sums(accumulators);
}

bool is_sums(const Accumulators& accumulators) {
  return !accumulators.empty() && std::ranges::all_of(accumulators, [](const Accumulator& one) {
    const auto* zero = ir::as<ir::FloatImm>(one.identity);
    const auto* add = ir::as<ir::Binary>(one.joined);
    return (ir::is_const(one.identity, 0) || (zero && zero->value == 0)) && add &&
           add->op == ir::BinaryOp::add && add->a.same(one.left) && add->b.same(one.right);
  });
}

std::vector<Var> lefts_of(const Accumulators& accumulators) {
  std::vector<Var> left;
  for (const Accumulator& one : accumulators) left.push_back(one.left);
  return left;
}

std::vector<Expr> starts_of(const Stage& stage) {
  std::vector<Expr> starts = stage.starts;
  if (starts.empty())
    for (const Accumulator& one : stage.accumulators) starts.push_back(one.identity);
  return starts;
}

std::vector<Buffer> inputs_of(const Stage& stage) {
  std::vector<Buffer> found;
  auto add = [&](const Buffer& buffer) {
    auto same = [&](const Buffer& other) { return other.same(buffer); };
    if (buffer && std::ranges::none_of(found, same)) found.push_back(buffer);
  };
  auto on_expr = [&](const Expr& expr) {
    if (const auto* load = ir::as<ir::Load>(expr)) add(load->buffer);
    return true;
  };
  add(stage.initial);
  visit_exprs(stage, may_load, [&](const Expr& expr) { ir::visit(expr, on_expr); });
  // What a stage itself writes is not an input.
  std::erase_if(found, [&](const Buffer& buffer) {
    return buffer->scope != ir::Scope::global || buffer.same(stage.output);
  });
  return found;
}

void replace_inputs(Stage& stage, const ir::BufferMap& map) {
  if (auto found = map.find(stage.initial.get()); found != map.end()) stage.initial = found->second;
  visit_exprs(stage, may_load, [&](Expr& expr) { expr = ir::substitute_buffers(expr, map); });
}

std::vector<Var> own_variables(const Stage& stage) {
  std::vector<Var> own;
  visit_fields(stage, [&]<class T>(FieldRole, const T& field) {
    if constexpr (std::is_same_v<T, Var>) {
      if (field) own.push_back(field);
    } else if constexpr (std::is_same_v<T, std::vector<Var>>) {
      own.insert(own.end(), field.begin(), field.end());
    }
  });
  return own;
}

bool same_computation(const Stage& a, const Stage& b) {
  bool same = a.accumulators.size() == b.accumulators.size() &&
              a.output->dtype == b.output->dtype && a.output->storage == b.output->storage &&
              a.output->layout == b.output->layout;
  const auto equal = [](const Expr& x, const Expr& y) {
    return x.same(y) || (x.get() && y.get() && ir::equal(x, y));
  };
  const auto compare = [&]<class T>(FieldRole role, const T& x, const T& y) {
    if (role == FieldRole::label || &x == static_cast<const void*>(&a.output)) return;
    if constexpr (std::is_same_v<T, Expr>) {
      same = same && equal(x, y);
    } else if constexpr (std::is_same_v<T, std::vector<Expr>>) {
      same = same && std::ranges::equal(x, y, equal);
    } else if constexpr (std::is_same_v<T, std::vector<Var>>) {
      same = same && std::ranges::equal(x, y, [](const Var& v, const Var& w) { return v.same(w); });
    } else if constexpr (std::is_same_v<T, Var> || std::is_same_v<T, Buffer>) {
      same = same && x.same(y);
    } else {
      same = same && x == y;
    }
  };
#define GS_ACCUMULATOR(role, Type, name)                     \
  for (size_t k = 0; same && k < a.accumulators.size(); ++k) \
    compare(FieldRole::role, a.accumulators[k].name, b.accumulators[k].name);
#define GS_STAGE(role, Type, name) compare(FieldRole::role, a.name, b.name);
#include "stages/stage.def"
  return same;
}

ir::Bounds bounds_of(const Stage& stage) {
  ir::Bounds bounds;
  for (size_t i = 0; i < stage.axes.size(); ++i)
    bounds.set_axis(stage.axes[i].get(), stage.extents[i]);
  for (size_t i = 0; i < stage.reduce_axes.size(); ++i) {
    const int64_t high = bounds.of(stage.reduce_extents[i]).high;
    bounds.set(stage.reduce_axes[i].get(), {0, high == ir::Range{}.high ? high : high - 1});
  }
  return bounds;
}

ir::Bounds bounds_of_terms(const Stage& stage) {
  ir::Bounds bounds = bounds_of(stage);
  for (size_t i = 0; i < stage.reduce_axes.size(); ++i)
    bounds.set_axis(stage.reduce_axes[i].get(), stage.reduce_extents[i]);
  return bounds;
}

std::string print(const Stage& stage) {
  std::string text = cat(kind_text(stage.kind), " ", stage.name, ": ", stage.output->name, " ",
                         ir::name_of(stage.output->dtype), shape_text(stage.output->shape));
  if (stage.view) text += " view";
  if (stage.in_order) text += " in order";
  if (stage.increasing) text += " increasing";
  if (!stage.origin.empty()) text += cat("  // ", stage.origin);
  text += "\n";
  if (!stage.axes.empty()) text += cat("  for ", axes_text(stage.axes, stage.extents), "\n");
  if (!stage.reduce_axes.empty()) {
    text += cat("  over ", axes_text(stage.reduce_axes, stage.reduce_extents), "\n");
  }
  if (!stage.accumulators.empty()) {
    std::vector<Expr> joined, identity;
    for (const Accumulator& one : stage.accumulators) {
      if (one.joined) joined.push_back(one.joined);
      if (one.identity) identity.push_back(one.identity);
    }
    text += cat(stage.kind == StageKind::sort ? "  by " : "  join ", list_text(joined));
    if (!identity.empty()) text += cat(" from ", list_text(identity));
    text += "\n";
  }
  if (stage.kind == StageKind::scan || stage.kind == StageKind::sort) {
    text += cat("  along ", stage.axes[stage.along]->name);
    if (stage.segment > 0)
      text += cat(" in segments of ", stage.segment, " from ", list_text(stage.starts));
    text += "\n";
  }
  if (stage.initial) text += cat("  initial ", stage.initial->name, "\n");
  if (stage.table) text += cat("  ", stage.tally->name, " from ", list_text(stage.starts), "\n");
  if (!stage.values.empty()) text += cat("  values ", list_text(stage.values), "\n");
  if (!stage.target.empty()) text += cat("  target [", list_text(stage.target), "]\n");
  if (stage.condition) text += cat("  if ", ir::print(stage.condition), "\n");
  if (stage.result) text += cat("  = ", ir::print(stage.result), "\n");
  return text;
}

}  // namespace gossamer::stages
