#include "ops/define.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "ir/print.h"
#include "ops/linearize.h"

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

Result<> same_types(const Builder& b, int first) {
  for (int i = first + 1; i < b.input_count(); ++i) {
    if (!b.has(i) || b.input(i).dtype() == b.input(first).dtype()) continue;
    return b.error(cat("inputs have types ", ir::name_of(b.input(first).dtype()), " and ",
                       ir::name_of(b.input(i).dtype())),
                   "they must be equal; insert a Cast");
  }
  return {};
}

namespace {

std::string shape_text(const Shape& shape) {
  std::string list;
  for (const Expr& extent : shape) list += cat(list.empty() ? "" : ", ", ir::print(extent));
  return cat("[", list, "]");
}

}  // namespace

Result<> broadcasts_to(Builder& b, int input, const Shape& shape) {
  const Tensor& tensor = b.input(input);
  if (!tensor) return {};
  std::string message =
      cat("input ", b.def().inputs[static_cast<size_t>(input)].name, " is ",
          shape_text(tensor.shape()), ", which does not broadcast to ", shape_text(shape));
  if (tensor.shape().size() > shape.size()) return b.error(std::move(message));
  for (int axis = -1; axis >= -tensor.rank(); --axis) {
    const Expr &extent = tensor.dim(axis),
               &wanted = shape[shape.size() - static_cast<size_t>(-axis)];
    if (ir::is_const(extent, 1)) continue;
    GS_TRY(b.require(ir::as_int(extent) ? extent == wanted : extent == wanted || extent == 1.0,
                     message));
  }
  return {};
}

Result<> has_shape(Builder& b, int input, const Shape& shape) {
  const Tensor& tensor = b.input(input);
  if (!tensor) return {};
  Shape wanted;
  for (const Expr& extent : shape) wanted.push_back(b.simplify(extent));
  std::string message = cat("input ", b.def().inputs[static_cast<size_t>(input)].name, " is ",
                            shape_text(tensor.shape()), ", it should be ", shape_text(wanted));
  if (tensor.rank() != static_cast<int>(wanted.size())) return b.error(std::move(message));
  for (size_t i = 0; i < wanted.size(); ++i) {
    GS_TRY(b.require(tensor.shape()[i] == wanted[i], message));
  }
  return {};
}

Result<Tensor> as_list(Builder& b, int input, const Expr& count) {
  const Tensor& tensor = b.input(input);
  if (tensor.rank() == 1) {
    GS_TRY(has_shape(b, input, {count}));
    return tensor;
  }
  const Expr elements = product(tensor.shape());
  const std::string& name = b.def().inputs[static_cast<size_t>(input)].name;
  GS_TRY(b.require(elements == count, cat("input ", name, " is ", shape_text(tensor.shape()),
                                          ", it should be ", shape_text({b.simplify(count)}))));
  return b.reshape(cat(stage_name(b), ".", name), tensor, {b.simplify(count)});
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

Expr wrapped(Expr at, Expr extent) {
  if (auto known = ir::as_int(at)) return *known < 0 ? at + extent : at;
  return ir::select(at < 0, at + extent, at);
}

Expr wrapped_index(Expr stored, Expr extent) {
  Expr at = as_index(stored);
  if (ir::is_unsigned_int(stored->type.dtype)) return at;
  return wrapped(at, std::move(extent));
}

bool known_numbers(const Builder& b, int i) {
  if (!b.has(i)) return true;
  const auto& host = b.input(i).host;
  return host && std::ranges::all_of(
                     *host, [&](const Expr& e) { return ir::as_int(b.simplify(e)).has_value(); });
}

Result<std::vector<Expr>> chosen_axes(Builder& b, int i, int rank) {
  GS_ASSIGN(std::vector<Expr> named, b.elements(i));
  const auto extent = static_cast<double>(rank);
  std::vector<Expr> chosen;
  for (int axis = 0; axis < rank; ++axis) {
    Expr count = ir::index(0);
    for (const Expr& one : named) {
      Expr is = wrapped(one, ir::index(rank)) == static_cast<double>(axis);
      count = count + ir::select(is, ir::index(1), ir::index(0));
    }
    chosen.push_back(b.simplify(count > 0.0));
    GS_TRY(b.require(count <= 1.0, "an axis is given twice"));
  }
  for (const Expr& one : named) {
    GS_TRY(
        b.require(one >= -extent && one < extent, cat("an axis is out of range for rank ", rank)));
  }
  return chosen;
}

Shape others_of(const Builder& b, const Shape& extents, const std::vector<Expr>& chosen,
                size_t count) {
  Shape shape(count, ir::index(0));
  Expr before = ir::index(0);  // axes that are not chosen, up to this one
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    for (size_t k = 0; k < count && k <= axis; ++k) {
      Expr is = !chosen[axis] && before == static_cast<double>(k);
      shape[k] = shape[k] + ir::select(is, extents[axis], ir::index(0));
    }
    before = before + ir::select(chosen[axis], ir::index(0), ir::index(1));
  }
  for (Expr& extent : shape) extent = b.simplify(extent);
  return shape;
}

Result<std::vector<int>> axes_from_input(const Builder& b, int i, int rank, bool all_if_empty,
                                         bool loose) {
  std::vector<int> axes;
  if (b.has(i)) {
    GS_ASSIGN(Numbers given, b.host_ints(i));
    for (int64_t axis : given) {
      if (loose && rank == 0 && (axis == 0 || axis == -1)) continue;
      if (axis < -rank || axis >= rank) {
        return b.error(cat("axis ", axis, " is out of range for rank ", rank));
      }
      axes.push_back(static_cast<int>(axis < 0 ? axis + rank : axis));
    }
  }
  std::ranges::sort(axes);
  const auto twice = std::ranges::unique(axes);
  if (!twice.empty() && !loose) return b.error("an axis is given twice");
  axes.erase(twice.begin(), twice.end());
  if (axes.empty() && all_if_empty) {
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  return axes;
}

Expr quantized(Expr scaled, Expr zero_point_f32, DType to) {
  Expr rounded = ir::round(std::move(scaled));
  if (zero_point_f32) rounded = rounded + zero_point_f32;
  // The cast saturates at the bounds of a type that f32 can hold.
  return ir::cast(to, rounded);
}

}  // namespace gossamer::ops
