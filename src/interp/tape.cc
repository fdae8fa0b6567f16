#include "interp/tape.h"

#include <algorithm>

namespace gossamer::interp {
namespace {

// Makes each lane's result in its place: a copy would wait for the parts of what was just written.
template <class F>
void each_lane(Scalar* out, size_t lanes, const F& make) {
  for (size_t i = 0; i < lanes; ++i) ::new (out + i) Scalar(make(i));
}

// The operations that most addresses are made of, without a look at the type. False: none of them.
bool apply_to_indices(ir::BinaryOp op, const Scalar* a, const Scalar* b, Scalar* out,
                      size_t lanes) {
  const auto each = [&](auto combine) {
    for (size_t i = 0; i < lanes; ++i) {
      out[i].dtype = ir::DType::index;
      out[i].i = static_cast<int64_t>(
          combine(static_cast<uint64_t>(a[i].i), static_cast<uint64_t>(b[i].i)));
    }
    return true;
  };
  switch (op) {
    case ir::BinaryOp::add:
      return each([](uint64_t x, uint64_t y) { return x + y; });
    case ir::BinaryOp::sub:
      return each([](uint64_t x, uint64_t y) { return x - y; });
    case ir::BinaryOp::mul:
      return each([](uint64_t x, uint64_t y) { return x * y; });
    default:
      return false;
  }
}

}  // namespace

using ir::as;
using ir::Expr;
using ir::NodeKind;

size_t Frame::place(const ir::VarNode* var) {
  auto [known, fresh] = places_.emplace(var, size_);
  if (fresh) size_ += var->type.lanes;
  return known->second;
}

Tape::Tape(const Expr& expr, Frame& frame) : expr_(expr) { result_ = add(expr, frame); }

size_t Tape::add(const Expr& e, Frame& frame) {
  if (auto known = done_.find(e.get()); known != done_.end()) return known->second;
  Step step{e.get(), 0, {}, {}, 0};
  if (auto* v = as<ir::VarNode>(e)) step.variable = frame.place(v);
  int count = 0;
  ir::dispatch(*e, [&](const auto& node) {
    ir::visit_fields(node, [&]<class F>(const char*, const F& field) {
      if constexpr (std::is_same_v<F, Expr>) step.in[count++] = add(field, frame);
      if constexpr (std::is_same_v<F, std::vector<Expr>>) {
        for (const Expr& child : field) step.more.push_back(add(child, frame));
      }
    });
  });
  const size_t out = step.out = values_.size();
  values_.resize(values_.size() + e->type.lanes);
  done_.emplace(e.get(), out);
  if (as<ir::IntImm>(e) || as<ir::FloatImm>(e)) {
    execute(step, {}, {});  // once
  } else {
    steps_.push_back(std::move(step));
  }
  return out;
}

std::span<const Scalar> Tape::run(std::span<const Scalar> frame, const Load& load) {
  for (const Step& step : steps_) execute(step, frame, load);
  return {values_.data() + result_, expr_->type.lanes};
}

void Tape::execute(const Step& step, std::span<const Scalar> frame, const Load& load) {
  const ir::ExprNode& node = *step.node;
  const size_t lanes = node.type.lanes;
  Scalar* out = &values_[step.out];
  const Scalar *a = &values_[step.in[0]], *b = &values_[step.in[1]], *c = &values_[step.in[2]];
  switch (node.kind) {
    case NodeKind::Var:
      std::copy_n(&frame[step.variable], lanes, out);
      return;
    case NodeKind::IntImm:
      *out = {node.type.dtype, static_cast<const ir::IntImm&>(node).value, 0};
      return;
    case NodeKind::FloatImm:
      *out = Scalar::of_float(node.type.dtype, static_cast<const ir::FloatImm&>(node).value);
      return;
    case NodeKind::Unary: {
      const ir::UnaryOp op = static_cast<const ir::Unary&>(node).op;
      each_lane(out, lanes, [&](size_t i) { return ir::apply(op, a[i]); });
      return;
    }
    case NodeKind::Binary: {
      const ir::BinaryOp op = static_cast<const ir::Binary&>(node).op;
      if (node.type.dtype == ir::DType::index && apply_to_indices(op, a, b, out, lanes)) return;
      each_lane(out, lanes, [&](size_t i) { return ir::apply(op, a[i], b[i]); });
      return;
    }
    case NodeKind::Fma:
      each_lane(out, lanes, [&](size_t i) { return ir::apply_fma(a[i], b[i], c[i]); });
      return;
    case NodeKind::Dot: {
      const auto terms = static_cast<const ir::Dot&>(node).terms;
      each_lane(out, lanes, [&](size_t i) { return ir::apply_dot(a[i], b[i], c[i], terms); });
      return;
    }
    case NodeKind::Select:
      for (size_t i = 0; i < lanes; ++i) out[i] = a[i].truthy() ? b[i] : c[i];
      return;
    case NodeKind::Cast:
      each_lane(out, lanes, [&](size_t i) { return ir::convert(node.type.dtype, a[i]); });
      return;
    case NodeKind::Bitcast: {
      // Through memory, since the numbers of lanes may differ.
      const ir::Type from = static_cast<const ir::Bitcast&>(node).a->type;
      const auto in_size = static_cast<size_t>(ir::byte_size(from.dtype)),
                 out_size = static_cast<size_t>(ir::byte_size(node.type.dtype));
      std::vector<std::byte> bytes(in_size * from.lanes);
      for (size_t i = 0; i < from.lanes; ++i) ir::write_scalar(a[i], &bytes[i * in_size]);
      for (size_t i = 0; i < lanes; ++i) {
        out[i] = ir::read_scalar(node.type.dtype, &bytes[i * out_size]);
      }
      return;
    }
    case NodeKind::Load: {
      const auto& l = static_cast<const ir::Load&>(node);
      int64_t indices[16];
      GS_CHECK(l.indices.size() <= 16, "rank of ", l.buffer->name);
      each_lane(out, lanes, [&](size_t i) {
        for (size_t d = 0; d < l.indices.size(); ++d)
          indices[d] = values_[step.more[d] + (l.indices[d]->type.is_scalar() ? 0 : i)].i;
        return load(l, {indices, l.indices.size()}, static_cast<int>(i));
      });
      return;
    }
    case NodeKind::Ramp: {
      const int64_t stride = static_cast<const ir::Ramp&>(node).stride;
      for (size_t i = 0; i < lanes; ++i) {
        out[i] = Scalar::of_int(node.type.dtype, a->i + stride * static_cast<int64_t>(i));
      }
      return;
    }
    case NodeKind::Broadcast:
      std::fill_n(out, lanes, *a);
      return;
    case NodeKind::Lane: {
      const int64_t count = static_cast<const ir::Lane&>(node).a->type.lanes;
      *out = a[std::clamp<int64_t>(b->i, 0, count - 1)];
      return;
    }
    case NodeKind::MakeVector:
      for (size_t i = 0; i < lanes; ++i) out[i] = values_[step.more[i]];
      return;
    default:
      GS_CHECK(false, "not an expression: ", ir::name_of(node.kind));
  }
}

}  // namespace gossamer::interp
