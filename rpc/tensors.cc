#include "rpc/tensors.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "base/strings.h"

namespace gossamer::rpc {
namespace {

using Json = rapidjson::Writer<rapidjson::StringBuffer>;

Result<std::vector<std::string>> strings_of(std::span<const std::byte> bytes,
                                            const std::string& where) {
  rapidjson::Document json;
  json.Parse<rapidjson::kParseIterativeFlag>(reinterpret_cast<const char*>(bytes.data()),
                                             bytes.size());
  if (json.HasParseError() || !json.IsArray()) return fail_at(where, "is no list of texts");
  std::vector<std::string> strings;
  for (const auto& one : json.GetArray()) {
    if (!one.IsString()) return fail_at(where, "has an element that is no text");
    strings.emplace_back(one.GetString(), one.GetStringLength());
  }
  return strings;
}

// Of the elements, or nothing: more than any memory holds.
std::optional<uint64_t> count_of(const std::vector<int64_t>& shape) {
  uint64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent != 0 && count > most_frame_bytes / static_cast<uint64_t>(extent))
      return std::nullopt;
    count *= static_cast<uint64_t>(extent);
  }
  return count;
}

}  // namespace

std::string strings_json(const std::vector<std::string>& strings) {
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartArray();
  for (const std::string& string : strings) json.String(string);
  json.EndArray();
  return {text.GetString(), text.GetSize()};
}

std::string write_tensors(const std::vector<NamedTensor>& tensors,
                          std::vector<std::byte>& payload) {
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartArray();
  for (const auto& [name, tensor] : tensors) {
    const std::string strings =
        tensor.dtype == ir::DType::string ? strings_json(tensor.strings) : "";
    const auto bytes = strings.empty() ? std::span<const std::byte>(tensor.bytes)
                                       : std::as_bytes(std::span(strings));
    json.StartObject();
    json.Key("name");
    json.String(name);
    json.Key("dtype");
    json.String(std::string(ir::name_of(tensor.dtype)));
    json.Key("shape");
    json.StartArray();
    for (const int64_t extent : tensor.shape) json.Int64(extent);
    json.EndArray();
    json.Key("bytes");
    json.Uint64(bytes.size());
    json.EndObject();
    payload.insert(payload.end(), bytes.begin(), bytes.end());
  }
  json.EndArray();
  return {text.GetString(), text.GetSize()};
}

Result<std::vector<NamedTensor>> read_tensors(const rapidjson::Value& list,
                                              std::span<const std::byte> payload) {
  if (!list.IsArray()) return fail("tensors are no list");
  std::vector<NamedTensor> tensors;
  for (const auto& one : list.GetArray()) {
    const bool whole = one.IsObject() && one.HasMember("name") && one["name"].IsString() &&
                       one.HasMember("dtype") && one["dtype"].IsString() &&
                       one.HasMember("shape") && one["shape"].IsArray() && one.HasMember("bytes") &&
                       one["bytes"].IsUint64();
    if (!whole) return fail("a tensor lacks its name, dtype, shape or bytes");
    NamedTensor read;
    read.name.assign(one["name"].GetString(), one["name"].GetStringLength());
    const std::string where = cat("tensor \"", one_line(read.name), "\"");
    const auto dtype = ir::dtype_named(one["dtype"].GetString());
    if (!dtype || *dtype == ir::DType::index)
      return fail_at(where, cat("is of type ", one_line(one["dtype"].GetString())));
    read.tensor.dtype = *dtype;
    for (const auto& extent : one["shape"].GetArray()) {
      if (!extent.IsInt64() || extent.GetInt64() < 0) return fail_at(where, "has no shape");
      read.tensor.shape.push_back(extent.GetInt64());
    }
    const uint64_t bytes = one["bytes"].GetUint64();
    if (bytes > payload.size()) return fail_at(where, "is longer than its frame");
    const auto elements = payload.subspan(0, bytes);
    payload = payload.subspan(bytes);
    const auto count = count_of(read.tensor.shape);
    if (!count) return fail_at(where, "has too many elements");
    uint64_t found = 0;
    if (*dtype == ir::DType::string) {
      GS_ASSIGN(read.tensor.strings, strings_of(elements, where));
      found = read.tensor.strings.size();
    } else {
      read.tensor.bytes.assign(elements.begin(), elements.end());
      const auto size = static_cast<uint64_t>(ir::byte_size(*dtype));
      found = bytes % size == 0 ? bytes / size : ~uint64_t{0};
    }
    if (found != *count)
      return fail_at(where, cat("has ", bytes, " bytes, not those of its shape ",
                                runtime::shape_text(read.tensor.shape)));
    tensors.push_back(std::move(read));
  }
  return tensors;
}

}  // namespace gossamer::rpc
