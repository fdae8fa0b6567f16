// The machinery of simplify.h, in parts: sums (simplify_index.cc), their division by each other
// (simplify_division.cc), conditions (simplify_logic.cc), vectors (simplify_vector.cc), everything
// else (simplify.cc), statements (simplify_stmt.cc).
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "ir/poly.h"
#include "ir/ranges.h"
#include "ir/simplify.h"

namespace gossamer::ir {

// Most targets compute indices in 32 bits. A sum whose parts leave them still comes out right, as
// it wraps; but a part of it must not be divided or compared by itself.
bool leaves_32_bits(Range);

// Null where it is another expression.
const Binary* binary_of(const Expr&, BinaryOp op);
// The term of the highest degree, by which long division proceeds.
const Term& leading(const Poly&);

class Simplifier {
 public:
  explicit Simplifier(const Bounds& bounds) : bounds_(bounds), ranges_(bounds_), algebra_(order_) {}

  Expr expr(const Expr&);
  Stmt stmt(const Stmt&);
  RangeFinder& ranges() { return ranges_; }
  const Bounds& bounds() const { return bounds_; }
  // False, and nothing changes, where the variable was known otherwise.
  bool learn(const VarNode* var, Range range, int64_t multiple);

 private:
  // Everything that depends on what is known of variables; replaced while facts hold.
  struct Memory {
    NodeMap<Expr> exprs;
    NodeMap<std::unique_ptr<const Poly>> polys, merged;
    std::unordered_map<int64_t, Poly> constants;
    std::unordered_map<const Node*, Poly> zeros;  // zero_of
    std::vector<Expr> alive;                      // keys of zeros
    NodeMap<Expr> lowered;
    std::map<int, NodeMap<Expr>> raised;  // by the number of lanes
  };

  Expr compute(const Expr&);
  Expr plain(const Expr&);      // compute, but for index and boolean vectors
  Expr canonical(Expr result);  // remembers that `result` is final
  template <class T>
  Expr with_simple_children(const Expr&);
  Expr float_binary(BinaryOp op, const Expr& a, const Expr& b, const Expr& original);
  Expr value_binary(BinaryOp op, Expr a, Expr b);  // integers that wrap, and booleans' ==
  Expr simplified_unary(const Unary&, const Expr& original);
  Expr simplified_binary(const Binary&, const Expr& original);
  Expr simplified_lane(const Lane&);
  Expr simplified_cast(const Expr&);
  Expr simplified_select(const Select&);
  Expr simplified_load(const Expr&);
  // An equal expression of type index for a 64-bit one that is made of index casts; null otherwise.
  Expr as_index(const Expr& e);

  // Sums
  // ----------------------------------------------------------------------------------------------------------
  const Poly& poly(const Expr&);  // until what is known changes
  const Poly& known_poly(const Expr&, Poly);
  Poly compute_poly(const Expr&);
  Poly opaque(const Expr&);  // an atom (or what the expression simplifies to)
  Poly atom(Expr e);
  Poly merged(Poly);  // a * (x // a) + x % a -> x
  // The sum itself where nothing merges, otherwise `own`.
  const Poly& merged(const Poly&, std::optional<Poly>& own);
  const Poly& merged_of(const Expr&);
  bool may_merge(const Poly&) const;
  Poly merged_pairs(Poly);
  std::pair<size_t, size_t> effort(const Poly&);
  const Poly& zero_of(const Expr& part);
  std::optional<Term> times_of(const Term&, size_t part, const Poly& by);
  void define(const VarNode* var, const Expr& value);
  Expr finish(const Poly&);
  Poly floordiv(const Poly&, int64_t by);
  Poly floormod(const Poly&, int64_t by);
  Poly floordiv(const Poly&, const Poly& by);
  Poly floormod(const Poly&, const Poly& by);
  struct Split {
    Poly quotient, rest;
  };
  Split divide(const Poly&, const Poly& by);  // a == quotient * by + rest
  struct Blocks {
    Poly size, count;
    Split parts;
  };
  std::optional<Blocks> blocks_of(const Poly&, const Poly& by);
  Term content_of(const Poly&);
  bool positive(const Poly&);
  bool is_rest(const Poly&, const Poly& by);
  Range range(const Poly&);
  Range range(const Term&);
  int64_t multiple_of(const Term&);
  bool not_negative(const Poly&, int depth = 6);
  enum class Worst { loop, number, quotient };
  std::optional<Poly> worst_case(const Poly&, const Expr& factor, Worst kind);
  Poly extent_of(const Expr&);
  Expr min_max(BinaryOp op, const Expr& a, const Expr& b);

  // Conditions
  // ------------------------------------------------------------------------------------------------------
  Expr compare(BinaryOp op, const Expr& a, const Expr& b);
  Expr less_than_zero(Poly);  // canonical text of poly < 0
  std::optional<Poly> without_remainder(const Poly&);
  Expr equal_to_zero(Poly, bool negated);
  Expr logic(BinaryOp op, const Expr& a, const Expr& b);
  Expr negation(const Expr& a);
  // poly < 0 of a canonical comparison; false if it is none.
  bool as_negative(const Expr& condition, Poly* out);
  void assume(const Expr& condition, bool holds);

  // Vectors
  // -----------------------------------------------------------------------------------------------------------
  bool is_lane_algebra(const Expr&) const;
  Expr vector(const Expr&);
  Expr lowered(const Expr&, int lanes);  // as a scalar over the lane variable
  Expr compute_lowered(const Expr&, int lanes);
  Expr raised(const Expr&, int lanes);
  Expr compute_raised(const Expr&, int lanes);
  Expr raised_sum(const Expr&, int lanes);
  bool varies(const Expr&);  // uses a lane variable or a stand-in
  Expr lane_variable(int lanes);
  Expr stand_in(const Expr& vector);

  // Statements
  // --------------------------------------------------------------------------------------------------------
  Stmt loop_stmt(const For&);
  Stmt let_stmt(const Let&);
  Stmt if_stmt(const If&);
  void bind(const VarNode* var, Range range);
  void forget();

  Bounds bounds_;
  bool asks_extents_ = false;  // in positive()
  RangeFinder ranges_;
  Order order_;
  PolyAlgebra algebra_;
  Memory memory_;
  std::vector<Poly> facts_;  // each < 0
  int depth_ = 0;
  std::unordered_map<const VarNode*, Expr> values_;  // of Lets that are spelled out
  std::unordered_map<const VarNode*, Poly>
      definitions_;  // of Lets made of quotients and remainders

  std::map<int, Expr> lane_variables_;
  std::unordered_map<const VarNode*, Expr> stand_ins_;       // variable -> the vector it stands for
  std::vector<std::pair<Expr, Expr>> stand_in_list_;         // (vector, variable)
  std::unordered_multimap<size_t, size_t> stand_in_hashes_;  // into the list
  NodeMap<bool> varies_;
};

// Drops Lets nobody uses.
Stmt drop_dead_lets(const Stmt&);

}  // namespace gossamer::ir
