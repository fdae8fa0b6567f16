#include "ir/order.h"

#include <algorithm>
#include <bit>

namespace gossamer::ir {
namespace {

template <class T>
int three_way(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

}  // namespace

void Order::set_depth(const VarNode* var, int depth) {
  const Expr key(var);
  int* const known = var_depths_.find(key);
  if (!known) {
    var_depths_.add(key, depth);
  } else if (*known != depth) {
    *known = depth;
    depths_.clear();
  }
}

int Order::depth_of(const Expr& e) {
  if (var_depths_.empty()) return 0;
  // Noted, so that a depth which comes later is a change.
  if (as<VarNode>(e)) return var_depths_.add(e, 0);
  if (const int* known = depths_.find(e)) return *known;
  int deepest = 0;
  visit_operands(*e, [&](const Expr& child) { deepest = std::max(deepest, depth_of(child)); });
  depths_.add(e, deepest);
  return deepest;
}

int Order::number_of(const Node* node) {
  return numbers_.emplace(node, static_cast<int>(numbers_.size())).first->second;
}

int Order::compare(const Expr& a, const Expr& b) {
  if (a.same(b)) return 0;
  if (int by_depth = three_way(depth_of(a), depth_of(b))) return by_depth;
  return compare_nodes(a.get(), b.get());
}

int Order::compare_nodes(const Node* a, const Node* b) {
  if (a == b) return 0;
  if (!a || !b) return a ? 1 : -1;
  if (a->kind != b->kind) {
    if (a->kind == NodeKind::Var || b->kind == NodeKind::Var)
      return a->kind == NodeKind::Var ? -1 : 1;
    return three_way(a->kind, b->kind);
  }
  if (a->kind == NodeKind::Var || a->kind == NodeKind::Buffer) {
    auto name = [](const Node* node) -> const std::string& {
      return node->kind == NodeKind::Var ? static_cast<const VarNode*>(node)->name
                                         : static_cast<const BufferNode*>(node)->name;
    };
    if (int by_name = name(a).compare(name(b))) return by_name;
    return three_way(number_of(a), number_of(b));
  }
  return dispatch(*a, [&]<class T>(const T& left) {
    const T& right = static_cast<const T&>(*b);
    int result = 0;
    if constexpr (std::is_base_of_v<ExprNode, T>) {
      result = three_way(left.type.dtype, right.type.dtype);
      if (!result) result = three_way(left.type.lanes, right.type.lanes);
    }
    const void* fields[8];
    int count = 0;
    visit_fields(right, [&](const char*, const auto& field) { fields[count++] = &field; });
    count = 0;
    auto one = [&]<class F>(const F& x, const F& y) {
      if constexpr (std::is_same_v<F, Expr> || std::is_same_v<F, Stmt> ||
                    std::is_same_v<F, Buffer> || std::is_same_v<F, Var>) {
        return compare_nodes(x.get(), y.get());
      } else if constexpr (std::is_same_v<F, double>) {
        return three_way(std::bit_cast<uint64_t>(x), std::bit_cast<uint64_t>(y));
      } else {
        return three_way(x, y);
      }
    };
    visit_fields(left, [&]<class F>(const char*, const F& field) {
      const F& other = *static_cast<const F*>(fields[count++]);
      if (result) return;
      if constexpr (std::is_same_v<F, std::vector<Expr>> || std::is_same_v<F, std::vector<Stmt>> ||
                    std::is_same_v<F, std::vector<Buffer>>) {
        result = three_way(field.size(), other.size());
        for (size_t i = 0; i < field.size() && !result; ++i) result = one(field[i], other[i]);
      } else {
        result = one(field, other);
      }
    });
    return result;
  });
}

}  // namespace gossamer::ir
