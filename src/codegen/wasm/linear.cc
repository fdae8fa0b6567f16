#include "codegen/wasm/linear.h"

#include <algorithm>

#include "base/result.h"

namespace gossamer::codegen::wasm {
namespace {

constexpr int64_t unbounded = INT64_MIN / 4;

}  // namespace

bool Linear::is_ordered(const Function& function) const {
  for (const Term& term : terms) {
    for (ValueId atom : term.atoms) {
      if (function[atom].ordered) return true;
    }
  }
  return false;
}

void Atoms::insert(ValueId atom) {
  GS_CHECK(count_ < capacity, "too many factors of an index");
  size_t at = count_++;
  for (; at > 0 && atoms_[at - 1] > atom; --at) atoms_[at] = atoms_[at - 1];
  atoms_[at] = atom;
}

size_t Linear::most_atoms() const {
  size_t most = 0;
  for (const Term& term : terms) most = std::max(most, term.atoms.size());
  return most;
}

void Linear::add_term(const Term& term) {
  for (size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].atoms != term.atoms) continue;
    terms[i].coefficient += term.coefficient;
    if (terms[i].coefficient == 0) terms.erase(terms.begin() + static_cast<ptrdiff_t>(i));
    return;
  }
  if (term.coefficient != 0) terms.push_back(term);
}

void Linear::add(const Linear& other, int64_t factor) {
  constant += other.constant * factor;
  for (const Term& term : other.terms) add_term({term.coefficient * factor, term.atoms});
}

Linear multiply(const Linear& a, const Linear& b) {
  Linear product;
  product.add(a, b.constant);
  Linear scaled = b;
  scaled.constant = 0;
  if (a.constant != 0) product.add(scaled, a.constant);
  for (const Term& x : a.terms) {
    for (const Term& y : b.terms) {
      Term term{x.coefficient * y.coefficient, x.atoms};
      for (ValueId atom : y.atoms) term.atoms.insert(atom);
      product.add_term(term);
    }
  }
  return product;
}

ValueId AddressMaker::product(const Term& term) {
  ValueId result = 0;
  for (ValueId atom : term.atoms) {
    result = result ? f_.op(Op::i32_mul, ValType::i32, result, atom) : atom;
  }
  return result;
}

ValueId AddressMaker::index_of(const Linear& sum) {
  Interval range;
  const ValueId value = value_of(sum, &range);
  const Interval known = f_[value].range;
  f_.set_range(value, {std::max(range.low, known.low), std::min(range.high, known.high)});
  return value;
}

ValueId AddressMaker::value_of(const Linear& sum, Interval* bounds) {
  struct Part {
    uint32_t depth;
    ValueId product;
    int64_t coefficient;
  };
  std::vector<Part> parts;
  parts.reserve(sum.terms.size());
  for (const Term& term : sum.terms) {
    const ValueId value = product(term);
    parts.push_back({f_.region(f_[value].region).depth, value, term.coefficient});
  }
  // Outermost first: every partial sum then stands as far outside as it can. Positive ones first,
  // so that the others can be subtracted.
  std::sort(parts.begin(), parts.end(), [](const Part& x, const Part& y) {
    if (x.depth != y.depth) return x.depth < y.depth;
    if ((x.coefficient < 0) != (y.coefficient < 0)) return y.coefficient < 0;
    return x.product < y.product;
  });
  ValueId result = 0;
  Interval range{sum.constant, sum.constant};
  for (const Part& part : parts) {
    const bool subtract = result && part.coefficient < 0;
    const int64_t factor = subtract ? -part.coefficient : part.coefficient;
    const ValueId scaled = f_.op(Op::i32_mul, ValType::i32, part.product, f_.i32(factor));
    result =
        result ? f_.op(subtract ? Op::i32_sub : Op::i32_add, ValType::i32, result, scaled) : scaled;
    const Interval r = f_[part.product].range;
    range.low += part.coefficient * (part.coefficient > 0 ? r.low : r.high);
    range.high += part.coefficient * (part.coefficient > 0 ? r.high : r.low);
  }
  if (bounds) *bounds = range;
  if (!result) return f_.i32(sum.constant);
  if (sum.constant != 0) result = f_.op(Op::i32_add, ValType::i32, result, f_.i32(sum.constant));
  return result;
}

