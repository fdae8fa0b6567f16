// Reads at computed places. An index out of range is the model's error; it reads any element.
#include <algorithm>

#include "ir/print.h"
#include "ops/axes.h"
#include "ops/families.h"

namespace gossamer::ops {
namespace {

Result<> gather(Builder& b) {
  const Tensor &data = b.input(0), &indices = b.input(1);
  GS_ASSIGN(int axis, b.axis("axis", data.rank()));
  Shape shape(data.shape().begin(), data.shape().begin() + axis);
  shape.insert(shape.end(), indices.shape().begin(), indices.shape().end());
  shape.insert(shape.end(), data.shape().begin() + axis + 1, data.shape().end());
  b.output(0, b.compute("gather", data.dtype(), shape, [&](Point point) {
    auto first = point.begin() + axis, past = first + indices.rank();
    Expr place = wrapped_index(indices.at(Point(first, past)), data.dim(axis));
    std::vector<Expr> at(point.begin(), first);
    at.push_back(b.simplify(place));
    at.insert(at.end(), past, point.end());
    return data.at(at);
  }));
  return {};
}

Result<> gather_elements(Builder& b) {
  const Tensor &data = b.input(0), &indices = b.input(1);
  if (data.rank() != indices.rank()) {
    return b.error(cat("data has rank ", data.rank(), ", indices have rank ", indices.rank()));
  }
  GS_ASSIGN(int axis, b.axis("axis", data.rank()));
  b.output(0, b.compute("gather_elements", data.dtype(), indices.shape(), [&](Point point) {
    std::vector<Expr> at(point.begin(), point.end());
    at[static_cast<size_t>(axis)] = wrapped_index(indices.at(point), data.dim(axis));
    return data.at(at);
  }));
  return {};
}

Result<> gather_nd(Builder& b) {
  const Tensor &data = b.input(0), &indices = b.input(1);
  int64_t batch = b.integer("batch_dims");
  if (indices.rank() < 1) return b.error("indices need an axis");
  auto width = ir::as_int(b.simplify(indices.dim(-1)));
  if (!width) return b.error("the last extent of indices must be known when compiling");
  if (batch < 0 || batch >= indices.rank() || batch + *width > data.rank()) {
    return b.error(cat("indices of ", *width, " axes after ", batch, " batch axes do not fit rank ",
                       data.rank()));
  }
  for (int axis = 0; axis < batch; ++axis) {
    GS_TRY(b.require(indices.dim(axis) == data.dim(axis),
                     cat("batch axis ", axis, " of indices and data differ")));
  }
  Shape shape(indices.shape().begin(), indices.shape().end() - 1);
  shape.insert(shape.end(), data.shape().begin() + batch + *width, data.shape().end());
  b.output(0, b.compute("gather_nd", data.dtype(), shape, [&](Point point) {
    auto rest = point.begin() + (indices.rank() - 1);  // of an empty point too
    std::vector<Expr> at(point.begin(), point.begin() + batch);
    std::vector<Expr> from(point.begin(), rest);
    from.push_back(ir::index(0));
    for (int64_t k = 0; k < *width; ++k) {
      from.back() = ir::index(k);
      at.push_back(wrapped_index(indices.at(from), data.dim(static_cast<int>(batch + k))));
    }
    at.insert(at.end(), rest, point.end());
    return data.at(at);
  }));
  return {};
}

std::vector<TensorData> at(TensorData indices) { return {TensorData{}, std::move(indices)}; }

}  // namespace

std::vector<OpDef> gather_family() {
  return {
      {.name = "Gather",
       .doc = "Slices of data along an axis, at indices.",
       .since = 13,
       .inputs = {{"data", any_element}, {"indices", integer_index}},
       .outputs = {"output"},
       .attributes = {{"axis", 0}},
       .define = gather,
       .cases = [] -> Cases {
         return {{.name = "rows", .shapes = {{5, 3}}, .inputs = at(int64s({2, 2}, {0, 4, 2, -1}))},
                 {.name = "columns",
                  .shapes = {{3, 5}},
                  .attributes = {{"axis", 1}},
                  .inputs = at(int32s({3}, {4, 0, 0}))},
                 {.name = "scalar", .shapes = {{7}}, .inputs = at(int64s({}, {3}))}};
       }},
      {.name = "GatherElements",
       .doc = "Elements of data at indices along an axis, one an element of indices.",
       .since = 13,
       .inputs = {{"data", any_element}, {"indices", integer_index}},
       .outputs = {"output"},
       .attributes = {{"axis", 0}},
       .define = gather_elements,
       .cases = [] -> Cases {
         return {
             {.name = "rows", .shapes = {{3, 3}}, .inputs = at(int64s({2, 3}, {1, 2, 0, 2, 0, 0}))},
             {.name = "negative",
              .shapes = {{2, 4}},
              .attributes = {{"axis", -1}},
              .inputs = at(int64s({2, 2}, {-1, 0, -2, 3}))}};
       }},
      {.name = "GatherND",
       .doc = "Slices of data at index tuples.",
       .since = 13,
       .inputs = {{"data", any_element}, {"indices", only(DType::i64)}},
       .outputs = {"output"},
       .attributes = {{"batch_dims", 0}},
       .define = gather_nd,
       .cases = [] -> Cases {
         return {
             {.name = "elements", .shapes = {{3, 4}}, .inputs = at(int64s({2, 2}, {0, 1, 2, -1}))},
             {.name = "rows", .shapes = {{3, 4, 2}}, .inputs = at(int64s({2, 1, 1}, {2, 0}))},
             {.name = "batches",
              .shapes = {{2, 3, 4}},
              .attributes = {{"batch_dims", 1}},
              .inputs = at(int64s({2, 1}, {1, 0}))}};
       }},
  };
}

}  // namespace gossamer::ops
