#include "rewrite/sliding_sum.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "stages/access.h"
#include "stages/factors.h"

namespace gossamer::rewrite {
namespace {

using ir::DType;
using ir::Expr;
using ir::Var;
using stages::Factors;
using stages::Stage;
using stages::StageKind;

// Of an axis whose extent only a run tells.
constexpr int64_t most_points = int64_t{1} << 31;

bool uses_axis(const Expr& e, const Var& axis) { return ir::uses(e, axis.get()); }

bool loads_f32(const Expr& e) {
  const auto loads = loads_of(e);
  return !loads.empty() && std::ranges::all_of(loads, [](const ir::Load* load) {
    return load->buffer->dtype == DType::f32;
  });
}

class Finder {
 public:
  Finder(const Stage& stage, const std::set<const ir::BufferNode*>& constants)
      : stage_(stage), constants_(constants), bounds_(stages::bounds_of_terms(stage)) {}

  std::optional<SlidingSum> find() {
    if (stage_.kind != StageKind::reduce || stage_.in_order || !stage_.starts.empty() ||
        stage_.reduce_axes.size() != 3 || stage_.output->dtype != DType::f32)
      return std::nullopt;
    const auto is_known = [](const Expr& e) { return ir::as_int(e).has_value(); };
    if (!std::ranges::all_of(stage_.reduce_extents, is_known)) return std::nullopt;
    const Factors factors = factors_of(stage_);
    if (!factors.a.get() || !(factors.a->type == ir::Type(DType::f32))) return std::nullopt;
    if (is_constant(factors.b)) return with(factors.a, factors.b);
    if (is_constant(factors.a)) return with(factors.b, factors.a);
    return std::nullopt;
  }

 private:
  bool is_constant(const Expr& factor) const {
    const auto loads = loads_of(factor);
    return !loads.empty() && std::ranges::all_of(loads, [&](const ir::Load* load) {
      return constants_.contains(load->buffer.get());
    });
  }

  std::optional<SlidingSum> with(Expr input, const Expr& weights) {
    if (!loads_f32(input) || !loads_f32(weights)) return std::nullopt;
    SlidingSum found;
    found.weights = weights;
    size_t slides = 0;
    std::vector<bool> taken(stage_.axes.size());
    std::optional<size_t> channel;
    for (size_t r = 0; r < stage_.reduce_axes.size(); ++r) {
      const auto slide = slide_of(r, input, weights, slides);
      if (!slide) {
        if (channel) return std::nullopt;
        channel = r;
        continue;
      }
      if (slides == 2 || taken[slide->axis]) return std::nullopt;
      taken[slide->axis] = true;
      found.slides[slides] = *slide;
      found.at[slides] = at_;
      input = moved_;
      ++slides;
    }
    if (slides != 2 || !channel) return std::nullopt;
    found.input = input;
    found.channel = *channel;
    found.channels = *ir::as_int(stage_.reduce_extents[*channel]);
    std::optional<size_t> column;
    for (size_t i = 0; i < stage_.axes.size(); ++i) {
      const bool of_weights = uses_axis(weights, stage_.axes[i]);
      if (taken[i] && of_weights) return std::nullopt;
      if (taken[i]) continue;
      if (of_weights) {
        if (column || uses_axis(input, stage_.axes[i])) return std::nullopt;
        column = i;
      } else if (const auto extent = ir::as_int(stage_.extents[i])) {
        found.batches.push_back(i);
        found.tiled_batches *= *extent;
      } else {
        found.open.push_back(i);
      }
    }
    if (!column || !ir::as_int(stage_.extents[*column])) return std::nullopt;
    found.column = *column;
    found.columns = *ir::as_int(stage_.extents[*column]);
    return found;
  }

  // The axis that the input moves along with a tap, the two always together: it then depends on
  // their sum alone, which takes their place in moved_.
  std::optional<Slide> slide_of(size_t tap, const Expr& input, const Expr& weights, size_t which) {
    const Var& step = stage_.reduce_axes[tap];
    if (!ir::is_const(stage_.reduce_extents[tap], window_edge) || !uses_axis(weights, step) ||
        !uses_axis(input, step))
      return std::nullopt;
    for (size_t i = 0; i < stage_.axes.size(); ++i) {
      const Var& axis = stage_.axes[i];
      const std::optional<int64_t> points = ir::as_int(stage_.extents[i]);
      if ((points && *points < 2) || !uses_axis(input, axis)) continue;
      at_ = ir::var(which == 0 ? "y" : "x");
      ir::Bounds bounds = bounds_;
      bounds.set(at_.get(), {0, points ? *points + window_edge - 2 : most_points});
      moved_ = ir::simplify(ir::substitute(input, {{step.get(), Expr(at_) - axis}}), bounds);
      if (!uses_axis(moved_, axis)) return Slide{i, tap, stage_.extents[i]};
    }
    return std::nullopt;
  }

  const Stage& stage_;
  const std::set<const ir::BufferNode*>& constants_;
  const ir::Bounds bounds_;
  Var at_;
  Expr moved_;
};

}  // namespace

std::optional<SlidingSum> find_sliding_sum(const stages::Stage& stage,
                                           const std::set<const ir::BufferNode*>& constants) {
  return Finder(stage, constants).find();
}

}  // namespace gossamer::rewrite
