// Gradients of running results: the cotangents of accumulators run back.
#include <algorithm>

#include "autodiff/stage_gradient.h"
#include "ir/build.h"

namespace gossamer::autodiff {
namespace {

// Cotangents of accumulators in each place: what the place's own result adds, and the next place's
// times a matrix. Such steps join to one another: (M, c) then (N, d) is (N M, N c + d).
class LinearSteps {
 public:
  LinearSteps(size_t count, ir::DType dtype) : count_(count) {
    for (size_t i = 0; i < count * count + count; ++i) {
      accumulators.push_back({ir::var(cat("l", i), dtype),
                              ir::var(cat("r", i), dtype),
                              {},
                              ir::constant(dtype, i < count * count && i / count == i % count)});
    }
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = 0; j < count; ++j) accumulators[i * count + j].joined = product(i, j);
    }
    for (size_t i = 0; i < count; ++i) {
      Expr value = accumulators[count * count + i].right;
      for (size_t m = 0; m < count; ++m)
        value = value + Expr(accumulators[i * count + m].right) *
                            Expr(accumulators[count * count + m].left);
      accumulators[count * count + i].joined = value;
    }
  }

  stages::Accumulators accumulators;
  Var offset(size_t i) const { return accumulators[count_ * count_ + i].left; }

 private:
  Expr product(size_t i, size_t j) const {
    Expr value;
    for (size_t m = 0; m < count_; ++m) {
      const Expr part =
          Expr(accumulators[i * count_ + m].right) * Expr(accumulators[m * count_ + j].left);
      value = value ? value + part : part;
    }
    return value;
  }
  size_t count_;
};

}  // namespace

Result<> StageGradient::of_scan(const Tensor& cotangent) {
  std::vector<Leaf> leaves;
  for (const Leaf& leaf : through_result(cotangent)) {
    if (leaf.leaf->kind == ir::NodeKind::Load) {
      pull_back(with_accumulators(leaf), points_);
    } else {
      leaves.push_back(leaf);
    }
  }
  if (leaves.empty()) return {};
  if (stage_.in_order || stage_.segment > 0) return unknown("goes on from what it has so far");
  const stages::Accumulators& accumulators = stage_.accumulators;
  const ir::DType dtype = accumulators[0].left->type.dtype;
  if (!std::ranges::all_of(accumulators, [&](const stages::Accumulator& one) {
        return one.left->type.dtype == dtype;
      }))
    return unknown("runs accumulators of several types");
  return stages::is_sum(accumulators) ? of_running_sum(leaves[0]) : of_running(leaves);
}

std::vector<Expr> StageGradient::turned(const std::vector<Expr>& point) const {
  std::vector<Expr> at = point;
  at[stage_.along] = b_.simplify(stage_.extents[stage_.along] - ir::index(1) - point[stage_.along]);
  return at;
}

std::vector<Expr> StageGradient::axes() const {
  std::vector<Expr> point;
  for (size_t i = 0; i < stage_.axes.size(); ++i)
    point.push_back(ir::is_const(stage_.extents[i], 1) ? ir::index(0) : Expr(stage_.axes[i]));
  return point;
}

Expr StageGradient::at_point(const Expr& e, const std::vector<Expr>& point) const {
  ir::VarMap map;
  for (size_t i = 0; i < point.size(); ++i) map[stage_.axes[i].get()] = point[i];
  return ir::substitute(e, map);
}

// A sum from the other end.
Result<> StageGradient::of_running_sum(const Leaf& accumulator) {
  const Expr value = unmasked(accumulator.cotangent);
  const ir::DType dtype = value->type.dtype;
  const Tensor own = over_axes(".cotangent", dtype, with_accumulators(value));
  const Tensor sums = b_.scan(
      name(".back"), ops::Builder::Join::sum, dtype, stage_.extents, static_cast<int>(stage_.along),
      [&](ops::Point point) { return own.at(turned({point.begin(), point.end()})); });
  pull_back({{stage_.values[0], {{}, sums.at(turned(axes()))}}}, points_);
  return {};
}

