#include "ir/key.h"

#include <bit>
#include <string_view>
#include <unordered_map>

#include "base/small_vector.h"

namespace gossamer::ir {
namespace {

using Words = SmallVector<uint32_t, 8>;

// Every different node becomes one line of words; equal lines are one number.
class Writer {
 public:
  std::string text;

  uint32_t node(const Node* node) {
    if (!node) return none;
    if (const auto known = numbers_.find(node); known != numbers_.end()) return known->second;
    uint32_t number;
    if (node->kind == NodeKind::Var) {
      number = fresh(text_of(variable(*node)));
    } else if (node->kind == NodeKind::Buffer) {
      number = fresh(buffer(*node));
    } else {
      std::string line = text_of(line_of(*node));
      const auto [found, added] = lines_.emplace(std::move(line), count_);
      number = added ? fresh(found->first) : found->second;
    }
    numbers_.emplace(node, number);
    return number;
  }

 private:
  static constexpr uint32_t none = 0xffffffff;

  uint32_t fresh(std::string_view line) {
    text += line;
    return count_++;
  }
  // The length comes first, so that no two sequences of lines are one text.
  static std::string text_of(const Words& words) {
    std::string text;
    const auto length = static_cast<uint32_t>(words.size() * sizeof(uint32_t));
    text.reserve(sizeof length + length);
    text.append(reinterpret_cast<const char*>(&length), sizeof length);
    text.append(reinterpret_cast<const char*>(words.begin()), length);
    return text;
  }

  static uint32_t word_of(Type type) {
    return static_cast<uint32_t>(type.dtype) << 16 | static_cast<uint32_t>(type.lanes);
  }
  static Words variable(const Node& node) {
    return {static_cast<uint32_t>(node.kind), word_of(static_cast<const VarNode&>(node).type)};
  }
  std::string buffer(const Node& node) {
    const auto& b = static_cast<const BufferNode&>(node);
    Words words{static_cast<uint32_t>(node.kind), static_cast<uint32_t>(b.dtype),
                static_cast<uint32_t>(b.storage), static_cast<uint32_t>(b.scope)};
    for (const Expr& extent : b.shape) words.push_back(this->node(extent.get()));
    return text_of(words) + to_string(b.layout) + "\n";
  }
  Words line_of(const Node& node) {
    return dispatch(node, [&]<class T>(const T& concrete) {
      Words words{static_cast<uint32_t>(concrete.kind)};
      if constexpr (std::is_base_of_v<ExprNode, T>) words.push_back(word_of(concrete.type));
      visit_fields(concrete, [&](const char*, const auto& field) { add(words, field); });
      return words;
    });
  }

  template <class T>
  void add(Words& words, const Ref<T>& child) {
    words.push_back(node(child.get()));
  }
  template <class T>
  void add(Words& words, const std::vector<Ref<T>>& children) {
    words.push_back(static_cast<uint32_t>(children.size()));
    for (const Ref<T>& child : children) add(words, child);
  }
  void add(Words& words, double value) { add(words, std::bit_cast<int64_t>(value)); }
  template <class T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  void add(Words& words, T value) {
    const auto bits = static_cast<uint64_t>(value);
    words.push_back(static_cast<uint32_t>(bits));
    if constexpr (sizeof(T) > sizeof(uint32_t)) words.push_back(static_cast<uint32_t>(bits >> 32));
  }

  uint32_t count_ = 0;
  std::unordered_map<const Node*, uint32_t> numbers_;
  std::unordered_map<std::string, uint32_t> lines_;
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
