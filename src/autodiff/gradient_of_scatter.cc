// Gradients of scatters: updates read the cotangent where they aimed.
#include "autodiff/stage_gradient.h"
#include "ir/build.h"

namespace gossamer::autodiff {

using Join = ops::Builder::Join;

Result<> StageGradient::of_scatter(const Tensor& cotangent) {
  if (stage_.table || !stage_.initial) return unknown("changes what it has so far");
  if (stage_.accumulators.empty()) return of_replacement(cotangent);
  switch (join_kind(stage_.accumulators[0])) {
    case JoinKind::sum:
      of_scattered_sum(cotangent);
      return {};
    case JoinKind::maximum:
    case JoinKind::minimum:
      of_scattered_extreme(cotangent);
      return {};
    case JoinKind::product:
      of_scattered_product(cotangent);
      return {};
    default:
      return unknown("joins its updates in a way of its own");
  }
}

Expr StageGradient::at_target(const Tensor& tensor) const { return tensor.at(stage_.target); }

// An update beyond the output changes nothing.
Expr StageGradient::aims() const {
  Expr mask = stage_.condition;
  const ir::Bounds bounds = with_axes(b_.bounds, points_);
  for (size_t d = 0; d < stage_.target.size(); ++d) {
    const Expr& at = stage_.target[d];
    for (const Expr& inside : {Expr(at >= ir::index(0)), Expr(at < stage_.output->shape[d])}) {
      if (!ir::prove(inside, bounds)) mask = conjunction(mask, inside);
    }
  }
  return mask;
}

Tensor StageGradient::aimed(const std::string& what, const Tensor& initial,
                            std::optional<Join> join, const Expr& value) {
  const auto at = [&](const Expr& e, ops::Point point) {
    return at_point(e, {point.begin(), point.end()});
  };
  std::function<Expr(ops::Point)> condition;
  if (stage_.condition) condition = [&](ops::Point point) { return at(stage_.condition, point); };
  return b_.scatter(
      name(what), initial, stage_.extents, join,
      [&](ops::Point point) {
        std::vector<Expr> target;
        for (const Expr& e : stage_.target) target.push_back(at(e, point));
        return target;
      },
      [&](ops::Point point) { return at(value, point); }, condition, stage_.increasing);
}

Tensor StageGradient::of_initial(const std::string& what, ir::DType dtype,
                                 const std::function<Expr(ops::Point)>& body) {
  return b_.compute(name(what), dtype, stage_.output->shape, body);
}

// The last update of a place stands. Which that is, updates that leave their numbers tell.
Result<> StageGradient::of_replacement(const Tensor& cotangent) {
  const ir::Type flag = ir::DType::i32;
  Expr number = ir::index(0);
  for (size_t i = 0; i < stage_.axes.size(); ++i) {
    if (!ir::is_const(stage_.extents[i], 1))
      number = number * stage_.extents[i] + Expr(stage_.axes[i]);
  }
  number = ir::cast(flag, number);
  const Tensor nobody =
      of_initial(".nobody", flag.dtype, [&](ops::Point) { return ir::constant_int(flag, -1); });
  const Tensor last = aimed(".last", nobody, std::nullopt, number);
  if (active_(stage_.initial)) {
    made_.push_back(
        {stage_.initial, of_initial(".gradient.initial", cotangent.dtype(), [&](ops::Point point) {
           return ir::select(last.at(point) < 0.0, cotangent.at(point),
                             ir::zero(cotangent.dtype()));
         })});
  }
  const Expr stands = at_target(last) == number;
  pull_back({{stage_.values[0], {conjunction(aims(), stands), at_target(cotangent)}}}, points_);
  return {};
}

void StageGradient::of_scattered_sum(const Tensor& cotangent) {
  if (active_(stage_.initial)) made_.push_back({stage_.initial, cotangent});
  pull_back({{stage_.values[0], {aims(), at_target(cotangent)}}}, points_);
}

// Equals share it, the first value among them.
void StageGradient::of_scattered_extreme(const Tensor& cotangent) {
  const Tensor initial{stage_.initial, std::nullopt};
  const ir::DType dtype = cotangent.dtype();
  const Expr one = ir::constant(dtype, 1), none = ir::zero(dtype);
  const Tensor first = of_initial(".first", dtype, [&](ops::Point point) {
    return ir::select(initial.at(point) == output_.at(point), one, none);
  });
  const Expr hits = stage_.values[0] == at_target(output_);
  const Tensor count = aimed(".equals", first, Join::sum, ir::select(hits, one, none));
  const Tensor share = of_initial(".share", dtype, [&](ops::Point point) {
    return ir::select(count.at(point) > 0.0, cotangent.at(point) / count.at(point), none);
  });
  if (active_(stage_.initial)) {
    made_.push_back({stage_.initial, of_initial(".gradient.initial", dtype, [&](ops::Point point) {
                       return ir::select(initial.at(point) == output_.at(point), share.at(point),
                                         none);
                     })});
  }
  pull_back({{stage_.values[0], {conjunction(aims(), hits), at_target(share)}}}, points_);
}

// What the other factors make: all but one zero is theirs to be 0 by.
void StageGradient::of_scattered_product(const Tensor& cotangent) {
  const Tensor initial{stage_.initial, std::nullopt};
  const ir::DType dtype = cotangent.dtype();
  const Expr one = ir::constant(dtype, 1), none = ir::zero(dtype);
  const auto zero_of = [&](const Expr& e) { return ir::select(e == 0.0, one, none); };
  const auto rest_of = [&](const Expr& e) { return ir::select(e == 0.0, one, e); };
  const Tensor zeros_before =
      of_initial(".zeros", dtype, [&](ops::Point point) { return zero_of(initial.at(point)); });
  const Tensor rest_before =
      of_initial(".rest", dtype, [&](ops::Point point) { return rest_of(initial.at(point)); });
  const Expr& value = stage_.values[0];
  const Tensor zero_count = aimed(".zeros", zeros_before, Join::sum, zero_of(value));
  const Tensor rest = aimed(".rest", rest_before, Join::prod, rest_of(value));
  const Tensor scaled = of_initial(
      ".scaled", dtype, [&](ops::Point point) { return cotangent.at(point) * rest.at(point); });
  const auto mask = [&](const Expr& count, const Expr& e) -> Expr { return count == zero_of(e); };
  if (active_(stage_.initial)) {
    made_.push_back({stage_.initial, of_initial(".gradient.initial", dtype, [&](ops::Point point) {
                       const Expr x = initial.at(point);
                       return unmasked(
                           {mask(zero_count.at(point), x), scaled.at(point) / rest_of(x)});
                     })});
  }
  pull_back({{value,
              {conjunction(aims(), mask(at_target(zero_count), value)),
               at_target(scaled) / rest_of(value)}}},
            points_);
}

}  // namespace gossamer::autodiff
