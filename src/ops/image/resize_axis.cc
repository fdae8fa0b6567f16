#include "ops/image/resize_axis.h"

#include <cmath>

#include "ops/mul_div.h"

namespace gossamer::ops {
namespace {

Expr real(const Expr& e) { return ir::cast(DType::f32, e); }

// (x * y + plus) / below, where x goes along an axis that becomes `out` long.
Coordinate ratio(const Builder& b, const Expr& x, const Expr& y, const Expr& plus, Expr below,
                 const Expr& out) {
  const Expr step = b.simplify(y);
  below = b.simplify(below);
  const auto extent = ir::as_int(out), factor = ir::as_int(step), divisor = ir::as_int(below);
  const bool fits =
      extent && factor && divisor && (2 * *extent + 1) * *factor + *divisor < (int64_t{1} << 31);
  if (fits || ir::is_const(step, 1)) return {.above = b.simplify(x * step + plus), .below = below};
  const Quotient quotient = quotient_of_product(b, x, step, plus, below);
  return {.above = quotient.rest, .below = below, .whole = quotient.whole};
}

Expr after(const Expr& whole, Expr rest) { return whole ? whole + rest : rest; }

}  // namespace

Scale scale_of_sizes(const Expr& in, const Expr& out) {
  auto a = ir::as_int(out), b = ir::as_int(in);
  bool known = a && b && *b != 0;
  return {out, in, known ? static_cast<double>(*a) / static_cast<double>(*b) : 1, known, {}};
}

Scale scale_of_number(double value) {
  for (int64_t below = 1; below <= 1024; ++below) {
    double above = std::round(value * static_cast<double>(below));
    if (above < 1) continue;
    if (above > 0x1p26) break;
    // Within what the f32 that was written can tell apart.
    if (std::fabs(above / static_cast<double>(below) - value) <= value * 6e-8) {
      return {ir::index(static_cast<int64_t>(above)), ir::index(below), value, true, {}};
    }
  }
  return {{}, {}, value, true, {}};
}

Expr Coordinate::floor() const {
  if (place) return place;
  if (above) return after(whole, ir::floordiv(above, below));
  return as_index(ir::floor(real));
}
Expr Coordinate::fraction() const {
  if (share) return share;
  if (above) {
    return ir::cast(DType::f32, ir::floormod(above, below)) / ir::cast(DType::f32, below);
  }
  return real - ir::floor(real);
}
Expr Coordinate::as_real() const {
  if (real) return real;
  const Expr rest = ir::cast(DType::f32, above) / ir::cast(DType::f32, below);
  return whole ? ops::real(whole) + rest : rest;
}

Result<Coordinate> source_coordinate(const Builder& b, const std::string& mode,
                                     const ResizedAxis& axis, Expr at) {
  const Scale& scale = axis.scale;
  const Expr &p = scale.above, &q = scale.below;
  const bool single = ir::is_const(axis.out, 1);
  if (mode == "align_corners") {
    return ratio(b, at, axis.in - 1, ir::index(0), ir::max(axis.out - 1, 1.0), axis.out);
  }
  if (mode == "asymmetric") {
    if (p) return ratio(b, at, q, ir::index(0), p, axis.out);
    return Coordinate{.real = real(at) / scale.factor()};
  }
  if (mode == "pytorch_half_pixel" && single) {
    return Coordinate{.real = ir::constant(DType::f32, -0.5)};
  }
  if (mode == "half_pixel" || mode == "pytorch_half_pixel") {
    // The only element of an axis is at -0.5 in PyTorch, whatever the scale.
    const bool may_be_single = mode == "pytorch_half_pixel" && !ir::as_int(axis.out);
    const auto where_several = [&](const Expr& e) {
      return may_be_single ? ir::select(axis.out == 1.0, ir::zero(e->type.dtype), e) : e;
    };
    if (p) return ratio(b, at * 2.0 + 1, where_several(q), ir::index(0) - p, p * 2.0, axis.out);
    return Coordinate{.real = where_several((real(at) + 0.5) / scale.factor()) - 0.5};
  }
  if (mode == "tf_half_pixel_for_nn") {  // up to opset 17; TensorFlow's nearest, with `floor`
    if (p) return ratio(b, at * 2.0 + 1, q, ir::index(0), p * 2.0, axis.out);
    return Coordinate{.real = (real(at) + 0.5) / scale.factor()};
  }
  if (mode == "half_pixel_symmetric") {
    // The window of the output is centred on the input where the extent was rounded down.
    if (p) {
      return ratio(b, at * 2.0 + 1, q, axis.in * p - axis.out * q - p, p * 2.0, axis.out);
    }
    Expr exact = real(axis.in) * scale.factor();
    Expr offset = (real(axis.in) * 0.5) * (1.0 - real(axis.out) / exact);
    return Coordinate{.real = offset + (real(at) + 0.5) / scale.factor() - 0.5};
  }
  if (mode == "tf_crop_and_resize") {
    Expr last = real(axis.in - 1);
    double start = axis.roi_start, end = axis.roi_end;
    if (single) return Coordinate{.real = last * (0.5 * (start + end))};
    return Coordinate{.real = last * start + real(at) * (end - start) * last / real(axis.out - 1)};
  }
  return b.error(cat("`coordinate_transformation_mode` \"", mode, "\" is not known"));
}

Result<Expr> nearest(const Builder& b, const std::string& mode, const Coordinate& c) {
  bool exact = static_cast<bool>(c.above);
  if (mode == "floor") return c.floor();
  if (mode == "ceil") {
    return exact ? after(c.whole, ir::index(0) - ir::floordiv(ir::index(0) - c.above, c.below))
                 : as_index(ir::ceil(c.real));
  }
  if (mode == "round_prefer_floor") {
    if (exact) {
      return after(c.whole, ir::index(0) - ir::floordiv(c.below - c.above * 2.0, c.below * 2.0));
    }
    return as_index(ir::ceil(c.real - 0.5));
  }
  if (mode == "round_prefer_ceil") {
    if (exact) return after(c.whole, ir::floordiv(c.above * 2.0 + c.below, c.below * 2.0));
    return as_index(ir::floor(c.real + 0.5));
  }
  return b.error(cat("`nearest_mode` \"", mode, "\" is not known"));
}

}  // namespace gossamer::ops
