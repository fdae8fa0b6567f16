// gguf.wasm: what pages fetch where a model is a GGUF file or a folder with safetensors files. It
// has no part of the compiler.
//
//   gs_gguf                  -> Answer*, which stays the caller's until gs_release: "model.onnx",
//   and with `texts` the files that texts_of() gives. Or "parts", a JSON array of the names of all
//   files, where only the first of several is given. `call` is JSON: texts, and for each file its
//   name, its size and how many of `bytes` are its first ones
//
// Arguments are as those of compiler.wasm (native/entry.cc).
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "gguf/reader.h"
#include "gguf/texts.h"
#include "native/answer.h"

#include <cstdlib>
#include <span>

namespace {

using gossamer::Result;
using gossamer::web::Answer;

gossamer::package::File file_of(std::string name, const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {std::move(name), {bytes.begin(), bytes.end()}};
}

gossamer::package::File list_of(const std::vector<std::string>& names) {
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> json(text);
  json.StartArray();
  for (const std::string& name : names) json.String(name);
  json.EndArray();
  return file_of("parts", {text.GetString(), text.GetSize()});
}

// The page writes `call`, so its form is right.
Result<gossamer::package::Files> translate(std::string_view call,
                                           std::span<const std::byte> bytes) {
  rapidjson::Document given;
  given.Parse(call.data(), call.size());
  std::vector<gossamer::gguf::Part> parts;
  for (const auto& file : given["files"].GetArray()) {
    const size_t length = file["length"].GetUint();
    auto parsed =
        gossamer::gguf::parse(bytes.first(length), static_cast<uint64_t>(file["size"].GetDouble()));
    if (!parsed) {
      if (!parts.empty()) parsed.error().where = file["name"].GetString();
      return std::unexpected(std::move(parsed.error()));
    }
    parts.push_back({file["name"].GetString(), *std::move(parsed)});
    bytes = bytes.subspan(length);
  }
  GS_ASSIGN(const auto names, gossamer::gguf::parts_of(parts[0].file, parts[0].name));
  if (names.size() > parts.size()) return gossamer::package::Files{list_of(names)};
  gossamer::package::Files files;
  GS_ASSIGN(const std::string model, gossamer::gguf::to_onnx(parts));
  files.push_back(file_of("model.onnx", model));
  if (given["texts"].GetBool()) {
    GS_ASSIGN(const auto made, gossamer::gguf::texts_of(parts[0].file));
    for (const auto& [name, text] : made) files.push_back(file_of(name, text));
  }
  return files;
}

}  // namespace

GS_EXPORT(gs_alloc) void* gs_alloc(uint32_t size) { return std::malloc(size > 0 ? size : 1); }

GS_EXPORT(gs_free) void gs_free(void* memory) { std::free(memory); }

GS_EXPORT(gs_gguf)
Answer* gs_gguf(const char* call, uint32_t call_size, const std::byte* bytes, uint32_t bytes_size) {
  return gossamer::web::answer(translate({call, call_size}, {bytes, bytes_size}));
}

GS_EXPORT(gs_release) void gs_release(Answer* answer) { delete answer; }
