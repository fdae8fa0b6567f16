#include "passes/round_to_integers.h"

#include <cmath>
#include <optional>

#include "ir/build.h"
#include "ir/rewrite.h"

namespace gossamer::passes {
namespace {

using ir::BinaryOp;
using ir::DType;
using ir::Expr;
using ir::UnaryOp;

constexpr double magic = 12582912;  // 1.5 * 2^23
constexpr double largest = 65535;   // of an addend

const ir::Unary* as_round(const Expr& e) {
  const auto* unary = ir::as<ir::Unary>(e);
  return unary && unary->op == UnaryOp::round ? unary : nullptr;
}

bool is_whole(const Expr& e) {
  if (const auto known = ir::splat_float(e)) return std::trunc(*known) == *known;
  if (const auto* one = ir::as<ir::Broadcast>(e)) return is_whole(one->a);
  if (const auto* unary = ir::as<ir::Unary>(e))
    return unary->op == UnaryOp::round || unary->op == UnaryOp::floor ||
           unary->op == UnaryOp::ceil || unary->op == UnaryOp::trunc;
  if (const auto* cast = ir::as<ir::Cast>(e))
    return ir::is_int(cast->a->type.dtype) && ir::byte_size(cast->a->type.dtype) <= 2;
  const auto* sum = ir::as<ir::Binary>(e);
  return sum && (sum->op == BinaryOp::add || sum->op == BinaryOp::sub) && is_whole(sum->a) &&
         is_whole(sum->b);
}

Expr rounded(const Expr& e) {
  const auto* cast = ir::as<ir::Cast>(e);
  const DType to = e->type.dtype;
  if (!cast || cast->a->type.dtype != DType::f32 || !ir::is_int(to) || ir::byte_size(to) > 2)
    return {};
  // A known addend is added to the integer.
  Expr number = cast->a;
  int64_t addend = 0;
  const auto* sum = ir::as<ir::Binary>(number);
  if (const auto* round = as_round(number)) {
    number = round->a;
  } else if (sum && sum->op == BinaryOp::add && as_round(sum->a)) {
    const auto known = ir::splat_float(sum->b);
    if (known && std::trunc(*known) == *known && std::abs(*known) <= largest) {
      number = as_round(sum->a)->a;
      addend = static_cast<int64_t>(*known);
    }
  }
  if (number.same(cast->a) && !is_whole(number)) return {};
  const int bits = ir::bit_width(to);
  const int64_t least = ir::is_signed_int(to) ? -(int64_t{1} << (bits - 1)) : 0;
  const int64_t most = least + (int64_t{1} << bits) - 1;
  const ir::Type words = e->type.with_dtype(DType::i32);
  const Expr low = ir::constant(number->type, static_cast<double>(least - addend));
  const Expr high = ir::constant(number->type, static_cast<double>(most - addend));
  Expr inside = ir::select(ir::binary(BinaryOp::gt, number, low), number, low);
  inside = ir::select(ir::binary(BinaryOp::lt, inside, high), inside, high);
  Expr whole = ir::bitcast(words, inside + ir::constant(number->type, magic));
  if (addend != 0) whole = whole + ir::constant_int(words, addend);
  // Of what is unsigned, NaN became the least.
  if (least != 0)
    whole = ir::select(ir::binary(BinaryOp::eq, number, number), whole, ir::constant_int(words, 0));
  return ir::cast(e->type, whole);
}

const ir::Rewriter& hooks() {
  static const ir::Rewriter rewriter = [] {
    ir::Rewriter made;
    made.expr = rounded;
    return made;
  }();
  return rewriter;
}

}  // namespace

ir::Stmt round_to_integers(const ir::Stmt& body) { return ir::rewrite(body, hooks()); }
ir::Expr round_to_integers(const ir::Expr& expr) { return ir::rewrite(expr, hooks()); }

}  // namespace gossamer::passes
