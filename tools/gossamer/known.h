// What a compilation may know of a model's inputs before a run.
#pragma once

#include "onnx/known.h"

namespace gossamer::command {

struct Known : onnx::Known {
  bool values_only = false;  // helps only where a value is asked for
};

}  // namespace gossamer::command
