#include "gossamer/judge/sample_file.h"

#include <rapidjson/document.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/scalar.h"

namespace gossamer::command {
namespace {

// NumPy's names.
constexpr std::pair<std::string_view, ir::DType> dtypes[] = {
    {"float32", ir::DType::f32}, {"float16", ir::DType::f16}, {"float64", ir::DType::f64},
    {"int8", ir::DType::i8},     {"int16", ir::DType::i16},   {"int32", ir::DType::i32},
    {"int64", ir::DType::i64},   {"uint8", ir::DType::u8},    {"uint16", ir::DType::u16},
    {"uint32", ir::DType::u32},  {"uint64", ir::DType::u64},  {"bool", ir::DType::boolean},
};

struct Moments {
  double mean = 0, deviation = 0;
  double least = std::numeric_limits<double>::infinity(), largest = -least;
};

Moments moments_of(const ops::TensorData& tensor) {
  Moments moments;
  const int64_t count = tensor.element_count();
  for (int64_t at = 0; at < count; ++at) {
    const double value = element(tensor, at);
    moments.mean += value / static_cast<double>(count);
    moments.least = std::min(moments.least, value);
    moments.largest = std::max(moments.largest, value);
  }
  double sum = 0;
  for (int64_t at = 0; at < count; ++at) {
    const double distance = element(tensor, at) - moments.mean;
    sum += distance * distance;
  }
  moments.deviation = std::sqrt(sum / static_cast<double>(std::max<int64_t>(count, 1)));
  return moments;
}

}  // namespace

Result<Expected> read_sample_file(const std::filesystem::path& path) {
  GS_ASSIGN(const std::string text, read_text(path));
  rapidjson::Document json;
  json.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag>(text.data(),
                                                                              text.size());
  if (json.HasParseError() || !json.IsObject()) return fail_at(path.string(), "is not a sample");
  const auto has = [&](const char* key, auto is) { return json.HasMember(key) && is(json[key]); };
  const auto array = [](const rapidjson::Value& value) { return value.IsArray(); };
  const auto string = [](const rapidjson::Value& value) { return value.IsString(); };
  const auto number = [](const rapidjson::Value& value) { return value.IsNumber(); };
  if (!has("name", string) || !has("dims", array) || !has("dtype", string) ||
      !has("index", array) || !has("value", array) ||
      json["index"].Size() != json["value"].Size() || !has("mean", number) || !has("std", number) ||
      !has("min", number) || !has("max", number))
    return fail_at(path.string(), "is not a whole sample");
  const std::string_view dtype = json["dtype"].GetString();
  const auto* known = std::find_if(std::begin(dtypes), std::end(dtypes),
                                   [&](const auto& row) { return row.first == dtype; });
  if (known == std::end(dtypes)) return fail_at(path.string(), cat("has elements of ", dtype));
  Sample sample;
  for (const auto& extent : json["dims"].GetArray())
    sample.shape.push_back(extent.IsInt64() ? extent.GetInt64() : -1);
  int64_t count = 1;
  for (int64_t extent : sample.shape)
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count))
      return fail_at(path.string(), cat("has the shape ", shape_text(sample.shape)));
  Expected expected;
  expected.tensor.name = json["name"].GetString();
  ops::TensorData& values = expected.tensor.data;
  values.dtype = known->second;
  values.shape = {static_cast<int64_t>(json["value"].Size())};
  const auto size = static_cast<size_t>(ir::byte_size(values.dtype));
  values.bytes.resize(json["value"].Size() * size);
  for (rapidjson::SizeType at = 0; at < json["index"].Size(); ++at) {
    const auto &index = json["index"][at], &value = json["value"][at];
    if (!index.IsInt64() || index.GetInt64() < 0 || index.GetInt64() >= count ||
        !(value.IsNumber() || value.IsBool()))
      return fail_at(path.string(), cat("element ", at, " is not one of the tensor's"));
    sample.index.push_back(index.GetInt64());
    const ir::Scalar scalar = value.IsBool() ? ir::Scalar::of_int(values.dtype, value.GetBool())
                              : value.IsInt64()
                                  ? ir::Scalar::of_int(values.dtype, value.GetInt64())
                                  : ir::Scalar::of_float(values.dtype, value.GetDouble());
    ir::write_scalar(scalar, &values.bytes[at * size]);
  }
  sample.mean = json["mean"].GetDouble();
  sample.deviation = json["std"].GetDouble();
  sample.least = json["min"].GetDouble();
  sample.largest = json["max"].GetDouble();
  expected.sample = std::move(sample);
  return expected;
}

Difference compare_sample(const ops::TensorData& actual, const Expected& expected,
                          Tolerance tolerance) {
  const Sample& sample = *expected.sample;
  const ops::TensorData& values = expected.tensor.data;
  ops::TensorData picked{values.dtype, values.shape, {}, {}};
  if (actual.dtype != values.dtype || actual.shape != sample.shape)  // says so of the whole tensor
    return compare({actual.dtype, actual.shape, {}, {}}, {values.dtype, sample.shape, {}, {}}, {});
  const auto size = static_cast<size_t>(ir::byte_size(values.dtype));
  for (int64_t index : sample.index) {
    const auto begin = actual.bytes.begin() + index * static_cast<ptrdiff_t>(size);
    picked.bytes.insert(picked.bytes.end(), begin, begin + static_cast<ptrdiff_t>(size));
  }
  const double scale = std::max(std::abs(sample.least), std::abs(sample.largest));
  const Tolerance whole{tolerance.absolute + tolerance.relative * scale, 0};
  Difference difference = compare(picked, values, whole);
  const Moments moments = moments_of(actual);
  const std::tuple<const char*, double, double> sums[] = {
      {"mean", moments.mean, sample.mean},
      {"standard deviation", moments.deviation, sample.deviation},
      {"least element", moments.least, sample.least},
      {"largest element", moments.largest, sample.largest}};
  for (const auto& [what, x, y] : sums) {
    if (!difference.agrees || std::abs(x - y) <= whole.absolute) continue;
    difference.agrees = false;
    difference.ratio = std::numeric_limits<double>::infinity();
    difference.mismatch = cat("the ", what, " is ", number_text(x), ", expected ", number_text(y));
  }
  return difference;
}

}  // namespace gossamer::command
