// What a file is that was given in place of a model: pages of servers, pointers, weights alone.
#pragma once

#include <optional>
#include <string>

#include "onnx/wire.h"

namespace gossamer::onnx {

struct OtherKind {
  std::string what;  // "an HTML page"
  std::string hint;  // what to do
  bool any = false;  // came in place of some file, whatever that is: a pointer or a server's page
};

// By how the bytes begin; nothing for bytes that may be an ONNX model or its weights.
std::optional<OtherKind> other_kind(Bytes bytes);

}  // namespace gossamer::onnx
