// Tensors made from nothing but shapes and numbers.
#include <cmath>

#include "ir/scalar.h"
#include "ops/axes.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

Result<> constant(Builder& b) {
  auto count_of = [](const auto& values) { return static_cast<int64_t>(values.size()); };
  if (const TensorData* value = b.tensor("value")) {
    b.output(0, b.constant(*value));
  } else if (b.has_attribute("value_float")) {
    b.output(0, b.constant(floats({}, {static_cast<float>(b.number("value_float"))})));
  } else if (b.has_attribute("value_int")) {
    b.output(0, b.constant(int64s({}, {b.integer("value_int")})));
  } else if (b.has_attribute("value_ints")) {
    Numbers values = b.integers("value_ints");
    b.output(0, b.constant(int64s({count_of(values)}, values)));
  } else if (b.has_attribute("value_floats")) {
    std::vector<double> values = b.numbers("value_floats");
    b.output(0, b.constant(floats({count_of(values)}, {values.begin(), values.end()})));
  } else if (b.has_attribute("value_string")) {
    b.output(0, b.constant(strings({}, {b.text("value_string")})));
  } else if (b.has_attribute("value_strings")) {
    std::vector<std::string> values = b.texts("value_strings");
    const int64_t count = count_of(values);
    b.output(0, b.constant(strings({count}, std::move(values))));
  } else {
    return b.error("sparse tensors are not supported as constants", "export it dense");
  }
  return {};
}

Result<> constant_of_shape(Builder& b) {
  GS_ASSIGN(Shape shape, b.elements(0));
  for (const Expr& extent : shape) GS_TRY(b.require(extent >= 0.0, "an extent is negative"));
  const TensorData* value = b.tensor("value");
  DType dtype = value ? value->dtype : DType::f32;
  Expr fill = ir::zero(dtype);
  if (value && value->element_count() != 1) return b.error("`value` must have one element");
  if (dtype == DType::string) {
    const Tensor text = b.constant(strings({}, value->strings));
    fill = text.at({});
  } else if (value) {
    ir::Scalar scalar = ir::read_scalar(dtype, value->bytes.data());
    fill = ir::is_float(dtype) ? ir::constant(dtype, scalar.f) : ir::constant_int(dtype, scalar.i);
  }
  b.output(0, b.compute("constant_of_shape", dtype, shape, [&](Point) { return fill; }));
  return {};
}

// What half types are computed in.
Result<DType> range_precision(Builder& b) {
  DType dtype = b.input(0).dtype();
  if (accumulator(dtype) == dtype) return dtype;
  auto given = dtype_of_onnx(b.integer("stash_type"));
  if (!given || !ir::is_float(*given))
    return b.error(cat("`stash_type` ", b.integer("stash_type"), " is no float"));
  return *given;
}

// Bounds that are data: the count is computed and read back.
Result<> range_of_data(Builder& b, DType stash) {
  DType dtype = b.input(0).dtype();
  auto number = [&](int i) {
    const Tensor& tensor = b.input(i);
    return b.at_broadcast(tensor,
                          std::vector<Expr>(static_cast<size_t>(tensor.rank()), ir::index(0)));
  };
  DType wide = ir::is_float(dtype) ? stash : DType::i64;
  auto size = [&](Point) {
    Expr step = ir::cast(wide, number(2)), from = ir::cast(wide, number(0)),
         to = ir::cast(wide, number(1));
    if (ir::is_float(wide)) {
      Expr steps = ir::max(ir::ceil((to - from) / step), 0.0);
      return ir::cast(DType::i64, ir::select(step == 0.0, ir::zero(wide), steps));
    }
    // Both as if upwards, the span rounded up to whole steps. One that wraps is too long for any
    // tensor.
    const Expr zero = ir::zero(wide), one = ir::constant_int(wide, 1);
    Expr down = step < zero, along = ir::select(down, -step, ir::max(step, one));
    Expr begin = ir::select(down, to, from), end = ir::select(down, from, to);
    Expr span = end - begin;
    Expr steps = ir::select(span <= zero, ir::highest(wide), ir::floordiv(span - one, along) + one);
    return ir::select(step == zero || end <= begin, zero, steps);
  };
  GS_ASSIGN(std::vector<Expr> count, b.read(b.compute("range.count", DType::i64, {}, size)));
  b.output(0, b.compute("range", dtype, {count[0]}, [&](Point p) {
    DType sum = ir::is_float(dtype) ? wide : dtype;
    Expr value = ir::cast(sum, number(0)) + ir::cast(sum, p[0]) * ir::cast(sum, number(2));
    return ir::cast(dtype, value);
  }));
  return {};
}

// Integers that are extents or computed from some, also the step.
Result<> range_of_extents(Builder& b) {
  const DType dtype = b.input(0).dtype();
  const Expr start = (*b.input(0).host)[0], limit = (*b.input(1).host)[0],
             step = (*b.input(2).host)[0];
  const Expr down = step < 0.0, zero = ir::index(0);
  const Expr along = ir::max(ir::select(down, zero - step, step), 1.0);
  const Expr span = ir::select(down, start - limit, limit - start);
  const Expr count = ir::max(ir::floordiv(span + along - 1.0, along), 0.0);
  const Shape shape = {b.simplify(ir::select(step == 0.0, zero, count))};
  b.output(0, b.compute("range", dtype, shape, [&](Point point) {
    return ir::cast(dtype, start) + ir::cast(dtype, point[0]) * ir::cast(dtype, step);
  }));
  return {};
}

