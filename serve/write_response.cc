#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "ir/scalar.h"
#include "serve/protocol.h"

namespace gossamer::serve {
namespace {

using ir::DType;
using runtime::HostTensor;
using Json = rapidjson::Writer<rapidjson::StringBuffer>;

void write(Json& json, std::string_view text) {
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void write(Json& json, const char* key, std::string_view text) {
  json.Key(key);
  write(json, text);
}

// The shortest digits that read back as the same value of its own type: FP32's 0.1 is 0.1, not the
// double's 0.10000000149011612.
void write_float(Json& json, DType dtype, double value) {
  if (std::isnan(value)) {
    json.Null();
    return;
  }
  if (std::isinf(value)) {
    const std::string_view text = value > 0 ? "1e999" : "-1e999";
    json.RawValue(text.data(), text.size(), rapidjson::kNumberType);
    return;
  }
  std::array<char, 40> text;
  const auto end =
      dtype == DType::f64
          ? std::to_chars(text.data(), text.data() + text.size(), value)
          : std::to_chars(text.data(), text.data() + text.size(), static_cast<float>(value));
  json.RawValue(text.data(), static_cast<size_t>(end.ptr - text.data()), rapidjson::kNumberType);
}

void write_data(Json& json, const HostTensor& tensor) {
  json.StartArray();
  for (const std::string& text : tensor.strings) write(json, text);
  const size_t bytes = static_cast<size_t>(ir::byte_size(tensor.dtype));
  for (size_t at = 0; bytes > 0 && at < tensor.bytes.size(); at += bytes) {
    const ir::Scalar value = ir::read_scalar(tensor.dtype, tensor.bytes.data() + at);
    if (ir::is_float(tensor.dtype))
      write_float(json, tensor.dtype, value.f);
    else if (tensor.dtype == DType::boolean)
      json.Bool(value.truthy());
    else if (tensor.dtype == DType::u64)
      json.Uint64(static_cast<uint64_t>(value.i));
    else
      json.Int64(value.i);
  }
  json.EndArray();
}

std::string binary_of(const HostTensor& tensor) {
  if (tensor.dtype != DType::string)
    return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
  std::string bytes;
  for (const std::string& text : tensor.strings) {
    const auto length = static_cast<uint32_t>(text.size());
    std::array<char, sizeof length> prefix;
    std::memcpy(prefix.data(), &length, sizeof length);
    bytes.append(prefix.data(), prefix.size());
    bytes += text;
  }
  return bytes;
}

void write_ports(Json& json, const char* key, const std::vector<runtime::Port>& ports) {
  json.Key(key);
  json.StartArray();
  for (const runtime::Port& port : ports) {
    json.StartObject();
    write(json, "name", port.name);
    write(json, "datatype", datatype_of(port.dtype).value_or(ir::name_of(port.dtype)));
    json.Key("shape");
    json.StartArray();
    for (const int64_t extent : port.shape) json.Int64(extent);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace

InferResponse write_infer(const Signature& model, const InferRequest& request,
                          const std::vector<HostTensor>& outputs) {
  rapidjson::StringBuffer text;
  Json json(text);
  std::string binary;
  bool any_binary = false;
  json.StartObject();
  write(json, "model_name", model.name);
  write(json, "model_version", "1");
  if (!request.id.empty()) write(json, "id", request.id);
  json.Key("outputs");
  json.StartArray();
  for (const InferRequest::Output& asked : request.outputs) {
    const HostTensor& tensor = outputs[asked.port];
    json.StartObject();
    write(json, "name", model.outputs[asked.port].name);
    write(json, "datatype", datatype_of(tensor.dtype).value_or(ir::name_of(tensor.dtype)));
    json.Key("shape");
    json.StartArray();
    for (const int64_t extent : tensor.shape) json.Int64(extent);
    json.EndArray();
    if (asked.binary) {
      const std::string bytes = binary_of(tensor);
      json.Key("parameters");
      json.StartObject();
      json.Key("binary_data_size");
      json.Uint64(bytes.size());
      json.EndObject();
      binary += bytes;
      any_binary = true;
    } else {
      json.Key("data");
      write_data(json, tensor);
    }
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  InferResponse response;
  response.body.assign(text.GetString(), text.GetSize());
  if (any_binary) {
    response.json_bytes = response.body.size();
    response.body += binary;
  }
  return response;
}

std::string server_metadata(std::string_view version) {
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartObject();
  write(json, "name", "gossamer");
  write(json, "version", version);
  json.Key("extensions");
  json.StartArray();
  write(json, "binary_tensor_data");
  json.EndArray();
  json.EndObject();
  return {text.GetString(), text.GetSize()};
}

std::string model_metadata(const Signature& model) {
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartObject();
  write(json, "name", model.name);
  json.Key("versions");
  json.StartArray();
  write(json, "1");
  json.EndArray();
  write(json, "platform", model.platform);
  write_ports(json, "inputs", model.inputs);
  write_ports(json, "outputs", model.outputs);
  json.EndObject();
  return {text.GetString(), text.GetSize()};
}

std::string error_body(std::string_view message) {
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartObject();
  write(json, "error", message);
  json.EndObject();
  return {text.GetString(), text.GetSize()};
}

}  // namespace gossamer::serve
