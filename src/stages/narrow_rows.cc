#include "stages/narrow_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ir/build.h"
#include "ir/loads.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"

namespace gossamer::stages {
namespace {

using ir::Buffer;
using ir::BufferNode;
using ir::Expr;

// The places of an axis that are read: `count` from `first` on.
struct Place {
  Expr first = {};  // null: all
  Expr count = {};

  explicit operator bool() const { return first.get() != nullptr; }
  bool is_one() const { return ir::is_const(count, 1); }
  bool operator==(const Place& other) const {
    return *this && other && ir::equal(first, other.first) && ir::equal(count, other.count);
  }
};

// By axis.
using Places = std::vector<Place>;

class Narrower {
 public:
  Narrower(StageGraph& graph, bool windows)
      : graph_(graph), windows_(windows), states_(states_of(graph)) {
    for (const StageOutput& output : graph.outputs) whole_.insert(output.buffer.get());
    for (const Dim& dim : graph.dims) {
      const Expr positive = ir::simplify(Expr(dim.var) >= 1.0);
      const bool is_positive = std::ranges::any_of(
          graph.checks, [&](const Check& check) { return ir::equal(check.condition, positive); });
      bounds_.set(dim.var.get(), {is_positive ? 1 : 0, INT32_MAX});
    }
  }

  void run() {
    const auto is_step = [](const Entry& entry) { return entry.step() != nullptr; };
    if (std::ranges::any_of(graph_.program, is_step)) return;
    do {
      find();
    } while (keep_siblings());
    apply();
  }

 private:
  // From the last stage to the first: what reads a tensor comes before what makes it.
  void find() {
    narrow_.clear();
    reads_.clear();
    for (auto entry = graph_.program.rbegin(); entry != graph_.program.rend(); ++entry) {
      const Stage& stage = *std::as_const(*entry).stage();
      choose(stage);
      read(stage);
    }
  }

  void choose(const Stage& stage) {
    const bool makes_points = stage.kind == StageKind::compute || stage.kind == StageKind::reduce;
    const BufferNode* output = stage.output.get();
    const auto reads = reads_.find(output);
    if (!makes_points || stage.fresh.get() || !stage.side.empty() || whole_.contains(output) ||
        states_.contains(output) || reads == reads_.end())
      return;
    Places places = reads->second;
    bool any = false;
    for (size_t axis = 0; axis < places.size(); ++axis) {
      const Expr& extent = stage.extents[axis];
      // An axis that may have no places keeps that.
      if (places[axis] && (ir::is_const(extent, 1) || !is_inside(places[axis], extent)))
        places[axis] = {};
      any |= static_cast<bool>(places[axis]);
    }
    if (any) narrow_.emplace(output, std::move(places));
  }

  bool is_inside(const Place& place, const Expr& extent) const {
    if (place.is_one()) return ir::prove(place.first >= 0.0 && place.first < extent, bounds_);
    // The last ones, of which a check says that they are there.
    const Expr there = ir::simplify(extent >= place.count);
    return ir::prove_equal(place.first + place.count, extent) &&
           std::ranges::any_of(graph_.checks, [&](const Check& check) {
             return ir::equal(check.condition, there);
           });
  }

  void read(const Stage& stage) {
    for (const Buffer& buffer : {stage.initial, stage.table})
      if (buffer.get()) reads_[buffer.get()] = Places(buffer->shape.size());
    const ir::VarMap fixed = fixed_axes(stage);
    const std::vector<ir::Var> own = own_variables(stage);
    visit_exprs(stage, any_role, [&](const Expr& expr) {
      for (const ir::Load* load : ir::loads_of(expr)) {
        const auto [known, first] = reads_.try_emplace(load->buffer.get());
        Places& places = known->second;
        if (first) places.resize(load->indices.size());
        for (size_t axis = 0; axis < places.size(); ++axis) {
          const Expr at = ir::simplify(ir::substitute(load->indices[axis], fixed));
          const Place place = place_of(stage, own, at);
          if (first || !(places[axis] == place)) places[axis] = first ? place : Place();
        }
      }
    });
  }

  Place place_of(const Stage& stage, const std::vector<ir::Var>& own, const Expr& at) const {
    const auto is_fixed = [&](const Expr& expr) {
      return ir::loads_of(expr).empty() && std::ranges::none_of(own, [&](const ir::Var& var) {
               return ir::uses(expr, var.get());
             });
    };
    if (is_fixed(at)) return {at, ir::index(1)};
    const auto found = narrow_.find(stage.output.get());
    for (size_t axis = 0; windows_ && axis < stage.axes.size(); ++axis) {
      const Expr first = ir::simplify(at - Expr(stage.axes[axis]));
      if (!is_fixed(first) || ir::is_const(first, 0)) continue;
      const bool narrow = found != narrow_.end() && found->second[axis];
      return {first, narrow ? found->second[axis].count : stage.extents[axis]};
    }
    return {};
  }

