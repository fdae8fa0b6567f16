#include "layout/packing.h"

#include <algorithm>

#include "autoschedule/tiling.h"
#include "autoschedule/tiling_parts.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "layout/texture_layout.h"
#include "schedule/stage_in.h"
#include "stages/access.h"
#include "stages/factors.h"
#include "stages/pattern.h"
#include "stages/state_update.h"

namespace gossamer::layout {

using ir::Buffer;
using ir::Expr;
using ir::Layout;
using stages::Along;
using stages::Pattern;
using stages::Stage;

namespace {

void redirect(Stage& stage, const ir::BufferNode* from, const Buffer& to) {
  const ir::BufferMap map{{from, to}};
  for (Expr& value : stage.values) value = ir::substitute_buffers(value, map);
}

}  // namespace

bool Packing::may_pack(const Stage& stage, const ir::Load& load) const {
  return stage.kind == stages::StageKind::reduce && constant_.contains(load.buffer.get()) &&
         simple_indices(stage, load);
}

bool Packing::may_pack_decoded(const Stage& stage, const ir::Load& load, int axis) const {
  const bool bytes = caps_.has_bytes && caps_.group_size == 1;
  if (!bytes || !constant_.contains(load.buffer.get()) || !is_decoded_from(stage, load))
    return false;
  const ir::Var& v = stage.axes[static_cast<size_t>(axis)];
  const auto uses = [&](const Expr& e) { return ir::uses(e, v.get()); };
  return std::ranges::count_if(load.indices, uses) == 1 &&
         std::ranges::any_of(load.indices, [&](const Expr& e) { return e.get() == v.get(); });
}

bool Packing::is_read_seldom(const Stage& stage, const ir::Load& load) const {
  constexpr int64_t many = 16;
  return is_decoded_from(stage, load) && std::ranges::all_of(load.indices, [&](const Expr& e) {
           return stages::is_shared(e, stage.reduce_axes[0], many);
         });
}

// Whether an operand that is no constant pays for a copy in each run.
bool Packing::reused(const Stage& stage, int axis) const {
  return !stage.reduce_axes.empty() &&
         product_or(stage.extents, 1 << 20) >=
             costs_.reuse * product_or({stage.extents[static_cast<size_t>(axis)]}, 64);
}

bool Packing::would_pack(const Stage& stage, const ir::Load& load, int axis) const {
  if (may_pack(stage, load)) return true;
  const auto is_axis = [&](const Expr& e) {
    return e.get() == stage.axes[static_cast<size_t>(axis)].get();
  };
  return simple_indices(stage, load) && std::ranges::any_of(load.indices, is_axis) &&
         pattern_of(stage) == Pattern::contraction && reused(stage, axis);
}

void Packing::pack_operands(Stage& stage, int axis, int block, stages::Program& result) {
  const ir::Bounds bounds = stages::bounds_of_terms(stage);
  const ir::Var& v = stage.axes[static_cast<size_t>(axis)];
  const std::vector<Expr> before = stage.values;  // keeps the loads alive while they are redirected
  for (const ir::Load* load : loads_of(before)) {
    const ir::BufferNode* source = load->buffer.get();
    if (!simple_indices(stage, *load) && !may_pack_decoded(stage, *load, axis)) continue;
    const auto moving =
        std::ranges::find_if(load->indices, [&](const Expr& e) { return e.get() == v.get(); });
    if (moving == load->indices.end()) continue;
    const Along now =
        stages::along(*load, placed_.layout_of(source), v, caps_.vector_lanes, bounds);
    const bool constant = constant_.contains(source);
    const int64_t size = product_or(source->shape, 1);
    if (now == Along::contiguous && (!constant || !caps_.texture_memory)) {
      if (!constant || size <= costs_.small_constant) continue;
    }
    if (!constant && !reused(stage, axis)) continue;
    if (stage.reduce_axes.empty()) continue;
    const Layout layout =
        packed_layout(stage, *load, axis, static_cast<int>(moving - load->indices.begin()));
    const std::pair place_of{source, constant ? 0 : block};
    if (const auto known = packed_.find(place_of);
        known != packed_.end() && placed_.layout_of(known->second.get()) == layout) {
      redirect(stage, source, known->second);
      continue;
    }
    const Buffer packed = ir::buffer(load->buffer->name + ".packed", source->dtype, source->shape);
    placed_.place(packed, layout);
    if (constant) constant_.insert(packed.get());
    packed_[place_of] = packed;
    Stage copy = stages::copy_stage("pack", load->buffer, packed);
    copy.origin = stage.origin;
    result.emplace_back(std::move(copy));
    redirect(stage, source, packed);
  }
}

void Packing::pack_biases(Stage& scores, stages::Program& result) {
  const size_t rank = scores.axes.size();
  if (scores.kind != stages::StageKind::reduce || rank < 2 || !ir::as_int(scores.extents[rank - 2]))
    return;
  ir::Rewriter rewriter;
  rewriter.expr = [&](const Expr& e) -> Expr {
    const auto* load = ir::as<ir::Load>(e);
    if (!load || load->indices.size() < 2 || !constant_.contains(load->buffer.get()) ||
        !load->indices.back().same(scores.axes[rank - 1]))
      return nullptr;
    const auto query = std::ranges::find_if(
        load->indices, [&](const Expr& at) { return at.same(scores.axes[rank - 2]); });
    if (query == load->indices.end()) return nullptr;
    const auto dim = static_cast<size_t>(query - load->indices.begin());
    std::vector<Expr> indices = load->indices;
    std::swap(indices[dim], indices.back());
    Buffer& packed = turned_[{load->buffer.get(), dim}];
    if (!packed.get()) {
      std::vector<Expr> shape = load->buffer->shape;
      std::swap(shape[dim], shape.back());
      packed = ir::buffer(load->buffer->name + ".turned", load->buffer->dtype, shape);
      constant_.insert(packed.get());
      Stage copy = stages::copy_stage("pack", load->buffer, packed);
      std::vector<Expr> from(copy.axes.begin(), copy.axes.end());
      std::swap(from[dim], from.back());
      copy.result = ir::load(load->buffer, from);
      copy.origin = scores.origin;
      placed_.place(packed, port_layout(*packed, caps_));
      result.emplace_back(std::move(copy));
    }
    return ir::load(packed, indices);
  };
  scores.result = ir::rewrite(scores.result, rewriter);
}

Layout Packing::packed_layout(const Stage& stage, const ir::Load& load, int axis,
                              int vector) const {
  const int lanes = caps_.vector_lanes;
  std::vector<int> order{vector};
  const auto position = [&](const Expr& e, const std::vector<ir::Var>& axes) {
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].get() == e.get()) return static_cast<int>(i);
    }
    return -1;
  };
  for (size_t d = 0; d < load.indices.size(); ++d) {
    if (static_cast<int>(d) != vector && position(load.indices[d], stage.reduce_axes) < 0) {
      order.push_back(static_cast<int>(d));
    }
  }
  // The reduction axis walked in blocks, because another operand is blocked along it.
  int split = -1, block = lanes;
  for (size_t r = 0; r < stage.reduce_axes.size(); ++r) {
    for (size_t d = 0; d < load.indices.size(); ++d) {
      if (load.indices[d].get() != stage.reduce_axes[r].get()) continue;
      order.push_back(static_cast<int>(d));
      if (!reduces_along_vector(stage, r)) continue;
      split = static_cast<int>(d);
      block = lanes / elements_of_word(stage, stage.reduce_axes[r]);
    }
  }
  int across = lanes * autoschedule::vectors_without_rows(stage, axis, caps_);
  if (may_pack_decoded(stage, load, axis)) across = std::max(across, caps_.byte_lanes);
  Layout layout = blocked(order, vector, across);
  if (split >= 0) {
    for (ir::LayoutAxis& a : layout.axes) {
      if (a.dim == split) a.divide = block;
    }
    layout.axes.insert(layout.axes.end() - 1, ir::LayoutAxis{split, 1, block});
  }
  if (caps_.texture_memory) {
    int64_t elements = padded_elements(load.buffer->shape, vector, lanes);
    if (split >= 0) {
      const auto e = ir::as_int(load.buffer->shape[static_cast<size_t>(split)]);
      if (e && elements > 0) elements = elements / *e * ((*e + block - 1) / block * block);
    }
    set_texture(layout, elements, caps_);
  }
  return layout;
}

bool Packing::reduces_along_vector(const Stage& stage, size_t r) const {
  const ir::Bounds bounds = stages::bounds_of_terms(stage);
  for (const ir::Load* load : loads_of(stage.values)) {
    if (constant_.contains(load->buffer.get())) continue;
    if (stages::along(*load, placed_.layout_of(load->buffer.get()), stage.reduce_axes[r],
                      caps_.vector_lanes, bounds) == Along::contiguous) {
      return true;
    }
  }
  return false;
}

}  // namespace gossamer::layout