// The accumulators up to each place, as a tensor each.
const Tensor& StageGradient::running(size_t k) {
  const Expr left = stage_.accumulators[k].left;
  accumulators_.resize(stage_.accumulators.size());
  Tensor& made = accumulators_[k];
  if (made) return made;
  if (stage_.result.same(left)) return made = output_;
  const ir::DType dtype = left->type.dtype;
  made = scanned(cat(".running", k ? cat(k) : ""), stage_.accumulators, dtype, stage_.values, left);
  return made;
}

Tensor StageGradient::scanned(const std::string& what, stages::Accumulators accumulators,
                              ir::DType dtype, const std::vector<Expr>& values,
                              const Expr& result) {
  return b_.scan(
      name(what), std::move(accumulators), dtype, stage_.extents, static_cast<int>(stage_.along),
      [&](ops::Point point) {
        std::vector<Expr> terms;
        for (const Expr& value : values)
          terms.push_back(at_point(value, {point.begin(), point.end()}));
        return terms;
      },
      [&](ops::Point point, std::span<const Var>) {
        return at_point(result, {point.begin(), point.end()});
      });
}

// d joined[k] / d variable, where the join goes from the accumulators before a place by its terms.
Expr StageGradient::slope(size_t k, const Var& variable) {
  const stages::Accumulators& accumulators = stage_.accumulators;
  const Expr one = ir::constant(accumulators[k].joined->type, 1);
  const auto found = cotangents_of({{accumulators[k].joined, {{}, one}}},
                                   [&](const Expr& e) { return e.get() == variable.get(); });
  if (found.empty()) return ir::zero(one->type);
  ir::VarMap map;
  std::vector<Expr> before = axes();
  const Expr place = before[stage_.along];
  before[stage_.along] = ir::max(place - ir::index(1), ir::index(0));
  for (size_t j = 0; j < accumulators.size(); ++j) {
    map[accumulators[j].left.get()] =
        ir::select(place > ir::index(0), running(j).at(before), accumulators[j].identity);
    map[accumulators[j].right.get()] = stage_.values[j];
  }
  return ir::substitute(unmasked(found[0].cotangent), map);
}

Result<> StageGradient::of_running(const std::vector<Leaf>& leaves) {
  const stages::Accumulators& accumulators = stage_.accumulators;
  const size_t count = accumulators.size();
  const ir::DType dtype = accumulators[0].left->type.dtype;
  LinearSteps steps(count, dtype);
  std::vector<Expr> own(count, ir::zero(dtype));
  for (const Leaf& leaf : leaves) {
    for (size_t k = 0; k < count; ++k) {
      if (leaf.leaf.get() == accumulators[k].left.get())
        own[k] = with_accumulators(unmasked(leaf.cotangent));
    }
  }
  // Places from the last: a place's matrix is that of the join into the next one.
  std::vector<Expr> values(count * count + count);
  const std::vector<Expr> here = turned(axes());
  std::vector<Expr> next = here;
  const Expr last = stage_.extents[stage_.along] - ir::index(1);
  next[stage_.along] = ir::min(here[stage_.along] + ir::index(1), last);
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < count; ++j)
      values[i * count + j] = at_point(slope(j, accumulators[i].left), next);
    values[count * count + i] = at_point(own[i], here);
  }
  std::vector<Root> roots;
  std::vector<Tensor> back;
  for (size_t k = 0; k < count; ++k)
    back.push_back(
        scanned(cat(".back", k ? cat(k) : ""), steps.accumulators, dtype, values, steps.offset(k)));
  for (size_t j = 0; j < count; ++j) {
    Expr cotangent;
    for (size_t k = 0; k < count; ++k) {
      const Expr part = times(back[k].at(turned(axes())), slope(k, accumulators[j].right));
      if (!is_zero(part)) cotangent = cotangent ? cotangent + part : part;
    }
    if (cotangent) roots.push_back({stage_.values[j], {{}, cotangent}});
  }
  pull_back(roots, points_);
  return {};
}

}  // namespace gossamer::autodiff
