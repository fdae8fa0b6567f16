// Translates a language model in a GGUF file to the ONNX model that a builder would write.
#pragma once

#include <string>
#include <vector>

#include "gguf/file.h"

namespace gossamer::gguf {

// A file of a model, by its name from the model's folder.
struct Part {
  std::string name;
  File file;
};

// Names of all files of the model that a file is the first one of: itself, or what
// llama-gguf-split has made, NAME-00001-of-00003.gguf. Errors: another part, a name of another
// form.
Result<std::vector<std::string>> parts_of(const File& first, const std::string& name);

// The bytes of an ONNX model whose weights are ranges of its files: external data. It has the
// inputs input_ids and attention_mask, caches past_key_values.N.key and .value, and the outputs
// logits, present.N.key and .value, as models of onnxruntime-genai have them. Errors: an
// architecture that is not known, values and tensors that it lacks or that do not fit together,
// parts of something else.
Result<std::string> to_onnx(const std::vector<Part>& parts);

}  // namespace gossamer::gguf
