// Where an axis that is resized reads its source: coordinates and weights (ONNX, section Resize).
#pragma once

#include <string>

#include "ops/builder.h"

namespace gossamer::ops {

// A scale as a ratio of whole numbers (extents, or 2 / 1), which keeps coordinates exact; or only
// as a float.
struct Scale {
  Expr above, below;  // of type index; null where there is no small ratio
  double value = 1;   // known only without a ratio, or where the ratio is constant
  bool known = true;  // `value` is
  Expr number{};      // f32, if only the run knows it and there is no ratio

  Expr factor() const { return number ? number : ir::constant(DType::f32, value); }
};
Scale scale_of_sizes(const Expr& in, const Expr& out);
Scale scale_of_number(double value);

struct ResizedAxis {
  int axis = 0;
  Expr in, out;
  Scale scale;
  double roi_start = 0, roi_end = 1;
};

// The longest an axis may become, and the largest product of its extents: what coordinates are
// exact for.
inline constexpr int64_t longest_resized = int64_t{1} << 27;

// A source coordinate: a ratio of index expressions, after a whole number if there is one, or an
// f32 expression.
struct Coordinate {
  Expr above{}, below{};
  Expr real{};
  Expr whole{};
  Expr place{}, share{};  // the floor and the fraction where tables have them

  Expr floor() const;     // of type index
  Expr fraction() const;  // f32, coordinate - floor
  Expr as_real() const;
};

Result<Coordinate> source_coordinate(const Builder& b, const std::string& mode,
                                     const ResizedAxis& axis, Expr at);
// The nearest source element, not clamped.
Result<Expr> nearest(const Builder& b, const std::string& mode, const Coordinate& coordinate);

}  // namespace gossamer::ops
