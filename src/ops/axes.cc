#include "ops/axes.h"

#include <algorithm>

namespace gossamer::ops {

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

}  // namespace gossamer::ops
