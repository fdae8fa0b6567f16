#include <algorithm>
#include <set>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "schedule/access.h"
#include "schedule/schedule.h"

namespace gossamer::schedule {
namespace {

using ir::Expr;
using ir::LoopKind;
using ir::Stmt;
using ir::Var;
using ops::Stage;
using ops::StageKind;

struct Loop {
  Var var;
  Expr extent;
  LoopKind kind = LoopKind::serial;
};

Stmt nest(const std::vector<Loop>& loops, Stmt body) {
  for (auto it = loops.rbegin(); it != loops.rend(); ++it) {
    if (ir::is_const(it->extent, 1)) {
      body = ir::substitute(body, {{it->var.get(), ir::index(0)}});
    } else {
      body = ir::loop(it->var, it->extent, it->kind, body);
    }
  }
  return body;
}

// The dimensions that a kernel depends on, in order of appearance: what it uses and does not bind.
std::vector<Var> free_variables(const ir::Kernel& kernel) {
  std::set<const ir::Node*> bound;
  std::vector<Var> used;
  const auto on_expr = [&](const Expr& e) {
    const auto* var = ir::as<ir::VarNode>(e);
    if (var && std::ranges::none_of(used, [&](const Var& v) { return v.get() == var; })) {
      used.emplace_back(var);
    }
    return true;
  };
  ir::visit(
      kernel.body,
      [&](const Stmt& s) {
        if (const auto* loop = ir::as<ir::For>(s)) bound.insert(loop->var.get());
        if (const auto* let = ir::as<ir::Let>(s)) bound.insert(let->var.get());
        return true;
      },
      on_expr);
  for (const ir::Kernel::Param& param : kernel.params) {
    for (const Expr& extent : param.buffer->shape) ir::visit(extent, on_expr);
  }
  std::erase_if(used, [&](const Var& v) { return bound.contains(v.get()); });
  return used;
}

// Builds one kernel. Every axis of the stage becomes an expression over the loop variables:
//   grid (outer loops, flattened) > [group] > inner serial loops > rows > vectors > lanes
class Lowering {
 public:
  Lowering(const Stage& stage, const Tiling& tiling, const Capabilities& caps)
      : stage_(stage), tiling_(tiling), caps_(caps) {
    if (caps.robust_access) return;
    if (stage_.result) stage_.result = held_inside(stage_.result);
    for (Expr& value : stage_.values) value = held_inside(value);
  }

  ir::Kernel run() {
    if (stage_.kind == StageKind::scatter) return finish(scatter());
    place_axes();
    Stmt body = stage_.kind == StageKind::reduce ? reduction() : assignment(point_, {});
    body = nest(inner_, body);
    return finish(launch_loops(body));
  }

 private:
  // One work item: the output as it starts, then the updates in order.
  Stmt scatter() const {
    std::vector<Loop> copy;
    std::vector<Expr> point;
    for (const Expr& extent : stage_.output->shape) {
      copy.push_back({ir::var("i" + std::to_string(copy.size())), extent});
      point.push_back(copy.back().var);
    }
    std::vector<Loop> updates;
    for (size_t i = 0; i < rank(); ++i) updates.push_back({stage_.axes[i], stage_.extents[i]});
    Expr value = stage_.values[0];
    if (const ops::Combiner& combiner = stage_.combiner; !combiner.left.empty()) {
      value = ir::substitute(combiner.joined[0],
                             {{combiner.left[0].get(), ir::load(stage_.output, stage_.target)},
                              {combiner.right[0].get(), value}});
    }
    Expr inside = stage_.condition ? stage_.condition : ir::boolean(true);
    for (size_t d = 0; d < stage_.target.size(); ++d) {
      inside =
          inside && stage_.target[d] >= ir::index(0) && stage_.target[d] < stage_.output->shape[d];
    }
    const Stmt update = ir::branch(inside, ir::store(stage_.output, stage_.target, value));
    std::vector<Stmt> steps;
    if (stage_.initial)
      steps.push_back(nest(copy, ir::store(stage_.output, point, ir::load(stage_.initial, point))));
    steps.push_back(nest(updates, update));
    return ir::loop(ir::var("item"), ir::index(1), LoopKind::grid, ir::block(std::move(steps)));
  }

