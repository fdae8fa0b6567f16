// Index arithmetic as sums of products, and how a sum becomes instructions: each part in the loop
// where it varies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "codegen/wasm/function.h"

namespace gossamer::codegen::wasm {

// The factors of a product, ascending. Atoms are i32 values: loop variables, parameters, and
// whatever is not a sum.
class Atoms {
 public:
  static constexpr size_t capacity = 6;
  Atoms() = default;
  Atoms(ValueId atom) : count_(1) { atoms_[0] = atom; }
  void insert(ValueId atom);
  const ValueId* begin() const { return atoms_; }
  const ValueId* end() const { return atoms_ + count_; }
  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  bool operator==(const Atoms& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  uint32_t count_ = 0;
  ValueId atoms_[capacity] = {};
};

struct Term {
  int64_t coefficient = 0;
  Atoms atoms;
};

struct Linear {
  int64_t constant = 0;
  std::vector<Term> terms;  // one for each product

  static Linear of(int64_t number) { return {number, {}}; }
  static Linear of_atom(ValueId atom) { return {0, {{1, atom}}}; }
  bool is_constant() const { return terms.empty(); }
  bool is_ordered(const Function& function) const;
  void add(const Linear& other, int64_t factor = 1);
  void add_term(const Term& term);
  size_t most_atoms() const;  // of any term
};
// The terms of the product must not have more atoms than fit.
Linear multiply(const Linear& a, const Linear& b);

// Where to load from or store to: a pointer and the immediate offset to it.
struct Address {
  ValueId pointer = 0;
  uint64_t offset = 0;
};

class AddressMaker {
 public:
  explicit AddressMaker(Function& function) : f_(function) {}
  // The sum as one value; parts that do not vary in the innermost loop are computed outside it. An
  // index does not overflow, so its bounds are those of the sum.
  ValueId index_of(const Linear& sum);
  // base (an address, any u32) plus `bytes`. Loops that it is linear in advance a pointer instead.
  Address address_of(ValueId base, const Linear& bytes);

 private:
  ValueId value_of(const Linear& sum, Interval* range = nullptr);
  ValueId pointer_of(const Linear& sum);
  ValueId product(const Term& term);
  int64_t low_of(const Linear& sum) const;

  Function& f_;
};

}  // namespace gossamer::codegen::wasm
