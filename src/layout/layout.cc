#include "layout/layout.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "ir/build.h"
#include "ir/estimate.h"
#include "ir/rewrite.h"
#include "layout/packing.h"
#include "layout/placed_buffers.h"
#include "layout/texture_layout.h"
#include "online/online.h"
#include "stages/access.h"
#include "stages/pattern.h"
#include "stages/state_update.h"
#include "target/costs.h"

namespace gossamer::layout {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Layout;
using records::PointSource;
using stages::Along;
using stages::Pattern;
using stages::Program;
using stages::Stage;
using stages::StageKind;
using target::Capabilities;
using target::Costs;

class Chooser {
 public:
  Chooser(Program& program, const Ports& ports, const Capabilities& capabilities,
          const PointSource* records, const Capabilities* hardware)
      : program_(program),
        ports_(ports),
        caps_(capabilities),
        records_(records),
        hardware_(hardware),
        costs_(costs_of(capabilities)),
        placed_(ports, capabilities),
        packing_(placed_, constant_, capabilities) {
    for (const ir::BufferNode* constant : ports.constants) constant_.insert(constant);
  }

  void run(std::vector<std::pair<Buffer, Buffer>>& replaced) {
    Program result;
    find_states();
    // On GPUs, tiles in group memory are such copies.
    if (caps_.is_vector_unit()) online_ = online::online_products(program_, ports_.outputs, caps_);
    const std::vector<int> blocks = stages::blocks_of(program_);
    for (size_t i = 0; i < program_.size(); ++i) {
      if (!program_[i].stage() || !program_[i].stage()->side.empty()) {
        result.push_back(program_[i]);
        continue;
      }
      Stage& stage = *program_[i].stage();
      const bool is_state = states_.contains(stage.output.get());
      const bool is_constant =
          !is_state && std::ranges::all_of(stages::inputs_of(stage), [&](const Buffer& b) {
            return constant_.contains(b.get());
          });
      if (is_constant) constant_.insert(stage.output.get());
      block_ = blocks[i];
      place_stage(stage, result);
    }
    for (stages::Entry& entry : result) placed_.substitute_all(entry);
    // Ports that no stage touches: an output that is a constant or an input handed through.
    for (const auto* ports : {&ports_.inputs, &ports_.outputs, &ports_.constants}) {
      for (const ir::BufferNode* port : *ports) placed_.fresh_of(Buffer(port));
    }
    replaced = placed_.replaced();
    program_ = std::move(result);
  }

 private:
  // Buffers that several stages write keep the layout of ports, in which all of them can write.
  void find_states() {
    std::set<const ir::BufferNode*> seen;
    for (const stages::Entry& entry : program_) {
      const ir::BufferNode* output = entry.output().get();
      if (output && !seen.insert(output).second) states_.insert(output);
    }
  }

  // `terms`: of what is read in each step of a reduction; `all`: of what its result reads once,
  // too.
  struct Score {
    int all = 0, terms = 0;
  };

  // How good the vector axis `axis` is for a stage: contiguous loads and constants that can be
  // packed for it count for it, gathers against it. `copies`: others may be packed, too.
  Score score(const Stage& stage, size_t axis, const ir::Bounds& bounds, bool copies) const {
    const int lanes = caps_.vector_lanes;
    const auto extent = ir::as_int(stage.extents[axis]);
    if (extent && *extent < 2) return {costs_.unit_axis, costs_.unit_axis};
    // A dimension that a run tells, as of a batch, is often 1; rows of the last axis are not.
    if (!extent && axis + 1 < stage.axes.size()) return {costs_.unit_axis, costs_.unit_axis};
    Score found;
    std::vector<Expr> exprs = stage.values;
    exprs.push_back(stage.result);
    const auto terms = loads_of(stage.values);
    for (const ir::Load* load : loads_of(exprs)) {
      const bool in_terms = std::ranges::find(terms, load) != terms.end();
      int points = 0;
      switch (stages::along(*load, placed_.layout_of(load->buffer.get()), stage.axes[axis], lanes,
                            bounds)) {
        case Along::still:
          points += in_terms ? costs_.still : 0;
          break;
        case Along::contiguous:
          points += costs_.contiguous;
          break;
        case Along::strided:
        case Along::gather:
          if (!in_terms && is_column(*load, stage.axes[axis])) {
            points += costs_.contiguous;
            break;
          }
          if (in_terms && packing_.may_pack_decoded(stage, *load, static_cast<int>(axis))) {
            points += costs_.packable;
            break;
          }
          if (in_terms && caps_.has_bytes && packing_.is_read_seldom(stage, *load)) break;
          if (!in_terms && stands_inside(stage, *load, axis)) break;
          if (is_shared_by_lanes(stage, *load, stage.axes[axis])) {
            points += in_terms ? costs_.still : 0;
            break;
          }
          points += in_terms && (copies ? packing_.would_pack(stage, *load, static_cast<int>(axis))
                                        : packing_.may_pack(stage, *load))
                        ? costs_.packable
                        : costs_.gather;
          break;
      }
      found.all += points;
      found.terms += in_terms ? points : 0;
    }
    if (forks(stage, stage.axes[axis])) found.all += costs_.unit_axis / 2;
    if (extent && *extent < lanes) {
      found.all += costs_.short_axis;
      found.terms += costs_.short_axis;
    }
    return found;
  }

