// Operators that look at shapes or change nothing else.
#include <algorithm>

#include "ir/print.h"
#include "ir/rewrite.h"
#include "ops/axes.h"
#include "ops/families.h"
#include "ops/reshape_index.h"

namespace gossamer::ops {
namespace {

Result<> shape_define(Builder& b) {
  const Tensor& x = b.input(0);
  int64_t rank = x.rank();
  auto clamp = [rank](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  int64_t start = clamp(b.integer("start"));
  int64_t end = b.has_attribute("end") ? clamp(b.integer("end")) : rank;
  std::vector<Expr> dims;
  for (int64_t axis = start; axis < end; ++axis) dims.push_back(x.dim(static_cast<int>(axis)));
  Expr count = ir::index(static_cast<int64_t>(dims.size()));
  b.output(0, b.host_tensor(DType::i64, {count}, std::move(dims)));
  return {};
}

Result<> size_define(Builder& b) {
  b.output(0, b.host_tensor(DType::i64, {}, {product(b.input(0).shape())}));
  return {};
}

// Extents that only a run knows may be -1 and 0 too: they are resolved, then read back.
Result<> reshape_by_data(Builder& b) {
  const Tensor &x = b.input(0), &wanted = b.input(1);
  auto count = ir::as_int(b.simplify(wanted.dim(0)));
  if (wanted.rank() != 1 || !count || *count > 16)
    return b.error("the length of `shape` must be known when compiling");
  bool allow_zero = b.integer("allowzero") != 0;
  auto extent = [&](int64_t i) {
    Expr given = as_index(wanted({ir::index(i)}));
    if (allow_zero || i >= x.rank()) return given;
    return ir::select(given == 0, x.dim(static_cast<int>(i)), given);
  };
  Expr total = product(x.shape()), rest = ir::index(1);
  for (int64_t i = 0; i < *count; ++i)
    rest = rest * ir::select(extent(i) == -1, ir::index(1), extent(i));
  Tensor resolved = b.compute("reshape.shape", DType::i64, {wanted.dim(0)}, [&](Point p) {
    Expr value = ir::index(0);
    for (int64_t i = 0; i < *count; ++i) {
      Expr here = ir::select(extent(i) == -1, ir::floordiv(total, ir::max(rest, 1.0)), extent(i));
      value = ir::select(p[0] == static_cast<double>(i), here, value);
    }
    return ir::cast(DType::i64, value);
  });
  GS_ASSIGN(Shape shape, b.read(resolved));
  GS_TRY(b.require(product(shape) == total, "the input does not fit the shape"));
  b.output(0, b.reshape("reshape", x, shape));
  return {};
}

Result<> reshape_define(Builder& b) {
  const Tensor& x = b.input(0);
  if (!b.input(1).host) return reshape_by_data(b);
  GS_ASSIGN(std::vector<Expr> wanted, b.host(1));
  bool allow_zero = b.integer("allowzero") != 0;
  Shape shape;
  int inferred = -1;
  for (size_t i = 0; i < wanted.size(); ++i) {
    Expr extent = b.simplify(wanted[i]);
    auto known = ir::as_int(extent);
    if (known && *known == -1) {
      if (inferred >= 0) return b.error("more than one extent is -1");
      inferred = static_cast<int>(i);
      extent = ir::index(1);
    } else if (known && *known == 0 && !allow_zero) {
      if (static_cast<int>(i) >= x.rank()) {
        return b.error(cat("extent ", i, " is 0 (as the input's), the input has rank ", x.rank()));
      }
      extent = x.dim(static_cast<int>(i));
    } else if (known && *known < 0) {
      return b.error(cat("extent ", i, " is ", *known));
    }
    shape.push_back(extent);
  }
  if (inferred >= 0) shape[static_cast<size_t>(inferred)] = quotient(x.shape(), shape, b.bounds);
  auto text = [&](const Shape& extents) {
    std::string list;
    for (const Expr& extent : extents)
      list += cat(list.empty() ? "" : ", ", ir::print(b.simplify(extent)));
    return "[" + list + "]";
  };
  GS_TRY(b.require(product(x.shape()) == product(shape),
                   cat("input of shape ", text(x.shape()), " does not fit shape ", text(shape))));
  b.output(0, b.reshape("reshape", x, shape));
  return {};
}

Result<> flatten(Builder& b) {
  const Tensor& x = b.input(0);
  int64_t axis = b.integer("axis");
  if (axis < -x.rank() || axis > x.rank()) {
    return b.error(cat("`axis` ", axis, " is out of range for rank ", x.rank()));
  }
  if (axis < 0) axis += x.rank();
  auto middle = x.shape().begin() + axis;
  Shape shape = {product({x.shape().begin(), middle}), product({middle, x.shape().end()})};
  b.output(0, b.reshape("flatten", x, shape));
  return {};
}

// Whether an extent has a variable that a run computes, which may be anything.
bool made_by_run(const Builder& b, const Expr& extent) {
  bool made = false;
  ir::visit(extent, [&](const Expr& e) {
    made = made || (e->kind == ir::NodeKind::Var && b.bounds.of(e).low < 0);
    return !made;
  });
  return made;
}

Result<> squeeze(Builder& b) {
  const Tensor& x = b.input(0);
  std::vector<int> axes;
  if (!known_numbers(b, 1)) {
    GS_ASSIGN(std::vector<Expr> chosen, chosen_axes(b, 1, x.rank()));
    for (size_t i = 0; i < chosen.size(); ++i) {
      GS_TRY(b.require(ir::select(chosen[i], x.shape()[i], ir::index(1)) == 1.0,
                       "an axis has another extent than 1"));
    }
    int64_t count = ir::as_int(b.input(1).rank() ? b.input(1).dim(0) : ir::index(1)).value_or(0);
    if (count > x.rank()) return b.error(cat(count, " axes are given, the rank is ", x.rank()));
    b.output(0, b.reshape("squeeze", x,
                          others_of(b, x.shape(), chosen, static_cast<size_t>(x.rank() - count))));
    return {};
  }
  if (b.has(1)) {
    GS_ASSIGN(axes, axes_from_input(b, 1, x.rank(), false, true));
    for (int axis : axes) {
      GS_TRY(
          b.require(x.dim(axis) == 1, cat("axis ", axis, " has extent ", ir::print(x.dim(axis)))));
    }
  } else {
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (ir::is_const(x.dim(axis), 1)) {
        axes.push_back(axis);
        continue;
      }
      // The rank is decided now: a dimension of an input is checked not to be 1, what a run
      // computes may well be.
      if (made_by_run(b, x.dim(axis))) {
        return b.error(cat("the extent of axis ", axis, " must be known when compiling"),
                       "say by `axes` which ones go");
      }
      GS_TRY(b.require(x.dim(axis) != 1,
                       cat("axis ", axis, " (", ir::print(x.dim(axis)),
                           ") has extent 1: without `axes`, that must be known when compiling")));
    }
  }
  Shape shape;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!std::ranges::binary_search(axes, axis)) shape.push_back(x.dim(axis));
  }
  b.output(0, b.reshape("squeeze", x, shape));
  return {};
}

