#include "stages/access.h"

#include <algorithm>
#include <set>

#include "ir/build.h"
#include "ir/rewrite.h"

namespace gossamer::stages {

using ir::Expr;

int vector_dim(const ir::Layout& layout, int rank) {
  if (layout.axes.empty() || layout.flat) return rank - 1;
  return layout.axes.back().dim;
}

bool is_blocked(const ir::Layout& layout) { return !layout.axes.empty() && !layout.flat; }

// Of loads that read whole vectors and shuffle them.
constexpr int64_t longest_stride = 4;

Along along(const ir::Load& load, const ir::Layout& layout, const ir::Var& axis, int lanes,
            const ir::Bounds& bounds, bool inside) {
  int moving = -1;
  for (size_t k = 0; k < load.indices.size(); ++k) {
    if (!ir::uses(load.indices[k], axis.get())) continue;
    if (moving >= 0) return Along::gather;
    moving = static_cast<int>(k);
  }
  if (moving < 0) return Along::still;
  const int rank = static_cast<int>(load.indices.size());
  if (moving != vector_dim(layout, rank)) return Along::gather;
  Expr index = load.indices[static_cast<size_t>(moving)];
  Expr step = axis;
  if (const auto* word = ir::as<ir::Ramp>(index)) {  // of elements that are read together
    step = axis * ir::index(word->type.lanes);
    index = word->base;
  }
  // Broadcast or not, as a run tells: all lanes read one element, or neighbours (flatten_access).
  if (const auto* select = ir::as<ir::Select>(index); select && ir::is_const(select->yes, 0) &&
                                                      !ir::uses(select->condition, axis.get()) &&
                                                      layout.memory != ir::Memory::texture)
    index = select->no;
  const bool texture = layout.memory == ir::Memory::texture;
  Expr offset = ir::simplify(index - step, bounds);
  bool strided = false;
  for (int64_t stride = 2; stride <= longest_stride && inside && !texture; ++stride) {
    if (!ir::uses(offset, axis.get())) break;
    offset = ir::simplify(index - step * ir::index(stride), bounds);
    strided = true;
  }
  if (ir::uses(offset, axis.get())) return Along::gather;
  const Along lies = strided ? Along::strided : Along::contiguous;
  if (!is_blocked(layout) && !texture) return lies;
  if (texture && !is_blocked(layout)) {  // flat: rows must start at texels
    const auto extent = ir::as_int(load.buffer->shape.back());
    if (!extent || *extent % lanes != 0) return Along::gather;
  }
  // Rows that end in padding are in order wherever a vector begins, as long as none of the vectors
  // reaches past them.
  const size_t outer = layout.axes.size() - 2;
  const bool rows = !texture && moving == rank - 1 && outer + 1 == static_cast<size_t>(rank) &&
                    layout.axes[outer].dim == moving;
  const int64_t last = bounds.of(axis).high;
  if (rows && (inside || (last < ir::Range{}.high && (last + 1) % lanes == 0))) return lies;
  if (inside) return Along::gather;
  const int64_t multiple = bounds.multiple_of(offset);
  return multiple % lanes == 0 ? Along::contiguous : Along::gather;
}

int elements_of_word(const Stage& stage, const ir::Var& axis) {
  for (const ir::Load* load : loads_of(stage.values)) {
    for (const Expr& index : load->indices) {
      if (!index->type.is_scalar() && ir::uses(index, axis.get())) return index->type.lanes;
    }
  }
  return 1;
}

std::vector<const ir::Load*> loads_of_stage(const Stage& stage) {
  std::vector<Expr> exprs;
  visit_exprs(stage, may_load, [&](const Expr& expr) { exprs.push_back(expr); });
  return loads_of(exprs);
}

bool reads(const Stage& stage, const ir::Buffer& buffer) {
  const std::vector<ir::Buffer> inputs = inputs_of(stage);
  return std::ranges::any_of(inputs, [&](const ir::Buffer& one) { return one.same(buffer); });
}

bool moves(const ir::Load& load, const ir::Var& axis) {
  return std::ranges::any_of(load.indices, [&](const Expr& e) { return ir::uses(e, axis.get()); });
}

bool simple_indices(const Stage& stage, const ir::Load& load) {
  std::set<const ir::Node*> used;
  const auto moves = [&](const Expr& e) {
    bool found = false;
    ir::visit(e, [&](const Expr& part) {
      const auto is_part = [&](const ir::Var& axis) { return axis.get() == part.get(); };
      found = found || part->kind == ir::NodeKind::Load ||
              std::ranges::any_of(stage.axes, is_part) ||
              std::ranges::any_of(stage.reduce_axes, is_part);
      return !found;
    });
    return found;
  };
  for (const Expr& e : load.indices) {
    if (e->kind == ir::NodeKind::IntImm) continue;
    Expr axis = e;
    if (const auto* sum = ir::as<ir::Binary>(e); sum && sum->op == ir::BinaryOp::add) {
      if (moves(sum->a) && moves(sum->b)) return false;
      axis = moves(sum->a) ? sum->a : sum->b;
    }
    if (axis->kind != ir::NodeKind::Var || !used.insert(axis.get()).second) return false;
  }
  return true;
}

bool is_shared(const Expr& index, const ir::Var& axis, int64_t run) {
  bool shared = true;
  ir::visit(index, [&](const Expr& e) {
    if (e.get() == axis.get()) shared = false;
    const auto* quotient = ir::as<ir::Binary>(e);
    if (!quotient || quotient->op != ir::BinaryOp::floordiv || quotient->a.get() != axis.get())
      return true;
    const auto by = ir::as_int(quotient->b);
    return !by || *by % run != 0;
  });
  return shared;
}

int lanes_of_runs(const Stage& stage, const ir::Var& axis, int lanes) {
  constexpr int least = 4;
  int64_t most = lanes;
  for (const ir::Load* load : loads_of(stage.values)) {
    for (const Expr& index : load->indices) {
      int64_t run = most;
      while (run >= least && !is_shared(index, axis, run)) run /= 2;
      if (run >= least) most = run;
    }
  }
  return static_cast<int>(most);
}

std::vector<int64_t> runs_of(const Stage& stage) {
  constexpr size_t least_loads = 8;  // fewer are cheaper than what they would keep in registers
  constexpr int64_t most_points = 64;
  std::vector<int64_t> runs(stage.axes.size(), 1);
  if (stage.kind != StageKind::compute) return runs;
  const auto loads = loads_of(stage.result);
  if (loads.size() < least_loads) return runs;
  int64_t points = 1;
  for (size_t i = 0; i < stage.axes.size(); ++i) {
    const auto extent = ir::as_int(stage.extents[i]);
    if (extent && *extent < 2) continue;
    for (int64_t run : {std::min(extent.value_or(4), most_points), int64_t{4}, int64_t{2}}) {
      if ((extent && run > *extent) || points * run > most_points) continue;
      const auto alike = std::ranges::count_if(loads, [&](const ir::Load* load) {
        return std::ranges::all_of(load->indices, [&](const Expr& index) {
          return extent && run == *extent ? !ir::uses(index, stage.axes[i].get())
                                          : is_shared(index, stage.axes[i], run);
        });
      });
      if (static_cast<size_t>(alike) < least_loads ||
          static_cast<size_t>(alike) * 4 < loads.size() * 3)
        continue;
      // Along an axis that nothing is read by, all points are one run.
      runs[i] = run;
      points *= run;
      break;
    }
  }
  return runs;
}

bool shares(const Stage& stage, int vector_axis) {
  const std::vector<int64_t> runs = runs_of(stage);
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i] > 1 && static_cast<int>(i) != vector_axis) return true;
  }
  return false;
}

std::vector<Expr> unravel(const Expr& number, const std::vector<Expr>& extents) {
  std::vector<Expr> point(extents.size());
  Expr rest = number;
  for (size_t i = extents.size(); i-- > 0;) {
    point[i] = i == 0 ? rest : ir::floormod(rest, extents[i]);
    rest = ir::floordiv(rest, extents[i]);
  }
  return point;
}

Expr ceil_div(Expr a, int64_t b) {
  return ir::simplify(ir::floordiv(std::move(a) + ir::index(b - 1), b));
}

Expr round_up(Expr a, int64_t b) { return ir::simplify(ceil_div(std::move(a), b) * ir::index(b)); }

}  // namespace gossamer::stages
