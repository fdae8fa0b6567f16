// Values of inputs that a run may leave out.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/model.h"
#include "runtime/tensor.h"

namespace gossamer::runtime {

using Defaults = std::map<std::string, HostTensor, std::less<>>;

// Those in a package's file for them (package::defaults_file), by the inputs' names. Errors: a
// damaged file, a value that does not fit its input.
Result<Defaults> parse_defaults(std::span<const std::byte> file, const std::vector<Port>& inputs);

}  // namespace gossamer::runtime
