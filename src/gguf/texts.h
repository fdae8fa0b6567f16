// The tokenizer and chat template of a GGUF file, as the files that folders of Hugging Face have.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gguf/file.h"

namespace gossamer::gguf {

// config.json, generation_config.json, tokenizer.json and tokenizer_config.json, by name. Errors: a
// tokenizer that is not known, lists whose lengths differ.
Result<std::vector<std::pair<std::string, std::string>>> texts_of(const File& file);

}  // namespace gossamer::gguf