  ir::Kernel finish(Stmt body) const {
    ir::Kernel kernel;
    kernel.name = stage_.name;
    kernel.body = ir::simplify(body);
    std::set<const ir::BufferNode*> seen;
    for (const ir::Buffer& input : ops::inputs_of(stage_)) {
      if (seen.insert(input.get()).second) kernel.params.push_back({input, false});
    }
    kernel.params.push_back({stage_.output, true});
    kernel.scalars = free_variables(kernel);
    return kernel;
  }

  size_t rank() const { return stage_.axes.size(); }

  // Loads that could leave their buffer where memory does not forgive it: lanes past the vector
  // axis' extent that a gather would follow (consecutive ones stay within the slack of every
  // buffer), and indices that are data.
  Expr held_inside(const Expr& expr) const {
    const int v = tiling_.vector_axis;
    const ir::Bounds bounds = bounds_of(stage_);
    const auto extent = v < 0 ? std::nullopt : ir::as_int(stage_.extents[static_cast<size_t>(v)]);
    const bool ragged = v >= 0 && (!extent || *extent % tiling_.lanes != 0);
    ir::Rewriter rewriter;
    rewriter.expr = [&](const Expr& e) -> Expr {
      const auto* load = ir::as<ir::Load>(e);
      if (!load) return {};
      std::vector<Expr> indices = load->indices;
      const Var* axis = ragged ? &stage_.axes[static_cast<size_t>(v)] : nullptr;
      const bool gathers =
          axis && along(*load, load->buffer->layout, *axis, tiling_.lanes, bounds) == Along::gather;
      bool changed = false;
      for (size_t d = 0; d < indices.size(); ++d) {
        if (gathers && ir::uses(indices[d], axis->get())) {
          const Expr last = stage_.extents[static_cast<size_t>(v)] - ir::index(1);
          indices[d] = ir::substitute(indices[d], {{axis->get(), ir::min(*axis, last)}});
          changed = true;
        }
        if (!loads_of(indices[d]).empty()) {
          const Expr last = load->buffer->shape[d] - ir::index(1);
          indices[d] = ir::max(ir::min(indices[d], last), ir::index(0));
          changed = true;
        }
      }
      return changed ? ir::load(load->buffer, std::move(indices)) : Expr{};
    };
    return ir::rewrite(expr, rewriter);
  }

  // Loop variables, and the coordinate of every axis in terms of them.
  void place_axes() {
    point_.resize(rank());
    if (stage_.output->layout.memory == ir::Memory::texture) return place_texture();
    row_ = ir::var("row");
    vec_ = ir::var("vec");
    lane_ = ir::var("lane");
    std::vector<Loop> outer;
    // Order of the outer loops: batch-like axes, then the tile along vectors (its operand stays
    // cached), then rows.
    for (size_t i = 0; i < rank(); ++i) {
      const int axis = static_cast<int>(i);
      const std::string& name = stage_.axes[i]->name;
      const Expr extent = stage_.extents[i];
      if (axis == tiling_.vector_axis) {
        const int64_t block = tiling_.lanes * tiling_.vectors;
        const Var tile = ir::var(name + ".tile");
        outer.push_back({tile, ceil_div(extent, block)});
        point_[i] = Expr(tile) * ir::index(block) + vec_ * ir::index(tiling_.lanes) + lane_;
      } else if (axis == tiling_.joined_axis) {
        continue;  // part of the row
      } else if (axis == tiling_.row_axis && tiling_.joined_axis >= 0) {
        const auto outer_axis = static_cast<size_t>(tiling_.joined_axis);
        const Expr both = ir::simplify(extent * stage_.extents[outer_axis]);
        const Var tile = ir::var(name + ".tile");
        outer.push_back({tile, ceil_div(both, tiling_.rows)});
        const Expr row = clamped(Expr(tile) * ir::index(tiling_.rows), both);
        point_[outer_axis] = ir::floordiv(row, extent);
        point_[i] = ir::floormod(row, extent);
      } else if (axis == tiling_.row_axis && tiling_.rows > 1) {
        const Var tile = ir::var(name + ".tile");
        outer.push_back({tile, ceil_div(extent, tiling_.rows)});
        point_[i] = clamped(Expr(tile) * ir::index(tiling_.rows), extent);
      } else {
        const Var var = ir::var(name);
        outer.push_back({var, extent});
        point_[i] = var;
      }
    }
    split_outer(outer);
  }

