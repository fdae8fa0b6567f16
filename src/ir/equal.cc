// Structural equality and hashing, from the field table.
#include <bit>
#include <unordered_set>

#include "ir/rewrite.h"

namespace gossamer::ir {
namespace {

class Equality {
 public:
  bool operator()(const Node* a, const Node* b) {
    if (a == b) return true;
    if (!a || !b || a->kind != b->kind) return false;
    if (a->kind == NodeKind::Var || a->kind == NodeKind::Buffer) return false;
    // A pair found equal is not compared again; an unequal one ends the whole comparison.
    const bool shared = a->references > 1 && b->references > 1;
    if (shared && known_.contains({a, b})) return true;
    const bool same = dispatch(*a, [&]<class T>(const T& left) {
      const T& right = static_cast<const T&>(*b);
      if constexpr (std::is_base_of_v<ExprNode, T>) {
        if (left.type != right.type) return false;
      }
      bool all = true;
      // The table is walked once for pointers to the right node's fields, once beside the left
      // one's.
      const void* fields[8];
      int count = 0;
      visit_fields(right, [&](const char*, const auto& field) { fields[count++] = &field; });
      count = 0;
      visit_fields(left, [&]<class F>(const char*, const F& field) {
        const F& other = *static_cast<const F*>(fields[count++]);
        all = all && equal_field(field, other);
      });
      return all;
    });
    if (same && shared) known_.insert({a, b});
    return same;
  }

 private:
  struct PairHash {
    size_t operator()(const std::pair<const Node*, const Node*>& pair) const {
      return std::hash<const void*>()(pair.first) * 31 + std::hash<const void*>()(pair.second);
    }
  };

  template <class T>
  bool equal_field(const Ref<T>& a, const Ref<T>& b) {
    return (*this)(a.get(), b.get());
  }
  template <class T>
  bool equal_field(const std::vector<Ref<T>>& a, const std::vector<Ref<T>>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!equal_field(a[i], b[i])) return false;
    }
    return true;
  }
  // By bits: NaN equals itself, -0.0 differs from 0.0.
  bool equal_field(double a, double b) {
    return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
  }
  template <class T>
  bool equal_field(const T& a, const T& b) {
    return a == b;
  }

  std::unordered_set<std::pair<const Node*, const Node*>, PairHash> known_;
};

class Hashing {
 public:
  size_t operator()(const Node* node) {
    if (!node) return 7;
    if (node->kind == NodeKind::Var || node->kind == NodeKind::Buffer) {
      return std::hash<const void*>()(node);
    }
    const bool shared = node->references > 1;
    if (shared) {
      if (auto found = known_.find(node); found != known_.end()) return found->second;
    }
    const size_t value = dispatch(*node, [&]<class T>(const T& concrete) {
      size_t sum = static_cast<size_t>(concrete.kind) * 0x9e3779b1u + 1;
      if constexpr (std::is_base_of_v<ExprNode, T>) {
        sum = mix(sum, static_cast<size_t>(concrete.type.dtype) * 64 + concrete.type.lanes);
      }
      visit_fields(concrete,
                   [&](const char*, const auto& field) { sum = mix(sum, hash_field(field)); });
      return sum;
    });
    if (shared) known_.emplace(node, value);
    return value;
  }

 private:
  static size_t mix(size_t a, size_t b) {
    uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15u + (uint64_t{a} << 6) + (uint64_t{a} >> 2)));
    x *= 0xff51afd7ed558ccdu;
    return static_cast<size_t>(x ^ (x >> 32));
  }
  template <class T>
  size_t hash_field(const Ref<T>& a) {
    return (*this)(a.get());
  }
  template <class T>
  size_t hash_field(const std::vector<Ref<T>>& a) {
    size_t sum = a.size();
    for (const Ref<T>& one : a) sum = mix(sum, hash_field(one));
    return sum;
  }
  size_t hash_field(double a) { return std::hash<uint64_t>()(std::bit_cast<uint64_t>(a)); }
  template <class T>
  size_t hash_field(const T& a) {
    if constexpr (std::is_enum_v<T>) {
      return static_cast<size_t>(a);
    } else {
      return std::hash<T>()(a);
    }
  }

  std::unordered_map<const Node*, size_t> known_;
};

}  // namespace

bool equal(const Expr& a, const Expr& b) { return Equality()(a.get(), b.get()); }
bool equal(const Stmt& a, const Stmt& b) { return Equality()(a.get(), b.get()); }
size_t hash(const Expr& expr) { return Hashing()(expr.get()); }
size_t hash(const Stmt& stmt) { return Hashing()(stmt.get()); }

}  // namespace gossamer::ir
