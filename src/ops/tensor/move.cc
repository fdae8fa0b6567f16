// Operators that copy elements to other places: transpose, join, cut, repeat.
#include <algorithm>

#include "ir/print.h"
#include "ops/axes.h"
#include "ops/families.h"
#include "ops/reshape_index.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

Result<> transpose(Builder& b) {
  const Tensor& x = b.input(0);
  size_t rank = static_cast<size_t>(x.rank());
  Numbers perm = b.integers("perm");
  if (perm.empty()) {
    for (size_t i = rank; i-- > 0;) perm.push_back(static_cast<int64_t>(i));
  }
  Numbers sorted = perm;
  std::ranges::sort(sorted);
  bool valid = sorted.size() == rank;
  for (size_t i = 0; valid && i < rank; ++i) valid = sorted[i] == static_cast<int64_t>(i);
  if (!valid) return b.error(cat("`perm` is not an order of ", rank, " axes"));
  Shape shape;
  for (int64_t axis : perm) shape.push_back(x.dim(static_cast<int>(axis)));
  b.output(0, b.compute("transpose", x.dtype(), shape, [&](Point point) {
    std::vector<Expr> at(rank);
    for (size_t i = 0; i < rank; ++i) at[static_cast<size_t>(perm[i])] = point[i];
    return x.at(at);
  }));
  return {};
}

// Joins a few tensors in one stage.
Tensor join(Builder& b, std::span<const Tensor> parts, int axis) {
  size_t at_axis = static_cast<size_t>(axis);
  Shape shape = parts[0].shape();
  std::vector<Expr> begins;
  Expr end = ir::index(0);
  for (const Tensor& part : parts) {
    begins.push_back(end);
    end = b.simplify(end + part.dim(axis));
  }
  shape[at_axis] = end;
  return b.compute("concat", parts[0].dtype(), shape, [&](Point point) {
    Expr value;
    for (size_t i = parts.size(); i-- > 0;) {
      std::vector<Expr> at(point.begin(), point.end());
      at[at_axis] = b.simplify(at[at_axis] - begins[i]);
      Expr load = parts[i].at(at);
      value = value ? ir::select(point[at_axis] < begins[i + 1], load, value) : load;
    }
    return value;
  });
}

Result<> concat(Builder& b) {
  GS_TRY(same_types(b));
  GS_ASSIGN(int axis, b.axis("axis", b.input(0).rank()));
  std::vector<Tensor> parts;
  // What adds nothing is not asked for its other extents, as ONNX Runtime does not.
  int first = 0;
  while (first + 1 < b.input_count() && b.input(first).rank() == b.input(0).rank() &&
         ir::is_const(b.input(first).dim(axis), 0))
    ++first;
  for (int i = 0; i < b.input_count(); ++i) {
    const Tensor& part = b.input(i);
    if (part.rank() != b.input(0).rank()) {
      return b.error(
          cat("inputs 0 and ", i, " have ranks ", b.input(0).rank(), " and ", part.rank()));
    }
    if (ir::is_const(part.dim(axis), 0)) continue;
    for (int k = 0; k < part.rank(); ++k) {
      if (k == axis) continue;
      GS_TRY(b.require(
          part.dim(k) == b.input(first).dim(k),
          cat("inputs ", first, " and ", i, " have extents ", ir::print(b.input(first).dim(k)),
              " and ", ir::print(part.dim(k)), " on axis ", k)));
    }
    parts.push_back(part);
  }
  if (parts.empty()) parts.push_back(b.input(first));
  // A kernel can bind few buffers: many parts are joined in groups.
  constexpr size_t group = 7;
  while (parts.size() > 1) {
    std::vector<Tensor> joined;
    for (size_t i = 0; i < parts.size(); i += group) {
      std::span some = std::span(parts).subspan(i, std::min(group, parts.size() - i));
      joined.push_back(some.size() == 1 ? some[0] : join(b, some, axis));
    }
    parts = std::move(joined);
  }
  b.output(0, parts[0]);
  return {};
}