  // Whether a constant has one element a point of the axis: a bias or a factor of channels.
  bool is_column(const ir::Load& load, const ir::Var& axis) const {
    if (!constant_.contains(load.buffer.get()) || caps_.texture_memory) return false;
    for (size_t d = 0; d < load.indices.size(); ++d) {
      if (load.indices[d].get() != axis.get() && !ir::is_const(load.buffer->shape[d], 1))
        return false;
    }
    return true;
  }

  // Whether a map reads an element for many points of its open inner axes, as a norm of groups of
  // channels reads its mean: it is gathered once for all of them. With known extents, such a norm
  // is one launch over rows (group_stages.h), and channels in lanes would cross its rows.
  bool stands_inside(const Stage& stage, const ir::Load& load, size_t axis) const {
    if (stage.kind != StageKind::compute || !caps_.is_vector_unit()) return false;
    int64_t points = 1;
    bool open = false;
    for (size_t inner = axis + 1; inner < stage.axes.size(); ++inner) {
      open |= !ir::as_int(stage.extents[inner]);
      if (std::ranges::any_of(load.indices, [&](const Expr& index) {
            return ir::uses(index, stage.axes[inner].get());
          }))
        return false;
      points *= ir::estimate(stage.extents[inner]);
    }
    return open && points >= caps_.vector_lanes;
  }

  // Whether points along an axis are computed in many ways: a vector would compute each of them.
  bool forks(const Stage& stage, const ir::Var& axis) const {
    constexpr int many = 8;
    if (stage.kind != StageKind::compute || !caps_.is_vector_unit()) return false;
    int ways = 0;
    ir::visit(stage.result, [&](const Expr& e) {
      const auto* select = ir::as<ir::Select>(e);
      if (select && ir::uses(select->condition, axis.get()) && !loads_of(select->yes).empty() &&
          !loads_of(select->no).empty())
        ++ways;
      return ways <= many;
    });
    return ways > many;
  }

  // Whether the lanes of a vector read one element: channels of a group of a convolution.
  bool is_shared_by_lanes(const Stage& stage, const ir::Load& load, const ir::Var& axis) const {
    if (!caps_.is_vector_unit()) return false;
    const int lanes = lanes_of_runs(stage, axis, caps_.vector_lanes);
    return std::ranges::all_of(
        load.indices, [&](const Expr& index) { return stages::is_shared(index, axis, lanes); });
  }

  int choose_axis(const Stage& stage) const {
    const int rule = axis_by_rule(stage);
    const auto recorded =
        recorded_for(records_, &PointSource::axis_of, stage, caps_, hardware_, rule);
    const auto rank = static_cast<int>(stage.axes.size());
    return recorded && *recorded < rank ? *recorded : rule;
  }

  int axis_by_rule(const Stage& stage) const {
    auto [axis, terms] = best_axis(stage, false);
    if (stage.kind != StageKind::reduce || terms >= 0) return axis;
    // A reduction that would gather runs along its own axes instead, unless copies of what a run
    // makes pay (the gradient of a product by a factor, which walks the other one's rows). In
    // groups of invocations, tiles in their memory are such copies.
    if (!caps_.is_vector_unit() || online_.contains(stage.output.get())) return -1;
    std::tie(axis, terms) = best_axis(stage, true);
    return terms < 0 ? -1 : axis;
  }

  // And its score, on CPUs that of its terms.
  std::pair<int, int> best_axis(const Stage& stage, bool copies) const {
    const ir::Bounds bounds = stages::bounds_of_terms(stage);
    int best = -1, best_score = costs_.unit_axis + 1, terms = best_score;
    for (int i = static_cast<int>(stage.axes.size()) - 1; i >= 0; --i) {
      const Score one = score(stage, static_cast<size_t>(i), bounds, copies);
      int points = one.all * costs_.scale;
      // Between equals: the axis that a packed constant shares (output channels), then the last
      // axis.
      if (stage.kind == StageKind::reduce) {
        for (const ir::Load* load : loads_of(stage.values)) {
          const bool moves = std::ranges::any_of(load->indices, [&](const Expr& e) {
            return ir::uses(e, stage.axes[static_cast<size_t>(i)].get());
          });
          if (moves && packing_.may_pack(stage, *load)) points += costs_.shared;
        }
      }
      if (saves_copy(stage, i)) points += costs_.scale;
      if (points > best_score) best = i, best_score = points, terms = one.terms;
    }
    // GPUs compare the whole score: tiles in group memory need no vectors of the output.
    return {best, caps_.is_vector_unit() ? terms : best_score};
  }

