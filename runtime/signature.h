// What a model takes and gives, by its package's manifest.
#pragma once

#include "package/package.h"
#include "runtime/model.h"

namespace gossamer::runtime {

// As users see them: a tensor of strings is one port (string_ports.h).
struct Signature {
  std::vector<Port> inputs, outputs;
  std::vector<Group> input_groups, output_groups;
};

// As the package has them.
std::vector<Port> described_ports(const std::vector<package::Port>& entries);
Signature signature_of(const package::Module& module);

}  // namespace gossamer::runtime