// x from `begin` on along an axis, with another extent there.
Tensor cut(Builder& b, std::string name, const Tensor& x, int axis, Expr begin, Expr extent) {
  Shape shape = x.shape();
  shape[static_cast<size_t>(axis)] = std::move(extent);
  return b.compute(std::move(name), x.dtype(), shape, [&](Point point) {
    std::vector<Expr> at(point.begin(), point.end());
    Expr& moved = at[static_cast<size_t>(axis)];
    moved = b.simplify(moved + begin);
    return x.at(at);
  });
}

Result<> split(Builder& b) {
  const Tensor& x = b.input(0);
  GS_ASSIGN(int axis, b.axis("axis", x.rank()));
  std::vector<Expr> sizes;
  if (b.has(1)) {
    if (b.has_attribute("num_outputs"))
      return b.error("both `split` and `num_outputs` are given", "give one of them");
    GS_ASSIGN(sizes, b.elements(1));
  } else {
    int64_t count = b.has_attribute("num_outputs") ? b.integer("num_outputs") : b.output_count();
    if (count < 1) return b.error("`num_outputs` must be positive");
    // Equal parts, the last one smaller where it does not come out even.
    Expr part = b.simplify(ir::floordiv(x.dim(axis) + static_cast<double>(count - 1), count));
    sizes.assign(static_cast<size_t>(count), part);
    sizes.back() = b.simplify(x.dim(axis) - part * static_cast<double>(count - 1));
  }
  if (static_cast<int>(sizes.size()) != b.output_count()) {
    return b.error(cat("there are ", sizes.size(), " parts for ", b.output_count(), " outputs"));
  }
  Expr begin = ir::index(0);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (b.wants(static_cast<int>(i))) {
      b.output(static_cast<int>(i), cut(b, "split", x, axis, begin, sizes[i]));
    }
    begin = b.simplify(begin + sizes[i]);
  }
  return b.require(begin == x.dim(axis), cat("the parts add up to ", ir::print(begin),
                                             ", the axis has ", ir::print(x.dim(axis))));
}

// A bound of a slice: negative ones count from the end; kept within [low, high].
Expr slice_bound(const Builder& b, Expr bound, const Expr& extent, Expr low, Expr high) {
  if (auto known = ir::as_int(bound)) {
    // "To the end" is written as a huge number.
    if (*known > (int64_t{1} << 30)) return high;
    if (*known < -(int64_t{1} << 30)) return low;
  }
  return b.simplify(ir::min(ir::max(wrapped(bound, extent), low), high));
}

// Axes or steps that only a run knows: each axis looks for what is said of it.
Result<> slice_by_data(Builder& b) {
  const Tensor& x = b.input(0);
  GS_ASSIGN(std::vector<Expr> starts, b.elements(1));
  GS_ASSIGN(std::vector<Expr> ends, b.elements(2));
  std::vector<Expr> axes, steps(starts.size(), ir::index(1));
  for (size_t i = 0; i < starts.size(); ++i) axes.push_back(ir::index(static_cast<int64_t>(i)));
  if (b.has(3)) {
    GS_ASSIGN(axes, b.elements(3));
    GS_TRY(chosen_axes(b, 3, x.rank()));  // in range, none twice
  }
  if (b.has(4)) {
    GS_ASSIGN(steps, b.elements(4));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    return b.error("starts, ends, axes and steps differ in length");
  }
  for (const Expr& step : steps) GS_TRY(b.require(step != 0.0, "a step is 0"));
  Shape shape = x.shape();
  std::vector<Expr> begins(shape.size(), ir::index(0)), strides(shape.size(), ir::index(1));
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const Expr extent = x.shape()[axis];
    for (size_t i = 0; i < starts.size(); ++i) {
      Expr here = wrapped(axes[i], ir::index(x.rank())) == static_cast<double>(axis);
      Expr up = steps[i] > 0.0;
      Expr low = b.simplify(ir::select(up, ir::index(0), ir::index(-1)));
      Expr high = b.simplify(ir::select(up, extent, extent - 1.0));
      Expr begin = slice_bound(b, starts[i], extent, low, high),
           end = slice_bound(b, ends[i], extent, low, high);
      Expr span = ir::select(up, end - begin, begin - end);
      Expr size = ir::max(ir::select(up, steps[i], ir::index(0) - steps[i]), 1.0);
      Expr count = ir::max(ir::floordiv(span + size - 1.0, size), 0.0);
      begins[axis] = b.simplify(ir::select(here, begin, begins[axis]));
      strides[axis] = b.simplify(ir::select(here, steps[i], strides[axis]));
      shape[axis] = b.simplify(ir::select(here, count, shape[axis]));
    }
  }
  b.output(0, b.compute("slice", x.dtype(), shape, [&](Point point) {
    std::vector<Expr> at;
    for (size_t i = 0; i < point.size(); ++i)
      at.push_back(b.simplify(begins[i] + point[i] * strides[i]));
    return x.at(at);
  }));
  return {};
}

