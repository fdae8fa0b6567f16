// A stage: one named step of an operator, as arithmetic over points. Operators are small DAGs of
// stages; fusion merges stages; a schedule turns one into a kernel.
#pragma once

#include <string>
#include <vector>

#include "ir/nodes.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"

namespace gossamer::stages {

using ir::Buffer;
using ir::Expr;
using ir::Var;

enum class StageKind : uint8_t { compute, reduce, scan, sort, scatter };

// What a reduction holds while it walks, and how it joins two partial results: `left`, `right` ->
// `joined`, which may see the variables of the other accumulators, too. It starts from `identity`.
// sum: one accumulator, left + right, 0. argmax: value and index. Welford: mean, m2 and count.
struct Accumulator {
#define GS_ACCUMULATOR(role, Type, name) Type name{};
#define GS_STAGE(role, Type, name)
#include "stages/stage.def"
};
using Accumulators = std::vector<Accumulator>;

// Adds up terms of the variables' type.
Accumulator sum_accumulator(Var left, Var right);

// A sum of one accumulator: what contraction schedules and fma need.
bool is_sum(const Accumulators& accumulators);
// Sums of one or more accumulators, each of its own terms.
bool is_sums(const Accumulators& accumulators);
// The variables that a stage's result sees.
std::vector<Var> lefts_of(const Accumulators& accumulators);

// compute:  output[axes] = result
// reduce:   accumulators[k] = join over reduce_axes of values[k], from identity; output[axes] =
// result, where `result`
//           sees the accumulators as their variables `left` (after the last join), and the axes.
//           Fused epilogues are substituted into `result`, fused producers into `values`.
// sort:     the places along the only reduce axis, in order: output[axes] is where the element lies
// that has
//           axes[along] before it. `values` are its keys; accumulators[0].joined says whether
//           `left` comes before `right`, and equals keep their order. The output may be shorter.
// scan:     accumulators[k] = join of values[k] over the points up to this one along axes[along];
// output[axes] =
//           result, which sees them as a reduction's does. The join is associative. They start
//           from identity; with a `segment`, anew at each multiple of it, from `starts` at that
//           point.
// scatter:  for every point of `axes`: output[target] = combine(output[target], values[0]) if
// `condition`; the output
//           starts as a copy of `initial` (a buffer of the output's shape); without one the output
//           is a state, and keeps what it holds elsewhere. Points are taken in order.
struct Stage {
  // Defined in the .cc file: every source that copies a stage would otherwise compile them again.
  Stage();
  Stage(const Stage&);
  Stage(Stage&&) noexcept;
  Stage& operator=(const Stage&);
  Stage& operator=(Stage&&) noexcept;
  ~Stage();

  Accumulators accumulators;
#define GS_ACCUMULATOR(role, Type, name)
#define GS_STAGE(role, Type, name) Type name{};
#include "stages/stage.def"
};

// What a field of a stage is to those who visit it: the roles of stage.def.
enum class FieldRole : uint8_t { label, plain, own, extent, join, term, point, start, buffer };

// f(role, field) for every field. Those of accumulators: `left` of all of them, then `right`.
template <class S, class F>
void visit_fields(S& stage, F&& f) {
#define GS_ACCUMULATOR(role, Type, name) \
  for (auto& one : stage.accumulators) f(FieldRole::role, one.name);
#define GS_STAGE(role, Type, name) f(FieldRole::role, stage.name);
#include "stages/stage.def"
}

constexpr bool may_load(FieldRole role) {
  return role == FieldRole::term || role == FieldRole::point || role == FieldRole::start;
}
constexpr bool any_role(FieldRole) { return true; }

// f(expression) for each that is there, in fields of the roles for which `of(role)` holds.
template <class S, class F>
void visit_exprs(S& stage, bool (*of)(FieldRole), F&& f) {
  visit_fields(stage, [&]<class T>(FieldRole role, T& field) {
    if constexpr (std::is_same_v<std::remove_const_t<T>, Expr>) {
      if (field.get() && of(role)) f(field);
    } else if constexpr (std::is_same_v<std::remove_const_t<T>, std::vector<Expr>>) {
      if (!of(role)) return;
      for (auto& expr : field) f(expr);
    }
  });
}

// What accumulators start from.
std::vector<Expr> starts_of(const Stage&);

// The variables that a stage gives values: axes, accumulators, a tally.
std::vector<Var> own_variables(const Stage&);

// Whether both compute the same from the same tensors, by the same variables, into outputs of the
// same type and layout.
bool same_computation(const Stage&, const Stage&);

// The distinct buffers a stage loads, in order of first appearance.
std::vector<Buffer> inputs_of(const Stage&);
// Reads other buffers instead of those that the map has; what the stage writes stays.
void replace_inputs(Stage&, const ir::BufferMap&);

// What holds of the axes at every point, and where terms (values) are computed: there the reduction
// has terms, so its extents are positive too.
ir::Bounds bounds_of(const Stage&);
ir::Bounds bounds_of_terms(const Stage&);

std::string print(const Stage&);

}  // namespace gossamer::stages
