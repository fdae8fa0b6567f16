// What config.json of a model folder says of the network.
#pragma once

#include <string_view>

#include "base/result.h"
#include "language/network.h"

namespace gossamer::safetensors {

// Errors: no JSON, an architecture that is not known, values that are missing, wrong or not
// supported.
Result<language::Network> network_of(std::string_view config);

}  // namespace gossamer::safetensors