Result<> slice(Builder& b) {
  const Tensor& x = b.input(0);
  if (!known_numbers(b, 3) || !known_numbers(b, 4)) return slice_by_data(b);
  GS_ASSIGN(std::vector<Expr> starts, b.elements(1));
  GS_ASSIGN(std::vector<Expr> ends, b.elements(2));
  Numbers axes, steps(starts.size(), 1);
  for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (b.has(3)) {
    GS_ASSIGN(axes, b.host_ints(3));
  }
  if (b.has(4)) {
    GS_ASSIGN(steps, b.host_ints(4));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    return b.error("starts, ends, axes and steps differ in length");
  }
  Shape shape = x.shape();
  std::vector<Expr> begins(shape.size(), ir::index(0));
  Numbers strides(shape.size(), 1);
  for (size_t i = 0; i < starts.size(); ++i) {
    if (axes[i] < -x.rank() || axes[i] >= x.rank()) {
      return b.error(cat("axis ", axes[i], " is out of range for rank ", x.rank()));
    }
    size_t axis = static_cast<size_t>(axes[i] < 0 ? axes[i] + x.rank() : axes[i]);
    const Expr& extent = x.shape()[axis];
    int64_t step = steps[i];
    if (step == 0) return b.error("a step is 0");
    Expr zero = ir::index(0), before = ir::index(-1), last = extent - 1;
    Expr begin, count;
    if (step > 0) {
      begin = slice_bound(b, starts[i], extent, zero, extent);
      Expr end = slice_bound(b, ends[i], extent, zero, extent);
      count = ir::floordiv(end - begin + static_cast<double>(step - 1), step);
      // x[i:i+1], where only the run knows i, is known to be one element at most.
      if (b.same(ends[i] - starts[i], ir::index(1))) count = ir::min(count, ir::index(1));
    } else {
      begin = slice_bound(b, starts[i], extent, before, last);
      Expr end = slice_bound(b, ends[i], extent, before, last);
      count = ir::floordiv(begin - end - static_cast<double>(step + 1), -step);
    }
    begins[axis] = begin;
    strides[axis] = step;
    shape[axis] = b.simplify(ir::max(b.simplify(count), 0.0));
  }
  b.output(0, b.compute("slice", x.dtype(), shape, [&](Point point) {
    std::vector<Expr> at;
    for (size_t i = 0; i < point.size(); ++i) {
      at.push_back(b.simplify(begins[i] + point[i] * static_cast<double>(strides[i])));
    }
    return x.at(at);
  }));
  return {};
}

// Extents that only a run knows may be 1 in either shape, also where the other one is not a
// dimension of an input, which Builder::broadcast assumes.
Result<Shape> expanded_by_data(Builder& b, Shape shape) {
  const Tensor& x = b.input(0);
  const size_t rank = static_cast<size_t>(x.rank());
  if (shape.size() < rank) shape.insert(shape.begin(), rank - shape.size(), ir::index(1));
  const size_t shift = shape.size() - rank;
  for (size_t i = shift; i < shape.size(); ++i) {
    const Expr &extent = x.shape()[i - shift], other = shape[i];
    if (ir::is_const(extent, 1)) continue;
    GS_TRY(b.require(extent == 1 || other == 1 || extent == other,
                     "the input does not broadcast to the shape"));
    shape[i] = b.simplify(ir::select(other == 1, extent, other));
  }
  return shape;
}

