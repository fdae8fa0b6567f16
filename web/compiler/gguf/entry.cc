// gguf.wasm: what pages fetch where a model is a GGUF file or a folder with safetensors files. It
// has no part of the compiler.
//
//   gs_gguf                  -> Answer*, which stays the caller's until gs_release: "model.onnx",
//   and
//                            with `texts` the files that texts_of() gives
//
// Arguments are as those of compiler.wasm (native/entry.cc).
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

// `size`: of the whole file, of which `bytes` are the beginning.
Result<gossamer::package::Files> translate(std::span<const std::byte> bytes, uint64_t size,
                                           std::string_view location, bool texts) {
  GS_ASSIGN(const gossamer::gguf::File file, gossamer::gguf::parse(bytes, size));
  gossamer::package::Files files;
  GS_ASSIGN(const std::string model, gossamer::gguf::to_onnx(file, std::string(location)));
  files.push_back(file_of("model.onnx", model));
  if (texts) {
    GS_ASSIGN(const auto made, gossamer::gguf::texts_of(file));
    for (const auto& [name, text] : made) files.push_back(file_of(name, text));
  }
  return files;
}

}  // namespace

GS_EXPORT(gs_alloc) void* gs_alloc(uint32_t size) { return std::malloc(size > 0 ? size : 1); }

GS_EXPORT(gs_free) void gs_free(void* memory) { std::free(memory); }

GS_EXPORT(gs_gguf)
Answer* gs_gguf(const std::byte* bytes, uint32_t bytes_size, double size, const char* location,
                uint32_t location_size, uint32_t texts) {
  return gossamer::web::answer(translate({bytes, bytes_size}, static_cast<uint64_t>(size),
                                         {location, location_size}, texts != 0));
}

GS_EXPORT(gs_release) void gs_release(Answer* answer) { delete answer; }
