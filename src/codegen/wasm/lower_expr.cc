#include <cmath>

#include "codegen/small_numbers.h"
#include "codegen/wasm/lower.h"
#include "ir/build.h"
#include "ir/rewrite.h"

namespace gossamer::codegen::wasm {

using ir::BinaryOp;
using ir::DType;
using ir::Expr;

ValueId Lowering::scalar(const Expr& e) { return value(e)[0]; }
Pieces Lowering::vector(const Expr& e) { return value(e); }

Pieces Lowering::value(const Expr& e) {
  const bool shared = e->references > 1 && e->kind != ir::NodeKind::Var &&
                      e->kind != ir::NodeKind::IntImm && e->kind != ir::NodeKind::FloatImm;
  if (!shared) return compute(e);
  if (const Pieces* known = known_value(e)) return *known;
  Pieces pieces = compute(e);
  known_.insert_or_assign(e.get(), Known{pieces, f_.current(), f_.version(), guarded_});
  return pieces;
}

const Pieces* Lowering::known_value(const Expr& e) const {
  const auto found = known_.find(e.get());
  if (found == known_.end()) return nullptr;
  const Known& known = found->second;
  const bool valid =
      known.version == f_.version() && known.guarded == guarded_ && f_.visible(known.region);
  return valid ? &known.pieces : nullptr;
}

// Sums and products of indices are gathered before they become instructions.
Linear Lowering::linear(const Expr& e) {
  if (auto* imm = ir::as<ir::IntImm>(e)) return Linear::of(imm->value);
  if (e->kind == ir::NodeKind::Var) {
    const Binding& binding = vars_.at(static_cast<const ir::VarNode*>(e.get()));
    return binding.is_linear ? binding.linear : Linear::of_atom(binding.pieces[0]);
  }
  if (auto* binary = ir::as<ir::Binary>(e); binary && e->type.dtype == DType::index) {
    if (binary->op == BinaryOp::mul) {
      Linear a = linear(binary->a), b = linear(binary->b);
      if (a.most_atoms() + b.most_atoms() > Atoms::capacity)
        a = Linear::of_atom(addresses_.index_of(a));
      if (a.most_atoms() + b.most_atoms() > Atoms::capacity)
        b = Linear::of_atom(addresses_.index_of(b));
      return multiply(a, b);
    }
    if (binary->op == BinaryOp::add || binary->op == BinaryOp::sub) {
      Linear sum = linear(binary->a);
      sum.add(linear(binary->b), binary->op == BinaryOp::add ? 1 : -1);
      return sum;
    }
  }
  const ValueId atom = scalar(e);
  if (int64_t known; f_.is_i32(atom, &known)) return Linear::of(known);
  return Linear::of_atom(atom);
}

bool Lowering::has_load(const Expr& e) {
  if (auto found = has_load_.find(e.get()); found != has_load_.end()) return found->second;
  bool found = false;
  ir::visit(e, [&](const Expr& node) {
    if (auto* load = ir::as<ir::Load>(node)) {
      auto place = places_.find(load->buffer.get());
      found = found || place == places_.end() || place->second.kind == Place::Kind::memory;
    }
    return !found;
  });
  return has_load_[e.get()] = found;
}

Pieces Lowering::ramp(const ir::Ramp& e) {
  const DType dtype = e.type.dtype;
  std::vector<ValueId> steps;
  for (int k = 0; k < e.type.lanes; ++k) steps.push_back(make_.constant(dtype, e.stride * k, 0));
  return make_.binary(BinaryOp::add, e.type, make_.splat(e.type, scalar(e.base)),
                      make_.build(dtype, steps));
}

ValueId Lowering::lane(const ir::Lane& e) {
  const DType dtype = e.type.dtype;
  const Pieces pieces = vector(e.a);
  if (auto number = ir::as_int(e.lane))
    return make_.extract(dtype, pieces, static_cast<int>(*number));
  const ValueId wanted = scalar(e.lane);
  ValueId result = make_.extract(dtype, pieces, 0);
  for (int k = 1; k < e.a->type.lanes; ++k) {
    const ValueId hit = f_.op(Op::i32_eq, ValType::i32, wanted, f_.i32(k));
    result = make_.select(dtype, hit, make_.extract(dtype, pieces, k), result);
  }
  return result;
}

Pieces Lowering::compute_binary(const Expr& e) {
  const auto& binary = static_cast<const ir::Binary&>(*e);
  const ir::Type type = binary.a->type;
  if (make_.fuses(type) && (binary.op == BinaryOp::add || binary.op == BinaryOp::sub)) {
    auto product_of = [](const Expr& side) {
      auto* product = ir::as<ir::Binary>(side);
      return product && product->op == BinaryOp::mul ? product : nullptr;
    };
    if (auto* product = product_of(binary.b)) {
      return make_.fma(type, vector(product->a), vector(product->b), vector(binary.a),
                       binary.op == BinaryOp::sub);
    }
    if (auto* product = product_of(binary.a); product && binary.op == BinaryOp::add) {
      return make_.fma(type, vector(product->a), vector(product->b), vector(binary.b), false);
    }
  }
  const Pieces a = value(binary.a);
  const Pieces b = value(binary.b);
  if (type.is_scalar()) return {make_.binary(binary.op, type.dtype, a[0], b[0])};
  return make_.binary(binary.op, type, a, b);
}

// Both arms as branches, so that what stands in the arm not taken is not touched.
Pieces Lowering::arms(ValueId condition, const Expr& yes, const Expr& no) {
  const RegionId here = f_.current();
  RegionId regions[2];
  Pieces results[2];
  for (int arm = 0; arm < 2; ++arm) {
    regions[arm] = f_.add_region(Region::Kind::arm);
    f_.enter(regions[arm]);
    results[arm] = value(arm == 0 ? yes : no);
    f_.enter(here);
  }
  const ValType type = f_[results[0][0]].type;
  if (results[0].size() == 1) {
    for (int arm = 0; arm < 2; ++arm) f_.region(regions[arm]).result = results[arm][0];
    return {f_.if_else(condition, regions[0], regions[1], type)};
  }
  // Several pieces leave in locals.
  Pieces pieces;
  for (size_t k = 0; k < results[0].size(); ++k) {
    const LocalId local = f_.add_local(type);
    f_.add_item({.kind = Item::Kind::open_local, .imm = local});
    for (int arm = 0; arm < 2; ++arm) {
      f_.region(regions[arm])
          .items.push_back({.kind = Item::Kind::set_local, .b = results[arm][k], .imm = local});
    }
    pieces.push_back(f_.get_local(local, false));
  }
  f_.add_item(
      {.kind = Item::Kind::branch, .a = condition, .region = regions[0], .other = regions[1]});
  return pieces;
}

// a > b ? a : b and a < b ? a : b, which are instructions where f32 is compared.
std::optional<Pieces> Lowering::compute_extreme(const ir::Select& select) {
  const auto* compared = ir::as<ir::Binary>(select.condition);
  if (!compared || select.type.dtype != ir::DType::f32 || !ir::equal(compared->a, select.yes) ||
      !ir::equal(compared->b, select.no))
    return std::nullopt;
  const bool most = compared->op == BinaryOp::gt;
  if (!most && compared->op != BinaryOp::lt) return std::nullopt;
  const Pieces yes = vector(select.yes), no = vector(select.no);
  Pieces result;
  for (size_t k = 0; k < yes.size(); ++k)
    result.push_back(f_.op(most ? Op::f32x4_pmax : Op::f32x4_pmin, ValType::v128, no[k], yes[k]));
  return result;
}

std::optional<Pieces> Lowering::compute_small_numbers(const Expr& e) {
  constexpr int lanes = 16;
  if (e->type.lanes != lanes || guarded_) return std::nullopt;
  const auto numbers = small_numbers(e);
  const auto of = numbers ? shifted_bytes(numbers->words) : std::nullopt;
  const auto* load = of ? ir::as<ir::Load>(of->bytes) : nullptr;
  const auto* ramp = load ? ir::as<ir::Ramp>(load->indices[0]) : nullptr;
  if (!ramp || ramp->stride != 1 || numbers->offset != std::trunc(numbers->offset) ||
      std::abs(numbers->offset) > 64)
    return std::nullopt;
  const Place& place = places_.at(load->buffer.get());
  if (place.kind != Place::Kind::memory) return std::nullopt;
  const auto v = [&](Op op, ValueId a, ValueId b = 0) { return f_.op(op, ValType::v128, a, b); };
  const auto all = [&](int byte) {
    const uint64_t bytes = static_cast<uint8_t>(byte) * uint64_t{0x0101010101010101};
    return f_.v128(bytes, bytes);
  };
  Linear first;
  first.add(linear(ramp->base), 1);
  const Address at = address(place, first);
  ValueId bytes = f_.load(Op::v128_load, ValType::v128, at.pointer, at.offset, order_of(place));
  if (of->shift > 0) bytes = v(Op::i8x16_shr_u, bytes, f_.i32(of->shift));
  if ((255 >> of->shift) > numbers->mask) bytes = v(Op::v128_and, bytes, all(numbers->mask));
  if (numbers->offset != 0) bytes = v(Op::i8x16_sub, bytes, all(static_cast<int>(numbers->offset)));
  Pieces result;
  for (int half = 0; half < 2; ++half) {
    const ValueId halves = v(Op::i16x8_extend_low_i8x16_s + half, bytes);
    for (int quarter = 0; quarter < 2; ++quarter)
      result.push_back(
          v(Op::f32x4_convert_i32x4_s, v(Op::i32x4_extend_low_i16x8_s + quarter, halves)));
  }
  return result;
}

Pieces Lowering::compute_select(const Expr& e) {
  const auto& select = static_cast<const ir::Select&>(*e);
  auto* splat = ir::as<ir::Broadcast>(select.condition);
  if (e->type.is_scalar() || splat) {
    const ValueId condition = scalar(splat ? splat->a : select.condition);
    if (int64_t known; f_.is_i32(condition, &known)) return value(known ? select.yes : select.no);
    // What was loaded for the condition can do no harm.
    const auto touches = [&](const Expr& arm) { return !known_value(arm) && has_load(arm); };
    if (touches(select.yes) || touches(select.no)) return arms(condition, select.yes, select.no);
    const Pieces yes = value(select.yes), no = value(select.no);
    Pieces result;
    for (size_t k = 0; k < yes.size(); ++k) {
      result.push_back(
          yes[k] == no[k] ? yes[k] : f_.op(Op::select, f_[yes[k]].type, yes[k], no[k], condition));
    }
    return result;
  }
  if (const auto extreme = compute_extreme(select)) return *extreme;
  const Pieces condition = vector(select.condition);
  const bool saved = guarded_;
  guarded_ = true;
  const Pieces yes = vector(select.yes), no = vector(select.no);
  guarded_ = saved;
  return make_.select(e->type, condition, yes, no);
}

Pieces Lowering::compute(const Expr& e) {
  if (const auto numbers = compute_small_numbers(e)) return *numbers;
  const ir::Type type = e->type;
  const bool is_scalar = type.is_scalar();
  switch (e->kind) {
    case ir::NodeKind::IntImm: {
      const auto& imm = static_cast<const ir::IntImm&>(*e);
      return {make_.constant(type.dtype, imm.value, static_cast<double>(imm.value))};
    }
    case ir::NodeKind::FloatImm:
      return {make_.constant(type.dtype, 0, static_cast<const ir::FloatImm&>(*e).value)};
    case ir::NodeKind::Var: {
      const auto* var = static_cast<const ir::VarNode*>(e.get());
      const auto found = vars_.find(var);
      GS_CHECK(found != vars_.end(), "no value of ", var->name);
      if (found->second.is_linear) return {addresses_.index_of(found->second.linear)};
      return found->second.pieces;
    }
    case ir::NodeKind::Unary: {
      const auto& unary = static_cast<const ir::Unary&>(*e);
      const Pieces a = value(unary.a);
      if (is_scalar) return {make_.unary(unary.op, unary.a->type.dtype, a[0])};
      return make_.unary(unary.op, unary.a->type, a);
    }
    case ir::NodeKind::Binary: {
      const auto op = static_cast<const ir::Binary&>(*e).op;
      const bool is_sum = op == BinaryOp::add || op == BinaryOp::sub || op == BinaryOp::mul;
      if (is_scalar && type.dtype == DType::index && is_sum)
        return {addresses_.index_of(linear(e))};
      return compute_binary(e);
    }
    case ir::NodeKind::Fma: {
      const auto& fma = static_cast<const ir::Fma&>(*e);
      const Pieces a = value(fma.a), b = value(fma.b), c = value(fma.c);
      if (!is_scalar) return make_.fma(type, a, b, c, false);
      return {make_.binary(BinaryOp::add, type.dtype,
                           make_.binary(BinaryOp::mul, type.dtype, a[0], b[0]), c[0])};
    }
    case ir::NodeKind::Dot: {
      const auto& dot = static_cast<const ir::Dot&>(*e);
      const bool right = dot.b->type == type && !is_scalar;
      if (right && dot.terms == 2 && dot.a->type == type)
        return make_.dot(value(dot.a), value(dot.b), value(dot.c));
      if (right && dot.terms == 4 && dot.a->type.dtype == DType::u32)
        return make_.dot_of_bytes(value(dot.a), value(dot.b), value(dot.c));
      expanded_.push_back(ir::dot_by_terms(dot));
      return value(expanded_.back());
    }
    case ir::NodeKind::Select:
      return compute_select(e);
    case ir::NodeKind::Cast: {
      const auto& cast = static_cast<const ir::Cast&>(*e);
      const Pieces a = value(cast.a);
      if (is_scalar) return {make_.cast(type.dtype, cast.a->type.dtype, a[0])};
      return make_.cast(type.dtype, cast.a->type, a);
    }
    case ir::NodeKind::Bitcast: {
      const auto& cast = static_cast<const ir::Bitcast&>(*e);
      if (const auto word = word_in_memory(e))
        return {load_scalar(type.dtype, *word->place, word->bytes)};
      const Pieces a = value(cast.a);
      if (is_scalar) return {make_.bitcast(type.dtype, cast.a->type.dtype, a[0])};
      return make_.bitcast(type.dtype, cast.a->type, a);
    }
    case ir::NodeKind::Load:
      return load(static_cast<const ir::Load&>(*e));
    case ir::NodeKind::Ramp:
      return ramp(static_cast<const ir::Ramp&>(*e));
    case ir::NodeKind::Broadcast: {
      const auto& splat = static_cast<const ir::Broadcast&>(*e);
      if (const auto word = word_in_memory(splat.a)) {
        const Address at = address(*word->place, word->bytes);
        return Pieces(static_cast<size_t>(piece_count(type)),
                      f_.load(Op::v128_load32_splat, ValType::v128, at.pointer, at.offset,
                              order_of(*word->place)));
      }
      if (const Place* place = memory_of(splat.a); place && byte_size(type.dtype) >= 4) {
        const auto& load = static_cast<const ir::Load&>(*splat.a);
        Linear bytes;
        bytes.add(linear(load.indices[0]), byte_size(type.dtype));
        const Address at = address(*place, bytes);
        const Op op = is_wide(type.dtype) ? Op::v128_load64_splat : Op::v128_load32_splat;
        return Pieces(static_cast<size_t>(piece_count(type)),
                      f_.load(op, ValType::v128, at.pointer, at.offset, order_of(*place)));
      }
      return make_.splat(type, scalar(splat.a));
    }
    case ir::NodeKind::Lane:
      return {lane(static_cast<const ir::Lane&>(*e))};
    case ir::NodeKind::MakeVector:
      return make_vector(static_cast<const ir::MakeVector&>(*e));
    default:
      break;
  }
  GS_CHECK(false, "no code for ", name_of(e->kind));
}

}  // namespace gossamer::codegen::wasm