  // Rows past the edge: the last tile starts early enough to end at it (computing some points
  // twice, to the same values); where the extent is not known each row is held at the last one.
  Expr clamped(const Expr& start, const Expr& extent) const {
    const auto known = ir::as_int(extent);
    if (known && *known % tiling_.rows == 0) return start + row_;
    if (known) return ir::min(start, ir::index(*known - tiling_.rows)) + row_;
    return ir::min(start + row_, extent - ir::index(1));
  }

  // On CPUs a map's innermost axes stay a loop inside the work item, so that one holds `chunk`
  // points.
  void split_outer(std::vector<Loop> outer) {
    if (stage_.kind == StageKind::compute && tiling_.chunk > 1) {
      int64_t points = tiling_.lanes;
      while (!outer.empty() && points < tiling_.chunk) {
        const auto extent = ir::as_int(outer.back().extent);
        points *= extent.value_or(64);
        if (points > 64 * tiling_.chunk && !inner_.empty()) break;
        inner_.insert(inner_.begin(), outer.back());
        outer.pop_back();
      }
    }
    outer_ = std::move(outer);
  }

  // Texels of the output in order: the physical axes, outermost first; rows are layers, lanes the
  // texel.
  void place_texture() {
    const ir::Layout& layout = stage_.output->layout;
    row_ = ir::var("layer");
    vec_ = ir::var("vec");
    lane_ = ir::var("lane");
    if (layout.flat) {
      Expr elements = ir::index(1);
      for (const Expr& e : stage_.extents) elements = elements * e;
      const Var texel = ir::var("texel");
      outer_ = {{texel, ceil_div(ir::simplify(elements), 4)}};
      Expr rest = Expr(texel) * ir::index(4) + lane_;
      for (size_t i = rank(); i-- > 0;) {
        point_[i] = i == 0 ? rest : ir::floormod(rest, stage_.extents[i]);
        rest = ir::floordiv(rest, stage_.extents[i]);
      }
      return;
    }
    std::vector<Expr> coordinate(rank(), ir::index(0));
    const size_t count = layout.axes.size();
    for (size_t k = 0; k < count; ++k) {
      const ir::LayoutAxis& axis = layout.axes[k];
      const auto d = static_cast<size_t>(axis.dim);
      Expr value;
      if (k + 1 == count) {
        value = lane_;
      } else if (layout.layers > 1 && k + 2 == count) {
        value = row_;
      } else {
        const Expr whole = ceil_div(stage_.extents[d], axis.divide);
        const Expr extent = axis.modulo == 0 ? whole : ir::index(axis.modulo);
        const Var var = ir::var(stage_.axes[d]->name + (axis.divide > 1 ? ".tile" : ""));
        outer_.push_back({var, extent});
        value = var;
      }
      coordinate[d] = coordinate[d] + value * ir::index(axis.divide);
    }
    point_ = coordinate;
  }

  int rows() const { return tiling_.rows; }

  // for row, vec (unrolled), lane (vectorized): body
  Stmt tile(Stmt body, int lanes) const {
    return nest({{row_, ir::index(rows()), LoopKind::unrolled},
                 {vec_, ir::index(tiling_.vectors), LoopKind::unrolled},
                 {lane_, ir::index(lanes), LoopKind::vectorized}},
                std::move(body));
  }
  Stmt tile(Stmt body) const { return tile(std::move(body), tiling_.lanes); }
  // Accumulators hold one partial result a lane where the reduction itself runs along the vectors.
  Stmt partial_tile(Stmt body) const { return tile(std::move(body), partial_lanes()); }
  int partial_lanes() const {
    return tiling_.reduce_lanes > 1 ? tiling_.reduce_lanes : tiling_.lanes;
  }

