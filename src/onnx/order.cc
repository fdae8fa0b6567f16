#include "onnx/order.h"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace gossamer::onnx {
namespace {

using Names = std::unordered_set<std::string_view>;

void add_used_names(const ProtoNode& node, Names& used);

// Names that a body takes from the graphs around it.
void add_free_names(const ProtoGraph& graph, Names& free) {
  Names made;
  for (const ProtoValue& input : graph.inputs) made.insert(input.name);
  for (const ProtoTensor& tensor : graph.initializers) made.insert(tensor.name);
  Names used;
  for (const ProtoNode& node : graph.nodes) {
    for (std::string_view name : node.outputs) made.insert(name);
    add_used_names(node, used);
  }
  for (const ProtoValue& output : graph.outputs) used.insert(output.name);
  for (std::string_view name : used) {
    if (!made.contains(name)) free.insert(name);
  }
}

// Tensors that an operator's attributes name.
void add_named_tensors(const ProtoAttribute& attribute, Names& used) {
  used.insert(attribute.string);
  for (std::string_view name : attribute.strings) used.insert(name);
}

void add_used_names(const ProtoNode& node, Names& used) {
  for (std::string_view name : node.inputs) used.insert(name);
  const bool gradient = node.op == "Gradient" && node.domain == "ai.onnx.preview.training";
  for (const ProtoAttribute& attribute : node.attributes) {
    if (gradient) add_named_tensors(attribute, used);
    for (const auto& body : attribute.bodies) add_free_names(*body, used);
  }
}

}  // namespace

std::string node_name(const ProtoNode& node) {
  if (!node.name.empty()) return std::string(node.name);
  for (std::string_view output : node.outputs) {
    if (!output.empty()) return std::string(output);
  }
  return "?";
}

std::string node_place(const ProtoNode& node) {
  return cat("[", node.op, "] \"", node_name(node), "\"");
}

Result<std::vector<const ProtoNode*>> topological_order(const std::vector<ProtoNode>& nodes) {
  std::unordered_map<std::string_view, size_t> maker;
  std::vector<bool> replaced(nodes.size(), false);
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (std::string_view name : nodes[i].outputs) {
      if (name.empty()) continue;
      const auto [found, fresh] = maker.emplace(name, i);
      if (fresh) continue;
      // Constants that an optimizer left beside their replacements: the last one stands, as in ONNX
      // Runtime.
      if (nodes[i].op != "Constant" || nodes[found->second].op != "Constant") {
        return fail_at(node_place(nodes[i]), cat("makes the value \"", name, "\" a second time"));
      }
      replaced[found->second] = true;
      found->second = i;
    }
  }
  bool sorted = true;
  std::vector<std::vector<size_t>> users(nodes.size());
  std::vector<size_t> waits_for(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    Names used;
    add_used_names(nodes[i], used);
    for (std::string_view name : used) {
      auto found = maker.find(name);
      if (name.empty() || found == maker.end()) continue;
      users[found->second].push_back(i);
      ++waits_for[i];
      sorted = sorted && found->second < i;
    }
  }
  std::vector<const ProtoNode*> order;
  order.reserve(nodes.size());
  if (sorted) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!replaced[i]) order.push_back(&nodes[i]);
    }
    return order;
  }
  size_t taken = 0;
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (waits_for[i] == 0) ready.push(i);
  }
  while (!ready.empty()) {
    size_t next = ready.top();
    ready.pop();
    if (!replaced[next]) order.push_back(&nodes[next]);
    ++taken;
    for (size_t user : users[next]) {
      if (--waits_for[user] == 0) ready.push(user);
    }
  }
  if (taken == nodes.size()) return order;
  size_t stuck = static_cast<size_t>(
      std::ranges::find_if(waits_for, [](size_t count) { return count > 0; }) - waits_for.begin());
  return fail_at(node_place(nodes[stuck]), "depends on its own output, through a cycle of nodes");
}

}  // namespace gossamer::onnx
