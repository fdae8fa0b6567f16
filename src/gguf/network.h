// What the metadata of a GGUF file say of a network.
#pragma once

#include "gguf/file.h"
#include "language/network.h"

namespace gossamer::gguf {

// Errors: an architecture that is not known, values that it lacks.
Result<language::Network> network_of(const File& file);

}  // namespace gossamer::gguf
