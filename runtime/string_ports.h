// A tensor of strings is one port to users and two in a package: bytes and lengths.
#pragma once

#include "package/package.h"
#include "runtime/model.h"

namespace gossamer::runtime {

// Of a package's ports: each pair as one port of type string.
std::vector<Port> joined_ports(const std::vector<Port>& ports,
                               const std::vector<package::Port>& entries);

struct PackedFeeds {
  std::vector<TensorView> feeds;
  std::vector<HostTensor> strings;  // what the views of strings show
};

// What the package takes for what users give. Errors: another number of tensors, something else
// where strings are wanted, another shape.
Result<PackedFeeds> pack_feeds(const std::vector<Port>& ports, std::span<const TensorView> feeds);

// The other way round, of outputs.
Result<std::vector<HostTensor>> unpack_outputs(const std::vector<Port>& ports,
                                               std::vector<HostTensor> outputs);

}  // namespace gossamer::runtime