Result<> unsqueeze(Builder& b) {
  const Tensor& x = b.input(0);
  GS_ASSIGN(std::vector<Expr> given, b.elements(1));
  int rank = x.rank() + static_cast<int>(given.size());
  if (!known_numbers(b, 1)) {
    GS_ASSIGN(std::vector<Expr> chosen, chosen_axes(b, 1, rank));
    Shape extents;
    Expr before = ir::index(0);
    for (const Expr& fresh : chosen) {
      Expr extent = ir::index(1);
      for (int k = 0; k < x.rank(); ++k) {
        extent = ir::select(!fresh && before == static_cast<double>(k), x.dim(k), extent);
      }
      extents.push_back(b.simplify(extent));
      before = b.simplify(before + ir::select(fresh, ir::index(0), ir::index(1)));
    }
    b.output(0, b.reshape("unsqueeze", x, extents));
    return {};
  }
  GS_ASSIGN(std::vector<int> axes, axes_from_input(b, 1, rank, false));
  Shape shape;
  int next = 0;
  for (int axis = 0; axis < rank; ++axis) {
    bool fresh = std::ranges::binary_search(axes, axis);
    shape.push_back(fresh ? ir::index(1) : x.dim(next++));
  }
  b.output(0, b.reshape("unsqueeze", x, shape));
  return {};
}

