#include "graph/empty_dims.h"

#include <string_view>
#include <unordered_map>

namespace gossamer::graph {
namespace {

// By axis of a tensor: the dimension that is its extent, or null.
using Axes = std::vector<const ir::VarNode*>;

int64_t whole(const Node& node, std::string_view name, int64_t otherwise) {
  const auto found = node.attributes.find(std::string(name));
  const auto* number =
      found == node.attributes.end() ? nullptr : std::get_if<int64_t>(&found->second);
  return number ? *number : otherwise;
}

class Search {
 public:
  explicit Search(const Graph& graph) : graph_(graph) {}

  std::unordered_set<const ir::VarNode*> run() {
    for (const Dim& dim : graph_.dims) found_.insert(dim.var.get());
    for (ValueId id : graph_.inputs) {
      Axes& axes = axes_[id];
      for (const Expr& extent : graph_.values[id].shape)
        axes.push_back(ir::as<ir::VarNode>(extent));
    }
    for (const Node& node : graph_.nodes) {
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const auto axes = axes_.find(node.inputs[i]);
        if (axes != axes_.end() && !takes(node, i, Axes(axes->second))) refuse(node.inputs[i]);
      }
      for (const auto& region : node.regions) {
        if (!region) continue;
        for (const Capture& capture : region->captures) refuse(capture.outer);
      }
    }
    for (ValueId id : graph_.outputs) refuse(id);
    return std::move(found_);
  }

 private:
  using Expr = ir::Expr;

  void refuse(ValueId id) {
    const auto axes = axes_.find(id);
    if (axes == axes_.end()) return;
    for (const ir::VarNode* var : axes->second) found_.erase(var);
  }

  // What an axis of its input becomes, or false.
  bool takes(const Node& node, size_t input, Axes axes) {
    if (!node.def->domain.empty()) return false;
    const std::string_view op = node.def->name;
    const auto rank = static_cast<int64_t>(axes.size());
    const auto axis = [&](int64_t number) {
      return static_cast<size_t>(number + (number < 0 ? rank : 0));
    };
    if (op == "Shape") return true;
    if (op == "Concat") {
      const size_t along = axis(whole(node, "axis", 0));
      if (along >= axes.size() || node.inputs.size() < 2) return false;
      axes[along] = nullptr;
    } else if (op == "Transpose") {
      const auto found = node.attributes.find("perm");
      const auto* perm = found == node.attributes.end()
                             ? nullptr
                             : std::get_if<std::vector<int64_t>>(&found->second);
      if (!perm || perm->size() != axes.size()) return false;
      const Axes before = axes;
      for (size_t i = 0; i < axes.size(); ++i) {
        if (axis((*perm)[i]) >= axes.size()) return false;
        axes[i] = before[axis((*perm)[i])];
      }
    } else if (op == "Gather" && input == 0 && node.inputs.size() == 2) {
      const auto& indices = graph_.values[node.inputs[1]].constant;
      const size_t along = axis(whole(node, "axis", 0));
      if (!indices || along >= axes.size() || axes[along]) return false;
      const auto at = axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(along));
      axes.insert(at, indices->shape.size(), nullptr);
    } else if (op != "Identity" && op != "Cast") {
      return false;
    }
    // Of several joined tensors each has its say.
    Axes& made = axes_[node.outputs[0]];
    if (made.empty()) made.assign(axes.size(), nullptr);
    for (size_t i = 0; i < axes.size() && i < made.size(); ++i) {
      if (axes[i]) made[i] = axes[i];
    }
    return true;
  }

  const Graph& graph_;
  std::unordered_map<ValueId, Axes> axes_;
  std::unordered_set<const ir::VarNode*> found_;
};

}  // namespace

std::unordered_set<const ir::VarNode*> dims_that_may_be_empty(const Graph& graph) {
  return Search(graph).run();
}

}  // namespace gossamer::graph
