// kernels.json: the shaders of a package for a GPU.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/device.h"

namespace gossamer::runtime {

// The source of each kernel, in the order of `kernels`. Errors: no list of strings, a kernel
// without a source in it.
Result<std::vector<std::string>> shader_sources(std::span<const std::byte> code,
                                                std::span<const KernelEntry> kernels);

}  // namespace gossamer::runtime