// The least value of the sum without its constant.
int64_t AddressMaker::low_of(const Linear& sum) const {
  int64_t low = 0;
  for (const Term& term : sum.terms) {
    int64_t least = 1, most = 1;
    for (ValueId atom : term.atoms) {
      const Interval r = f_[atom].range;
      // Dimensions and loop variables are not negative; of other products nothing is known.
      if (r.low < 0 && (term.atoms.size() > 1 || term.coefficient < 0)) return unbounded;
      if (__builtin_mul_overflow(least, r.low, &least)) return unbounded;
      if (__builtin_mul_overflow(most, r.high, &most)) most = INT64_MAX;
    }
    int64_t bound;
    if (__builtin_mul_overflow(term.coefficient, term.coefficient > 0 ? least : most, &bound) ||
        __builtin_add_overflow(low, bound, &low) || low < unbounded) {
      return unbounded;
    }
  }
  return low;
}

ValueId AddressMaker::pointer_of(const Linear& sum) {
  RegionId deepest = 0;
  std::vector<RegionId> regions(sum.terms.size());
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    for (ValueId atom : sum.terms[i].atoms) {
      const RegionId region = f_[atom].region;
      if (f_.region(region).depth > f_.region(regions[i]).depth) regions[i] = region;
    }
    if (f_.region(regions[i]).depth > f_.region(deepest).depth) deepest = regions[i];
  }
  if (deepest == 0) return value_of(sum);

  const ValueId counter = f_.region(deepest).loop_var;
  Linear outer, step, rest;
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    const Term& term = sum.terms[i];
    if (regions[i] != deepest) {
      outer.terms.push_back(term);
      continue;
    }
    Term slope{term.coefficient, {}};
    int counters = 0;
    bool invariant = true;
    for (ValueId atom : term.atoms) {
      if (atom == counter && counter != 0) {
        ++counters;
      } else {
        invariant = invariant && f_[atom].region != deepest;
        slope.atoms.insert(atom);
      }
    }
    if (counters == 1 && invariant) {
      if (slope.atoms.empty()) {
        step.constant += slope.coefficient;
      } else {
        step.add_term(slope);
      }
    } else {
      rest.terms.push_back(term);
    }
  }

  const RegionId here = f_.current();
  ValueId result;
  if (step.constant != 0 || !step.terms.empty()) {
    const Region& loop = f_.region(deepest);
    f_.enter(loop.parent);
    Linear first = outer;
    if (loop.kind == Region::Kind::grid) {
      // The counter of the grid starts at `begin`, which is its parameter.
      first.add(multiply(step, Linear::of_atom(f_.op(Op::param, ValType::i32, 0, 0, 0, 0, 1))));
    }
    const int64_t constant = first.constant;
    first.constant = 0;
    ValueId start = first.terms.empty() ? f_.i32(0) : pointer_of(first);
    if (constant != 0) start = f_.op(Op::i32_add, ValType::i32, start, f_.i32(constant));
    const ValueId stride = value_of(step);
    f_.enter(here);
    result = f_.induction(deepest, start, stride);
  } else {
    result = outer.terms.empty() ? 0 : pointer_of(outer);
  }
  if (!rest.terms.empty()) {
    const ValueId extra = value_of(rest);
    result = result ? f_.op(Op::i32_add, ValType::i32, result, extra) : extra;
  }
  return result;
}

Address AddressMaker::address_of(ValueId base, const Linear& bytes) {
  // The hardware adds the offset without wrapping, so what it is added to must be a true address:
  // not below the base for any value of the variables. What cannot be shown to be so gets its
  // constant added in 32 bits.
  Linear sum = bytes;
  sum.constant = 0;
  const bool immediate =
      bytes.constant >= 0 && bytes.constant < (int64_t{1} << 30) && low_of(sum) >= 0;
  sum.terms.push_back({1, base});
  Address address;
  address.pointer = pointer_of(sum);
  if (immediate) {
    address.offset = static_cast<uint64_t>(bytes.constant);
  } else {
    address.pointer = f_.op(Op::i32_add, ValType::i32, address.pointer, f_.i32(bytes.constant));
  }
  return address;
}

}  // namespace gossamer::codegen::wasm
