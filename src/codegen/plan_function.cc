#include "codegen/plan_function.h"

#include <cmath>
#include <limits>
#include <unordered_map>

#include "ir/build.h"
#include "ir/rewrite.h"

namespace gossamer::codegen {
namespace {

using ir::BinaryOp;
using ir::DType;
using ir::Expr;
using ir::UnaryOp;

// No other integer has the same nearest f64 as one up to here.
constexpr double exact = 0x1p53 - 1;

bool is_integer(const Expr& e) { return ir::is_int(e->type.dtype); }

Expr number(double value) { return ir::constant(DType::f64, value); }
Expr call(UnaryOp op, const Expr& a) { return ir::unary(op, a); }

// An integer as f64, and the largest magnitude it may have.
struct Number {
  Expr value;
  double most = std::numeric_limits<double>::infinity();
};

class Rewrite {
 public:
  explicit Rewrite(const PlanFunction& plan) {
    for (size_t at = 0; at < plan.dims.size(); ++at) {
      const ir::Var& dim = plan.dims[at];
      result_.dims.push_back(ir::var(dim->name, DType::f64));
      known_[dim.get()] = {result_.dims[at], at < plan.inputs ? double{largest_dim} : exact};
    }
    for (const Expr& value : plan.values) result_.values.push_back(integer(value).value);
    result_.segments = plan.segments;
    result_.inputs = plan.inputs;
  }
  PlanFunction take() { return std::move(result_); }

 private:
  // Of an expression of an integer type.
  Number integer(const Expr& e) {
    if (const auto found = known_.find(e.get()); found != known_.end()) return found->second;
    return known_.emplace(e.get(), make(e)).first->second;
  }
  // Of a float or boolean: the same type, its integers replaced.
  Expr other(const Expr& e) {
    if (const auto found = others_.find(e.get()); found != others_.end()) return found->second;
    return others_.emplace(e.get(), make_other(e)).first->second;
  }

  // `result` of operands of which one may not be exact: none, unless it is too large for a number
  // of the package itself.
  static Number checked(const Expr& result, double most, const Number& operand) {
    if (operand.most <= exact) return {result, most};
    const auto beyond = [](const Expr& x) { return call(UnaryOp::abs, x) > number(exact); };
    const Expr nothing = number(std::numeric_limits<double>::quiet_NaN());
    return {ir::select(!beyond(operand.value) || beyond(result), result, nothing), most};
  }

  static Number quotient(BinaryOp op, const Number& a, const Number& b) {
    const auto* divisor = ir::as<ir::FloatImm>(b.value);
    if (divisor && divisor->value == 0) return {number(0), 0};
    const bool floors = op == BinaryOp::floordiv || op == BinaryOp::floormod;
    // The nearest f64 of a quotient of exact integers lies on the same side of every integer.
    const Expr whole = call(floors ? UnaryOp::floor : UnaryOp::trunc, a.value / b.value);
    const bool rests = op == BinaryOp::rem || op == BinaryOp::floormod;
    const Number made =
        rests ? checked(a.value - whole * b.value, b.most, a) : checked(whole, a.most, a);
    if (divisor) return made;
    return {ir::select(b.value == 0.0, number(0), made.value), made.most};
  }

  // Integers of fewer bits than 64 wrap.
  static Number wrapped(DType dtype, const Number& a) {
    if (dtype == DType::index || ir::bit_width(dtype) == 64) return a;
    const double range = std::exp2(ir::bit_width(dtype));
    const double half = ir::is_signed_int(dtype) ? range / 2 : 0;
    if (half > 0 && a.most < half) return a;
    const Number shifted{a.value + number(half), a.most + half};
    const Number rest = quotient(BinaryOp::floormod, shifted, {number(range), range});
    return {rest.value - number(half), range};
  }

