#include "ops/host_value.h"

#include <cmath>
#include <unordered_map>

#include "ir/build.h"
#include "ir/scalar.h"
#include "ir/simplify.h"

namespace gossamer::ops {
namespace {

using ir::Buffer;
using ir::DType;
using ir::UnaryOp;
using ir::Var;
using stages::Accumulators;
using stages::Stage;
using stages::StageKind;
using Maybe = std::optional<Expr>;

constexpr int64_t max_elements = 1024;
constexpr int64_t max_terms = 4096;

// Expressions are carried as index (all integers), boolean or f32, so that shapes are polynomials.
struct Evaluator {
  const HostLookup& lookup;
  std::unordered_map<const ir::VarNode*, Expr> vars;

  Maybe eval(const Expr& e);
  Maybe eval_load(const ir::Load& load);
  Maybe eval_unary(const ir::Unary& node);
  Maybe eval_binary(const ir::Binary& node);
  Maybe eval_cast(const ir::Cast& node);
};

std::optional<ir::Scalar> scalar_of(const Expr& e, DType dtype) {
  if (const auto* number = ir::as<ir::IntImm>(e)) return ir::Scalar::of_int(dtype, number->value);
  if (const auto* number = ir::as<ir::FloatImm>(e))
    return ir::Scalar::of_float(dtype, number->value);
  return std::nullopt;
}

Maybe host_form(const ir::Scalar& scalar) {
  if (ir::is_float(scalar.dtype)) return ir::constant(scalar.dtype, scalar.f);
  if (scalar.dtype == DType::boolean) return ir::boolean(scalar.i != 0);
  return ir::index(scalar.i);
}

// The index expression under an exact conversion to f32, if `e` is one.
Expr exact_integer(const Expr& e) {
  if (const auto* cast = ir::as<ir::Cast>(e); cast && cast->a->type.dtype == DType::index) {
    return cast->a;
  }
  if (const auto* number = ir::as<ir::FloatImm>(e);
      number && std::floor(number->value) == number->value && std::fabs(number->value) < 1e9) {
    return ir::index(static_cast<int64_t>(number->value));
  }
  return {};
}

Maybe Evaluator::eval_load(const ir::Load& load) {
  const std::vector<Expr>* elements = lookup(load.buffer.get());
  if (!elements) return std::nullopt;
  int64_t offset = 0;
  for (size_t axis = 0; axis < load.indices.size(); ++axis) {
    Maybe at = eval(load.indices[axis]);
    if (!at) return std::nullopt;
    auto place = ir::as_int(*at), extent = ir::as_int(load.buffer->shape[axis]);
    if (!place || !extent || *place < 0 || *place >= *extent) return std::nullopt;
    offset = offset * *extent + *place;
  }
  const Expr& element = (*elements)[static_cast<size_t>(offset)];
  if (load.buffer->dtype == DType::boolean) return ir::simplify(element != 0);
  return element;
}

Maybe Evaluator::eval_unary(const ir::Unary& node) {
  Maybe a = eval(node.a);
  if (!a) return std::nullopt;
  if (auto known = scalar_of(*a, node.a->type.dtype)) return host_form(ir::apply(node.op, *known));
  if (ir::is_float(node.type.dtype) && exact_integer(*a) &&
      (node.op == UnaryOp::floor || node.op == UnaryOp::ceil || node.op == UnaryOp::round ||
       node.op == UnaryOp::trunc)) {
    return a;
  }
  return ir::simplify(ir::unary(node.op, *a));
}

Maybe Evaluator::eval_binary(const ir::Binary& node) {
  Maybe a = eval(node.a);
  if (!a) return std::nullopt;
  Maybe b = eval(node.b);
  if (!b) return std::nullopt;
  DType dtype = node.a->type.dtype;
  auto known_a = scalar_of(*a, dtype), known_b = scalar_of(*b, dtype);
  if (known_a && known_b) return host_form(ir::apply(node.op, *known_a, *known_b));
  if (ir::is_float(dtype)) {
    Expr ia = exact_integer(*a), ib = exact_integer(*b);
    using enum ir::BinaryOp;
    if (ia.get() && ib.get() && (node.op == add || node.op == sub || node.op == mul)) {
      return ir::cast(dtype, ir::simplify(ir::binary(node.op, ia, ib)));
    }
    // Dividing by a whole number what is a multiple of it stays exact.
    if (ia.get() && ib.get() && node.op == div && ir::prove(ir::floormod(ia, ib) == 0)) {
      return ir::cast(dtype, ir::simplify(ir::floordiv(ia, ib)));
    }
  }
  return ir::simplify(ir::binary(node.op, *a, *b));
}

Maybe Evaluator::eval_cast(const ir::Cast& node) {
  Maybe a = eval(node.a);
  if (!a) return std::nullopt;
  DType from = node.a->type.dtype, to = node.type.dtype;
  if (auto known = scalar_of(*a, from)) return host_form(ir::convert(to, *known));
  if (to == DType::boolean) return ir::simplify(*a != 0);
  if (ir::is_int(to)) {
    // A narrow integer could wrap; a dimension never fills 32 bits.
    if (ir::byte_size(to) < 4) return std::nullopt;
    if (from == DType::boolean) return ir::simplify(ir::select(*a, ir::index(1), ir::index(0)));
    if (ir::is_int(from)) return a;
    if (Expr exact = exact_integer(*a)) return exact;
    return ir::cast(DType::index, *a);
  }
  if (to != DType::f32) return std::nullopt;
  return ir::cast(to, *a);
}

Maybe Evaluator::eval(const Expr& e) {
  if (auto known = scalar_of(e, e->type.dtype)) return host_form(*known);
  switch (e->kind) {
    case ir::NodeKind::Var: {
      auto found = vars.find(ir::as<ir::VarNode>(e));
      if (found != vars.end()) return found->second;
      return e;  // a dimension
    }
    case ir::NodeKind::Load:
      return eval_load(*ir::as<ir::Load>(e));
    case ir::NodeKind::Unary:
      return eval_unary(*ir::as<ir::Unary>(e));
    case ir::NodeKind::Binary:
      return eval_binary(*ir::as<ir::Binary>(e));
    case ir::NodeKind::Cast:
      return eval_cast(*ir::as<ir::Cast>(e));
    case ir::NodeKind::Select: {
      const auto& node = *ir::as<ir::Select>(e);
      Maybe condition = eval(node.condition);
      if (!condition) return std::nullopt;
      // The arm not taken may load out of bounds.
      if (auto known = ir::as_int(*condition)) return eval(*known ? node.yes : node.no);
      Maybe yes = eval(node.yes);
      if (!yes) return std::nullopt;
      Maybe no = eval(node.no);
      if (!no) return std::nullopt;
      return ir::simplify(ir::select(*condition, *yes, *no));
    }
    default:
      return std::nullopt;
  }
}

// The number of points of constant extents, at most `limit`.
std::optional<int64_t> count_points(const std::vector<Expr>& extents, int64_t limit) {
  int64_t count = 1;
  for (const Expr& extent : extents) {
    auto known = ir::as_int(extent);
    if (!known || *known > limit) return std::nullopt;
    count *= *known;
    if (count > limit) return std::nullopt;
  }
  return count;
}

void set_point(Evaluator& evaluator, const std::vector<Var>& axes, const std::vector<Expr>& extents,
               int64_t linear) {
  for (size_t i = axes.size(); i-- > 0;) {
    int64_t extent = *ir::as_int(extents[i]);
    evaluator.vars[axes[i].get()] = ir::index(linear % extent);
    linear /= extent;
  }
}

}  // namespace

bool can_be_host(DType dtype) { return dtype != DType::string && !ir::is_small(dtype); }

std::optional<std::vector<Expr>> host_elements(DType dtype, std::span<const std::byte> bytes) {
  if (!can_be_host(dtype)) return std::nullopt;
  const auto size = static_cast<size_t>(ir::byte_size(dtype));
  const size_t count = bytes.size() / size;
  if (count > static_cast<size_t>(max_elements)) return std::nullopt;
  std::vector<Expr> elements;
  for (size_t i = 0; i < count; ++i) {
    const ir::Scalar value = ir::read_scalar(dtype, &bytes[i * size]);
    elements.push_back(ir::is_float(dtype) ? ir::constant(dtype, value.f) : ir::index(value.i));
  }
  return elements;
}

std::optional<std::vector<Expr>> evaluate_on_host(const Stage& stage, const HostLookup& lookup) {
  bool reduces = stage.kind == StageKind::reduce;
  const DType dtype = stage.output->dtype;
  if (dtype != DType::i64 && dtype != DType::i32 && dtype != DType::boolean && dtype != DType::f32)
    return std::nullopt;
  if (stage.kind != StageKind::compute && !reduces) return std::nullopt;
  auto points = count_points(stage.extents, max_elements);
  if (!points) return std::nullopt;
  auto terms = count_points(stage.reduce_extents, max_terms);
  if (!terms || *points * *terms > max_terms) return std::nullopt;
  for (const Buffer& buffer : inputs_of(stage)) {
    if (!lookup(buffer.get())) return std::nullopt;
  }

  Evaluator evaluator{lookup, {}};
  const Accumulators& accumulators = stage.accumulators;
  size_t states = accumulators.size();
  std::vector<Expr> elements;
  for (int64_t point = 0; point < *points; ++point) {
    set_point(evaluator, stage.axes, stage.extents, point);
    if (reduces) {
      std::vector<Expr> state;
      for (const Expr& first : starts_of(stage)) {
        Maybe value = evaluator.eval(first);
        if (!value) return std::nullopt;
        state.push_back(*value);
      }
      for (int64_t term = 0; term < *terms; ++term) {
        set_point(evaluator, stage.reduce_axes, stage.reduce_extents, term);
        for (size_t k = 0; k < states; ++k) evaluator.vars[accumulators[k].left.get()] = state[k];
        for (size_t k = 0; k < states; ++k) {
          Maybe value = evaluator.eval(stage.values[k]);
          if (!value) return std::nullopt;
          evaluator.vars[accumulators[k].right.get()] = *value;
        }
        for (size_t k = 0; k < states; ++k) {
          Maybe joined = evaluator.eval(accumulators[k].joined);
          if (!joined) return std::nullopt;
          state[k] = *joined;
        }
      }
      for (size_t k = 0; k < states; ++k) evaluator.vars[accumulators[k].left.get()] = state[k];
    }
    Maybe element = evaluator.eval(stage.result);
    if (!element) return std::nullopt;
    if (stage.output->dtype == DType::boolean) {
      element = ir::simplify(ir::select(*element, ir::index(1), ir::index(0)));
    }
    elements.push_back(*element);
  }
  return elements;
}

}  // namespace gossamer::ops
