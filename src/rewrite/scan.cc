#include "rewrite/scan.h"

#include <utility>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "stages/access.h"

namespace gossamer::rewrite {
namespace {

using ir::Buffer;
using ir::Expr;
using stages::Stage;
using stages::StageKind;
using target::Capabilities;

class Splitter {
 public:
  Splitter(const Capabilities& caps, std::vector<Stage>& made)
      : made_(made), segment_(caps.scan_segment), gathers_(caps.texture_memory) {
    // Of an axis that is not known: until a million points leave few enough for one walk.
    for (int64_t left = 1 << 20; left > 16 * segment_; left /= segment_) ++unknown_levels_;
  }

  void split(Stage scan, int level = 0) {
    const Expr& length = scan.extents[scan.along];
    const auto known = ir::as_int(length);
    // What has segments or goes in order cannot be joined from parts.
    if (scan.segment > 0 || scan.in_order ||
        (known ? *known <= segment_ : level == unknown_levels_)) {
      made_.push_back(gathers_ ? gathered(scan) : std::move(scan));
      return;
    }
    const Expr segments = ir::simplify(stages::ceil_div(length, segment_));
    std::vector<Buffer> totals;
    const size_t count = scan.accumulators.size();
    for (size_t k = 0; k < count; ++k) {
      made_.push_back(totals_of(scan, k, segments));
      totals.push_back(made_.back().output);
    }
    std::vector<Expr> start = {scan.axes.begin(), scan.axes.end()};
    start[scan.along] = ir::floordiv(start[scan.along], ir::index(segment_));
    for (size_t k = 0; k < count; ++k) {
      Stage before = before_segments(scan, k, totals);
      scan.starts.push_back(ir::load(before.output, start));
      split(std::move(before), level + 1);
    }
    scan.segment = segment_;
    made_.push_back(gathers_ ? gathered(scan) : std::move(scan));
  }

 private:
  static Buffer partial_buffer(const Stage& scan, size_t k, std::string_view what, Expr segments) {
    std::vector<Expr> shape = scan.extents;
    shape[scan.along] = std::move(segments);
    return ir::buffer(cat(scan.output->name, what, k > 0 ? std::to_string(k) : ""),
                      scan.accumulators[k].left->type.dtype, std::move(shape));
  }

  // Accumulator k over each segment.
  Stage totals_of(const Stage& scan, size_t k, const Expr& segments) const {
    Stage totals;
    totals.kind = StageKind::reduce;
    totals.name = scan.name + ".totals";
    totals.origin = scan.origin;
    totals.output = partial_buffer(scan, k, ".totals", segments);
    totals.axes = scan.axes;
    totals.axes[scan.along] = ir::var("segment");
    totals.extents = totals.output->shape;
    const ir::Var within = ir::var("r");
    totals.reduce_axes = {within};
    totals.reduce_extents = {ir::index(segment_)};
    const Expr at = Expr(totals.axes[scan.along]) * ir::index(segment_) + within;
    const Expr inside = at < scan.extents[scan.along];
    totals.accumulators = scan.accumulators;
    for (size_t j = 0; j < scan.values.size(); ++j) {
      const Expr value = ir::substitute(scan.values[j], {{scan.axes[scan.along].get(), at}});
      totals.values.push_back(ir::select(inside, value, scan.accumulators[j].identity));
    }
    if (totals.values.size() > 1) keep_order(totals);
    totals.result = scan.accumulators[k].left;
    return totals;
  }

  // Tuples need not join in any order (runs of equals), and reductions take lanes apart.
  static void keep_order(Stage& totals) {
    ir::VarMap next;
    for (size_t j = 0; j < totals.values.size(); ++j)
      next[totals.accumulators[j].right.get()] = totals.values[j];
    for (size_t j = 0; j < totals.values.size(); ++j) {
      totals.values[j] = ir::substitute(totals.accumulators[j].joined, next);
      totals.accumulators[j].joined = totals.accumulators[j].right;
    }
    totals.in_order = true;
  }

  // Accumulator k before each segment.
  static Stage before_segments(const Stage& scan, size_t k, const std::vector<Buffer>& totals) {
    Stage before;
    before.kind = StageKind::scan;
    before.name = scan.name + ".before";
    before.origin = scan.origin;
    before.axes = scan.axes;
    const ir::Var segment = before.axes[scan.along] = ir::var("segment");
    before.extents = totals[0]->shape;
    before.along = scan.along;
    before.output = partial_buffer(scan, k, ".before", before.extents[scan.along]);
    before.accumulators = scan.accumulators;
    std::vector<Expr> last = {before.axes.begin(), before.axes.end()};
    last[scan.along] = Expr(segment) - ir::index(1);
    for (size_t j = 0; j < totals.size(); ++j) {
      before.values.push_back(ir::select(Expr(segment) > ir::index(0), ir::load(totals[j], last),
                                         scan.accumulators[j].identity));
    }
    before.result = scan.accumulators[k].left;
    return before;
  }

  // A reduction over the segment up to each point, joined to where it starts from.
  static Stage gathered(const Stage& scan) {
    Stage gather = scan;
    gather.kind = StageKind::reduce;
    gather.segment = 0;
    gather.starts.clear();
    const ir::Var within = ir::var("r");
    gather.reduce_axes = {within};
    const Expr point = scan.axes[scan.along];
    Expr first = ir::index(0);
    gather.reduce_extents = {scan.extents[scan.along]};
    if (scan.segment > 0) {
      const Expr length = ir::index(scan.segment);
      gather.reduce_extents = {length};
      first = ir::floordiv(point, length) * length;
    }
    const Expr at = first + within;
    const auto there = [&](const Expr& e, const Expr& place) {
      return ir::substitute(e, {{scan.axes[scan.along].get(), place}});
    };
    for (size_t j = 0; j < gather.values.size(); ++j) {
      const Expr rest =
          scan.in_order ? Expr(scan.accumulators[j].left) : scan.accumulators[j].identity;
      gather.values[j] = ir::select(at <= point, there(scan.values[j], at), rest);
    }
    if (scan.starts.empty()) return gather;
    std::vector<Expr> starts;
    for (const Expr& start : scan.starts) starts.push_back(there(start, first));
    if (scan.in_order) {
      gather.starts = std::move(starts);
      return gather;
    }
    const stages::Accumulators& accumulators = scan.accumulators;
    ir::VarMap from, totals;
    for (size_t k = 0; k < accumulators.size(); ++k) {
      from[accumulators[k].left.get()] = starts[k];
      from[accumulators[k].right.get()] = accumulators[k].left;
    }
    for (size_t k = 0; k < accumulators.size(); ++k)
      totals[accumulators[k].left.get()] = ir::substitute(accumulators[k].joined, from);
    gather.result = ir::substitute(gather.result, totals);
    return gather;
  }

  std::vector<Stage>& made_;
  int64_t segment_;
  bool gathers_;
  int unknown_levels_ = 0;
};

}  // namespace

void split_scans(std::vector<Stage>& stages, const Capabilities& capabilities) {
  if (capabilities.scan_segment == 0) return;
  std::vector<Stage> made;
  Splitter splitter(capabilities, made);
  for (Stage& stage : stages) {
    if (stage.kind == StageKind::scan) {
      splitter.split(std::move(stage));
    } else {
      made.push_back(std::move(stage));
    }
  }
  stages = std::move(made);
}

}  // namespace gossamer::rewrite
