// The compiler's calls from JavaScript. Addresses and sizes are 32-bit; strings are UTF-8.
//
//   gs_alloc, gs_free        memory for the arguments
//   gs_compile               -> Answer*, which stays the caller's until gs_release; files of
//   external
//                            data are entries, by their paths from the model
//
// Progress goes to the imported gossamer.progress(text, size, fraction), shaders of calls with
// `on_kernel` to gossamer.kernel(json, size).
#include <cstdlib>

#include "options.h"

namespace {

using gossamer::Result;
using gossamer::web::Answer;
using gossamer::web::Entry;

Result<gossamer::package::Files> compile_model(std::span<const std::byte> model,
                                               std::string_view json,
                                               std::span<const Entry> given) {
  GS_ASSIGN(auto options, gossamer::web::read_options(json));
  gossamer::onnx::ExternalFiles external(gossamer::web::opener_of(given));
  // Held weights need no file, even the small ones that are read with the model.
  if (!given.empty() || !options.hold_external) options.external = &external;
  return gossamer::compiler::compile(model, options);
}

}  // namespace

GS_EXPORT(gs_alloc) void* gs_alloc(uint32_t size) { return std::malloc(size > 0 ? size : 1); }

GS_EXPORT(gs_free) void gs_free(void* memory) { std::free(memory); }

GS_EXPORT(gs_compile)
Answer* gs_compile(const std::byte* model, uint32_t model_size, const char* options,
                   uint32_t options_size, const Entry* given, uint32_t given_count) {
  return gossamer::web::answer(
      compile_model({model, model_size}, {options, options_size}, {given, given_count}));
}

GS_EXPORT(gs_release) void gs_release(Answer* answer) { delete answer; }
