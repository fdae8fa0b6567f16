// Tables from labels to labels: LabelEncoder, CategoryMapper.
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/text/string_match.h"

namespace gossamer::ops {
namespace {

using Texts = std::vector<std::string>;

int64_t size_of(const auto& list) { return static_cast<int64_t>(list.size()); }

// The list that `PREFIX_tensor`, `PREFIX_strings`, `PREFIX_int64s` or `PREFIX_floats` gives, of any
// type; without elements where none does.
TensorData list_of(const Builder& b, const std::string& prefix) {
  if (const TensorData* data = b.tensor(prefix + "_tensor")) {
    TensorData list = *data;
    list.shape = {list.element_count()};
    return list;
  }
  const Texts texts = b.texts(prefix + "_strings");
  if (!texts.empty()) return strings({size_of(texts)}, texts);
  const Numbers numbers = b.integers(prefix + "_int64s");
  if (!numbers.empty()) return int64s({size_of(numbers)}, numbers);
  const std::vector<double> reals = b.numbers(prefix + "_floats");
  return floats({size_of(reals)}, {reals.begin(), reals.end()});
}

void append(TensorData& list, const TensorData& more) {
  list.shape[0] += more.element_count();
  list.bytes.insert(list.bytes.end(), more.bytes.begin(), more.bytes.end());
  list.strings.insert(list.strings.end(), more.strings.begin(), more.strings.end());
}

// The value at the place of the key that an element equals; one more value stands for none.
Result<> map_labels(Builder& b, const TensorData& keys, TensorData values,
                    const TensorData& fallback) {
  const Tensor& x = b.input(0);
  if (keys.dtype != x.dtype()) {
    return b.error(
        cat("the keys are ", ir::name_of(keys.dtype), ", the input ", ir::name_of(x.dtype())));
  }
  if (keys.element_count() == 0 || keys.element_count() != values.element_count()) {
    return b.error(
        cat("there are ", keys.element_count(), " keys and ", values.element_count(), " values"));
  }
  if (fallback.dtype != values.dtype || fallback.element_count() != 1)
    return b.error("the default is not one value of the values' type");
  const std::string name = stage_name(b);
  const Tensor place = place_among(b, name, x, keys);
  append(values, fallback);
  const Tensor table = b.constant(values);
  b.output(0, b.compute(name, values.dtype, x.shape(),
                        [&](Point p) { return table({as_index(place.at(p))}); }));
  return {};
}

TensorData default_of(const Builder& b, DType dtype) {
  if (dtype == DType::string) return strings({}, {b.text("default_string")});
  if (dtype == DType::f32) return floats({}, {static_cast<float>(b.number("default_float"))});
  return int64s({}, {b.integer("default_int64")});
}

TensorData counted(int64_t count) {
  Numbers numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(i);
  return int64s({count}, std::move(numbers));
}

Result<> label_encoder(Builder& b) {
  // Version 1 has the strings of the numbers from 0 on, and maps either way.
  if (const Texts classes = b.texts("classes_strings"); !classes.empty()) {
    TensorData names = strings({size_of(classes)}, classes), numbers = counted(size_of(classes));
    if (b.input(0).dtype() == DType::string)
      return map_labels(b, names, numbers, default_of(b, DType::i64));
    return map_labels(b, numbers, names, default_of(b, DType::string));
  }
  TensorData keys = list_of(b, "keys"), values = list_of(b, "values");
  const TensorData* given = b.tensor("default_tensor");
  if (!given && b.tensor("values_tensor")) {
    // Without a default the tensor's type has the other attributes' one, or 0.
    TensorData zero{values.dtype, {}, {}, {}};
    if (values.dtype == DType::string || values.dtype == DType::i64 || values.dtype == DType::f32)
      return map_labels(b, keys, values, default_of(b, values.dtype));
    zero.bytes.resize(static_cast<size_t>(ir::byte_size(values.dtype)));
    return map_labels(b, keys, values, zero);
  }
  return map_labels(b, keys, values, given ? *given : default_of(b, values.dtype));
}

Result<> category_mapper(Builder& b) {
  const Texts names = b.texts("cats_strings");
  const Numbers numbers = b.integers("cats_int64s");
  const TensorData texts = strings({size_of(names)}, names),
                   places = int64s({size_of(numbers)}, numbers);
  if (b.input(0).dtype() == DType::string)
    return map_labels(b, texts, places, default_of(b, DType::i64));
  return map_labels(b, places, texts, default_of(b, DType::string));
}

}  // namespace

std::vector<OpDef> label_family() {
  using D = std::vector<double>;
  const TypeSet labels = strings_only | only(DType::i64) | only(DType::i32) | only(DType::i16) |
                         only(DType::f32) | only(DType::f64);
  const TensorData words = strings({2, 3}, {"a", "b", "d", "c", "", "Gr\u00fc\u00dfe"});
  return {
      {.name = "LabelEncoder",
       .doc = "The value of each key, or a default for elements that are no key.",
       .domain = "ai.onnx.ml",
       .since = 4,
       .inputs = {{"X", labels}},
       .attributes = {{"classes_strings", Texts{}},
                      {"default_float", -0.0},
                      {"default_int64", -1},
                      {"default_string", "_Unused"},
                      {"default_tensor", {}},
                      {"keys_floats", D{}},
                      {"keys_int64s", Numbers{}},
                      {"keys_strings", Texts{}},
                      {"keys_tensor", {}},
                      {"values_floats", D{}},
                      {"values_int64s", Numbers{}},
                      {"values_strings", Texts{}},
                      {"values_tensor", {}}},
       .define = label_encoder,
       .cases = [=] -> Cases {
         return {
             {.name = "strings to integers",
              .attributes = {{"keys_strings", Texts{"a", "b", "c",
                                                    "Gr\xc3\xbc\xc3\x9f"
                                                    "e"}},
                             {"values_int64s", Numbers{7, 1, 2, 5}},
                             {"default_int64", 42}},
              .inputs = {words}},
             {.name = "strings to strings",
              .attributes = {{"keys_strings", Texts{"a", "d"}},
                             {"values_strings", Texts{"one", "two words, or more"}}},
              .inputs = {words}},
             {.name = "integers to strings",
              .attributes = {{"keys_int64s", Numbers{1, 3}}, {"values_strings", Texts{"x", "yy"}}},
              .inputs = {int64s({4}, {3, 1, 2, 3})}},
             {.name = "floats",
              .attributes = {{"keys_floats", D{1.5, 0.0 / 0.0}}, {"values_floats", D{1, 2}}},
              .inputs = {floats({4}, {1.5f, 2, 0.0f / 0.0f, 1})}},
             {.name = "tensors",
              .attributes = {{"keys_tensor", strings({2}, {"b", "c"})},
                             {"values_tensor", int32s({2}, {4, 5})},
                             {"default_tensor", int32s({1}, {-3})}},
              .inputs = {words}}};
       }},
      {.name = "CategoryMapper",
       .doc = "Integers of strings, or strings of integers.",
       .domain = "ai.onnx.ml",
       .since = 1,
       .inputs = {{"X", strings_only | only(DType::i64)}},
       .attributes = {{"cats_int64s", Numbers{}},
                      {"cats_strings", Texts{}},
                      {"default_int64", -1},
                      {"default_string", "_Unused"}},
       .define = category_mapper,
       .cases = [=] -> Cases {
         return {{.name = "from strings",
                  .attributes = {{"cats_int64s", Numbers{3, 8}}, {"cats_strings", Texts{"a", "c"}}},
                  .inputs = {words}},
                 {.name = "to strings",
                  .attributes = {{"cats_int64s", Numbers{3, 8}}, {"cats_strings", Texts{"a", "c"}}},
                  .inputs = {int64s({3}, {8, 4, 3})}}};
       }},
  };
}

}  // namespace gossamer::ops
