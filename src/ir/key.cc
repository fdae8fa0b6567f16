#include "ir/key.h"

#include <bit>
#include <unordered_map>

namespace gossamer::ir {
namespace {

// Every different node becomes one line; equal lines are one number.
class Writer {
 public:
  std::string text;

  int node(const Node* node) {
    if (!node) return -1;
    if (const auto known = numbers_.find(node); known != numbers_.end()) return known->second;
    const int number = node->kind == NodeKind::Var      ? fresh(variable(*node))
                       : node->kind == NodeKind::Buffer ? fresh(buffer(*node))
                                                        : same(line_of(*node));
    numbers_.emplace(node, number);
    return number;
  }

 private:
  int fresh(const std::string& line) {
    text += line;
    text += '\n';
    return count_++;
  }
  int same(const std::string& line) {
    const auto [found, added] = lines_.emplace(line, count_);
    return added ? fresh(line) : found->second;
  }

  static std::string variable(const Node& node) {
    return "var " + to_string(static_cast<const VarNode&>(node).type);
  }
  std::string buffer(const Node& node) {
    const auto& b = static_cast<const BufferNode&>(node);
    std::string line = cat("buffer ", ir::name_of(b.dtype), " ", ir::name_of(b.storage), " ",
                           static_cast<int>(b.scope), " ", to_string(b.layout));
    for (const Expr& extent : b.shape) line += cat(" ", this->node(extent.get()));
    return line;
  }
  std::string line_of(const Node& node) {
    return dispatch(node, [&]<class T>(const T& concrete) {
      std::string line = cat(static_cast<int>(concrete.kind));
      if constexpr (std::is_base_of_v<ExprNode, T>) line += " " + to_string(concrete.type);
      visit_fields(concrete, [&](const char*, const auto& field) { line += " " + word(field); });
      return line;
    });
  }

  template <class T>
  std::string word(const Ref<T>& child) {
    return cat(node(child.get()));
  }
  template <class T>
  std::string word(const std::vector<Ref<T>>& children) {
    std::string list = "[";
    for (const Ref<T>& child : children) list += cat(node(child.get()), ",");
    return list + "]";
  }
  std::string word(double value) { return cat(std::bit_cast<uint64_t>(value)); }
  std::string word(const std::string& value) { return cat(value.size(), ":", value); }
  template <class T>
  std::string word(const T& value) {
    return cat(static_cast<long long>(value));
  }

  int count_ = 0;
  std::unordered_map<const Node*, int> numbers_;
  std::unordered_map<std::string, int> lines_;
};

}  // namespace

std::string key_of(const Kernel& kernel) {
  Writer writer;
  std::string last;
  for (const Kernel::Param& param : kernel.params)
    last += cat(param.updated   ? "update "
                : param.written ? "write "
                                : "read ",
                writer.node(param.buffer.get()), " ");
  for (const Var& scalar : kernel.scalars) last += cat("scalar ", writer.node(scalar.get()), " ");
  last += cat("body ", writer.node(kernel.body.get()));
  return writer.text + last;
}

}  // namespace gossamer::ir