  Number binary(const ir::Binary& e) {
    const Number a = integer(e.a), b = integer(e.b);
    switch (e.op) {
      case BinaryOp::add:
      case BinaryOp::sub: {
        const Number larger = a.most > b.most ? a : b, smaller = a.most > b.most ? b : a;
        const Number once =
            checked(ir::binary(e.op, a.value, b.value), larger.most + smaller.most, larger);
        return checked(once.value, once.most, smaller);
      }
      case BinaryOp::mul:
        return {a.value * b.value, a.most * b.most};
      case BinaryOp::min:
      case BinaryOp::max:
        return {ir::binary(e.op, a.value, b.value), std::max(a.most, b.most)};
      case BinaryOp::div:
      case BinaryOp::rem:
      case BinaryOp::floordiv:
      case BinaryOp::floormod:
        return quotient(e.op, a, b);
      default:  // bits
        return {ir::cast(DType::f64, ir::binary(e.op, ir::cast(DType::i64, a.value),
                                                ir::cast(DType::i64, b.value)))};
    }
  }

  Number make(const Expr& e) {
    const DType dtype = e->type.dtype;
    if (const auto* imm = ir::as<ir::IntImm>(e)) {
      const auto value = static_cast<double>(imm->value);
      return {number(value), std::abs(value)};
    }
    if (const auto* unary = ir::as<ir::Unary>(e)) {
      const Number a = integer(unary->a);
      if (unary->op == UnaryOp::neg || unary->op == UnaryOp::abs)
        return wrapped(dtype, {call(unary->op, a.value), a.most});
      if (unary->op == UnaryOp::bit_not) return wrapped(dtype, {number(-1) - a.value, a.most + 1});
      return a;  // already whole
    }
    if (const auto* operation = ir::as<ir::Binary>(e)) return wrapped(dtype, binary(*operation));
    if (const auto* select = ir::as<ir::Select>(e)) {
      const Number yes = integer(select->yes), no = integer(select->no);
      return {ir::select(other(select->condition), yes.value, no.value),
              std::max(yes.most, no.most)};
    }
    if (const auto* cast = ir::as<ir::Cast>(e)) {
      if (is_integer(cast->a)) return wrapped(dtype, integer(cast->a));
      const Expr a = other(cast->a);
      if (a->type.dtype == DType::boolean) return {ir::select(a, number(1), number(0)), 1};
      return {call(UnaryOp::trunc, ir::cast(DType::f64, a))};
    }
    GS_CHECK(false, "a plan cannot compute ", ir::name_of(e->kind));
  }

  Expr make_other(const Expr& e) {
    if (const auto* unary = ir::as<ir::Unary>(e); unary && is_integer(unary->a))
      return ir::boolean(false);  // is_nan, is_inf
    if (const auto* operation = ir::as<ir::Binary>(e); operation && is_integer(operation->a))
      return ir::binary(operation->op, integer(operation->a).value, integer(operation->b).value);
    if (const auto* cast = ir::as<ir::Cast>(e); cast && is_integer(cast->a)) {
      const Expr a = integer(cast->a).value;
      return e->type.dtype == DType::boolean ? Expr(a != 0.0) : ir::cast(e->type, a);
    }
    if (const auto* unary = ir::as<ir::Unary>(e)) return ir::unary(unary->op, other(unary->a));
    if (const auto* operation = ir::as<ir::Binary>(e))
      return ir::binary(operation->op, other(operation->a), other(operation->b));
    if (const auto* select = ir::as<ir::Select>(e))
      return ir::select(other(select->condition), other(select->yes), other(select->no));
    if (const auto* cast = ir::as<ir::Cast>(e)) return ir::cast(e->type, other(cast->a));
    return e;  // constants
  }

  PlanFunction result_;
  std::unordered_map<const ir::ExprNode*, Number> known_;
  std::unordered_map<const ir::ExprNode*, Expr> others_;
};

}  // namespace

PlanFunction in_doubles(const PlanFunction& plan) { return Rewrite(plan).take(); }

}  // namespace gossamer::codegen
