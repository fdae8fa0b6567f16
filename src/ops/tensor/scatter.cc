// Writes at computed places into a copy of a tensor.
#include "ir/print.h"
#include "ops/axes.h"
#include "ops/families.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

Result<std::optional<Builder::Join>> join_of(const Builder& b) {
  std::string text = b.text("reduction");
  using enum Builder::Join;
  if (text == "none") return std::nullopt;
  if (text == "add") return sum;
  if (text == "mul") return prod;
  if (text == "max") return max;
  if (text == "min") return min;
  return b.error(cat("`reduction` is \"", text, "\""), "it must be none, add, mul, max or min");
}

Result<> same_data(const Builder& b) {
  if (b.input(0).dtype() == b.input(2).dtype()) return {};
  return b.error(cat("data has type ", ir::name_of(b.input(0).dtype()), ", updates have ",
                     ir::name_of(b.input(2).dtype())));
}

Result<> joins_numbers(const Builder& b, std::optional<Builder::Join> join) {
  const DType dtype = b.input(0).dtype();
  if (!join || ir::is_int(dtype) || ir::is_float(dtype)) return {};
  return b.error(cat("`reduction` \"", b.text("reduction"), "\" of type ", ir::name_of(dtype)));
}

// Without a reduction, equal targets are the model's error: the last write of any may stand.
Result<> scatter_elements(Builder& b) {
  const Tensor &data = b.input(0), &indices = b.input(1), &updates = b.input(2);
  GS_TRY(same_data(b));
  GS_ASSIGN(auto join, join_of(b));
  GS_TRY(joins_numbers(b, join));
  GS_ASSIGN(int axis, b.axis("axis", data.rank()));
  if (indices.rank() != data.rank() || updates.rank() != data.rank()) {
    return b.error(cat("data, indices and updates have ranks ", data.rank(), ", ", indices.rank(),
                       " and ", updates.rank()));
  }
  GS_TRY(has_shape(b, 2, indices.shape()));
  for (int i = 0; i < data.rank(); ++i) {
    if (i == axis) continue;
    GS_TRY(b.require(indices.dim(i) <= data.dim(i),
                     cat("indices have ", ir::print(indices.dim(i)), " elements along axis ", i,
                         ", data has ", ir::print(data.dim(i)))));
  }
  b.output(0, b.scatter(
                  "scatter_elements", data, indices.shape(), join,
                  [&](Point point) {
                    std::vector<Expr> at(point.begin(), point.end());
                    at[static_cast<size_t>(axis)] =
                        wrapped_index(indices.at(point), data.dim(axis));
                    return at;
                  },
                  [&](Point point) { return updates.at(point); }));
  return {};
}

Result<> scatter_nd(Builder& b) {
  const Tensor &data = b.input(0), &indices = b.input(1), &updates = b.input(2);
  GS_TRY(same_data(b));
  GS_ASSIGN(auto join, join_of(b));
  GS_TRY(joins_numbers(b, join));
  if (indices.rank() < 1) return b.error("indices need an axis");
  auto width = ir::as_int(b.simplify(indices.dim(-1)));
  if (!width) return b.error("the last extent of indices must be known when compiling");
  int outer = indices.rank() - 1;
  if (*width > data.rank() || updates.rank() != outer + data.rank() - static_cast<int>(*width)) {
    return b.error(cat("updates have rank ", updates.rank(), ", indices of ", *width,
                       " axes into rank ", data.rank(), " need ",
                       outer + data.rank() - static_cast<int>(*width)));
  }
  Shape wanted(indices.shape().begin(), indices.shape().end() - 1);
  wanted.insert(wanted.end(), data.shape().begin() + *width, data.shape().end());
  GS_TRY(has_shape(b, 2, wanted));
  b.output(0, b.scatter(
                  "scatter_nd", data, updates.shape(), join,
                  [&](Point point) {
                    auto rest = point.begin() + outer;
                    std::vector<Expr> at, from(point.begin(), rest);
                    from.push_back(ir::index(0));
                    for (int64_t k = 0; k < *width; ++k) {
                      from.back() = ir::index(k);
                      at.push_back(wrapped_index(indices.at(from), data.dim(static_cast<int>(k))));
                    }
                    at.insert(at.end(), rest, point.end());
                    return at;
                  },
                  [&](Point point) { return updates.at(point); }));
  return {};
}

// Many of them aim at one place, and from both ends.
TensorData many_indices(std::vector<int64_t> shape, int64_t extent) {
  std::vector<int64_t> values;
  int64_t count = 1;
  for (const int64_t each : shape) count *= each;
  for (int64_t i = 0; i < count; ++i) values.push_back(i * i * 7 % (2 * extent) - extent);
  return int64s(std::move(shape), std::move(values));
}

}  // namespace

std::vector<OpDef> scatter_family() {
  return {
      {.name = "ScatterElements",
       .doc = "data with updates written (or joined) at indices along an axis.",
       .since = 18,
       .inputs = {{"data", any_element}, {"indices", integer_index}, {"updates", any_element}},
       .outputs = {"output"},
       .attributes = {{"axis", 0}, {"reduction", "none"}},
       .define = scatter_elements,
       .cases = [] -> Cases {
         return {{.name = "columns",
                  .shapes = {{1, 5}, {}, {1, 2}},
                  .attributes = {{"axis", 1}},
                  .inputs = {{}, int64s({1, 2}, {1, -2})}},
                 {.name = "many",
                  .shapes = {{3, 40}, {}, {3, 70}},
                  .attributes = {{"axis", 1}},
                  .inputs = {{}, many_indices({3, 70}, 40)}},
                 {.name = "many products",
                  .shapes = {{90, 2}, {}, {80, 2}},
                  .attributes = {{"reduction", "mul"}},
                  .inputs = {{}, many_indices({80, 2}, 90)}},
                 {.name = "add",
                  .shapes = {{3, 3}, {}, {2, 3}},
                  .attributes = {{"reduction", "add"}},
                  .inputs = {{}, int64s({2, 3}, {1, 0, 2, 1, 2, 2})}}};
       }},
      {.name = "ScatterND",
       .doc = "data with updates written (or joined) at index tuples.",
       .since = 18,
       .inputs = {{"data", any_element}, {"indices", only(DType::i64)}, {"updates", any_element}},
       .outputs = {"output"},
       .attributes = {{"reduction", "none"}},
       .define = scatter_nd,
       .cases = [] -> Cases {
         return {{.name = "elements",
                  .shapes = {{8}, {}, {4}},
                  .inputs = {{}, int64s({4, 1}, {4, 3, 1, -1})}},
                 {.name = "rows",
                  .shapes = {{4, 3, 2}, {}, {2, 3, 2}},
                  .inputs = {{}, int64s({2, 1}, {0, 2})}},
                 {.name = "many rows",
                  .shapes = {{20, 5, 3}, {}, {80, 3}},
                  .inputs = {{}, many_indices({80, 2}, 5)}},
                 {.name = "sums of many rows",
                  .shapes = {{50, 3}, {}, {90, 3}},
                  .attributes = {{"reduction", "add"}},
                  .inputs = {{}, many_indices({90, 1}, 50)}},
                 {.name = "largest",
                  .shapes = {{5}, {}, {3}},
                  .attributes = {{"reduction", "max"}},
                  .inputs = {{}, int64s({3, 1}, {1, 1, 3})}}};
       }},
  };
}

}  // namespace gossamer::ops