  ir::VarMap axes_map(const std::vector<Expr>& point) const {
    ir::VarMap map;
    for (size_t i = 0; i < rank(); ++i) map[stage_.axes[i].get()] = point[i];
    return map;
  }

  Stmt assignment(const std::vector<Expr>& point, const ir::VarMap& accumulators) const {
    ir::VarMap map = axes_map(point);
    map.insert(accumulators.begin(), accumulators.end());
    const Expr value = ir::substitute(stage_.result, map);
    return tile(ir::store(stage_.output, point, value));
  }

  Stmt reduction() {
    const size_t count = stage_.combiner.left.size();
    const std::vector<Expr> cell{row_, vec_ * ir::index(tiling_.lanes) + lane_};
    const std::vector<Expr> shape{ir::index(rows()), ir::index(tiling_.vectors * partial_lanes())};
    std::vector<ir::Buffer> accumulators;
    std::vector<Stmt> steps;
    ir::VarMap joined;
    for (size_t k = 0; k < count; ++k) {
      const Var& left = stage_.combiner.left[k];
      accumulators.push_back(
          ir::buffer(count == 1 ? "acc" : cat("acc", k), left->type.dtype, shape, ir::Scope::priv));
      steps.push_back(partial_tile(ir::store(accumulators[k], cell, stage_.combiner.identity[k])));
      joined[left.get()] = ir::load(accumulators[k], cell);
    }
    for (Stmt& walk : walks(accumulators, cell)) steps.push_back(std::move(walk));
    steps.push_back(tiling_.reduce_lanes > 1 ? join_lanes(accumulators)
                                             : assignment(point_, joined));
    Stmt body = ir::block(std::move(steps));
    for (const ir::Buffer& accumulator : accumulators) body = ir::alloc(accumulator, body);
    return body;
  }

  // The partial results of the lanes joined one by one, then the result.
  Stmt join_lanes(const std::vector<ir::Buffer>& accumulators) const {
    const ops::Combiner& combiner = stage_.combiner;
    std::vector<std::pair<Var, Expr>> lets;
    ir::VarMap total;
    std::vector<Var> parts;
    for (size_t k = 0; k < accumulators.size(); ++k) {
      const Expr lanes = ir::ramp(ir::index(0), 1, tiling_.reduce_lanes);
      const Expr all = ir::load(accumulators[k], {ir::index(0), lanes});
      parts.push_back(ir::var(cat("parts", k), all->type));
      lets.emplace_back(parts[k], all);
      total[combiner.left[k].get()] = ir::lane(parts[k], ir::index(0));
    }
    for (int l = 1; l < tiling_.reduce_lanes; ++l) {
      ir::VarMap join = total;
      for (size_t k = 0; k < parts.size(); ++k)
        join[combiner.right[k].get()] = ir::lane(parts[k], ir::index(l));
      for (size_t k = 0; k < parts.size(); ++k) {
        const Var next = ir::var(cat("total", k), combiner.left[k]->type);
        lets.emplace_back(next, ir::substitute(combiner.joined[k], join));
        total[combiner.left[k].get()] = next;
      }
    }
    Stmt body = assignment(point_, total);
    for (auto it = lets.rbegin(); it != lets.rend(); ++it)
      body = ir::let(it->first, it->second, body);
    return body;
  }