std::vector<TensorData> second(TensorData value) { return {TensorData{}, std::move(value)}; }

}  // namespace

std::vector<OpDef> shape_family() {
  TypeSet any = any_element;
  TypeSet i64 = only(DType::i64);
  return {
      {.name = "Shape",
       .doc = "The extents of the input, from axis `start` up to `end`.",
       .since = 25,
       .inputs = {{"data", any}},
       .outputs = {"shape"},
       .attributes = {{"start", 0}, {"end", {}}},
       .define = shape_define,
       .cases = [] -> Cases {
         return {
             {.name = "all", .shapes = {{3, 4, 5}}},
             {.name = "slice", .shapes = {{3, 4, 5}}, .attributes = {{"start", -2}, {"end", -1}}}};
       }},
      {.name = "Size",
       .doc = "The number of elements of the input.",
       .since = 25,
       .inputs = {{"data", any}},
       .outputs = {"size"},
       .define = size_define,
       .cases = [] -> Cases {
         return {{.name = "cube", .shapes = {{3, 4, 5}}}, {.name = "scalar", .shapes = {{}}}};
       }},
      {.name = "Reshape",
       .doc = "The same elements under another shape; 0 keeps an extent, -1 is inferred.",
       .since = 25,
       .inputs = {{"data", any}, {"shape", integer_index}},
       .outputs = {"reshaped"},
       .attributes = {{"allowzero", 0}},
       .define = reshape_define,
       .cases = [] -> Cases {
         return {
             {.name = "merge", .shapes = {{2, 3, 4}}, .inputs = second(int64s({2}, {2, 12}))},
             {.name = "regroup", .shapes = {{2, 3, 4}}, .inputs = second(int64s({2}, {4, 6}))},
             {.name = "inferred", .shapes = {{2, 3, 4}}, .inputs = second(int64s({3}, {0, -1, 2}))},
             {.name = "scalar", .shapes = {{1, 1}}, .inputs = second(int64s({0}, {}))}};
       }},
      {.name = "Flatten",
       .doc = "Merges the axes before `axis`, and those from it on.",
       .since = 25,
       .inputs = {{"input", any}},
       .outputs = {"output"},
       .attributes = {{"axis", 1}},
       .define = flatten,
       .cases = [] -> Cases {
         return {{.name = "default", .shapes = {{2, 3, 4}}},
                 {.name = "zero", .shapes = {{2, 3}}, .attributes = {{"axis", 0}}},
                 {.name = "negative", .shapes = {{2, 3, 5}}, .attributes = {{"axis", -1}}}};
       }},
      {.name = "Squeeze",
       .doc = "Removes axes of extent 1.",
       .since = 25,
       .inputs = {{"data", any}, {"axes", i64, InputDef::optional}},
       .outputs = {"squeezed"},
       .define = squeeze,
       .cases = [] -> Cases {
         return {{.name = "told by data", .shapes = {{1, 1, 1}, {1}}, .low = 0, .high = 2},
                 {.name = "one", .shapes = {{1, 3, 1, 5}}, .inputs = second(int64s({1}, {-2}))},
                 {.name = "one axis twice",
                  .shapes = {{1, 3, 1, 5}},
                  .inputs = second(int64s({2}, {0, -4}))},
                 {.name = "all", .shapes = {{1, 3, 1, 5}}}};
       }},
      {.name = "Unsqueeze",
       .doc = "Inserts axes of extent 1, at places of the result.",
       .since = 25,
       .inputs = {{"data", any}, {"axes", i64}},
       .outputs = {"expanded"},
       .define = unsqueeze,
       .cases = [] -> Cases {
         return {{.name = "told by data", .shapes = {{2, 3}, {1}}, .low = 0, .high = 2},
                 {.name = "one", .shapes = {{3, 4}}, .inputs = second(int64s({1}, {1}))},
                 {.name = "two", .shapes = {{3, 4}}, .inputs = second(int64s({2}, {-1, 0}))}};
       }},
  };
}

}  // namespace gossamer::ops
