#include <algorithm>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/verifier.h"

namespace gossamer::ir {
namespace {

bool is_transcendental(UnaryOp op) { return op >= UnaryOp::exp && op <= UnaryOp::erf; }
static_assert(static_cast<int>(UnaryOp::erf) - static_cast<int>(UnaryOp::exp) == 14);

}  // namespace

std::unexpected<Diagnostic> Verifier::error(const std::string& message, const Expr& at) const {
  std::string text = print(at);
  if (text.size() > 400) text = text.substr(0, 400) + "...";
  return error(message + ": " + text);
}

Result<> Verifier::expr(const Expr& e) {
  if (!e.get()) return error("an expression is missing");
  if (e->references > 1 && e->kind != NodeKind::Var && !checked_.insert(e.get()).second) return {};
  GS_TRY(children(e));
  return node(e);
}

Result<> Verifier::children(const Expr& e) {
  Result<> result;
  auto one = [&](const Expr& child) {
    if (result) result = expr(child);
  };
  dispatch(*e, [&](const auto& concrete) {
    visit_fields(concrete, [&]<class F>(const char*, const F& field) {
      if constexpr (std::is_same_v<F, Expr>) one(field);
      if constexpr (std::is_same_v<F, std::vector<Expr>>) {
        for (const Expr& child : field) one(child);
      }
    });
  });
  return result;
}

Result<> Verifier::operation(const Expr& e) {
  const Type type = e->type;
  if (auto* u = as<Unary>(e)) {
    const Type a = u->a->type;
    const bool fits = u->op == UnaryOp::logical_not ? a.dtype == DType::boolean
                      : u->op == UnaryOp::bit_not   ? is_int(a.dtype)
                                                    : is_int(a.dtype) || is_float(a.dtype);
    const Type expected = gives_boolean(u->op) ? a.with_dtype(DType::boolean) : a;
    if (!fits || type != expected) {
      return error(cat(name_of(u->op), " of ", to_string(a), " is not ", to_string(type)), e);
    }
    if (wants(Property::math_lowered) && is_transcendental(u->op)) {
      return error(cat(name_of(u->op), " was not lowered"), e);
    }
    return {};
  }
  auto* b = as<Binary>(e);
  const Type a = b->a->type;
  const bool is_boolean = a.dtype == DType::boolean;
  const bool fits = is_logical(b->op)             ? is_boolean
                    : is_bitwise(b->op)           ? is_int(a.dtype)
                    : is_comparison(b->op)        ? true
                    : b->op == BinaryOp::pow      ? is_float(a.dtype)
                    : b->op == BinaryOp::ldexp    ? is_float(a.dtype)
                    : b->op == BinaryOp::floordiv ? is_int(a.dtype)
                                                  : is_int(a.dtype) || is_float(a.dtype);
  const Type expected = is_comparison(b->op) ? a.with_dtype(DType::boolean) : a;
  if (!fits || a != b->b->type || type != expected) {
    return error(cat("'", spelling_of(b->op), "' of ", to_string(a), " and ", to_string(b->b->type),
                     " is not ", to_string(type)),
                 e);
  }
  if (wants(Property::math_lowered) && b->op == BinaryOp::pow) {
    return error("pow was not lowered", e);
  }
  return {};
}

Result<> Verifier::node(const Expr& e) {
  const Type type = e->type;
  auto mismatch = [&](Type from) {
    return error(cat(name_of(e->kind), " of ", to_string(from), " is not ", to_string(type)), e);
  };
  switch (e->kind) {
    case NodeKind::Var:
      if (!vars_.contains(as<VarNode>(e))) {
        return error(cat("variable '", as<VarNode>(e)->name, "' is not in scope"));
      }
      return {};
    case NodeKind::IntImm:
      if (!type.is_scalar() || (!is_int(type.dtype) && type.dtype != DType::boolean)) {
        return error("an integer constant of type " + to_string(type));
      }
      return {};
    case NodeKind::FloatImm:
      if (!type.is_scalar() || !is_float(type.dtype)) {
        return error("a float constant of type " + to_string(type));
      }
      return {};
    case NodeKind::Unary:
    case NodeKind::Binary:
      return operation(e);
    case NodeKind::Fma: {
      auto* f = as<Fma>(e);
      for (const Expr& part : {f->a, f->b, f->c}) {
        if (part->type != type) return mismatch(part->type);
      }
      return {};
    }
    case NodeKind::Dot: {
      auto* d = as<Dot>(e);
      if (type != d->c->type || !is_dot(d->a->type, d->b->type, type, d->terms))
        return error(
            cat("dot of ", d->terms, " terms of ", to_string(d->a->type), ", ",
                to_string(d->b->type), " and ", to_string(d->c->type), " is not ", to_string(type)),
            e);
      return {};
    }
    case NodeKind::Select: {
      auto* s = as<Select>(e);
      if (s->condition->type != type.with_dtype(DType::boolean))
        return mismatch(s->condition->type);
      if (s->yes->type != type) return mismatch(s->yes->type);
      if (s->no->type != type) return mismatch(s->no->type);
      return {};
    }
    case NodeKind::Cast: {
      const Type from = as<Cast>(e)->a->type;
      if (from.lanes != type.lanes || from.dtype == DType::string || type.dtype == DType::string) {
        return mismatch(from);
      }
      return {};
    }
    case NodeKind::Bitcast: {
      const Type from = as<Bitcast>(e)->a->type;
      if (byte_size(from.dtype) * from.lanes != byte_size(type.dtype) * type.lanes) {
        return mismatch(from);
      }
      return {};
    }
    case NodeKind::Load: {
      auto* l = as<Load>(e);
      auto found = buffers_.find(l->buffer.get());
      // An invocation may read back what it wrote. A kernel of one work item is sequential.
      const bool sequential = grid_ && is_const(grid_->extent, 1);
      if (found != buffers_.end() && found->second && !sequential &&
          !stored_.contains(l->buffer.get()) && !updated_.contains(l->buffer.get())) {
        return error("a load of the written buffer '" + l->buffer->name + "', before any store", e);
      }
      return access(l->buffer, l->indices, type, e);
    }
    case NodeKind::Ramp: {
      const Type base = as<Ramp>(e)->base->type;
      if (!is_int(base.dtype) || !base.is_scalar() || base.dtype != type.dtype)
        return mismatch(base);
      return {};
    }
    case NodeKind::Broadcast: {
      const Type a = as<Broadcast>(e)->a->type;
      if (a != type.with_lanes(1)) return mismatch(a);
      return {};
    }
    case NodeKind::Lane: {
      auto* l = as<Lane>(e);
      if (l->lane->type != Type(DType::index)) return mismatch(l->lane->type);
      if (type != l->a->type.with_lanes(1)) return mismatch(l->a->type);
      if (auto number = as_int(l->lane); number && (*number < 0 || *number >= l->a->type.lanes)) {
        return error("a lane that does not exist", e);
      }
      return {};
    }
    case NodeKind::MakeVector: {
      const auto& lanes = as<MakeVector>(e)->lanes;
      if (lanes.size() != type.lanes) return error("a vector of the wrong length", e);
      for (const Expr& part : lanes) {
        if (part->type != type.with_lanes(1)) return mismatch(part->type);
      }
      return {};
    }
    default:
      return error(cat(name_of(e->kind), " is no expression"));
  }
}

Result<> Verifier::access(const Buffer& buffer, const std::vector<Expr>& indices, Type type,
                          const Expr& at) {
  if (!buffers_.contains(buffer.get())) {
    return error("buffer '" + buffer->name + "' is not in scope", at);
  }
  const bool texture = buffer->layout.memory == Memory::texture;
  const size_t rank = buffer->shape.size(), flat = texture ? 3 : 1;
  if (wants(Property::flat_access)) {
    if (indices.size() != flat) {
      return error(cat("'", buffer->name, "' takes ", flat, " indices once accesses are flat, not ",
                       indices.size()),
                   at);
    }
  } else if (indices.size() != rank && indices.size() != flat) {
    return error(cat("'", buffer->name, "' has ", rank, " axes, not ", indices.size()), at);
  }
  int lanes = 1;
  for (const Expr& i : indices) {
    if (i->type.dtype != DType::index) {
      return error(cat("an index of type ", to_string(i->type)), at);
    }
    if (i->type.is_scalar()) continue;
    if (lanes != 1 && lanes != i->type.lanes) return error("indices of different lengths", at);
    lanes = i->type.lanes;
  }
  // A texel is four elements at one place.
  const bool texel = texture && indices.size() == 3 && lanes == 1 && type.lanes == 4;
  if (lanes != type.lanes && !texel) {
    return error(cat("an index of ", lanes, " lanes for a value of ", type.lanes), at);
  }
  if (wants(Property::flat_access) && texture && !texel) {
    return error("a texture is accessed by whole texels at scalar coordinates", at);
  }
  if (wants(Property::contiguous_vectors)) {
    for (const Expr& i : indices) {
      auto* ramp = as<Ramp>(i);
      if (!i->type.is_scalar() && !(ramp && ramp->stride == 1)) {
        return error("a vector index that is no ramp of stride 1", at);
      }
    }
  }
  const bool legal = wants(Property::storage_types)
                         ? type.dtype == buffer->storage
                         : type.dtype == buffer->storage || type.dtype == buffer->dtype;
  if (!legal) {
    return error(cat("'", buffer->name, "' is stored as ", name_of(buffer->storage), ", not ",
                     name_of(type.dtype)),
                 at);
  }
  return {};
}

}  // namespace gossamer::ir
