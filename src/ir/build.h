// Making IR: constructors that check types and fold the obvious, and operators on Expr.
#pragma once

#include <initializer_list>
#include <optional>

#include "ir/nodes.h"

namespace gossamer::ir {

Var var(std::string name, Type type = DType::index);
Var dimension(std::string name, int64_t estimate);  // of an input, of type index
Buffer buffer(std::string name, DType dtype, std::vector<Expr> shape, Scope scope = Scope::global);

Expr index(int64_t value);               // IntImm of type index
Expr constant(Type type, double value);  // by the type's kind; a vector type gives a Broadcast
Expr constant_int(Type type, int64_t value);
Expr boolean(bool value);
Expr zero(Type type);
Expr lowest(Type type);  // -inf for floats, the smallest integer otherwise
Expr highest(Type type);

Expr unary(UnaryOp op, Expr a);
Expr binary(BinaryOp op, Expr a, Expr b);  // types must match; folds constants
Expr fma(Expr a, Expr b, Expr c);
Expr dot(Expr a, Expr b, Expr c, int64_t terms);
// The same number by shifts, products and sums, for machines without such an instruction.
Expr dot_by_terms(const Dot& node);
Expr select(Expr condition, Expr yes, Expr no);
Expr cast(Type type, Expr a);  // no node when the type is the same already
Expr bitcast(Type type, Expr a);
Expr load(Buffer buffer, std::vector<Expr> indices);  // of the buffer's value type
Expr ramp(Expr base, int64_t stride, int lanes);
Expr broadcast(Expr a, int lanes);
Expr lane(Expr a, Expr index);
Expr make_vector(std::vector<Expr> lanes);

// What comparisons and logic of expressions give: an Expr that refuses to be a C++ condition, since
// `if (a == b)` or `if (!a)` would build a node instead of asking anything. Whether an Expr is
// there: `if (a)`, `if (!a.get())`.
struct Condition : Expr {
  Condition(Expr e) : Expr(std::move(e)) {}
  explicit operator bool() const = delete;
};

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator-(Expr a);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);
Expr floordiv(Expr a, Expr b);
Expr floormod(Expr a, Expr b);
Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
Expr pow(Expr a, Expr b);
Condition operator==(Expr a, Expr b);
Condition operator!=(Expr a, Expr b);
Condition operator<(Expr a, Expr b);
Condition operator<=(Expr a, Expr b);
Condition operator>(Expr a, Expr b);
Condition operator>=(Expr a, Expr b);
Condition operator&&(Expr a, Expr b);
Condition operator||(Expr a, Expr b);
Condition operator!(Expr a);
// A number beside an expression takes the expression's type: x * 2, max(x, 0.0).
Expr operator+(Expr a, double b);
Expr operator-(Expr a, double b);
Expr operator*(Expr a, double b);
Expr operator/(Expr a, double b);
Expr operator+(double a, Expr b);
Expr operator-(double a, Expr b);
Expr operator*(double a, Expr b);
Expr operator/(double a, Expr b);
Expr min(Expr a, double b);
Expr max(Expr a, double b);
Condition operator<(Expr a, double b);
Condition operator<=(Expr a, double b);
Condition operator>(Expr a, double b);
Condition operator>=(Expr a, double b);
Condition operator==(Expr a, double b);
Condition operator!=(Expr a, double b);
Expr floordiv(Expr a, int64_t b);
Expr floormod(Expr a, int64_t b);

#define GS_UNARY(name, spelling) \
  inline Expr name(Expr a) { return unary(UnaryOp::name, std::move(a)); }
#define GS_BINARY(name, spelling, kind)
#include "ir/ops.def"
#undef GS_UNARY
#undef GS_BINARY

Stmt block(std::vector<Stmt> stmts);  // flattens nested blocks, drops nulls
Stmt let(Var var, Expr value, Stmt body);
Stmt loop(Var var, Expr extent, LoopKind kind, Stmt body);
Stmt while_loop(Expr condition, Stmt body);
Stmt branch(Expr condition, Stmt yes, Stmt no = {});
Stmt store(Buffer buffer, std::vector<Expr> indices, Expr value);
Stmt alloc(Buffer buffer, Stmt body);
Stmt barrier(Scope scope = Scope::group);

// The value of an integer constant (IntImm, of any integer type or boolean).
std::optional<int64_t> as_int(const Expr&);
std::optional<double> as_float(const Expr&);  // FloatImm or IntImm
// The FloatImm, the IntImm in every lane of a constant.
std::optional<double> splat_float(const Expr&);
std::optional<int64_t> splat_int(const Expr&);
bool is_const(const Expr&, int64_t value);

}  // namespace gossamer::ir