  // Whether an output that leaves the model is computed in its own order along `axis`, by so short
  // a reduction that a copy behind it would cost more than another axis gains.
  bool saves_copy(const Stage& stage, int axis) const {
    return stage.kind == StageKind::reduce && ports_.outputs.contains(stage.output.get()) &&
           product_or(stage.reduce_extents, costs_.copied + 1) <= costs_.copied &&
           vector_layout(stage.output->shape, axis, caps_) == port_layout(*stage.output, caps_);
  }

  // Products of CPUs with columns that only a run tells: tiles of several vectors, whose last one
  // starts early, write rows as they are.
  bool has_open_columns(const Stage& stage, int axis) const {
    return caps_.is_vector_unit() && static_cast<size_t>(axis) + 1 == stage.axes.size() &&
           !ir::as_int(stage.extents.back()) && pattern_of(stage) == Pattern::contraction;
  }

  void place_stage(Stage& stage, Program& result) {
    const bool port =
        ports_.outputs.contains(stage.output.get()) || states_.contains(stage.output.get());
    const bool pointwise = stage.kind == StageKind::compute || stage.kind == StageKind::reduce;
    const int axis = pointwise ? choose_axis(stage) : -1;
    Layout layout = port_layout(*stage.output, caps_);
    if (axis >= 0 && !has_open_columns(stage, axis))
      layout = vector_layout(stage.output->shape, axis, caps_);
    if (axis >= 0 && caps_.texture_memory && !port) add_layers(stage, axis, layout);
    if (stage.kind == StageKind::reduce && axis >= 0 && !online_.contains(stage.output.get()))
      packing_.pack_operands(stage, axis, block_, result);
    if (online_.contains(stage.output.get())) packing_.pack_biases(stage, result);
    if (!port || layout == port_layout(*stage.output, caps_)) {
      placed_.place(stage.output, layout);
      result.push_back(stage);
      return;
    }
    if (stage.kind == StageKind::compute) {  // computed straight into the plain output
      placed_.place(stage.output, port_layout(*stage.output, caps_));
      result.push_back(stage);
      return;
    }
    const Buffer plain = stage.output;
    const Buffer inner = ir::buffer(plain->name + ".blocked", plain->dtype, plain->shape);
    placed_.place(inner, layout);
    placed_.place(plain, port_layout(*plain, caps_));
    stage.output = inner;
    result.push_back(stage);
    Stage copy = stages::copy_stage("unblock", inner, plain);
    copy.origin = stage.origin;
    result.emplace_back(std::move(copy));
  }

  // Rows of a fragment's tile go to the layers of an array texture: a reduction's rows reuse what
  // it loads for the vector axis; a map keeps the layers of what it reads.
  void add_layers(const Stage& stage, int axis, Layout& layout) const {
    int row = -1, layers = 1;
    if (stage.kind == StageKind::reduce) {
      for (int i = static_cast<int>(stage.axes.size()) - 1; i >= 0 && row < 0; --i) {
        const auto extent = ir::as_int(stage.extents[static_cast<size_t>(i)]);
        if (i == axis || !extent || *extent < 2) continue;
        row = i;
        while (layers < caps_.max_layers && *extent % (layers * 2) == 0) layers *= 2;
        if (layers == 1 && *extent > 4) layers = 2;
      }
    } else {
      for (const ir::Load* load : loads_of(stage.result)) {
        const Layout from = placed_.layout_of(load->buffer.get());
        if (from.layers == 1 || from.axes.back().dim >= static_cast<int>(load->indices.size()))
          continue;
        const auto d = static_cast<size_t>(from.axes[from.axes.size() - 2].dim);
        for (size_t i = 0; i < stage.axes.size(); ++i) {
          if (load->indices[d].get() != stage.axes[i].get() || static_cast<int>(i) == axis)
            continue;
          row = static_cast<int>(i);
          layers = from.layers;
        }
      }
    }
    if (row < 0 || layers == 1) return;
    set_layers(layout, stage, axis, row, layers, caps_);
  }

  Program& program_;
  const Ports& ports_;
  const Capabilities& caps_;
  const PointSource* records_;
  const Capabilities* hardware_;
  const Costs& costs_;
  std::set<const ir::BufferNode*> constant_;
  std::set<const ir::BufferNode*> states_;
  std::set<const ir::BufferNode*> online_;  // what walks over keys make
  PlacedBuffers placed_;
  Packing packing_;
  int block_ = 0;
};

}  // namespace

void choose_layouts(Program& program, const Ports& ports, const Capabilities& capabilities,
                    std::vector<std::pair<Buffer, Buffer>>& replaced, const PointSource* records,
                    const Capabilities* hardware) {
  Chooser(program, ports, capabilities, records, hardware).run(replaced);
}

}  // namespace gossamer::layout
