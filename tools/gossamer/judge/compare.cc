#include "gossamer/judge/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

#include "gossamer/files/tensor_file.h"

namespace gossamer::command {
namespace {

std::string type_text(const ops::TensorData& tensor) {
  return cat(ir::name_of(tensor.dtype), shape_text(tensor.shape));
}

bool same_kind(const ops::TensorData& actual, const ops::TensorData& expected,
               Difference& difference) {
  if (actual.dtype == expected.dtype && actual.shape == expected.shape) return true;
  difference.agrees = false;
  difference.ratio = std::numeric_limits<double>::infinity();
  difference.mismatch = cat("is ", type_text(actual), ", expected ", type_text(expected));
  return false;
}

Difference compare_strings(const ops::TensorData& actual, const ops::TensorData& expected) {
  Difference difference;
  for (size_t at = 0; at < expected.strings.size(); ++at) {
    if (actual.strings[at] == expected.strings[at]) continue;
    difference.agrees = false;
    difference.ratio = std::numeric_limits<double>::infinity();
    difference.mismatch = cat("element ", at, " of ", type_text(expected), " is \"",
                              actual.strings[at], "\", expected \"", expected.strings[at], "\"");
    break;
  }
  return difference;
}

// Small floats are compared like quantised integers: by steps of their codes.
bool counts_steps(ir::DType dtype) { return ir::is_small(dtype) && ir::is_float(dtype); }

// The element as tolerances count it: its value, or its place among the type's values.
double place_of(const ops::TensorData& tensor, int64_t at) {
  const double value = element(tensor, at);
  if (!counts_steps(tensor.dtype) || !std::isfinite(value)) return value;
  const auto code = std::to_integer<int>(tensor.bytes[static_cast<size_t>(at)]);
  if (tensor.dtype == ir::DType::f8e8m0) return code;
  const int magnitude = code & ((1 << (ir::bit_width(tensor.dtype) - 1)) - 1);
  return std::signbit(value) ? -magnitude : magnitude;
}

}  // namespace

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  return text;
}

Tolerance tolerance_of(ir::DType dtype, int steps) {
  switch (dtype) {
    case ir::DType::f32:
    case ir::DType::f64:
      return {1e-5, 1e-4};
    case ir::DType::f16:
      return {1e-3, 2e-3};
    case ir::DType::bf16:
      return {1e-2, 1.6e-2};
    default:
      return {static_cast<double>(steps), 0};
  }
}

Difference compare(const ops::TensorData& actual, const ops::TensorData& expected,
                   Tolerance tolerance) {
  Difference difference;
  if (!same_kind(actual, expected, difference)) return difference;
  if (expected.dtype == ir::DType::string) return compare_strings(actual, expected);
  const int64_t count = expected.element_count();
  if (ir::is_int(expected.dtype) && tolerance.absolute == 0 && actual.bytes == expected.bytes)
    return difference;
  double scale = 0;
  for (int64_t at = 0; at < count; ++at)
    if (const double value = std::abs(element(expected, at)); std::isfinite(value))
      scale = std::max(scale, value);
  const double allowed = tolerance.absolute + tolerance.relative * scale;
  int64_t worst = -1;
  double worst_ratio = 0;
  for (int64_t at = 0; at < count; ++at) {
    const double x = place_of(actual, at), y = place_of(expected, at);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double distance = std::abs(x - y);
    const double ratio = std::isfinite(distance) && allowed > 0
                             ? distance / allowed
                             : std::numeric_limits<double>::infinity();
    if (std::isfinite(distance)) difference.largest = std::max(difference.largest, distance);
    if (worst < 0 || ratio > worst_ratio) worst = at, worst_ratio = ratio;
  }
  // 64-bit integers that differ only beyond a double's digits.
  if (worst < 0 && ir::is_int(expected.dtype) && tolerance.absolute == 0 &&
      actual.bytes != expected.bytes)
    worst = 0, worst_ratio = std::numeric_limits<double>::infinity();
  difference.ratio = worst_ratio;
  if (worst_ratio > 1) {
    difference.agrees = false;
    difference.mismatch = cat("element ", worst, " of ", type_text(expected), " is ",
                              number_text(element(actual, worst)), ", expected ",
                              number_text(element(expected, worst)), " ± ", number_text(allowed),
                              counts_steps(expected.dtype) ? " steps" : "");
  }
  return difference;
}

std::vector<int64_t> top_classes(const ops::TensorData& tensor, int count) {
  std::vector<int64_t> order(static_cast<size_t>(tensor.element_count()));
  std::iota(order.begin(), order.end(), 0);
  const auto keep = std::min(order.size(), static_cast<size_t>(std::max(count, 0)));
  const auto better = [&](int64_t a, int64_t b) {
    const double x = element(tensor, a), y = element(tensor, b);
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) < std::isnan(y) || (x == y && a < b);
    return x != y ? x > y : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(keep), order.end(),
                    better);
  order.resize(keep);
  return order;
}

Difference compare_classes(const ops::TensorData& actual, const ops::TensorData& expected,
                           int count) {
  Difference difference;
  if (!same_kind(actual, expected, difference)) return difference;
  difference.largest = compare(actual, expected, {1, 0}).largest;
  const auto got = top_classes(actual, count), wanted = top_classes(expected, count);
  for (size_t rank = 0; rank < wanted.size(); ++rank) {
    if (element(expected, got[rank]) == element(expected, wanted[rank])) continue;
    difference.agrees = false;
    difference.ratio = std::numeric_limits<double>::infinity();
    difference.mismatch =
        cat("place ", rank + 1, " is class ", got[rank], ", expected class ", wanted[rank],
            "; expected scores ", number_text(element(expected, got[rank])), " and ",
            number_text(element(expected, wanted[rank])));
    break;
  }
  return difference;
}

}  // namespace gossamer::command
