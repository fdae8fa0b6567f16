#include "rewrite/split_reduction.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <ranges>
#include <string>
#include <utility>

#include "ir/build.h"
#include "ir/estimate.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "stages/access.h"
#include "stages/pattern.h"

namespace gossamer::rewrite {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::Var;
using stages::Pattern;
using stages::Stage;
using stages::StageKind;
using target::Capabilities;

// Axes that a run tells count as `unknown`.
int64_t product(const std::vector<Expr>& extents, int64_t unknown = -1) {
  int64_t count = 1;
  for (const Expr& extent : extents) {
    const int64_t known = ir::as_int(extent).value_or(unknown);
    if (known <= 0 || count > (int64_t{1} << 40) / known) return -1;
    count *= known;
  }
  return count;
}

int64_t estimated(const std::vector<Expr>& extents) {
  Expr all = ir::index(1);
  for (const Expr& extent : extents) all = all * extent;
  return ir::estimate(all);
}

// How a long axis is cut, and when.
struct Cut {
  int64_t points;        // of a stage at most
  int64_t terms;         // of a point at least
  int64_t part;          // terms of a part, of all axes
  int64_t most_parts;    // of a point
  bool interleaved;      // a part's terms lie a number of parts apart
  int64_t accumulators;  // sums under way in a part
  bool shares;           // invocations share tiles
  int64_t rounds;        // of a point at most, however many points there are; 0: any
  int64_t unroll;        // terms of a round, in a contraction
};

Cut cut_of(const Capabilities& caps) {
  if (caps.scan_segment == 0) return {4, 1 << 16, 1 << 14, 16, false, 4, false, 0, 1};
  return {256,        1 << 12, caps.scan_segment,   int64_t{1} << 30,
          true,       1,       caps.group_size > 1, caps.max_rounds,
          caps.unroll};
}

// How an axis is divided into parts.
struct Parts {
  Expr parts, terms;  // of a part, and of each of its accumulators
  bool interleaved;   // neighbours are in different parts
  bool guarded;       // the last part may be shorter
};

constexpr int64_t lanes = 4;                  // of a vector on GPUs
constexpr int64_t busy_points = 1 << 16;      // that keep a GPU's processors busy
constexpr int64_t most_long_parts = 1 << 16;  // whose rounds are as many as they may be
constexpr int64_t open_parts = 256;           // of an axis whose extent a run tells

class ReductionSplitter {
 public:
  ReductionSplitter(const Capabilities& caps, std::vector<Stage>& made)
      : made_(made), cut_(cut_of(caps)) {}

  void split(Stage stage, int level = 1) {
    const auto axis = long_axis(stage);
    if (!axis) {
      made_.push_back(std::move(stage));
      return;
    }
    const auto known = ir::as_int(stage.reduce_extents[*axis]);
    if (!known) {
      split_at(stage, *axis, open_parts, level);
      return;
    }
    const int64_t length = *known;
    const int64_t others = product(stage.reduce_extents) / length;
    const int64_t wanted = std::max<int64_t>(1, cut_.part / others);
    int64_t parts = std::min((length + wanted - 1) / wanted, cut_.most_parts);
    if (pattern_of(stage) == Pattern::contraction) {
      const int64_t least = excess_of(stage) > 0 ? 2 * (excess_of(stage) + 1) : 1;
      parts = std::min(length, std::max(least, busy_points / product(stage.extents, 1)));
    }
    // Whole parts need no guard.
    for (int64_t fewer = parts; fewer > parts / 2; --fewer) {
      if (length % (fewer * cut_.accumulators) == 0) {
        parts = fewer;
        break;
      }
    }
    split_at(stage, *axis, parts, level);
  }