Result<> expand(Builder& b) {
  const Tensor& x = b.input(0);
  const bool from_data = !b.input(1).host;
  GS_ASSIGN(const Shape wanted, b.elements(1));
  GS_ASSIGN(const Shape shape,
            from_data ? expanded_by_data(b, wanted) : b.broadcast(x.shape(), wanted));
  b.output(0, b.compute("expand", x.dtype(), shape,
                        [&](Point point) { return b.at_broadcast(x, point); }));
  return {};
}

Result<> tile(Builder& b) {
  const Tensor& x = b.input(0);
  GS_ASSIGN(std::vector<Expr> repeats, b.elements(1));
  if (static_cast<int>(repeats.size()) != x.rank()) {
    return b.error(cat("there are ", repeats.size(), " repeats for rank ", x.rank()));
  }
  Shape shape;
  for (size_t i = 0; i < repeats.size(); ++i) shape.push_back(x.shape()[i] * repeats[i]);
  b.output(0, b.compute("tile", x.dtype(), shape, [&](Point point) {
    std::vector<Expr> at(point.begin(), point.end());
    for (size_t i = 0; i < at.size(); ++i) {
      if (!ir::is_const(repeats[i], 1)) at[i] = ir::floormod(at[i], x.shape()[i]);
      if (ir::is_const(x.shape()[i], 1)) at[i] = ir::index(0);
    }
    return x.at(at);
  }));
  return {};
}

Result<> depth_to_space(Builder& b) {
  const Tensor& x = b.input(0);
  int64_t block = b.integer("blocksize");
  if (x.rank() != 4 || block < 1)
    return b.error("the input must have rank 4, `blocksize` be positive");
  GS_TRY(
      b.require(ir::floormod(x.dim(1), block * block) == 0, "channels do not divide into blocks"));
  bool columns = b.text("mode") == "CRD";
  Expr channels = b.simplify(ir::floordiv(x.dim(1), block * block));
  Expr size = ir::index(block);
  b.output(0, b.compute("depth_to_space", x.dtype(),
                        {x.dim(0), channels, x.dim(2) * size, x.dim(3) * size}, [&](Point p) {
                          Expr cell = ir::floormod(p[2], block) * size + ir::floormod(p[3], block);
                          Expr channel =
                              columns ? p[1] * size * size + cell : cell * channels + p[1];
                          return x({p[0], b.simplify(channel), ir::floordiv(p[2], block),
                                    ir::floordiv(p[3], block)});
                        }));
  return {};
}

Result<> space_to_depth(Builder& b) {
  const Tensor& x = b.input(0);
  int64_t block = b.integer("blocksize");
  if (x.rank() != 4 || block < 1)
    return b.error("the input must have rank 4, `blocksize` be positive");
  for (int axis : {2, 3}) {
    GS_TRY(b.require(ir::floormod(x.dim(axis), block) == 0,
                     cat("axis ", axis, " does not divide into blocks")));
  }
  Expr size = ir::index(block);
  std::string mode = b.text("mode");
  if (mode != "DCR" && mode != "CRD")
    return b.error(cat("`mode` is \"", mode, "\""), "it must be DCR or CRD");
  bool columns = mode == "CRD";
  b.output(0, b.compute("space_to_depth", x.dtype(),
                        {x.dim(0), x.dim(1) * size * size, ir::floordiv(x.dim(2), block),
                         ir::floordiv(x.dim(3), block)},
                        [&](Point p) {
                          Expr cell = columns ? ir::floormod(p[1], block * block)
                                              : ir::floordiv(p[1], x.dim(1)),
                               channel = columns ? ir::floordiv(p[1], block * block)
                                                 : ir::floormod(p[1], x.dim(1));
                          return x({p[0], channel, p[2] * size + ir::floordiv(cell, block),
                                    p[3] * size + ir::floormod(cell, block)});
                        }));
  return {};
}

