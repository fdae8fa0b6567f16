// Preparing features for the classic models of ai.onnx.ml.
#include "ops/builder.h"
#include "ops/families.h"
#include "ops/reduction/reduce.h"
#include "ops/text/string_match.h"

namespace gossamer::ops {
namespace {

// Columns side by side; each input is cut or filled with zeros to its width.
Result<> feature_vectorizer(Builder& b) {
  Numbers widths = b.integers("inputdimensions");
  size_t count = static_cast<size_t>(b.input_count());
  if (!widths.empty() && widths.size() < count)
    return b.error(
        cat("`inputdimensions` has ", widths.size(), " numbers, there are ", count, " inputs"));
  std::vector<Tensor> parts;
  Expr samples = ir::index(1);
  for (size_t i = 0; i < count; ++i) {
    const Tensor& x = b.input(static_cast<int>(i));
    if (x.rank() != 1 && x.rank() != 2)
      return b.error(cat("input ", i, " has rank ", x.rank()), "it is [samples, features]");
    Expr rows = x.rank() == 2 ? x.dim(0) : ir::index(1);
    if (i == 0) samples = rows;
    GS_TRY(b.require(rows == samples, "inputs differ in their number of samples"));
    if (!widths.empty() && widths[i] < 0) return b.error("`inputdimensions` is negative");
    Expr width = widths.empty() ? x.dim(-1) : ir::index(widths[i]);
    bool fills = !b.same(width, x.dim(-1));
    parts.push_back(
        b.compute("feature_vectorizer.part", DType::f32, {samples, width}, [&](Point p) {
          Expr value = ir::cast(DType::f32, x.rank() == 2 ? x({p[0], p[1]}) : x({p[1]}));
          return fills ? ir::select(p[1] < x.dim(-1), value, ir::zero(DType::f32)) : value;
        }));
  }
  GS_ASSIGN(Tensor y, b.call1("Concat", std::move(parts), {{"axis", 1}}));
  b.output(0, y);
  return {};
}

Result<> imputer(Builder& b) {
  const Tensor& x = b.input(0);
  DType dtype = x.dtype();
  bool real = ir::is_float(dtype);
  std::vector<double> reals = b.numbers("imputed_value_floats");
  Numbers wholes = b.integers("imputed_value_int64s");
  size_t count = real ? reals.size() : wholes.size();
  if (count == 0)
    return b.error(cat("`imputed_value_", real ? "floats" : "int64s", "` is missing, X is ",
                       ir::name_of(dtype)));
  if (x.rank() < 1) return b.error("X is a scalar");
  int64_t given = static_cast<int64_t>(count);
  if (given > 1)
    GS_TRY(b.require(x.dim(-1) == static_cast<double>(given),
                     cat(given, " values are given, one a feature")));
  Tensor table = real ? b.constant(floats({given}, {reals.begin(), reals.end()}))
                      : b.constant(int64s({given}, wholes));
  double old = b.number("replaced_value_float");
  b.output(0, b.compute("imputer", dtype, x.shape(), [&](Point p) {
    Expr value = x.at(p);
    Expr fresh = ir::cast(dtype, table({given == 1 ? ir::index(0) : p.back()}));
    Expr missing = !real ? value == ir::constant_int(dtype, b.integer("replaced_value_int64"))
                   : old != old ? ir::is_nan(value)
                                : value == ir::constant(dtype, old);
    return ir::select(missing, fresh, value);
  }));
  return {};
}

Result<> one_hot_encoder(Builder& b) {
  const Tensor& x = b.input(0);
  Numbers categories = b.integers("cats_int64s");
  std::vector<std::string> names = b.texts("cats_strings");
  bool texts = x.dtype() == DType::string;
  if (texts ? names.empty() : categories.empty())
    return b.error(cat("`", texts ? "cats_strings" : "cats_int64s", "` is missing"));
  Tensor table = b.constant(texts ? strings({static_cast<int64_t>(names.size())}, names)
                                  : int64s({static_cast<int64_t>(categories.size())}, categories));
  Shape shape = x.shape();
  shape.push_back(table.dim(0));
  Tensor equals;
  if (texts) equals = equal_pairs(b, "one_hot_encoder.equal", x, table);
  auto equal = [&](Point at, const Expr& category) -> Expr {
    if (!texts) return ir::cast(DType::i64, x.at(at)) == table({category});
    std::vector<Expr> pair(at.begin(), at.end());
    pair.push_back(category);
    return equals.at(pair);
  };
  if (b.integer("zeros") == 0) {
    Shape all = x.shape();
    Tensor known =
        b.reduce("one_hot_encoder.known", Builder::Join::max, DType::i32, all, {table.dim(0)},
                 [&](Point p, Point r) { return ir::cast(DType::i32, equal(p, r[0])); });
    std::vector<int> axes;
    for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
    Tensor least = x.rank() == 0 ? known
                                 : reduce_axes(b, "one_hot_encoder.least", known, axes, false,
                                               Builder::Join::min, DType::i32,
                                               [&](Point p) { return known.at(p); });
    GS_ASSIGN(std::vector<Expr> found, b.read(least));
    GS_TRY(b.require(found[0] >= 1.0, "X has an element of no category"));
  }
  b.output(0, b.compute("one_hot_encoder", DType::f32, shape, [&](Point p) {
    return ir::cast(DType::f32, equal(p.first(p.size() - 1), p.back()));
  }));
  return {};
}

}  // namespace

std::vector<OpDef> feature_family() {
  using D = std::vector<double>;
  std::string ml = "ai.onnx.ml";
  TypeSet numbers = only(DType::f32) | only(DType::f64) | only(DType::i32) | only(DType::i64);
  return {
      {.name = "FeatureVectorizer",
       .doc = "Features side by side, each input cut or filled to its width.",
       .domain = ml,
       .since = 1,
       .inputs = {{"X", numbers, InputDef::variadic}},
       .attributes = {{"inputdimensions", Numbers{}}},
       .define = feature_vectorizer,
       .cases = [] -> Cases {
         return {{.name = "cut and filled",
                  .shapes = {{3, 2}, {3, 4}, {3, 1}},
                  .attributes = {{"inputdimensions", Numbers{3, 2, 1}}}},
                 {.name = "one axis",
                  .shapes = {{2}, {3}},
                  .attributes = {{"inputdimensions", Numbers{2, 3}}}}};
       }},
      {.name = "Imputer",
       .doc = "X with one value replaced.",
       .domain = ml,
       .since = 1,
       .inputs = {{"X", numbers}},
       .attributes = {{"imputed_value_floats", D{}},
                      {"imputed_value_int64s", Numbers{}},
                      {"replaced_value_float", 0.0},
                      {"replaced_value_int64", 0}},
       .define = imputer,
       .cases = [] -> Cases {
         return {
             {.name = "a value a column",
              .shapes = {{2, 3}},
              .attributes = {{"imputed_value_floats", D{1, 2, 3}}, {"replaced_value_float", -1.0}},
              .inputs = {floats({2, 3}, {-1, 0, -1, 5, -1, 7})}},
             {.name = "integers",
              .shapes = {{2, 3}},
              .attributes = {{"imputed_value_int64s", Numbers{9}}, {"replaced_value_int64", 4}},
              .inputs = {int64s({2, 3}, {4, 0, -1, 5, 4, 7})}}};
       }},
      {.name = "OneHotEncoder",
       .doc = "1 where an element is the category, else 0, along a new last axis.",
       .domain = ml,
       .since = 1,
       .inputs = {{"X", numbers | strings_only}},
       .attributes = {{"cats_int64s", Numbers{}},
                      {"cats_strings", std::vector<std::string>{}},
                      {"zeros", 1}},
       .define = one_hot_encoder,
       .cases = [] -> Cases {
         return {{.name = "integers",
                  .attributes = {{"cats_int64s", Numbers{3, 7, 5}}},
                  .inputs = {int64s({2, 3}, {3, 5, 4, 7, 7, 3})}},
                 {.name = "strings",
                  .attributes = {{"cats_strings", std::vector<std::string>{"a", "longer", ""}}},
                  .inputs = {strings({4}, {"longer", "b", "", "a"})}},
                 {.name = "all known",
                  .attributes = {{"cats_int64s", Numbers{3, 7, 5}}, {"zeros", 0}},
                  .inputs = {int64s({4}, {3, 5, 7, 7})}}};
       }},
  };
}

}  // namespace gossamer::ops