  // Into parts of at most `most` rounds each.
  void split_open(const Stage& stage, int64_t most, int level = 1) {
    const auto is_open = [](const Expr& extent) { return !ir::as_int(extent); };
    const auto axis = std::ranges::find_if(stage.reduce_extents, is_open);
    if (stage.kind != StageKind::reduce || axis == stage.reduce_extents.end()) {
      made_.push_back(stage);
      return;
    }
    // Parts of a single term, where another axis is open as well: it is cut next.
    const bool more = std::ranges::count_if(stage.reduce_extents, is_open) > 1;
    const int64_t longest = std::max<int64_t>(1, most / product(stage.reduce_extents, 1));
    const auto terms =
        more ? int64_t{1} : static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(longest)));
    const Parts parts{stages::ceil_div(*axis, terms), ir::index(terms), false, terms > 1};
    const auto at = static_cast<size_t>(axis - stage.reduce_extents.begin());
    std::vector<Buffer> partial;
    for (size_t k = 0; k < stage.accumulators.size(); ++k) {
      const Stage part = of_parts(stage, at, parts, k, level);
      partial.push_back(part.output);
      split_open(part, most, level + 1);
    }
    // A tensor has less than 2^31 elements, so parts that are as long as they may be are few.
    if (more) {
      split_open(joined(stage, partial, parts.parts), most, level + 2);
    } else {
      made_.push_back(joined(stage, partial, ir::min(parts.parts, ir::index(most_long_parts))));
    }
  }

 private:
  void split_at(const Stage& stage, size_t axis, int64_t parts, int level) {
    std::vector<Buffer> partial;
    for (size_t k = 0; k < stage.accumulators.size(); ++k) {
      made_.push_back(of_parts(stage, axis, whole_parts(stage, axis, parts), k, level));
      partial.push_back(made_.back().output);
    }
    split(joined(stage, partial, ir::index(parts)), level + 1);
  }

  // `parts` parts of equal length.
  Parts whole_parts(const Stage& stage, size_t axis, int64_t parts) const {
    const Expr& length = stage.reduce_extents[axis];
    const auto known = ir::as_int(length);
    // A part of neighbours is a contraction still.
    const bool is_tiled = excess_of(stage) > 0 && pattern_of(stage) == Pattern::contraction;
    return {ir::index(parts), stages::ceil_div(length, parts * cut_.accumulators),
            cut_.interleaved && !is_tiled, !known || *known % (parts * cut_.accumulators) != 0};
  }

  std::optional<size_t> long_axis(const Stage& stage) const {
    if (stage.kind != StageKind::reduce || stage.in_order || !stage.starts.empty())
      return std::nullopt;
    const bool contraction = pattern_of(stage) == Pattern::contraction;
    if (const auto open = open_axis(stage)) return contraction ? std::nullopt : open;
    const bool excess = excess_of(stage) > 0;
    if (contraction && !excess) return axis_of_tileless(stage);
    // An axis that a run tells may have one point.
    const int64_t points = product(stage.extents, 1), terms = product(stage.reduce_extents);
    if (!excess && (points < 0 || points > cut_.points || terms < cut_.terms)) return std::nullopt;
    const auto longest = std::ranges::max_element(
        stage.reduce_extents, {}, [](const Expr& extent) { return *ir::as_int(extent); });
    const auto axis = static_cast<size_t>(longest - stage.reduce_extents.begin());
    // Otherwise the axis would be cut into pieces of one: what a GPU does where others are long,
    // too.
    if (!cut_.interleaved && terms / *ir::as_int(*longest) * 4 > cut_.part) return std::nullopt;
    return axis;
  }

  // An axis that a run tells, of a stage of few points: on GPUs, where an invocation would walk it
  // alone. On CPUs its lanes do. Where the run also tells the points, both are estimated.
  std::optional<size_t> open_axis(const Stage& stage) const {
    const auto open = std::ranges::find_if(stage.reduce_extents,
                                           [](const Expr& extent) { return !ir::as_int(extent); });
    if (!cut_.interleaved || open == stage.reduce_extents.end()) return std::nullopt;
    int64_t points = product(stage.extents);
    if (points < 0) {
      if (estimated(stage.reduce_extents) < cut_.terms) return std::nullopt;
      points = estimated(stage.extents);
    }
    if (points < 1 || points > cut_.points) return std::nullopt;
    return static_cast<size_t>(open - stage.reduce_extents.begin());
  }

  // How often a point has all the rounds that an invocation may have; 0 where they are not known.
  int64_t excess_of(const Stage& stage) const {
    if (cut_.rounds == 0 || product(stage.reduce_extents) < 0) return 0;
    int64_t rounds = 0;
    for (const Expr& extent : std::views::reverse(stage.reduce_extents))
      rounds = *ir::as_int(extent) * (rounds + 1) + 1;
    const bool contraction = pattern_of(stage) == Pattern::contraction;
    return rounds / (contraction ? cut_.unroll : 1) / cut_.rounds;
  }

  // Of a contraction: tiles share its steps where vectors fill its rows. In a window's weights, of
  // which a row has three or five, a GPU has nothing to share; its longest axis is cut instead.
  std::optional<size_t> axis_of_tileless(const Stage& stage) const {
    if (!cut_.interleaved) return std::nullopt;
    const int64_t points = product(stage.extents), terms = product(stage.reduce_extents);
    if (points < 0 || points > busy_points / 2 || terms < cut_.terms) return std::nullopt;
    const auto is_long = [](const Expr& extent) { return !ir::is_const(extent, 1); };
    const auto row = std::find_if(stage.extents.rbegin(), stage.extents.rend(), is_long);
    if (row == stage.extents.rend() || *ir::as_int(*row) % lanes == 0 ||
        std::ranges::count_if(stage.reduce_extents, is_long) < 2)
      return std::nullopt;
    if (cut_.shares && slides_in_row(stage, static_cast<size_t>(stage.extents.rend() - row) - 1))
      return std::nullopt;
    const auto axis = std::ranges::find_if(stage.reduce_extents, is_long);
    return static_cast<size_t>(axis - stage.reduce_extents.begin());
  }

  // Whether windows shorter than the row slide along it: a convolution of small images, whose
  // channels tiles share. In a gradient of weights the row is the window.
  static bool slides_in_row(const Stage& stage, size_t axis) {
    for (const ir::Load* load : loads_of(stage.values)) {
      for (const Expr& at : load->indices) {
        if (!ir::uses(at, stage.axes[axis].get())) continue;
        for (size_t r = 0; r < stage.reduce_axes.size(); ++r) {
          if (ir::uses(at, stage.reduce_axes[r].get()) &&
              *ir::as_int(stage.reduce_extents[r]) <= *ir::as_int(stage.extents[axis]))
            return true;
        }
      }
    }
    return false;
  }

  // Accumulator `which` over each part: [points.., parts].
  Stage of_parts(const Stage& whole, size_t axis, const Parts& cut, size_t which, int level) const {
    const Expr& length = whole.reduce_extents[axis];
    const int64_t sums = cut_.accumulators;
    Stage stage = whole;
    const std::string what =
        cat(".parts", level > 1 ? std::to_string(level) : "", which > 0 ? cat(".", which) : "");
    stage.name = whole.name + what;
    stage.extents.push_back(cut.parts);
    const DType kept = stored(whole.accumulators[which].left->type.dtype);
    stage.output = ir::buffer(whole.output->name + what, kept, stage.extents);
    const Var part = ir::var("part");
    stage.axes.push_back(part);
    stage.reduce_extents[axis] = cut.terms;
    stage.values.clear();
    stages::Accumulators& accumulators = stage.accumulators;
    accumulators = {};
    ir::VarMap total;  // the first sum joined with the others, one after the other
    const size_t count = whole.accumulators.size();
    for (int64_t sum = 0; sum < sums; ++sum) {
      const Expr step = whole.reduce_axes[axis];
      const Expr place = cut.interleaved
                             ? step * cut.parts + part
                             : (Expr(part) * ir::index(sums) + ir::index(sum)) * cut.terms + step;
      ir::VarMap own;
      for (size_t k = 0; k < count; ++k) {
        const stages::Accumulator& one = whole.accumulators[k];
        accumulators.push_back({copy_of(one.left, sum), copy_of(one.right, sum), {}, one.identity});
        own[one.left.get()] = accumulators.back().left;
        own[one.right.get()] = accumulators.back().right;
      }
      for (size_t k = 0; k < count; ++k) {
        accumulators[static_cast<size_t>(sum) * count + k].joined =
            ir::substitute(whole.accumulators[k].joined, own);
        Expr value = ir::substitute(whole.values[k], {{whole.reduce_axes[axis].get(), place}});
        if (cut.guarded) value = ir::select(place < length, value, whole.accumulators[k].identity);
        stage.values.push_back(value);
      }
      total = next_total(whole.accumulators, total, own);
    }
    stage.result = ir::cast(kept, total.at(whole.accumulators[which].left.get()));
    return stage;
  }

  // Memory has no type for indices.
  static DType stored(DType dtype) { return dtype == DType::index ? DType::i32 : dtype; }

  static Var copy_of(const Var& var, int64_t sum) {
    return sum == 0 ? var : ir::var(cat(var->name, sum), var->type);
  }

  static ir::VarMap next_total(const stages::Accumulators& accumulators, const ir::VarMap& total,
                               const ir::VarMap& own) {
    ir::VarMap next;
    if (total.empty()) {
      for (const Var& left : stages::lefts_of(accumulators)) next[left.get()] = own.at(left.get());
      return next;
    }
    ir::VarMap sides = total;
    for (size_t k = 0; k < accumulators.size(); ++k)
      sides[accumulators[k].right.get()] = own.at(accumulators[k].left.get());
    for (size_t k = 0; k < accumulators.size(); ++k)
      next[accumulators[k].left.get()] = ir::substitute(accumulators[k].joined, sides);
    return next;
  }

  static Stage joined(const Stage& whole, const std::vector<Buffer>& partial, const Expr& parts) {
    Stage stage = whole;
    const Var part = ir::var("part");
    stage.reduce_axes = {part};
    stage.reduce_extents = {parts};
    std::vector<Expr> point(whole.axes.begin(), whole.axes.end());
    point.push_back(part);
    stage.values.clear();
    for (size_t k = 0; k < partial.size(); ++k)
      stage.values.push_back(
          ir::cast(whole.accumulators[k].left->type, ir::load(partial[k], point)));
    return stage;
  }

  std::vector<Stage>& made_;
  const Cut cut_;
};

}  // namespace

void split_rounds(const Stage& stage, int64_t most, const Capabilities& capabilities,
                  std::vector<Stage>& made) {
  ReductionSplitter(capabilities, made).split_open(stage, most);
}

void split_reductions(std::vector<Stage>& stages, const Capabilities& capabilities) {
  std::vector<Stage> made;
  ReductionSplitter splitter(capabilities, made);
  for (Stage& stage : stages) splitter.split(std::move(stage));
  stages = std::move(made);
}

}  // namespace gossamer::rewrite
