#include "ir/build.h"

#include <cmath>
#include <limits>

#include "ir/scalar.h"

namespace gossamer::ir {
namespace {

// A node under construction; `expr()` hands it over.
template <class T>
struct Making {
  T* node;
  explicit Making(Type type) : node(new T(type)) {}
  T* operator->() { return node; }
  Expr expr() { return Expr(node); }
};

Expr int_imm(DType dtype, int64_t value) {
  Making<IntImm> made(dtype);
  made->value = value;
  return made.expr();
}

Expr float_imm(DType dtype, double value) {
  Making<FloatImm> made(dtype);
  made->value = value;
  return made.expr();
}

std::optional<Scalar> scalar_of(const Expr& e) {
  if (auto* imm = as<IntImm>(e)) return Scalar{imm->type.dtype, imm->value, 0};
  if (auto* imm = as<FloatImm>(e)) return Scalar{imm->type.dtype, 0, imm->value};
  return std::nullopt;
}

Expr from_scalar(Scalar value) {
  return is_float(value.dtype) ? float_imm(value.dtype, value.f) : int_imm(value.dtype, value.i);
}

bool overflows(BinaryOp op, int64_t a, int64_t b) {
  int64_t ignored;
  switch (op) {
    case BinaryOp::add:
      return __builtin_add_overflow(a, b, &ignored);
    case BinaryOp::sub:
      return __builtin_sub_overflow(a, b, &ignored);
    case BinaryOp::mul:
      return __builtin_mul_overflow(a, b, &ignored);
    default:
      return false;
  }
}

// What every index expression would otherwise drag along.
Expr index_identity(BinaryOp op, const Expr& a, const Expr& b) {
  switch (op) {
    case BinaryOp::add:
      if (is_const(a, 0)) return b;
      if (is_const(b, 0)) return a;
      break;
    case BinaryOp::sub:
      if (is_const(b, 0)) return a;
      break;
    case BinaryOp::mul:
      if (is_const(a, 1) || is_const(b, 0)) return b;
      if (is_const(b, 1) || is_const(a, 0)) return a;
      break;
    case BinaryOp::floordiv:
    case BinaryOp::div:
      if (is_const(b, 1)) return a;
      break;
    case BinaryOp::floormod:
    case BinaryOp::rem:
      if (is_const(b, 1)) return index(0);
      break;
    case BinaryOp::min:
    case BinaryOp::max:
      if (a.same(b)) return a;
      break;
    default:
      break;
  }
  return {};
}

Expr logic_identity(BinaryOp op, const Expr& a, const Expr& b) {
  if (op == BinaryOp::logical_and) {
    if (is_const(a, 1) || is_const(b, 0)) return b;
    if (is_const(b, 1) || is_const(a, 0)) return a;
  } else if (op == BinaryOp::logical_or) {
    if (is_const(a, 0) || is_const(b, 1)) return b;
    if (is_const(b, 0) || is_const(a, 1)) return a;
  }
  return {};
}

Expr number(const Expr& like, double value) { return constant(like->type, value); }

}  // namespace

Var var(std::string name, Type type) { return Var(new VarNode(std::move(name), type)); }

Var dimension(std::string name, int64_t estimate) {
  auto* node = new VarNode(std::move(name), DType::index);
  node->estimate = estimate;
  return Var(node);
}

Buffer buffer(std::string name, DType dtype, std::vector<Expr> shape, Scope scope) {
  for (const Expr& extent : shape) {
    GS_CHECK(extent && extent->type == Type(DType::index), "extent of buffer ", name);
  }
  return Buffer(new BufferNode(std::move(name), dtype, std::move(shape), scope));
}

Expr index(int64_t value) { return int_imm(DType::index, value); }
Expr boolean(bool value) { return int_imm(DType::boolean, value); }

Expr constant(Type type, double value) {
  return broadcast(from_scalar(Scalar::of_float(type.dtype, value)), type.lanes);
}
Expr constant_int(Type type, int64_t value) {
  return broadcast(from_scalar(Scalar::of_int(type.dtype, value)), type.lanes);
}
Expr zero(Type type) { return constant_int(type, 0); }

Expr lowest(Type type) {
  if (is_float(type.dtype)) return constant(type, -std::numeric_limits<double>::infinity());
  // Targets compute `index` in 32 bits, so nothing smaller can be compared with it.
  if (type.dtype == DType::index) return constant_int(type, std::numeric_limits<int32_t>::min());
  if (!is_signed_int(type.dtype)) return zero(type);
  return constant_int(type, std::numeric_limits<int64_t>::min() >> (64 - bit_width(type.dtype)));
}

Expr highest(Type type) {
  if (is_float(type.dtype)) return constant(type, std::numeric_limits<double>::infinity());
  if (type.dtype == DType::index) return constant_int(type, std::numeric_limits<int32_t>::max());
  if (type.dtype == DType::boolean) return constant_int(type, 1);
  if (is_unsigned_int(type.dtype)) return constant_int(type, -1);
  return constant_int(type, std::numeric_limits<int64_t>::max() >> (64 - bit_width(type.dtype)));
}

Expr unary(UnaryOp op, Expr a) {
  GS_CHECK(a, "operand of ", name_of(op));
  const Type type = a->type;
  if (op == UnaryOp::logical_not) {
    GS_CHECK(type.dtype == DType::boolean, "! of ", to_string(type));
  } else if (op == UnaryOp::bit_not) {
    GS_CHECK(is_int(type.dtype), "~ of ", to_string(type));
  } else {
    GS_CHECK(type.dtype != DType::boolean && type.dtype != DType::string, name_of(op), " of ",
             to_string(type));
  }
  if (auto value = scalar_of(a)) return from_scalar(apply(op, *value));
  if (auto* splat = as<Broadcast>(a)) return broadcast(unary(op, splat->a), type.lanes);
  if (op == UnaryOp::logical_not) {
    if (auto* inner = as<Unary>(a); inner && inner->op == op) return inner->a;
  }
  Making<Unary> made(gives_boolean(op) ? type.with_dtype(DType::boolean) : type);
  made->op = op;
  made->a = std::move(a);
  return made.expr();
}

Expr binary(BinaryOp op, Expr a, Expr b) {
  GS_CHECK(a.get() && b.get(), "operands of ", name_of(op));
  const Type type = a->type;
  GS_CHECK(type == b->type, name_of(op), " of ", to_string(type), " and ", to_string(b->type));
  const bool is_boolean = type.dtype == DType::boolean;
  if (is_logical(op)) {
    GS_CHECK(is_boolean, name_of(op), " of ", to_string(type));
  } else if (is_bitwise(op)) {
    GS_CHECK(is_int(type.dtype), name_of(op), " of ", to_string(type));
  } else if (!is_comparison(op)) {
    GS_CHECK(!is_boolean && type.dtype != DType::string, name_of(op), " of ", to_string(type));
    GS_CHECK(is_float(type.dtype) || (op != BinaryOp::pow && op != BinaryOp::ldexp), name_of(op),
             " of ", to_string(type));
    GS_CHECK(op != BinaryOp::floordiv || is_int(type.dtype), "// of ", to_string(type));
  }
  auto x = scalar_of(a), y = scalar_of(b);
  if (x && y && !(type.dtype == DType::index && overflows(op, x->i, y->i))) {
    return from_scalar(apply(op, *x, *y));
  }
  if (auto *p = as<Broadcast>(a), *q = as<Broadcast>(b); p && q) {
    return broadcast(binary(op, p->a, q->a), type.lanes);
  }
  if (type.dtype == DType::index) {
    if (Expr same = index_identity(op, a, b)) return same;
  } else if (is_boolean) {
    if (Expr same = logic_identity(op, a, b)) return same;
  }
  Making<Binary> made(is_comparison(op) ? type.with_dtype(DType::boolean) : type);
  made->op = op;
  made->a = std::move(a);
  made->b = std::move(b);
  return made.expr();
}

Expr fma(Expr a, Expr b, Expr c) {
  GS_CHECK(a.get() && b.get() && c.get() && a->type == b->type && a->type == c->type,
           "fma operands");
  GS_CHECK(is_float(a->type.dtype) || is_int(a->type.dtype), "fma of ", to_string(a->type));
  auto x = scalar_of(a), y = scalar_of(b), z = scalar_of(c);
  if (x && y && z) return from_scalar(apply_fma(*x, *y, *z));
  Making<Fma> made(a->type);
  made->a = std::move(a);
  made->b = std::move(b);
  made->c = std::move(c);
  return made.expr();
}

Expr dot(Expr a, Expr b, Expr c, int64_t terms) {
  GS_CHECK(a.get() && b.get() && c.get(), "dot operands");
  GS_CHECK(is_dot(a->type, b->type, c->type, terms), "dot of ", terms, " terms of ",
           to_string(a->type), ", ", to_string(b->type), " and ", to_string(c->type));
  Making<Dot> made(c->type);
  made->a = std::move(a);
  made->b = std::move(b);
  made->c = std::move(c);
  made->terms = terms;
  return made.expr();
}

Expr dot_by_terms(const Dot& node) {
  const auto bits = static_cast<int>(32 / node.terms);
  const auto term = [&](const Expr& word, int64_t at) {
    const auto number = [&](int64_t value) { return constant_int(word->type, value); };
    const Expr top = binary(BinaryOp::shl, word, number(32 - bits * (at + 1)));
    return cast(node.type, binary(BinaryOp::shr, top, number(32 - bits)));
  };
  Expr sum = node.c;
  for (int64_t at = 0; at < node.terms; ++at) sum = sum + term(node.a, at) * term(node.b, at);
  return sum;
}

Expr select(Expr condition, Expr yes, Expr no) {
  GS_CHECK(condition.get() && yes.get() && no.get(), "select operands");
  GS_CHECK(condition->type.dtype == DType::boolean, "condition of ", to_string(condition->type));
  GS_CHECK(yes->type == no->type, "select of ", to_string(yes->type), " and ", to_string(no->type));
  GS_CHECK(condition->type.lanes == yes->type.lanes, "select of ", yes->type.lanes, " lanes by ",
           condition->type.lanes);
  if (auto* splat = as<Broadcast>(condition); splat && as_int(splat->a)) {
    return *as_int(splat->a) ? yes : no;
  }
  if (auto value = as_int(condition)) return *value ? yes : no;
  Making<Select> made(yes->type);
  made->condition = std::move(condition);
  made->yes = std::move(yes);
  made->no = std::move(no);
  return made.expr();
}

Expr cast(Type type, Expr a) {
  GS_CHECK(a && a->type.lanes == type.lanes, "cast to ", to_string(type), " changes lanes");
  if (a->type == type) return a;
  GS_CHECK(type.dtype != DType::string && a->type.dtype != DType::string, "cast of a string");
  if (auto value = scalar_of(a)) return from_scalar(convert(type.dtype, *value));
  if (auto* splat = as<Broadcast>(a))
    return broadcast(cast(type.with_lanes(1), splat->a), type.lanes);
  Making<Cast> made(type);
  made->a = std::move(a);
  return made.expr();
}

Expr bitcast(Type type, Expr a) {
  GS_CHECK(a && byte_size(a->type.dtype) * a->type.lanes == byte_size(type.dtype) * type.lanes,
           "bitcast to ", to_string(type), " changes size");
  if (a->type == type) return a;
  if (auto value = scalar_of(a); value && type.is_scalar()) {
    // A NaN would lose its payload.
    if (auto result = reinterpret(type.dtype, *value)) {
      if (!is_float(type.dtype) || !std::isnan(result->f)) return from_scalar(*result);
    }
  }
  Making<Bitcast> made(type);
  made->a = std::move(a);
  return made.expr();
}

Expr load(Buffer buffer, std::vector<Expr> indices) {
  GS_CHECK(buffer, "load of no buffer");
  int lanes = 1;
  for (const Expr& i : indices) {
    GS_CHECK(i && i->type.dtype == DType::index, "index of ", buffer->name);
    if (i->type.lanes == 1) continue;
    GS_CHECK(lanes == 1 || lanes == i->type.lanes, "indices of ", buffer->name, " differ in lanes");
    lanes = i->type.lanes;
  }
  Making<Load> made(Type(buffer->dtype, lanes));
  made->buffer = std::move(buffer);
  made->indices = std::move(indices);
  return made.expr();
}

Expr ramp(Expr base, int64_t stride, int lanes) {
  GS_CHECK(base && base->type.is_scalar() && is_int(base->type.dtype), "base of a ramp");
  if (lanes == 1) return base;
  if (stride == 0) return broadcast(std::move(base), lanes);
  Making<Ramp> made(base->type.with_lanes(lanes));
  made->base = std::move(base);
  made->stride = stride;
  return made.expr();
}

Expr broadcast(Expr a, int lanes) {
  GS_CHECK(a && a->type.is_scalar() && lanes >= 1, "broadcast of ",
           a ? to_string(a->type) : "none");
  if (lanes == 1) return a;
  Making<Broadcast> made(a->type.with_lanes(lanes));
  made->a = std::move(a);
  return made.expr();
}

Expr lane(Expr a, Expr index) {
  GS_CHECK(a.get() && index.get() && index->type == Type(DType::index), "lane number");
  if (a->type.is_scalar()) return a;
  if (auto* splat = as<Broadcast>(a)) return splat->a;
  if (auto number = as_int(index)) {
    GS_CHECK(*number >= 0 && *number < a->type.lanes, "lane ", *number, " of ", to_string(a->type));
    if (auto* parts = as<MakeVector>(a)) return parts->lanes[static_cast<size_t>(*number)];
    if (auto* steps = as<Ramp>(a)) {
      return binary(BinaryOp::add, steps->base,
                    constant_int(steps->base->type, steps->stride * *number));
    }
  }
  Making<Lane> made(a->type.with_lanes(1));
  made->a = std::move(a);
  made->lane = std::move(index);
  return made.expr();
}

Expr make_vector(std::vector<Expr> lanes) {
  GS_CHECK(!lanes.empty(), "empty vector");
  bool all_same = true;
  for (const Expr& part : lanes) {
    GS_CHECK(part && part->type.is_scalar() && part->type == lanes[0]->type, "lanes of a vector");
    all_same = all_same && part.same(lanes[0]);
  }
  const int count = static_cast<int>(lanes.size());
  if (all_same) return broadcast(lanes[0], count);
  Making<MakeVector> made(lanes[0]->type.with_lanes(count));
  made->lanes = std::move(lanes);
  return made.expr();
}

#define GS_OPERATOR(Result, symbol, op)                          \
  Result operator symbol(Expr a, Expr b) {                       \
    return binary(BinaryOp::op, std::move(a), std::move(b));     \
  }                                                              \
  Result operator symbol(Expr a, double b) {                     \
    Expr right = number(a, b);                                   \
    return binary(BinaryOp::op, std::move(a), std::move(right)); \
  }
GS_OPERATOR(Expr, +, add)
GS_OPERATOR(Expr, -, sub)
GS_OPERATOR(Expr, *, mul)
GS_OPERATOR(Expr, /, div)
GS_OPERATOR(Condition, ==, eq)
GS_OPERATOR(Condition, !=, ne)
GS_OPERATOR(Condition, <, lt)
GS_OPERATOR(Condition, <=, le)
GS_OPERATOR(Condition, >, gt)
GS_OPERATOR(Condition, >=, ge)
#undef GS_OPERATOR

Expr operator+(double a, Expr b) { return number(b, a) + b; }
Expr operator-(double a, Expr b) { return number(b, a) - b; }
Expr operator*(double a, Expr b) { return number(b, a) * b; }
Expr operator/(double a, Expr b) { return number(b, a) / b; }
Expr operator-(Expr a) { return unary(UnaryOp::neg, std::move(a)); }
Condition operator!(Expr a) { return unary(UnaryOp::logical_not, std::move(a)); }
Condition operator&&(Expr a, Expr b) {
  return binary(BinaryOp::logical_and, std::move(a), std::move(b));
}
Condition operator||(Expr a, Expr b) {
  return binary(BinaryOp::logical_or, std::move(a), std::move(b));
}
Expr floordiv(Expr a, Expr b) { return binary(BinaryOp::floordiv, std::move(a), std::move(b)); }
Expr floormod(Expr a, Expr b) { return binary(BinaryOp::floormod, std::move(a), std::move(b)); }
Expr min(Expr a, Expr b) { return binary(BinaryOp::min, std::move(a), std::move(b)); }
Expr max(Expr a, Expr b) { return binary(BinaryOp::max, std::move(a), std::move(b)); }
Expr pow(Expr a, Expr b) { return binary(BinaryOp::pow, std::move(a), std::move(b)); }
Expr min(Expr a, double b) {
  Expr right = number(a, b);
  return min(std::move(a), std::move(right));
}
Expr max(Expr a, double b) {
  Expr right = number(a, b);
  return max(std::move(a), std::move(right));
}
Expr floordiv(Expr a, int64_t b) {
  Expr right = constant_int(a->type, b);
  return floordiv(std::move(a), std::move(right));
}
Expr floormod(Expr a, int64_t b) {
  Expr right = constant_int(a->type, b);
  return floormod(std::move(a), std::move(right));
}

std::optional<int64_t> as_int(const Expr& e) {
  if (auto* imm = as<IntImm>(e)) return imm->value;
  return std::nullopt;
}

std::optional<double> splat_float(const Expr& e) {
  if (auto* splat = as<Broadcast>(e)) return splat_float(splat->a);
  auto* imm = as<FloatImm>(e);
  return imm ? std::optional(imm->value) : std::nullopt;
}

std::optional<int64_t> splat_int(const Expr& e) {
  if (auto* splat = as<Broadcast>(e)) return as_int(splat->a);
  return as_int(e);
}

std::optional<double> as_float(const Expr& e) {
  if (auto* imm = as<FloatImm>(e)) return imm->value;
  if (auto* imm = as<IntImm>(e)) return Scalar{imm->type.dtype, imm->value, 0}.as_double();
  return std::nullopt;
}

bool is_const(const Expr& e, int64_t value) {
  auto known = as_int(e);
  return known && *known == value;
}

}  // namespace gossamer::ir
