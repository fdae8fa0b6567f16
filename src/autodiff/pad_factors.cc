#include "autodiff/pad_factors.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/ranges.h"
#include "ir/rewrite.h"

namespace gossamer::autodiff {
namespace {

using ir::Expr;

constexpr int64_t most_growth = 16;  // of a copy, times the tensor

// How one index of a load becomes that of its copy.
struct Axis {
  Expr place;          // times stride, before it is divided
  int64_t stride = 1;  // elements of the copy from one of the tensor's to the next
  int64_t low = 0;     // the place of the copy's first element
  Expr extent;         // of the copy
  bool padded = false;
};

class Padding {
 public:
  Padding(ops::Builder& builder, const std::string& name, const std::vector<Expr>& guards,
          const ir::Bounds& bounds)
      : b_(builder), name_(name), guards_(guards), bounds_(bounds), covered_(guards.size()) {}

  // The factor as a load of its copy; itself where it stays inside; null where that is not known.
  Expr factor(const Expr& factor) {
    const auto* cast = ir::as<ir::Cast>(factor);
    const auto* load = ir::as<ir::Load>(cast ? cast->a : factor);
    if (!load) return {};
    std::vector<Axis> axes;
    bool padded = false;
    int64_t before = 1, after = 1;
    for (size_t d = 0; d < load->indices.size(); ++d) {
      const auto axis = axis_of(load->indices[d], load->buffer->shape[d]);
      if (!axis) return {};
      padded = padded || axis->padded;
      if (axis->padded) {
        before *= *ir::as_int(load->buffer->shape[d]);
        after *= *ir::as_int(axis->extent);
      }
      axes.push_back(*axis);
    }
    if (!padded) return factor;
    if (after > most_growth * std::max<int64_t>(before, 1)) return {};
    const Expr found = load_copy(*load, axes);
    return cast ? ir::cast(factor->type, found) : found;
  }

  bool all_covered() const {
    return std::ranges::all_of(covered_, [](bool covered) { return covered; });
  }

 private:
  Expr simplified(const Expr& e) const { return ir::simplify(e, bounds_); }

  bool cover(const Expr& condition) {
    const Expr wanted = simplified(condition);
    bool found = ir::is_const(wanted, 1);
    for (size_t i = 0; i < guards_.size(); ++i) {
      if (!ir::equal(simplified(guards_[i]), wanted)) continue;
      covered_[i] = found = true;
    }
    return found;
  }

  std::optional<Axis> axis_of(const Expr& index, const Expr& extent) {
    Axis axis{index, 1, 0, extent, false};
    const auto* quotient = ir::as<ir::Binary>(index);
    if (quotient && quotient->op == ir::BinaryOp::floordiv && ir::as_int(quotient->b) &&
        cover(ir::floormod(quotient->a, quotient->b) == ir::index(0))) {
      axis.place = quotient->a;
      axis.stride = *ir::as_int(quotient->b);
    } else if (ir::prove(index >= ir::index(0), bounds_) && ir::prove(index < extent, bounds_)) {
      return axis;
    }
    cover(index >= ir::index(0));
    cover(index < extent);
    const ir::Range range = bounds_.of(axis.place);
    if (!ir::as_int(extent) || range.low == ir::minus_infinity || range.high == ir::plus_infinity)
      return std::nullopt;
    axis.low = range.low;
    axis.extent = ir::index(range.high - range.low + 1);
    axis.padded = true;
    return axis;
  }

  Expr load_copy(const ir::Load& load, const std::vector<Axis>& axes) {
    std::vector<Expr> shape, at;
    for (const Axis& axis : axes) {
      shape.push_back(axis.extent);
      at.push_back(axis.padded ? simplified(axis.place - ir::index(axis.low)) : axis.place);
    }
    const ops::Tensor copy = b_.compute(name_, load.buffer->dtype, shape, [&](ops::Point point) {
      std::vector<Expr> from(point.begin(), point.end());
      Expr inside;
      const auto also = [&](const Expr& condition) {
        inside = inside ? inside && condition : condition;
      };
      for (size_t d = 0; d < axes.size(); ++d) {
        if (!axes[d].padded) continue;
        const Expr place = b_.simplify(point[d] + ir::index(axes[d].low));
        const int64_t stride = axes[d].stride;
        const Expr last = (load.buffer->shape[d] - ir::index(1)) * ir::index(stride);
        also(place >= ir::index(0));
        also(place <= last);
        if (stride > 1) also(ir::floormod(place, stride) == ir::index(0));
        from[d] = stride > 1 ? ir::floordiv(place, stride) : place;
      }
      return ir::select(inside, ir::load(load.buffer, from), ir::zero(load.buffer->dtype));
    });
    return copy.at(at);
  }

  ops::Builder& b_;
  const std::string& name_;
  const std::vector<Expr>& guards_;
  const ir::Bounds& bounds_;
  std::vector<bool> covered_;
};

bool is_factor_load(const Expr& factor) {
  const auto* cast = ir::as<ir::Cast>(factor);
  return (cast ? cast->a : factor)->kind == ir::NodeKind::Load;
}

}  // namespace

std::optional<Expr> padded_product(ops::Builder& builder, const std::string& name,
                                   const Expr& product, const std::vector<Expr>& guards,
                                   const ir::Bounds& bounds) {
  const auto* node = ir::as<ir::Binary>(product);
  if (!node || node->op != ir::BinaryOp::mul || !is_factor_load(node->a) ||
      !is_factor_load(node->b))
    return std::nullopt;
  const size_t stages = builder.program.size();
  Padding padding(builder, name, guards, bounds);
  const Expr a = padding.factor(node->a);
  const Expr b = a ? padding.factor(node->b) : a;
  if (b && padding.all_covered()) return a * b;
  builder.program.erase(builder.program.begin() + static_cast<std::ptrdiff_t>(stages),
                        builder.program.end());
  return std::nullopt;
}

}  // namespace gossamer::autodiff
