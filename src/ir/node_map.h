// Results by node, for analyses that remember what they have seen.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ir/nodes.h"

namespace gossamer::ir {

// A hash table of expressions, by identity. It holds its keys, so no other node takes their
// addresses. Adding moves the values.
template <class Value>
class NodeMap {
 public:
  // Null where there is none.
  const Value* find(const Expr& key) const {
    if (slots_.empty()) return nullptr;
    for (size_t at = place_of(key.get());; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (slot.key.same(key)) return &slot.value;
      if (!slot.key.get()) return nullptr;
    }
  }
  // Keeps the value that is there, and gives it.
  const Value& add(const Expr& key, Value value) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    size_t at = place_of(key.get());
    for (; slots_[at].key; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].key.same(key)) return slots_[at].value;
    }
    slots_[at].key = key;
    slots_[at].value = std::move(value);
    ++count_;
    return slots_[at].value;
  }
  // The value that is there may be changed.
  Value* find(const Expr& key) { return const_cast<Value*>(std::as_const(*this).find(key)); }
  bool empty() const { return count_ == 0; }
  void clear() {
    slots_ = {};
    count_ = 0;
  }

 private:
  struct Slot {
    Expr key;
    Value value{};
  };

  size_t place_of(const Node* node) const {
    // The product's high bits depend on all of the address.
    const uint64_t mixed = reinterpret_cast<uintptr_t>(node) * 0x9e3779b97f4a7c15u;
    return static_cast<size_t>(mixed >> 32) & (slots_.size() - 1);
  }
  void grow() {
    std::vector<Slot> before = std::move(slots_);
    slots_ = std::vector<Slot>(before.empty() ? 16 : 2 * before.size());
    for (Slot& slot : before) {
      if (!slot.key.get()) continue;
      size_t at = place_of(slot.key.get());
      while (slots_[at].key) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = std::move(slot);
    }
  }

  std::vector<Slot> slots_;  // a power of two, at most half of them in use
  size_t count_ = 0;
};

}  // namespace gossamer::ir
