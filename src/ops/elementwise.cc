#include "ops/elementwise.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "ir/print.h"

namespace gossamer::ops {

std::string stage_name(const Builder& b) {
  std::string name;
  bool after_lower = false;
  for (char c : b.def().name) {
    bool upper = c >= 'A' && c <= 'Z';
    if (upper && after_lower) name += '_';
    name += upper ? static_cast<char>(c - 'A' + 'a') : c;
    after_lower = c >= 'a' && c <= 'z';
  }
  return name;
}

DType accumulator(DType dtype) {
  const bool narrow = dtype == DType::f16 || dtype == DType::bf16;
  return narrow || (ir::is_small(dtype) && ir::is_float(dtype)) ? DType::f32 : dtype;
}

namespace {

// A float that is not a multiple of 0.5: the simplifier has no rule for its value.
bool is_scale(const Tensor& tensor) {
  if (tensor.rank() > 0 || !tensor.host || !ir::is_float(tensor.dtype())) return false;
  const auto known = ir::as_float(tensor.host->front());
  return known && std::trunc(2 * *known) != 2 * *known;
}

}  // namespace

Result<> elementwise(Builder& b, DType dtype,
                     const std::function<Expr(std::span<const Expr>)>& body) {
  std::vector<Tensor> tensors;
  for (int i = 0; i < b.input_count(); ++i) tensors.push_back(b.input(i));
  GS_ASSIGN(Shape shape, b.broadcast(tensors));
  // One number that a run computes times a scale reads it from memory: as literals, the scales of a
  // quantized model would make a kernel each.
  const auto is_known = [](const Tensor& tensor) { return tensor.host.has_value(); };
  const bool reads_scales = shape.empty() && !std::ranges::all_of(tensors, is_known);
  b.output(0, b.compute(stage_name(b), dtype, shape, [&](Point point) {
    std::vector<Expr> elements;
    for (const Tensor& tensor : tensors) {
      const bool reads = reads_scales && is_scale(tensor);
      elements.push_back(reads ? tensor.at(point) : b.at_broadcast(tensor, point));
    }
    return body(elements);
  }));
  return {};
}

Expr quantized(Expr scaled, Expr zero_point_f32, DType to) {
  Expr rounded = ir::round(std::move(scaled));
  if (zero_point_f32) rounded = rounded + zero_point_f32;
  // The cast saturates at the bounds of a type that f32 can hold.
  return ir::cast(to, rounded);
}

}  // namespace gossamer::ops