Result<> range(Builder& b) {
  GS_TRY(same_types(b));
  DType dtype = b.input(0).dtype();
  GS_ASSIGN(DType stash, range_precision(b));
  const auto is_single = [&](int i) {
    return b.input(i).host && b.input(i).host->size() == 1 && ir::is_int(dtype);
  };
  if (is_single(0) && is_single(1) && is_single(2) && !known_numbers(b, 2))
    return range_of_extents(b);
  for (int i : {0, 1, 2}) {
    auto known = b.input(i).host;
    // The step's sign decides the count; floats have no host arithmetic.
    bool number = known && known->size() == 1 && ir::as_float((*known)[0]);
    if (!known || ((i == 2 || ir::is_float(dtype)) && !number)) return range_of_data(b, stash);
  }
  GS_ASSIGN(std::vector<Expr> start, b.host(0));
  GS_ASSIGN(std::vector<Expr> limit, b.host(1));
  GS_ASSIGN(std::vector<Expr> delta, b.host(2));
  if (start.size() != 1 || limit.size() != 1 || delta.size() != 1)
    return b.error("inputs must be scalars");
  Expr count;
  auto step = ir::as_float(delta[0]);
  if (!step) return b.error("delta must be known when compiling");
  if (*step == 0) return b.error("delta is 0");
  if (ir::is_float(dtype)) {
    auto from = ir::as_float(start[0]), to = ir::as_float(limit[0]);
    if (!from || !to) return b.error("start and limit must be known when compiling");
    count = ir::index(std::max<int64_t>(0, static_cast<int64_t>(std::ceil((*to - *from) / *step))));
  } else {
    int64_t size = static_cast<int64_t>(*step);
    Expr span = size > 0 ? limit[0] - start[0] : start[0] - limit[0];
    int64_t magnitude = size > 0 ? size : -size;
    count = b.simplify(
        ir::max(ir::floordiv(span + static_cast<double>(magnitude - 1), magnitude), 0.0));
  }
  b.output(0, b.compute("range", dtype, {count}, [&](Point point) {
    DType wide = ir::is_float(dtype) ? stash : dtype;
    return ir::cast(dtype, ir::cast(wide, start[0]) + ir::cast(wide, point[0]) * *step);
  }));
  return {};
}

Result<> eye_like(Builder& b) {
  const Tensor& x = b.input(0);
  if (x.rank() != 2) return b.error(cat("input has rank ", x.rank()), "it must be a matrix");
  DType dtype = x.dtype();
  if (b.has_attribute("dtype")) {
    auto asked = dtype_of_onnx(b.integer("dtype"));
    if (!asked || *asked == DType::string) return b.error("`dtype` is not a known type code");
    dtype = *asked;
  }
  double k = static_cast<double>(b.integer("k"));
  b.output(0, b.compute("eye_like", dtype, x.shape(),
                        [&](Point p) { return ir::cast(dtype, p[1] == p[0] + k); }));
  return {};
}

Result<> one_hot(Builder& b) {
  const Tensor &indices = b.input(0), &values = b.input(2);
  std::vector<Expr> depth_value;
  if (const Tensor& given = b.input(1); ir::is_float(given.dtype()) && !given.host) {
    GS_ASSIGN(depth_value,
              b.read(b.compute("one_hot.depth", DType::i64, given.shape(),
                               [&](Point p) { return ir::cast(DType::i64, given.at(p)); })));
  } else {
    GS_ASSIGN(depth_value, b.elements(1));
  }
  if (depth_value.size() != 1) return b.error("depth must be one number");
  GS_TRY(has_shape(b, 2, {ir::index(2)}));
  Expr depth =
      depth_value[0]->type.dtype == DType::index ? depth_value[0] : as_index(depth_value[0]);
  GS_ASSIGN(int axis, b.axis("axis", indices.rank() + 1));
  Shape shape = indices.shape();
  shape.insert(shape.begin() + axis, depth);
  b.output(0, b.compute("one_hot", values.dtype(), shape, [&](Point point) {
    std::vector<Expr> at(point.begin(), point.end());
    at.erase(at.begin() + axis);
    Expr hot = point[static_cast<size_t>(axis)] == wrapped_index(indices.at(at), depth);
    return ir::select(hot, values({ir::index(1)}), values({ir::index(0)}));
  }));
  return {};
}