  ir::VarMap fixed_axes(const Stage& stage) const {
    ir::VarMap fixed;
    const auto found = narrow_.find(stage.output.get());
    if (found == narrow_.end()) return fixed;
    for (size_t axis = 0; axis < stage.axes.size(); ++axis)
      if (const Place& place = found->second[axis])
        fixed[stage.axes[axis].get()] =
            place.is_one() ? place.first : Expr(stage.axes[axis]) + place.first;
    return fixed;
  }

  // A reduction whose operand stays whole since others reduce it: a launch of their own would cost
  // more than its rows. True: there was one, which is whole from here on.
  bool keep_siblings() {
    std::map<const BufferNode*, std::set<const BufferNode*>> reduced;  // operand, by whom in full
    const auto each = [&](const auto& visit) {
      for (const Stage& stage : stages_of(std::as_const(graph_.program))) {
        if (stage.kind != StageKind::reduce) continue;
        for (const ir::Load* load : ir::loads_of(stage.values)) visit(stage, load->buffer.get());
      }
    };
    each([&](const Stage& stage, const BufferNode* operand) {
      if (!narrow_.contains(stage.output.get())) reduced[operand].insert(stage.output.get());
    });
    std::set<const BufferNode*> made;
    for (const Stage& stage : stages_of(std::as_const(graph_.program)))
      made.insert(stage.output.get());
    bool any = false;
    each([&](const Stage& stage, const BufferNode* operand) {
      if (narrow_.contains(stage.output.get()) && made.contains(operand) &&
          !narrow_.contains(operand) && reduced.contains(operand))
        any |= whole_.insert(stage.output.get()).second;
    });
    return any;
  }

  void apply() {
    std::map<const BufferNode*, Buffer> made;
    for (const auto& [buffer, places] : narrow_) {
      std::vector<Expr> shape = buffer->shape;
      for (size_t axis = 0; axis < shape.size(); ++axis)
        if (places[axis]) shape[axis] = places[axis].count;
      made[buffer] = ir::buffer(buffer->name, buffer->dtype, std::move(shape));
    }
    for (Stage& stage : stages_of(graph_.program)) {
      const ir::VarMap fixed = fixed_axes(stage);
      ir::Rewriter rewriter;
      rewriter.expr = [&](const Expr& e) -> Expr {
        const auto* load = ir::as<ir::Load>(e);
        const auto found = load ? made.find(load->buffer.get()) : made.end();
        if (found == made.end()) return {};
        return ir::load(found->second, places_in(stage, *load, narrow_.at(found->first)));
      };
      visit_exprs(stage, any_role, [&](Expr& expr) {
        expr = ir::rewrite(fixed.empty() ? expr : ir::substitute(expr, fixed), rewriter);
      });
      const auto found = made.find(stage.output.get());
      if (found == made.end()) continue;
      stage.output = found->second;
      stage.extents = stage.output->shape;
      stage.view = false;
    }
  }

  // Where a stage has an axis of one point, too, that is the place: maps stay maps of their own
  // points.
  std::vector<Expr> places_in(const Stage& stage, const ir::Load& load,
                              const Places& narrow) const {
    const auto own = narrow_.find(stage.output.get());
    std::vector<Expr> at = load.indices;
    for (size_t axis = 0; axis < at.size(); ++axis) {
      if (!narrow[axis]) continue;
      if (!narrow[axis].is_one()) {
        at[axis] = ir::simplify(at[axis] - narrow[axis].first);
        continue;
      }
      const bool has_one =
          axis < stage.axes.size() &&
          (ir::is_const(stage.extents[axis], 1) ||
           (own != narrow_.end() && own->second[axis] && own->second[axis].is_one()));
      at[axis] = has_one ? Expr(stage.axes[axis]) : ir::index(0);
    }
    return at;
  }

  StageGraph& graph_;
  bool windows_;
  ir::Bounds bounds_;
  std::unordered_set<const BufferNode*> states_;
  std::set<const BufferNode*> whole_;
  std::map<const BufferNode*, Places> reads_, narrow_;
};

}  // namespace

void narrow_rows(StageGraph& graph, bool windows) { Narrower(graph, windows).run(); }

}  // namespace gossamer::stages
