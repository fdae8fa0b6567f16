// A compilation as JavaScript asks for it.
#pragma once

#include <span>
#include <string_view>

#include "answer.h"
#include "compiler/compile.h"

namespace gossamer::web {

// From JSON as NativeOptions of web/compiler/src/call.ts says; progress goes to JavaScript. Errors:
// what is not known, or of another type.
Result<compiler::Options> read_options(std::string_view json);

// Files of weights by their paths from the model; the entries stay the caller's.
onnx::ExternalFiles::Open opener_of(std::span<const Entry> given);

}  // namespace gossamer::web
