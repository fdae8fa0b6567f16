#include "runtime/signature.h"

#include "runtime/string_ports.h"

namespace gossamer::runtime {

std::vector<Port> described_ports(const std::vector<package::Port>& entries) {
  std::vector<Port> ports;
  for (const package::Port& entry : entries) {
    Port& port = ports.emplace_back(Port{entry.name, entry.dtype, {}, entry.symbols});
    for (size_t axis = 0; axis < entry.shape.size(); ++axis) {
      const bool open = entry.shape[axis].planned ||
                        (axis < entry.symbols.size() && !entry.symbols[axis].empty());
      port.shape.push_back(open ? -1 : entry.shape[axis].value);
    }
  }
  return ports;
}

Signature signature_of(const package::Module& module) {
  Signature signature;
  signature.inputs = joined_ports(described_ports(module.inputs), module.inputs);
  signature.outputs = joined_ports(described_ports(module.outputs), module.outputs);
  for (const package::Group& group : module.groups) {
    const auto [first, count] = *(group.outputs ? group.outputs : group.inputs);
    (group.outputs ? signature.output_groups : signature.input_groups)
        .push_back({group.name, group.kind == "sequence", static_cast<size_t>(first),
                    static_cast<size_t>(count)});
  }
  return signature;
}

}  // namespace gossamer::runtime
