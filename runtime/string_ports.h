// A tensor of strings is one port to users and two in a package: bytes and lengths.
#pragma once

#include "package/package.h"
#include "runtime/model.h"

namespace gossamer::runtime {

// Of a package's ports: each pair as one port of type string.
std::vector<Port> joined_ports(const std::vector<Port>& ports,
                               const std::vector<package::Port>& entries);

// What the package takes for what users give. Errors: another number of tensors, something else
// where strings are wanted, another shape.
Result<std::vector<HostTensor>> pack_feeds(const std::vector<Port>& ports,
                                           std::span<const HostTensor> feeds);

// The other way round, of outputs.
Result<std::vector<HostTensor>> unpack_outputs(const std::vector<Port>& ports,
                                               std::vector<HostTensor> outputs);

}  // namespace gossamer::runtime
