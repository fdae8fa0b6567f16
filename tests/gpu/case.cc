#include "gpu/case.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <bit>
#include <cstdio>

#include "codegen/glsl/emit.h"
#include "codegen/wgsl/emit.h"
#include "ir/type_rules.h"

namespace gossamer::tests::gpu {
namespace {

using Json = rapidjson::Writer<rapidjson::StringBuffer>;

void words(Json& json, const Data& data) {
  json.StartArray();
  for (const ir::Scalar& value : data.values) json.Uint(storage_word(value));
  json.EndArray();
}

template <class Shader>
void begin(Json& json, const Case& test, const Shader& shader) {
  json.StartObject();
  json.Key("name");
  json.String(test.name);
  json.Key("code");
  json.String(shader.code);
  json.Key("range");
  json.Int64(test.range);
  json.Key("absolute");
  json.Double(test.absolute);
  json.Key("relative");
  json.Double(test.relative);
  json.Key("storage");
  json.StartArray();
  for (const auto& binding : shader.bindings)
    json.String(std::string(ir::name_of(binding.storage)));
  json.EndArray();
  json.Key("inputs");
  json.StartArray();
  for (const Data& input : test.inputs) words(json, input);
  json.EndArray();
  json.Key("expected");
  words(json, test.expected);
  json.Key("scalars");
  json.StartArray();
}

template <class T>
T value_or_stop(Result<T> result, const std::string& name) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "%s: %s\n", name.c_str(), result.error().to_string().c_str());
  std::exit(1);
}

}  // namespace

uint32_t storage_word(const ir::Scalar& value) {
  const ir::DType storage = ir::TypeRules{.words = true}.of(value.dtype).stored;
  if (storage == ir::DType::f32) return std::bit_cast<uint32_t>(static_cast<float>(value.f));
  const auto low = storage == ir::DType::u32 ? int64_t{0} : int64_t{INT32_MIN};
  const auto high = storage == ir::DType::u32 ? int64_t{UINT32_MAX} : int64_t{INT32_MAX};
  return static_cast<uint32_t>(std::clamp(value.i, low, high));
}

void Cases::add_webgpu(const Case& test) {
  const auto shader = value_or_stop(codegen::wgsl::emit(test.kernel), test.name);
  rapidjson::StringBuffer text;
  Json json(text);
  begin(json, test, shader);
  if (shader.range_scalar) json.Int64(test.range);
  for (int64_t scalar : test.scalars) json.Int64(scalar);
  json.EndArray();
  json.EndObject();
  webgpu_.push_back(text.GetString());
}

void Cases::add_webgl(const Case& test) {
  const auto shader = value_or_stop(codegen::glsl::emit(test.kernel), test.name);
  rapidjson::StringBuffer text;
  Json json(text);
  begin(json, test, shader);
  for (int64_t scalar : test.scalars) json.Int64(scalar);
  json.EndArray();
  json.Key("textures");
  json.StartArray();
  for (const auto& param : test.kernel.params) {
    const ir::Layout& layout = param.buffer->layout;
    json.StartArray();
    json.Int(layout.width);
    json.Int(layout.layers);
    json.EndArray();
  }
  json.EndArray();
  json.EndObject();
  webgl_.push_back(text.GetString());
}

std::string Cases::json() const {
  auto list = [](const std::vector<std::string>& cases) {
    std::string text = "[";
    for (size_t i = 0; i < cases.size(); ++i) text += (i ? ",\n" : "\n") + cases[i];
    return text + "]";
  };
  return "{\"webgpu\": " + list(webgpu_) + ",\n\"webgl\": " + list(webgl_) + "}\n";
}

}  // namespace gossamer::tests::gpu
