// Functions of gguf.wasm for folders with safetensors files.
//
//   gs_safetensors_files     -> Answer*: "files", what model.safetensors.index.json lists, a JSON
//                            array
//   gs_safetensors           -> Answer*: "model.onnx", and "plan", safetensors::Translated as JSON.
//                            `call` is JSON: config, dtype, and for each file its name, its size
//                            and how many of `headers` are its first bytes
//   gs_convert               -> Answer* without files: numbers of one form in another
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "native/answer.h"
#include "safetensors/reader.h"

namespace {

using gossamer::Result;
using gossamer::package::Files;
using gossamer::web::Answer;
namespace safetensors = gossamer::safetensors;

using Json = rapidjson::Writer<rapidjson::StringBuffer>;

gossamer::package::File file_of(std::string name, std::span<const std::byte> bytes) {
  return {std::move(name), {bytes.begin(), bytes.end()}};
}
gossamer::package::File file_of(std::string name, const rapidjson::StringBuffer& text) {
  return file_of(std::move(name), std::as_bytes(std::span(text.GetString(), text.GetSize())));
}

Result<Files> files_of(std::string_view index) {
  GS_ASSIGN(const auto names, safetensors::files_of(index));
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartArray();
  for (const std::string& name : names) json.String(name);
  json.EndArray();
  return Files{file_of("files", text)};
}

void write(Json& json, const safetensors::Conversion& one) {
  json.StartArray();
  json.String(one.tensor);
  json.String(one.file);
  json.Uint64(one.offset);
  json.Uint64(one.length);
  json.Uint(static_cast<unsigned>(one.from));
  json.Uint(static_cast<unsigned>(one.into));
  json.Uint64(one.made_offset);
  json.Uint64(one.made_length);
  json.EndArray();
}

// The page writes `call`, so its form is right.
Result<Files> translate(std::string_view call, std::span<const std::byte> headers) {
  rapidjson::Document given;
  given.Parse(call.data(), call.size());
  std::vector<safetensors::File> files;
  for (const auto& file : given["files"].GetArray()) {
    const size_t length = file["length"].GetUint();
    files.push_back({file["name"].GetString(), headers.first(length),
                     static_cast<uint64_t>(file["size"].GetDouble())});
    headers = headers.subspan(length);
  }
  GS_ASSIGN(const auto precision, safetensors::precision_named(given["dtype"].GetString()));
  const auto& config = given["config"];
  GS_ASSIGN(
      const safetensors::Translated made,
      safetensors::translate({config.GetString(), config.GetStringLength()}, files, precision));
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartObject();
  json.Key("made");
  json.String(made.made);
  json.Key("bytes");
  json.Uint64(made.made_bytes);
  json.Key("conversions");
  json.StartArray();
  for (const safetensors::Conversion& one : made.conversions) write(json, one);
  json.EndArray();
  json.EndObject();
  return Files{file_of("model.onnx", std::as_bytes(std::span(made.model))), file_of("plan", text)};
}

Result<Files> convert(safetensors::Form from, std::span<const std::byte> numbers,
                      safetensors::Form into, std::byte* to) {
  const uint64_t count = numbers.size() / safetensors::bytes_of(from, 1);
  GS_TRY(safetensors::convert(from, numbers, into,
                              {to, static_cast<size_t>(safetensors::bytes_of(into, count))}));
  return Files{};
}

}  // namespace

GS_EXPORT(gs_safetensors_files)
Answer* gs_safetensors_files(const char* index, uint32_t size) {
  return gossamer::web::answer(files_of({index, size}));
}

GS_EXPORT(gs_safetensors)
Answer* gs_safetensors(const char* call, uint32_t call_size, const std::byte* headers,
                       uint32_t headers_size) {
  return gossamer::web::answer(translate({call, call_size}, {headers, headers_size}));
}

GS_EXPORT(gs_convert)
Answer* gs_convert(uint32_t from, const std::byte* numbers, uint32_t size, uint32_t into,
                   std::byte* to) {
  return gossamer::web::answer(convert(static_cast<safetensors::Form>(from), {numbers, size},
                                       static_cast<safetensors::Form>(into), to));
}
