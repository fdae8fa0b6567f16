#include "ops/opdef.h"

#include <cstring>

#include "base/result.h"
#include "base/strings.h"

namespace gossamer::ops {

Attribute::Attribute() = default;
Attribute::Attribute(const Attribute&) = default;
Attribute::Attribute(Attribute&&) noexcept = default;
Attribute& Attribute::operator=(const Attribute&) = default;
Attribute& Attribute::operator=(Attribute&&) noexcept = default;
Attribute::~Attribute() = default;
Attributes::Attributes() = default;
Attributes::Attributes(std::initializer_list<value_type> entries) : map(entries) {}
Attributes::Attributes(const Attributes&) = default;
Attributes::Attributes(Attributes&&) noexcept = default;
Attributes& Attributes::operator=(const Attributes&) = default;
Attributes& Attributes::operator=(Attributes&&) noexcept = default;
Attributes::~Attributes() = default;
namespace {

using ir::DType;

template <class T>
TensorData dense(DType dtype, std::vector<int64_t> shape, const std::vector<T>& values) {
  TensorData data{dtype, std::move(shape), std::vector<std::byte>(values.size() * sizeof(T)), {}};
  GS_CHECK(data.element_count() == static_cast<int64_t>(values.size()), "shape and values differ");
  if (!values.empty()) std::memcpy(data.bytes.data(), values.data(), data.bytes.size());
  return data;
}

std::string key(std::string_view domain, std::string_view name) {
  // The default domain has two spellings.
  return cat(domain == "ai.onnx" ? "" : domain, ":", name);
}

}  // namespace

const TypeSet any_float =
    only(DType::f32) | only(DType::f16) | only(DType::bf16) | only(DType::f64);
const TypeSet any_signed = only(DType::i8) | only(DType::i16) | only(DType::i32) | only(DType::i64);
const TypeSet any_unsigned =
    only(DType::u8) | only(DType::u16) | only(DType::u32) | only(DType::u64);
const TypeSet any_int = any_signed | any_unsigned;
const TypeSet any_number = any_int | any_float;
const TypeSet small_floats = only(DType::f8e4m3fn) | only(DType::f8e4m3fnuz) | only(DType::f8e5m2) |
                             only(DType::f8e5m2fnuz) | only(DType::f8e8m0) | only(DType::f4e2m1) |
                             only(DType::f6e2m3) | only(DType::f6e3m2);
const TypeSet small_ints = only(DType::i4) | only(DType::u4) | only(DType::i2) | only(DType::u2);
const TypeSet any_type = any_number | only(DType::boolean) | small_floats | small_ints;
const TypeSet integer_index = only(DType::i32) | only(DType::i64);
const TypeSet boolean_only = only(DType::boolean);
const TypeSet strings_only = only(DType::string);
const TypeSet any_element = any_type | strings_only;

int64_t TensorData::element_count() const {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

TensorData floats(std::vector<int64_t> shape, std::vector<float> values) {
  return dense(DType::f32, std::move(shape), values);
}
TensorData int64s(std::vector<int64_t> shape, std::vector<int64_t> values) {
  return dense(DType::i64, std::move(shape), values);
}
TensorData int32s(std::vector<int64_t> shape, std::vector<int32_t> values) {
  return dense(DType::i32, std::move(shape), values);
}
TensorData int8s(std::vector<int64_t> shape, std::vector<int8_t> values) {
  return dense(DType::i8, std::move(shape), values);
}
TensorData uint8s(std::vector<int64_t> shape, std::vector<uint8_t> values) {
  return dense(DType::u8, std::move(shape), values);
}
TensorData codes(DType dtype, std::vector<int64_t> shape, std::vector<int> values) {
  return dense(dtype, std::move(shape), std::vector<uint8_t>(values.begin(), values.end()));
}
TensorData strings(std::vector<int64_t> shape, std::vector<std::string> values) {
  return {DType::string, std::move(shape), {}, std::move(values)};
}

StringsData split_strings(const TensorData& data) {
  PackedStrings packed = pack_strings(data.strings);
  StringsData parts;
  parts.bytes = {DType::u8, data.shape, std::move(packed.bytes), {}};
  parts.bytes.shape.push_back(packed.width);
  parts.lengths = {DType::i32, data.shape, std::move(packed.lengths), {}};
  return parts;
}

Result<TensorData> join_strings(const TensorData& bytes, const TensorData& lengths) {
  TensorData data{DType::string, lengths.shape, {}, {}};
  GS_ASSIGN(data.strings, unpack_strings(bytes.shape.back(), bytes.bytes, lengths.bytes));
  return data;
}

TensorData booleans(std::vector<int64_t> shape, std::vector<uint8_t> values) {
  return dense(DType::boolean, std::move(shape), values);
}

std::optional<DType> dtype_of_onnx(int64_t code) {
#define GOSSAMER_TYPE(NAME, name, text, kind, bits, onnx) \
  if (code == (onnx)) return DType::name;
  GOSSAMER_ELEMENT_TYPES(GOSSAMER_TYPE)
#undef GOSSAMER_TYPE
  return std::nullopt;
}

int64_t onnx_of_dtype(DType dtype) {
#define GOSSAMER_TYPE(NAME, name, text, kind, bits, onnx) \
  if (dtype == DType::name) return onnx;
  GOSSAMER_ELEMENT_TYPES(GOSSAMER_TYPE)
#undef GOSSAMER_TYPE
  return 0;
}

Catalog::Catalog(std::vector<OpDef> entries) {
  for (OpDef& entry : entries) add(std::move(entry));
}

const OpDef* Catalog::find(std::string_view domain, std::string_view name) const {
  auto found = by_name_.find(key(domain, name));
  return found == by_name_.end() ? nullptr : &entries_[found->second];
}

void Catalog::add(OpDef entry) {
  GS_CHECK(entry.define, entry.name, " has no definition");
  auto [place, fresh] = by_name_.try_emplace(key(entry.domain, entry.name), entries_.size());
  if (fresh) {
    entries_.push_back(std::move(entry));
  } else {
    entries_[place->second] = std::move(entry);
  }
}

}  // namespace gossamer::ops