  // The loops over the reduction's domain. An axis that an operand is blocked along is walked block
  // by block, its lanes innermost; what is left over after the whole blocks is a second walk.
  std::vector<Stmt> walks(const std::vector<ir::Buffer>& accumulators,
                          const std::vector<Expr>& cell) const {
    std::vector<Stmt> result;
    const int split = tiling_.reduce_split;
    const int64_t block = split < 0 ? 1 : caps_.vector_lanes;
    const auto known = split < 0 ? std::optional<int64_t>(1)
                                 : ir::as_int(stage_.reduce_extents[static_cast<size_t>(split)]);
    const int64_t left_over = known ? *known % block : 0;
    if (split < 0 || !known) {
      result.push_back(walk(accumulators, cell, -1, {}, 0, {}));
      return result;
    }
    if (*known >= block) {
      result.push_back(
          walk(accumulators, cell, split, ir::index(*known / block), block, ir::index(0)));
    }
    if (left_over > 0) {
      result.push_back(
          walk(accumulators, cell, split, ir::index(1), left_over, ir::index(*known - left_over)));
    }
    return result;
  }

  Stmt walk(const std::vector<ir::Buffer>& accumulators, const std::vector<Expr>& cell, int split,
            const Expr& blocks, int64_t inner, const Expr& start) const {
    std::vector<Loop> loops;
    ir::VarMap map = axes_map(point_);
    for (size_t r = 0; r < stage_.reduce_axes.size(); ++r) {
      const std::string& name = stage_.reduce_axes[r]->name;
      if (static_cast<int>(r) != split) {
        const Var var = ir::var(name);
        loops.push_back({var, stage_.reduce_extents[r]});
        map[stage_.reduce_axes[r].get()] = var;
      }
    }
    if (split >= 0) {
      const auto r = static_cast<size_t>(split);
      const Var outer = ir::var(stage_.reduce_axes[r]->name + ".block");
      const Var lane = ir::var(stage_.reduce_axes[r]->name);
      loops.insert(loops.begin() + split, {outer, blocks});
      const bool along_lanes = tiling_.reduce_lanes > 1;
      if (!along_lanes) loops.push_back({lane, ir::index(inner)});
      map[stage_.reduce_axes[r].get()] = start + Expr(outer) * ir::index(caps_.vector_lanes) +
                                         (along_lanes ? Expr(lane_) : Expr(lane));
    }
    unroll_innermost(loops);
    const bool masked = tiling_.reduce_lanes > 1 && inner < tiling_.reduce_lanes;
    return nest(loops,
                update(accumulators, cell, map, masked ? Expr(lane_) < ir::index(inner) : Expr()));
  }

  void unroll_innermost(std::vector<Loop>& loops) const {
    int64_t straight = 1;
    for (size_t i = loops.size(); i-- > 0;) {
      const auto extent = ir::as_int(loops[i].extent);
      if (!extent || straight * *extent > tiling_.unroll) {
        if (extent && straight == 1) split_for_unroll(loops, i, *extent);
        return;
      }
      straight *= *extent;
      loops[i].kind = LoopKind::unrolled;
    }
  }

  // A long innermost loop whose extent the unroll factor divides: outer serial, inner unrolled.
  void split_for_unroll(std::vector<Loop>& loops, size_t i, int64_t extent) const {
    if (extent % tiling_.unroll != 0 || tiling_.unroll <= 1) return;
    pieces_.emplace_back(loops[i].var, ir::var(loops[i].var->name + ".outer"),
                         ir::var(loops[i].var->name + ".inner"));
    const auto& [old, outer, inner] = pieces_.back();
    loops[i] = {outer, ir::index(extent / tiling_.unroll), LoopKind::serial};
    loops.insert(loops.begin() + static_cast<long>(i) + 1,
                 Loop{inner, ir::index(tiling_.unroll), LoopKind::unrolled});
  }

