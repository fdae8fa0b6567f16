#include "inspect/words.h"

#include "base/strings.h"
#include "compiler/compile.h"
#include "ir/print.h"

namespace gossamer::inspect {

std::string shape_of(const graph::Value& value) {
  if (!value.shape_known) return "[...]";
  std::string text = "[";
  for (size_t axis = 0; axis < value.shape.size(); ++axis)
    text += cat(axis ? ", " : "", ir::print(value.shape[axis]));
  return text + "]";
}

std::map<std::string, int> count_operators(const graph::Graph& graph) {
  std::map<std::string, int> counts;
  for (const graph::Node& node : graph.nodes) {
    ++counts[node.def->name];
    for (const auto& region : node.regions) {
      if (!region) continue;
      for (const auto& [name, count] : count_operators(*region)) counts[name] += count;
    }
  }
  return counts;
}

std::string record_of(const compiler::KernelReport& kernel) {
  if (!kernel.recorded) return "";
  const std::string whose = kernel.near.empty() ? "its own" : cat("of ", kernel.near, ", nearest");
  return kernel.shipped.empty() ? whose : cat(whose, ", shipped for ", kernel.shipped);
}

}  // namespace gossamer::inspect
