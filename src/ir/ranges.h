// Interval and divisibility analysis of index expressions, remembering what it has seen.
#pragma once

#include "ir/node_map.h"
#include "ir/simplify.h"

namespace gossamer::ir {

constexpr int64_t minus_infinity = std::numeric_limits<int64_t>::min();
constexpr int64_t plus_infinity = std::numeric_limits<int64_t>::max();

Range operator+(Range a, Range b);
Range operator*(Range a, Range b);
Range join(Range a, Range b);       // the smallest that holds both
Range intersect(Range a, Range b);  // `a` where they are disjoint
inline Range exactly(int64_t value) { return {value, value}; }
int64_t gcd(int64_t a, int64_t b);  // not negative; gcd(0, b) is b

// What is positive where an extent is: the factors of a product, and what was rounded up to tiles.
std::vector<Expr> positive_factors(const Expr& extent);

class RangeFinder {
 public:
  explicit RangeFinder(const Bounds& bounds) : bounds_(bounds) {}
  Range of(const Expr&);
  int64_t multiple_of(const Expr&);
  void forget();

 private:
  Range compute(const Expr&);
  Range of_binary(const Binary&);
  int64_t compute_multiple(const Expr&);

  const Bounds& bounds_;
  NodeMap<Range> ranges_;
  NodeMap<int64_t> multiples_;
};

}  // namespace gossamer::ir