  Stmt update(const std::vector<ir::Buffer>& accumulators, const std::vector<Expr>& cell,
              const ir::VarMap& map, const Expr& mask) const {
    const ops::Combiner& combiner = stage_.combiner;
    std::vector<Expr> terms;
    for (size_t k = 0; k < stage_.values.size(); ++k) {
      const Expr term = unrolled(ir::substitute(stage_.values[k], map));
      terms.push_back(mask ? ir::select(mask, term, combiner.identity[k]) : term);
    }
    if (combiner.is_sum()) {
      return partial_tile(
          ir::store(accumulators[0], cell, sum(ir::load(accumulators[0], cell), terms[0])));
    }
    ir::VarMap join;
    for (size_t k = 0; k < accumulators.size(); ++k) {
      join[combiner.left[k].get()] = ir::load(accumulators[k], cell);
      join[combiner.right[k].get()] = terms[k];
    }
    if (accumulators.size() == 1) {
      return partial_tile(
          ir::store(accumulators[0], cell, ir::substitute(combiner.joined[0], join)));
    }
    // All components are joined before any is stored.
    std::vector<Var> results;
    std::vector<Stmt> stores;
    for (size_t k = 0; k < accumulators.size(); ++k) {
      results.push_back(ir::var(cat("joined", k), combiner.left[k]->type));
      stores.push_back(ir::store(accumulators[k], cell, results[k]));
    }
    Stmt body = ir::block(std::move(stores));
    for (size_t k = accumulators.size(); k-- > 0;) {
      body = ir::let(results[k], ir::substitute(combiner.joined[k], join), body);
    }
    return partial_tile(body);
  }

  Expr unrolled(Expr e) const {
    for (const auto& [old, outer, inner] : pieces_) {
      e = ir::substitute(e, {{old.get(), Expr(outer) * ir::index(tiling_.unroll) + inner}});
    }
    return e;
  }

  static Expr sum(const Expr& accumulator, const Expr& term) {
    const auto* product = ir::as<ir::Binary>(term);
    if (product && product->op == ir::BinaryOp::mul && ir::is_float(term->type.dtype)) {
      return ir::fma(product->a, product->b, accumulator);
    }
    return accumulator + term;
  }

  // The outer loops become the grid: one flat loop, its coordinates decoded; on compute GPUs split
  // into workgroups.
  Stmt launch_loops(Stmt body) const {
    Expr total = ir::index(1);
    for (const Loop& loop : outer_) total = total * loop.extent;
    total = ir::simplify(total);
    const Var grid = ir::var("item");
    Expr item = grid;
    const Var invocation = ir::var("invocation");
    const bool grouped = tiling_.group_size > 1;
    if (grouped) item = Expr(grid) * ir::index(tiling_.group_size) + invocation;
    const Var flat = ir::var("flat");
    Expr rest = flat;
    std::vector<std::pair<Var, Expr>> coordinates;
    for (size_t i = outer_.size(); i-- > 0;) {
      const bool last = std::all_of(outer_.begin(), outer_.begin() + static_cast<long>(i),
                                    [](const Loop& l) { return ir::is_const(l.extent, 1); });
      if (ir::is_const(outer_[i].extent, 1)) {
        coordinates.emplace_back(outer_[i].var, ir::index(0));
        continue;
      }
      coordinates.emplace_back(outer_[i].var, last ? rest : ir::floormod(rest, outer_[i].extent));
      if (last)
        rest = ir::index(0);
      else
        rest = ir::floordiv(rest, outer_[i].extent);
    }
    for (const auto& [var, value] : coordinates) {
      body = ir::let(var, ir::substitute(value, {{flat.get(), item}}), body);
    }
    if (!grouped) return ir::loop(grid, total, LoopKind::grid, body);
    const auto known = ir::as_int(total);
    if (!known || *known % tiling_.group_size != 0) body = ir::branch(item < total, body);
    return ir::loop(grid, ceil_div(total, tiling_.group_size), LoopKind::grid,
                    ir::loop(invocation, ir::index(tiling_.group_size), LoopKind::group, body));
  }

  Stage stage_;
  const Tiling& tiling_;
  const Capabilities& caps_;
  Var row_, vec_, lane_;
  std::vector<Expr> point_;
  std::vector<Loop> outer_, inner_;
  mutable std::vector<std::tuple<Var, Var, Var>> pieces_;
};

}  // namespace

ir::Kernel lower(const Stage& stage, const Tiling& tiling, const Capabilities& capabilities) {
  GS_CHECK(stage.kind != StageKind::scan && stage.kind != StageKind::program, stage.name);
  return Lowering(stage, tiling, capabilities).run();
}

}  // namespace gossamer::schedule