Result<> trilu(Builder& b) {
  const Tensor& x = b.input(0);
  if (x.rank() < 2)
    return b.error(cat("input has rank ", x.rank()), "it must have two axes or more");
  bool upper = b.integer("upper") != 0;
  Expr k = ir::index(0);
  if (b.has(1)) {
    std::vector<Expr> origin(static_cast<size_t>(b.input(1).rank()), ir::index(0));
    k = as_index(b.at_broadcast(b.input(1), origin));
  }
  size_t rank = static_cast<size_t>(x.rank());
  b.output(0, b.compute("trilu", x.dtype(), x.shape(), [&](Point p) {
    Expr edge = p[rank - 2] + k;
    Expr kept = upper ? p[rank - 1] >= edge : p[rank - 1] <= edge;
    return ir::select(kept, x.at(p), ir::zero(x.dtype()));
  }));
  return {};
}

}  // namespace

std::vector<OpDef> create_family() {
  TypeSet i64 = only(DType::i64);
  return {
      {.name = "Constant",
       .doc = "A constant tensor.",
       .since = 25,
       .inputs = {},
       .outputs = {"output"},
       .attributes = {{"value", {}},
                      {"value_float", {}},
                      {"value_floats", {}},
                      {"value_int", {}},
                      {"value_ints", {}},
                      {"value_string", {}},
                      {"value_strings", {}},
                      {"sparse_value", {}}},
       .define = constant,
       .cases = [] -> Cases {
         return {{.name = "tensor", .attributes = {{"value", floats({2, 2}, {1, 2, 3, 4})}}},
                 {.name = "number", .attributes = {{"value_float", 0.5}}},
                 {.name = "strings",
                  .attributes = {{"value_strings", std::vector<std::string>{"a", "bcd"}}}},
                 {.name = "integers", .attributes = {{"value_ints", Numbers{1, 2, 3}}}}};
       }},
      {.name = "ConstantOfShape",
       .doc = "A tensor of one value everywhere.",
       .since = 25,
       .inputs = {{"input", i64}},
       .outputs = {"output"},
       .attributes = {{"value", {}}},
       .define = constant_of_shape,
       .cases = [] -> Cases {
         return {{.name = "zeros", .inputs = {int64s({2}, {3, 5})}},
                 {.name = "told by data", .shapes = {{3}}, .low = 0, .high = 4},
                 {.name = "strings",
                  .attributes = {{"value", strings({1}, {"ab"})}},
                  .inputs = {int64s({2}, {2, 3})}},
                 {.name = "ones",
                  .attributes = {{"value", int64s({1}, {1})}},
                  .inputs = {int64s({3}, {2, 1, 4})}}};
       }},
      {.name = "Range",
       .doc = "start, start + delta, ... before limit.",
       .since = 27,
       .inputs = {{"start", any_number}, {"limit", any_number}, {"delta", any_number}},
       .outputs = {"output"},
       .attributes = {{"stash_type", 1}},
       .define = range,
       .cases = [] -> Cases {
         return {
             {.name = "integers", .inputs = {int64s({}, {1}), int64s({}, {9}), int64s({}, {3})}},
             {.name = "down", .inputs = {int32s({}, {10}), int32s({}, {4}), int32s({}, {-2})}},
             {.name = "floats", .inputs = {floats({}, {1}), floats({}, {5}), floats({}, {0.75f})}}};
       }},
      {.name = "EyeLike",
       .doc = "1 on a diagonal of a matrix shaped as the input, 0 elsewhere.",
       .since = 22,
       .inputs = {{"input", any_type}},
       .outputs = {"output"},
       .attributes = {{"dtype", {}}, {"k", 0}},
       .define = eye_like,
       .cases = [] -> Cases {
         return {{.name = "square", .shapes = {{4, 4}}},
                 {.name = "above", .shapes = {{3, 5}}, .attributes = {{"k", 1}, {"dtype", 6}}}};
       }},
      {.name = "OneHot",
       .doc = "values[1] where the new axis equals the index, values[0] elsewhere.",
       .since = 28,
       .inputs = {{"indices", any_number}, {"depth", any_number}, {"values", any_element}},
       .outputs = {"output"},
       .attributes = {{"axis", -1}},
       .define = one_hot,
       .cases = [] -> Cases {
         return {
             {.name = "strings",
              .inputs = {int64s({2}, {0, 2}), int64s({}, {3}), strings({2}, {"off", "on"})}},
             {.name = "last",
              .inputs = {int64s({3}, {0, -1, 3}), int64s({}, {4}), floats({2}, {0, 1})}},
             {.name = "first",
              .attributes = {{"axis", 0}},
              .inputs = {int64s({2, 2}, {1, 2, 0, 1}), int64s({1}, {3}), floats({2}, {-1, 5})}}};
       }},
      {.name = "Trilu",
       .doc = "The upper or lower triangle, 0 elsewhere.",
       .since = 14,
       .inputs = {{"input", any_element}, {"k", i64, InputDef::optional}},
       .outputs = {"output"},
       .attributes = {{"upper", 1}},
       .define = trilu,
       .cases = [] -> Cases {
         return {{.name = "upper", .shapes = {{4, 5}}},
                 {.name = "strings", .shapes = {{3, 3}}, .dtype = DType::string},
                 {.name = "lower",
                  .shapes = {{2, 3, 3}},
                  .attributes = {{"upper", 0}},
                  .inputs = {{}, int64s({}, {-1})}}};
       }},
  };
}

}  // namespace gossamer::ops
