// A decoder of a language model as nodes of ONNX. Readers of formats say what its configuration and
// tensors are.
#pragma once

#include "language/network.h"
#include "language/node_writer.h"
#include "language/weights.h"

namespace gossamer::language {

// The bytes of an ONNX model whose weights are external data: ranges of files. It has the inputs
// input_ids and attention_mask, caches past_key_values.N.key and .value, and the outputs logits,
// present.N.key and .value, as models of onnxruntime-genai have them. Errors: tensors that are
// missing, or of another shape.
Result<std::string> write_model(const Network& network, Weights& weights);

}  // namespace gossamer::language
