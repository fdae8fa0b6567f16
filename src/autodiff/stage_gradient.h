// Gradients of one stage: from the cotangent of what it writes to those of what it reads, as stages
// again.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autodiff/derivative.h"
#include "autodiff/invert_access.h"
#include "ops/builder.h"

namespace gossamer::autodiff {

using ops::Tensor;
using stages::Stage;

// What a tensor's cotangent is a part of.
struct Contribution {
  ir::Buffer to;
  Tensor cotangent;
};

// Whether a gradient goes on to this tensor.
using Active = std::function<bool(const ir::Buffer&)>;

class StageGradient {
 public:
  // The stages go into `builder`. It and `active` outlive this.
  StageGradient(ops::Builder& builder, const Active& active, const Stage& stage);

  // `cotangent`: of stage.output, of its type and shape. Errors: a stage without a derivative that
  // is known here.
  Result<std::vector<Contribution>> run(const Tensor& cotangent);

 private:
  using Leaf = LeafCotangent;

  Result<> of_reduction(const Tensor& cotangent);
  Result<> of_scan(const Tensor& cotangent);
  Result<> of_scatter(const Tensor& cotangent);

  // Parts of all kinds.
  bool is_active_load(const Expr& e) const;
  bool is_accumulator(const Expr& e) const;
  // Cotangents of loads and accumulators that the result is made of.
  std::vector<Leaf> through_result(const Tensor& cotangent);
  // Hands the cotangents of loads in an expression over these points on.
  void pull_back(const std::vector<Root>& roots, const Domain& domain);
  void pull_back(const Leaf& leaf, const Domain& domain);
  Tensor gathered(const ir::Load& load, const Inverse& inverse, const Masked& cotangent);
  Tensor scattered(const ir::Load& load, const Domain& domain, const Masked& cotangent);
  // A tensor over the stage's axes (all, or without those of a reduction).
  Tensor over_axes(const std::string& what, ir::DType dtype, const Expr& value);
  // A reduction of the stage's own domain.
  Tensor reduced(const std::string& what, stages::Accumulators accumulators, ir::DType dtype,
                 const std::vector<Expr>& values, const Expr& result);
  Expr at_axes(const Tensor& tensor) const;
  std::string name(const std::string& what) const { return stage_.name + what; }
  std::unexpected<Diagnostic> unknown(const std::string& what) const;

  // Accumulators, which only the stage itself has, as loads of tensors that keep them.
  Expr with_accumulators(const Expr& e);
  Leaf with_accumulators(const Leaf& leaf);

  // Reductions.
  Result<> of_sums(const std::vector<Leaf>& accumulators);
  Result<> of_accumulator(size_t k, const Expr& cotangent);
  // The cotangent of accumulator k, as a load or a stage's.
  Expr stored(size_t k, const Masked& cotangent);
  Expr accumulated(size_t k);  // its value after the last join
  void of_extreme(size_t k, const Expr& cotangent);
  void of_product(size_t k, const Expr& cotangent);
  Result<> of_choice(size_t k, const Expr& cotangent);
  Expr term_number() const;  // of the reduction's points, row-major

  // Scans.
  Result<> of_running_sum(const Leaf& accumulator);
  Result<> of_running(const std::vector<Leaf>& leaves);
  const Tensor& running(size_t k);  // the accumulator after each place
  Expr slope(size_t k, const Var& variable);
  Tensor scanned(const std::string& what, stages::Accumulators accumulators, ir::DType dtype,
                 const std::vector<Expr>& values, const Expr& result);
  std::vector<Expr> axes() const;
  std::vector<Expr> turned(const std::vector<Expr>& point) const;  // counted from the other end
  Expr at_point(const Expr& e, const std::vector<Expr>& point) const;

  // Scatters.
  Result<> of_replacement(const Tensor& cotangent);
  void of_scattered_sum(const Tensor& cotangent);
  void of_scattered_extreme(const Tensor& cotangent);
  void of_scattered_product(const Tensor& cotangent);
  // A scatter to the same places.
  Tensor aimed(const std::string& what, const Tensor& initial,
               std::optional<ops::Builder::Join> join, const Expr& value);
  Tensor of_initial(const std::string& what, ir::DType dtype,
                    const std::function<Expr(ops::Point)>& body);
  Expr at_target(const Tensor& tensor) const;
  Expr aims() const;  // null where all updates count

  ops::Builder& b_;
  const Active& active_;
  Stage stage_;          // axes of one point are 0
  Domain points_, all_;  // its axes; those and the reduction's
  Tensor output_;
  std::vector<Tensor> accumulators_;  // made when first asked for
  std::vector<Contribution> made_;
};

// How an accumulator takes a term in, whichever stands left.
enum class JoinKind : uint8_t { sum, product, maximum, minimum, choice, other };
JoinKind join_kind(const stages::Accumulator& accumulator);

// a + b + ...: tensors of one type and shape.
Tensor sum_of(ops::Builder& builder, const std::string& name, const std::vector<Tensor>& parts);
Tensor zeros(ops::Builder& builder, const std::string& name, ir::DType dtype,
             const std::vector<Expr>& shape);

}  // namespace gossamer::autodiff
