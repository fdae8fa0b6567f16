// Translates a language model in a GGUF file to the ONNX model that a builder would write.
#pragma once

#include <string>

#include "gguf/file.h"

namespace gossamer::gguf {

// The bytes of an ONNX model whose weights are ranges of the file `location`, beside it: external
// data. It has the inputs input_ids and attention_mask, caches past_key_values.N.key and .value,
// and the outputs logits, present.N.key and .value, as models of onnxruntime-genai have them.
// Errors: an architecture that is not known, values and tensors that it lacks or that do not fit
// together.
Result<std::string> to_onnx(const File& file, const std::string& location);

}  // namespace gossamer::gguf