Result<> reverse_sequence(Builder& b) {
  const Tensor &x = b.input(0), &lengths = b.input(1);
  GS_ASSIGN(int time, b.axis("time_axis", x.rank()));
  GS_ASSIGN(int batch, b.axis("batch_axis", x.rank()));
  if (time == batch) return b.error("`time_axis` and `batch_axis` are the same");
  GS_TRY(has_shape(b, 1, {x.dim(batch)}));
  b.output(0, b.compute("reverse_sequence", x.dtype(), x.shape(), [&](Point point) {
    std::vector<Expr> at(point.begin(), point.end());
    Expr& moved = at[static_cast<size_t>(time)];
    Expr length = as_index(lengths({point[static_cast<size_t>(batch)]}));
    moved = ir::select(moved < length, length - 1 - moved, moved);
    return x.at(at);
  }));
  return {};
}

std::vector<TensorData> after(std::vector<TensorData> values) {
  values.insert(values.begin(), TensorData{});
  return values;
}

}  // namespace

std::vector<OpDef> move_family() {
  using N = Numbers;
  TypeSet i64 = only(DType::i64);
  return {
      {.name = "Transpose",
       .doc = "The axes in another order, reversed by default.",
       .since = 25,
       .inputs = {{"data", any_element}},
       .outputs = {"transposed"},
       .attributes = {{"perm", N{}}},
       .define = transpose,
       .cases = [] -> Cases {
         return {{.name = "reversed", .shapes = {{2, 3, 5}}},
                 {.name = "channels last",
                  .shapes = {{1, 3, 4, 5}},
                  .attributes = {{"perm", N{0, 2, 3, 1}}}},
                 {.name = "small floats", .shapes = {{3, 17}}, .dtype = DType::f8e5m2},
                 {.name = "small integers",
                  .shapes = {{5, 6}},
                  .dtype = DType::i4,
                  .low = -8,
                  .high = 7}};
       }},
      {.name = "Concat",
       .doc = "Joins tensors along an axis.",
       .since = 13,
       .inputs = {{"inputs", any_element, InputDef::variadic}},
       .outputs = {"concat_result"},
       .attributes = {{"axis", {}, true}},
       .define = concat,
       .cases = [] -> Cases {
         return {{.name = "two", .shapes = {{2, 3}, {2, 4}}, .attributes = {{"axis", 1}}},
                 {.name = "three",
                  .shapes = {{2, 3, 2}, {1, 3, 2}, {4, 3, 2}},
                  .attributes = {{"axis", -3}}},
                 {.name = "one", .shapes = {{5}}, .attributes = {{"axis", 0}}},
                 {.name = "nothing of another extent",
                  .shapes = {{0, 5}, {2, 3}, {0, 4}, {1, 3}},
                  .attributes = {{"axis", 0}}},
                 {.name = "nine",
                  .shapes = {{1}, {2}, {1}, {3}, {1}, {1}, {2}, {1}, {1}},
                  .attributes = {{"axis", 0}}}};
       }},
      {.name = "Split",
       .doc = "Cuts a tensor along an axis into parts of given sizes, or equal ones.",
       .since = 18,
       .inputs = {{"input", any_element}, {"split", i64, InputDef::optional}},
       .outputs = {"output_0", "output_1", "output_2"},
       .attributes = {{"axis", 0}, {"num_outputs", {}}},
       .define = split,
       .cases = [] -> Cases {
         return {{.name = "sizes",
                  .shapes = {{2, 9}},
                  .attributes = {{"axis", 1}},
                  .inputs = after({int64s({3}, {2, 4, 3})})},
                 {.name = "equal", .shapes = {{6, 2}}, .attributes = {{"num_outputs", 3}}},
                 {.name = "uneven", .shapes = {{7}}, .attributes = {{"num_outputs", 3}}}};
       }},
      {.name = "Slice",
       .doc = "Every step-th element from start up to end along axes.",
       .since = 13,
       .inputs = {{"data", any_element},
                  {"starts", integer_index},
                  {"ends", integer_index},
                  {"axes", integer_index, InputDef::optional},
                  {"steps", integer_index, InputDef::optional}},
       .outputs = {"output"},
       .define = slice,
       .cases = [] -> Cases {
         return {
             {.name = "told by data", .shapes = {{3, 4, 5}, {1}, {1}, {1}}, .low = 0, .high = 2},
             {.name = "two axes",
              .shapes = {{20, 10}},
              .inputs = after({int64s({2}, {0, 3}), int64s({2}, {3, 10})})},
             {.name = "from the end",
              .shapes = {{4, 9}},
              .inputs = after({int64s({1}, {-5}), int64s({1}, {-1}), int64s({1}, {1})})},
             {.name = "step",
              .shapes = {{3, 11}},
              .inputs = after(
                  {int64s({1}, {1}), int64s({1}, {1000}), int64s({1}, {-1}), int64s({1}, {3})})},
             {.name = "backwards",
              .shapes = {{7}},
              .inputs = after(
                  {int64s({1}, {-1}), int64s({1}, {-1000}), int64s({1}, {0}), int64s({1}, {-2})})}};
       }},
      {.name = "Expand",
       .doc = "Broadcasts to a shape.",
       .since = 13,
       .inputs = {{"input", any_element}, {"shape", i64}},
       .outputs = {"output"},
       .define = expand,
       .cases = [] -> Cases {
         return {{.name = "column", .shapes = {{3, 1}}, .inputs = after({int64s({3}, {2, 1, 6})})},
                 {.name = "keeps", .shapes = {{3, 4}}, .inputs = after({int64s({1}, {1})})}};
       }},
      {.name = "Tile",
       .doc = "Repeats a tensor along each axis.",
       .since = 13,
       .inputs = {{"input", any_element}, {"repeats", i64}},
       .outputs = {"output"},
       .define = tile,
       .cases = [] -> Cases {
         return {{.name = "both", .shapes = {{2, 3}}, .inputs = after({int64s({2}, {2, 3})})},
                 {.name = "one", .shapes = {{1, 5}}, .inputs = after({int64s({2}, {3, 1})})}};
       }},
      {.name = "DepthToSpace",
       .doc = "Moves blocks of channels into the plane.",
       .since = 28,
       .inputs = {{"input", any_element}},
       .outputs = {"output"},
       .attributes = {{"blocksize", {}, true}, {"mode", "DCR"}},
       .define = depth_to_space,
       .cases = [] -> Cases {
         return {
             {.name = "depth first", .shapes = {{1, 8, 2, 3}}, .attributes = {{"blocksize", 2}}},
             {.name = "columns first",
              .shapes = {{2, 8, 3, 2}},
              .attributes = {{"blocksize", 2}, {"mode", "CRD"}}}};
       }},
      {.name = "SpaceToDepth",
       .doc = "Moves blocks of the plane into channels.",
       .since = 28,
       .inputs = {{"input", any_element}},
       .outputs = {"output"},
       .attributes = {{"blocksize", {}, true}, {"mode", "DCR"}},
       .define = space_to_depth,
       .cases = [] -> Cases {
         return {{.name = "two", .shapes = {{1, 2, 4, 6}}, .attributes = {{"blocksize", 2}}},
                 {.name = "columns first",
                  .shapes = {{2, 3, 4, 2}},
                  .attributes = {{"blocksize", 2}, {"mode", "CRD"}}}};
       }},
      {.name = "ReverseSequence",
       .doc = "Reverses the beginning of each sequence, as long as its length says.",
       .since = 28,
       .inputs = {{"input", any_element}, {"sequence_lens", i64}},
       .attributes = {{"batch_axis", 1}, {"time_axis", 0}},
       .define = reverse_sequence,
       .cases = [] -> Cases {
         return {{.name = "time first",
                  .shapes = {{4, 4}},
                  .inputs = after({int64s({4}, {4, 3, 2, 1})})}};
       }},
  };
}

}  // namespace gossamer::ops
