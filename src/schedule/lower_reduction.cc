// Accumulators, the walks over a reduction's domain, and what becomes of them.
#include <algorithm>
#include <tuple>

#include "ir/build.h"
#include "ir/estimate.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "schedule/lower_loops.h"
#include "schedule/stage_in.h"
#include "stages/access.h"
#include "stages/factors.h"

namespace gossamer::schedule {
namespace {

using ir::Expr;
using ir::Stmt;
using ir::Var;
using stages::Factors;
using stages::ScaledFactor;

// A float sum's product becomes one operation with it where the target has that, and so do the
// products of words.
Expr sum(const Expr& accumulator, const Expr& term) {
  if (const auto* dot = ir::as<ir::Dot>(term); dot && ir::is_const(dot->c, 0))
    return ir::dot(dot->a, dot->b, accumulator, dot->terms);
  const auto* product = ir::as<ir::Binary>(term);
  if (product && product->op == ir::BinaryOp::mul && ir::is_float(term->type.dtype)) {
    return ir::fma(product->a, product->b, accumulator);
  }
  return accumulator + term;
}

// So many partial results are few.
constexpr int64_t few_parts = 4;

class Reduction {
 public:
  Reduction(const stages::Stage& stage, const Nest& nest, const Destination& destination,
            Coordinates& coordinates)
      : stage_(stage),
        nest_(nest),
        destination_(destination),
        coordinates_(coordinates),
        tile_(nest.tile()),
        written_(tile_) {
    std::erase_if(written_, [&](LoopId id) { return nest.loop(id).partial; });
    place_cells();
    if (!nest.joined().empty()) joined_ = joined_of(nest);
  }

  Stmt run() {
    const stages::Accumulators& accumulators = stage_.accumulators;
    const size_t count = accumulators.size();
    std::vector<Stmt> steps;
    for (size_t k = 0; k < count; ++k) {
      const Var& left = accumulators[k].left;
      accumulators_.push_back(ir::buffer(count == 1 ? "acc" : cat("acc", k), left->type.dtype,
                                         shape_, ir::Scope::priv));
      steps.push_back(
          in_nest(nest_, coordinates_, tile_, ir::store(accumulators_[k], cell_, start(k))));
    }
    const ir::VarMap totals = accumulated();
    if (stage_.kind == stages::StageKind::scan) {
      const Walk& walk = nest_.walks[0];
      steps.push_back(in_nest(nest_, coordinates_, nest_.inside(walk),
                              ir::block({update(walk, accumulators_), store_result(totals)})));
      return in_accumulators(ir::block(std::move(steps)));
    }
    for (const Walk& walk : nest_.walks) {
      steps.push_back(whole_walk(walk));
      if (&walk == nest_.walks.data() && destination_.computed && destination_.computed->rest)
        steps.push_back(destination_.computed->rest);
    }
    steps.push_back(written_.size() < tile_.size() ? joined_lanes() : write_back(totals));
    return in_accumulators(ir::block(std::move(steps)));
  }

 private:
  Stmt whole_walk(const Walk& walk) {
    const std::vector<LoopId> loops = nest_.inside(walk);
    const auto pass = [&](const std::vector<ir::Buffer>& sums) {
      return nest_.staged.empty() ? in_nest(nest_, coordinates_, loops, update(walk, sums))
                                  : staged_walk(walk, sums);
    };
    const int64_t chunk = chunk_of(loops);
    if (const auto shared = chunk == 0 ? scale_of_rounds(walk, loops) : std::nullopt)
      return scaled_rounds(loops, *shared);
    if (chunk == 0) return pass(accumulators_);
    std::vector<ir::Buffer> parts;
    std::vector<Stmt> clear, add;
    for (const ir::Buffer& all : accumulators_) {
      parts.push_back(ir::buffer(all->name + ".part", all->dtype, shape_, ir::Scope::priv));
      const Expr sum = ir::load(all, cell_) + ir::load(parts.back(), cell_);
      clear.push_back(ir::store(parts.back(), cell_, ir::zero(all->dtype)));
      add.push_back(ir::store(all, cell_, sum));
    }
    const auto in_tile = [&](std::vector<Stmt> all) {
      return in_nest(nest_, coordinates_, tile_, ir::block(std::move(all)));
    };
    Stmt made = pass(parts);
    const auto* steps = ir::as<ir::Block>(made);  // the loop comes last
    std::vector<Stmt> before = steps ? steps->stmts : std::vector<Stmt>{made};
    const Stmt whole = before.back();
    before.pop_back();
    const auto* loop = ir::as<ir::For>(whole);
    GS_CHECK(loop, "a walk is a loop");
    const Var number = ir::var("chunk"), within = ir::var(loop->var->name);
    const Expr first = Expr(number) * ir::index(chunk);
    const Stmt body = ir::substitute(loop->body, {{loop->var.get(), first + within}});
    const Expr rest = ir::simplify(ir::min(loop->extent - first, ir::index(chunk)));
    const Stmt one =
        ir::block({in_tile(std::move(clear)), ir::loop(within, rest, ir::LoopKind::serial, body),
                   in_tile(std::move(add))});
    before.push_back(ir::loop(number, ir::simplify(stages::ceil_div(loop->extent, chunk)),
                              ir::LoopKind::serial, one));
    made = ir::block(std::move(before));
    for (const ir::Buffer& part : parts) made = ir::alloc(part, made);
    return made;
  }

  // Of terms x * (y * scale), where all of a round of the outermost loop share the scale: the
  // round's sum is multiplied by it, instead of each term.
  std::optional<ScaledFactor> scale_of_rounds(const Walk& walk, const std::vector<LoopId>& loops) {
    if (walk.reduced.empty() || loops.empty()) return std::nullopt;
    const ScaledFactor scaled = scaled_product(stage_);
    const LoopId outermost = loops.front();
    const auto split = std::ranges::find_if(nest_.splits, [&](const Split& one) {
      return one.whole == walk.reduced[0] && one.parts[0] == outermost;
    });
    if (!scaled.scale.get() || split == nest_.splits.end() || !nest_.staged.empty() ||
        destination_.computed || joined_.loop >= 0 || mask_of(walk) ||
        nest_.loop(outermost).kind != ir::LoopKind::serial)
      return std::nullopt;
    int64_t steps = 1;
    for (const int64_t factor : split->factors) steps *= factor;
    if (scaled.block % steps != 0) return std::nullopt;
    ir::VarMap first;
    for (const LoopId id : nest_.leaves(walk.reduced[0]))
      if (id != outermost) first[nest_.loop(id).var.get()] = ir::index(0);
    const ir::VarMap map = points_map(walk);
    return ScaledFactor{ir::substitute(scaled.factor, map),
                        ir::substitute(ir::substitute(scaled.scale, map), first), scaled.block};
  }

  Stmt scaled_rounds(const std::vector<LoopId>& loops, const ScaledFactor& scaled) {
    const ir::Buffer& all = accumulators_[0];
    const ir::Buffer part = ir::buffer(all->name + ".part", all->dtype, shape_, ir::Scope::priv);
    const auto in_tile = [&](const Stmt& one) { return in_nest(nest_, coordinates_, tile_, one); };
    const std::vector<LoopId> inside(loops.begin() + 1, loops.end());
    const Stmt add = ir::store(part, cell_, sum(ir::load(part, cell_), scaled.factor));
    const Stmt join =
        ir::store(all, cell_, ir::fma(ir::load(part, cell_), scaled.scale, ir::load(all, cell_)));
    const Stmt round = ir::block({in_tile(ir::store(part, cell_, ir::zero(all->dtype))),
                                  in_nest(nest_, coordinates_, inside, add), in_tile(join)});
    return ir::alloc(part, in_nest(nest_, coordinates_, {loops.front()}, round));
  }

  // Sums of many floats would lose terms that are small beside them: each `chunk` rounds of the
  // outermost of these loops have sums of their own. 0: there may be no more than one chunk.
  int64_t chunk_of(const std::vector<LoopId>& loops) const {
    constexpr int64_t terms = 4096, many = 1 << 16, many_of_tiles = 1 << 20;
    const stages::Accumulators& accumulators = stage_.accumulators;
    const bool rounds = stages::is_sums(accumulators) && !stage_.in_order && joined_.loop < 0 &&
                        accumulators[0].left->type.dtype == ir::DType::f32;
    const auto outermost = std::ranges::find_if(
        loops, [&](LoopId id) { return !ir::is_const(nest_.loop(id).extent, 1); });
    if (!rounds || outermost == loops.end()) return 0;
    const Loop& first = nest_.loop(*outermost);
    if (!first.reduction || first.partial || first.kind != ir::LoopKind::serial) return 0;
    Expr all = ir::index(1), inner = ir::index(1);
    for (const Expr& extent : stage_.reduce_extents) all = all * extent;
    for (auto id = outermost + 1; id != loops.end(); ++id)
      if (nest_.loop(*id).reduction) inner = inner * nest_.loop(*id).extent;
    // Sums of chunks take as many registers as a tile.
    if (ir::Bounds().of(ir::simplify(all)).high <= (nest_.staged.empty() ? many : many_of_tiles))
      return 0;
    return std::max<int64_t>(1, terms / std::max<int64_t>(1, ir::estimate(inner)));
  }

  Stmt in_accumulators(Stmt body) const {
    for (const ir::Buffer& accumulator : accumulators_) body = ir::alloc(accumulator, body);
    for (const OperandTile& tile : tiles_) body = tile.alloc(body);
    for (const ir::Buffer& shared : shared_) body = ir::alloc(shared, body);
    return body;
  }

  // What accumulator k holds before the first term: of a segment, at its first point.
  Expr start(size_t k) const {
    if (stage_.starts.empty()) return stage_.accumulators[k].identity;
    ir::VarMap first;
    for (const Loop& loop : nest_.loops) {
      if (loop.carried) first[loop.var.get()] = ir::index(0);
    }
    return ir::substitute(ir::substitute(stage_.starts[k], axes_map()), first);
  }

  // Rows of accumulators, and in each what lies along the vectors: the vectorized loop and others
  // of the same axis.
  void place_cells() {
    std::vector<LoopId> along;
    for (LoopId id : tile_) {
      if (nest_.loop(id).kind == ir::LoopKind::vectorized) along = siblings(id);
    }
    int64_t rows = 1, columns = 1;
    Expr row = ir::index(0), column = ir::index(0);
    for (LoopId id : tile_) {
      const Loop& loop = nest_.loop(id);
      const bool is_along = std::ranges::find(along, id) != along.end();
      const int64_t extent = ir::as_int(loop.extent).value_or(1);
      Expr& place = is_along ? column : row;
      place = place * ir::index(extent) + loop.var;
      (is_along ? columns : rows) *= extent;
    }
    cell_ = {row, column};
    shape_ = {ir::index(rows), ir::index(columns)};
    lanes_ = columns;
  }

  std::vector<LoopId> siblings(LoopId id) const {
    for (const Split& split : nest_.splits) {
      if (std::ranges::find(split.parts, id) != split.parts.end()) return nest_.leaves(split.whole);
    }
    return {id};
  }

  ir::VarMap axes_map() const {
    ir::VarMap map;
    for (size_t i = 0; i < destination_.point.size(); ++i)
      map[stage_.axes[i].get()] = destination_.point[i];
    return map;
  }

  // Of the stage's axes and the reduction's.
  ir::VarMap points_map(const Walk& walk) {
    ir::VarMap map = axes_map();
    for (size_t r = 0; r < walk.reduced.size(); ++r)
      map[stage_.reduce_axes[r].get()] = coordinates_.of(walk.reduced[r]);
    return map;
  }

  // The accumulators as they are.
  ir::VarMap accumulated() const {
    ir::VarMap map;
    for (size_t k = 0; k < accumulators_.size(); ++k)
      map[stage_.accumulators[k].left.get()] = ir::load(accumulators_[k], cell_);
    return map;
  }

  Stmt store_result(const ir::VarMap& totals, const Expr& writes = {}) {
    ir::VarMap map = axes_map();
    map.insert(totals.begin(), totals.end());
    return store_to(nest_, coordinates_, destination_, ir::substitute(stage_.result, map), writes);
  }

  Stmt write_back(const ir::VarMap& totals) {
    if (joined_.loop >= 0) return nest_.staged.empty() ? join_invocations(totals) : join_halves();
    return in_nest(nest_, coordinates_, written_, store_result(totals));
  }

  // A loop over the written part of the tile, and the number of the cell that it is at.
  std::pair<Expr, int64_t> written_cells() const {
    int64_t cells = 1;
    Expr cell = ir::index(0);
    for (LoopId id : written_) {
      const int64_t extent = *ir::as_int(nest_.loop(id).extent);
      cell = cell * ir::index(extent) + nest_.loop(id).var;
      cells *= extent;
    }
    return {cell, cells};
  }
  Stmt in_written(Stmt body) { return in_nest(nest_, coordinates_, written_, std::move(body)); }

  // What joins the results in `right` to those in `left`, by way of `store`.
  Stmt join_into(const std::vector<Expr>& left, const std::vector<Expr>& right,
                 const std::function<Stmt(size_t, const Expr&)>& store) const {
    const stages::Accumulators& accumulators = stage_.accumulators;
    ir::VarMap join;
    for (size_t k = 0; k < left.size(); ++k) {
      join[accumulators[k].left.get()] = left[k];
      join[accumulators[k].right.get()] = right[k];
    }
    // All components are joined before any is stored.
    std::vector<Var> results;
    std::vector<Stmt> stores;
    for (size_t k = 0; k < left.size(); ++k) {
      results.push_back(ir::var(cat("joined", k), accumulators[k].left->type));
      stores.push_back(store(k, results[k]));
    }
    Stmt step = ir::block(std::move(stores));
    for (size_t k = left.size(); k-- > 0;)
      step = ir::let(results[k], ir::substitute(accumulators[k].joined, join), step);
    return step;
  }

  // Large tiles, which group memory would not hold of all invocations: of those that still have
  // partial results the latter half hands theirs over, the first adds them to its own.
  Stmt join_halves() {
    Expr cell;
    int64_t cells = 0;
    std::tie(cell, cells) = written_cells();
    const Expr iteration = nest_.loop(joined_.loop).var;
    std::vector<Expr> own, others;
    for (const ir::Buffer& accumulator : accumulators_) {
      own.push_back(ir::load(accumulator, cell_));
      shared_.push_back(ir::buffer(cat(accumulator->name, ".shared"), accumulator->dtype,
                                   {ir::index(handed_over(joined_) * cells)}, ir::Scope::group));
    }
    const auto place = [&](const Expr& first) {
      return (Expr(joined_.invocation) - first) * ir::index(cells) + cell;
    };
    std::vector<Stmt> steps;
    for (int64_t rest = joined_.extent; rest > 1;) {
      const int64_t half = (rest + 1) / 2;
      std::vector<Stmt> given;
      others.clear();
      for (size_t k = 0; k < own.size(); ++k) {
        given.push_back(ir::store(shared_[k], {place(ir::index(half * joined_.stride))}, own[k]));
        others.push_back(ir::load(shared_[k], {place(ir::index(0))}));
      }
      // Those whose results were taken before are beyond `rest`.
      steps.push_back(ir::branch(iteration >= ir::index(half) && iteration < ir::index(rest),
                                 in_written(ir::block(std::move(given)))));
      steps.push_back(ir::barrier());
      const Stmt taken = join_into(own, others, [&](size_t k, const Expr& result) {
        return ir::store(accumulators_[k], cell_, result);
      });
      steps.push_back(ir::branch(iteration < ir::index(rest - half), in_written(taken)));
      if (half > 1) steps.push_back(ir::barrier());
      rest = half;
    }
    steps.push_back(in_written(store_result(accumulated(), iteration == ir::index(0))));
    return ir::block(std::move(steps));
  }

  // The partial results of the invocations, by a tree in group memory, where the cells of a tile
  // lie beside each other. All of them get the result; the first one writes it. `around` gives the
  // parts of a cell values.
  Stmt join_invocations(const ir::VarMap& parts,
                        const std::function<Stmt(Stmt)>& around = std::identity()) {
    const stages::Accumulators& accumulators = stage_.accumulators;
    const size_t count = accumulators_.size();
    const Expr self = joined_.invocation, iteration = nest_.loop(joined_.loop).var;
    const auto [number, cells] = written_cells();
    const auto place = [&, cell = number, cells = cells](const Expr& invocation) {
      return invocation * ir::index(cells) + cell;
    };
    std::vector<Stmt> first;
    for (size_t k = 0; k < count; ++k) {
      shared_.push_back(ir::buffer(cat(accumulators_[k]->name, ".shared"),
                                   accumulators[k].left->type.dtype,
                                   {ir::index(joined_.invocations * cells)}, ir::Scope::group));
      first.push_back(ir::store(shared_[k], {place(self)}, parts.at(accumulators[k].left.get())));
    }
    std::vector<Stmt> steps{in_written(around(ir::block(std::move(first)))), ir::barrier()};
    const Expr zeroth = self - iteration * ir::index(joined_.stride);
    if (joined_.extent <= few_parts) {
      steps.push_back(in_written(join_few(zeroth, place)));
      return ir::block(std::move(steps));
    }
    for (int64_t rest = joined_.extent; rest > 1;) {
      const int64_t half = (rest + 1) / 2;
      std::vector<Expr> own, others;
      for (size_t k = 0; k < count; ++k) {
        own.push_back(ir::load(shared_[k], {place(self)}));
        others.push_back(ir::load(shared_[k], {place(self + ir::index(half * joined_.stride))}));
      }
      const Stmt step = join_into(own, others, [&](size_t k, const Expr& result) {
        return ir::store(shared_[k], {place(self)}, result);
      });
      steps.push_back(ir::branch(iteration < ir::index(rest - half), in_written(step)));
      steps.push_back(ir::barrier());
      rest = half;
    }
    ir::VarMap totals;
    for (size_t k = 0; k < count; ++k)
      totals[accumulators[k].left.get()] = ir::load(shared_[k], {place(zeroth)});
    steps.push_back(in_written(store_result(totals, iteration == ir::index(0))));
    return ir::block(std::move(steps));
  }

  // One after the other: to read them takes less than the barriers of a tree.
  Stmt join_few(const Expr& zeroth, const std::function<Expr(const Expr&)>& place) {
    const stages::Accumulators& accumulators = stage_.accumulators;
    std::vector<std::pair<Var, Expr>> lets;
    ir::VarMap total;
    for (int64_t part = 0; part < joined_.extent; ++part) {
      ir::VarMap join = total;
      for (size_t k = 0; k < shared_.size(); ++k)
        join[accumulators[k].right.get()] =
            ir::load(shared_[k], {place(zeroth + ir::index(part * joined_.stride))});
      for (size_t k = 0; k < shared_.size(); ++k) {
        const Var& left = accumulators[k].left;
        const Var next = ir::var(cat("total", k), left->type);
        lets.emplace_back(next, part == 0 ? join.at(accumulators[k].right.get())
                                          : ir::substitute(accumulators[k].joined, join));
        total[left.get()] = next;
      }
    }
    const Expr first = nest_.loop(joined_.loop).var == ir::index(0);
    Stmt body = destination_.held ? store_result(total, first) : store_result(total);
    for (auto it = lets.rbegin(); it != lets.rend(); ++it)
      body = ir::let(it->first, it->second, body);
    return destination_.held ? body : ir::branch(first, body);
  }

  // Each tile is filled in its loop, between two barriers: all have used the last one, all have
  // written this one.
  Stmt staged_walk(const Walk& walk, const std::vector<ir::Buffer>& sums) {
    const std::vector<LoopId> loops = nest_.inside(walk);
    const Factors factors = factors_of(stage_);
    const ir::VarMap map = points_map(walk);
    const Expr mask = mask_of(walk);
    Expr factor[2] = {ir::substitute(factors.a, map), ir::substitute(factors.b, map)};
    // Zeros count for nothing in a sum of products, whatever they meet: so both or none.
    const bool masked = mask && nest_.staged.size() < 2;
    for (const StageIn& staged : nest_.staged) {
      Expr& one = factor[staged.operand];
      if (mask && !masked) one = ir::select(mask, one, ir::zero(one->type));
      const auto at = std::ranges::find(loops, staged.loop);
      tiles_.emplace_back(nest_, staged, one, std::vector<LoopId>(at + 1, loops.end()));
      one = tiles_.back().value();
    }
    Expr term = stages::product_of(factor[0], factor[1], factors.terms);
    if (masked) term = ir::select(mask, term, stage_.accumulators[0].identity);
    Stmt body = ir::store(sums[0], cell_, sum(ir::load(sums[0], cell_), term));
    auto end = loops.end();
    for (auto at = loops.end(); at != loops.begin();) {
      --at;
      std::vector<Stmt> before, fills, next;
      for (const OperandTile& tile : tiles_) {
        if (tile.loop() != *at) continue;
        before.push_back(tile.prologue());
        fills.push_back(tile.fill());
        next.push_back(tile.fetch_next());
      }
      if (fills.empty()) continue;
      body = in_nest(nest_, coordinates_, {at + 1, end}, body);
      body = ir::block({ir::barrier(), ir::block(fills), ir::barrier(), ir::block(next), body});
      before.push_back(in_nest(nest_, coordinates_, {*at}, body));
      body = ir::block(before);
      end = at;
    }
    return in_nest(nest_, coordinates_, {loops.begin(), end}, body);
  }

  // Which iterations of a walk count; null: all.
  Expr mask_of(const Walk& walk) {
    Expr mask;
    const auto both = [&](const Expr& condition) { mask = mask ? mask && condition : condition; };
    if (walk.mask) both(nest_.loop(walk.mask->first).var < walk.mask->second);
    for (const Split& split : nest_.splits) {
      if (split.tail != Tail::guard || !nest_.loop(split.whole).reduction) continue;
      const bool here = std::ranges::all_of(nest_.leaves(split.whole), [&](LoopId leaf) {
        return std::ranges::find(walk.order, leaf) != walk.order.end();
      });
      if (here) both(coordinates_.of(split.whole) < nest_.loop(split.whole).extent);
    }
    return mask;
  }

  // `sums`: where sums are added up.
  Stmt update(const Walk& walk, const std::vector<ir::Buffer>& sums) {
    if (!destination_.computed || &walk != nest_.walks.data())
      return joined(walk, sums, stage_.values);
    const stages::Stage& map = *destination_.computed->map;
    const Var element = ir::var("element", map.result->type);
    std::vector<Expr> place;
    ir::Rewriter rewriter;
    rewriter.expr = [&](const Expr& e) -> Expr {
      const auto* load = ir::as<ir::Load>(e);
      if (!load || !load->buffer.same(map.output)) return {};
      place = load->indices;
      return element;
    };
    std::vector<Expr> values = stage_.values;
    for (Expr& value : values) value = ir::rewrite(value, rewriter);
    const ir::VarMap points = points_map(walk);
    ir::VarMap axes;
    for (size_t i = 0; i < place.size(); ++i) {
      place[i] = ir::substitute(place[i], points);
      axes[map.axes[i].get()] = place[i];
    }
    return ir::let(element, ir::substitute(map.result, axes),
                   ir::block({ir::store(map.output, place, element), joined(walk, sums, values)}));
  }

  Stmt joined(const Walk& walk, const std::vector<ir::Buffer>& sums,
              const std::vector<Expr>& values) {
    const stages::Accumulators& accumulators = stage_.accumulators;
    const ir::VarMap map = points_map(walk);
    const Expr mask = mask_of(walk);
    std::vector<Expr> terms;
    for (size_t k = 0; k < values.size(); ++k) {
      Expr term = ir::substitute(values[k], map);
      if (stage_.in_order) term = ir::substitute(term, accumulated());
      terms.push_back(mask ? ir::select(mask, term, accumulators[k].identity) : term);
    }
    if (stages::is_sums(accumulators)) {
      std::vector<Stmt> steps;
      for (size_t k = 0; k < terms.size(); ++k)
        steps.push_back(ir::store(sums[k], cell_, sum(ir::load(sums[k], cell_), terms[k])));
      return steps.size() == 1 ? steps[0] : ir::block(std::move(steps));
    }
    if (accumulators_.size() == 1) {
      ir::VarMap join = accumulated();
      join[accumulators[0].right.get()] = terms[0];
      return ir::store(accumulators_[0], cell_, ir::substitute(accumulators[0].joined, join));
    }
    std::vector<Expr> own;
    for (const ir::Buffer& accumulator : accumulators_) own.push_back(ir::load(accumulator, cell_));
    return join_into(own, terms, [&](size_t k, const Expr& result) {
      return ir::store(accumulators_[k], cell_, result);
    });
  }

  // The partial results of the lanes: halves of the vectors as long as they are long, then the
  // lanes one by one, then the result.
  Stmt joined_lanes() {
    constexpr int64_t few = 4;
    const stages::Accumulators& accumulators = stage_.accumulators;
    std::vector<Stmt> halving;
    std::vector<ir::Buffer> parts = accumulators_, made;
    int64_t lanes = lanes_;
    for (Expr row = cell_[0]; lanes > few && lanes % 2 == 0; row = ir::index(0)) {
      lanes /= 2;
      const Var lane = ir::var("lane");
      std::vector<ir::Buffer> halves;
      std::vector<Expr> left, right;
      for (const ir::Buffer& part : parts) {
        halves.push_back(ir::buffer(cat(part->name, ".half"), part->dtype,
                                    {ir::index(1), ir::index(lanes)}, ir::Scope::priv));
        left.push_back(ir::load(part, {row, lane}));
        right.push_back(ir::load(part, {row, lane + ir::index(lanes)}));
      }
      const Stmt join = join_into(left, right, [&](size_t k, const Expr& result) {
        return ir::store(halves[k], {ir::index(0), lane}, result);
      });
      halving.push_back(ir::loop(lane, ir::index(lanes), ir::LoopKind::vectorized, join));
      made.insert(made.end(), halves.begin(), halves.end());
      parts = std::move(halves);
    }
    std::vector<std::pair<Var, Expr>> lets;
    std::vector<Var> vectors;
    ir::VarMap total;
    for (size_t k = 0; k < parts.size(); ++k) {
      const Expr row = made.empty() ? cell_[0] : ir::index(0);
      const Expr all =
          ir::load(parts[k], {row, ir::ramp(ir::index(0), 1, static_cast<int>(lanes))});
      vectors.push_back(ir::var(cat("parts", k), all->type));
      lets.emplace_back(vectors[k], all);
      total[accumulators[k].left.get()] = ir::lane(vectors[k], ir::index(0));
    }
    for (int l = 1; l < lanes; ++l) {
      ir::VarMap join = total;
      for (size_t k = 0; k < parts.size(); ++k)
        join[accumulators[k].right.get()] = ir::lane(vectors[k], ir::index(l));
      for (size_t k = 0; k < parts.size(); ++k) {
        const Var next = ir::var(cat("total", k), accumulators[k].left->type);
        lets.emplace_back(next, ir::substitute(accumulators[k].joined, join));
        total[accumulators[k].left.get()] = next;
      }
    }
    const auto around = [&](Stmt body) {
      for (auto it = lets.rbegin(); it != lets.rend(); ++it)
        body = ir::let(it->first, it->second, body);
      std::vector<Stmt> steps = halving;
      steps.push_back(std::move(body));
      body = ir::block(std::move(steps));
      for (const ir::Buffer& half : made) body = ir::alloc(half, body);
      return body;
    };
    if (joined_.loop < 0)
      return in_nest(nest_, coordinates_, written_, around(store_result(total)));
    return written_.empty() ? around(join_invocations(total)) : join_invocations(total, around);
  }

  const stages::Stage& stage_;
  const Nest& nest_;
  const Destination& destination_;
  Coordinates& coordinates_;
  std::vector<LoopId> tile_;     // loops that tell accumulators apart
  std::vector<LoopId> written_;  // those of them that the output has
  std::vector<ir::Buffer> accumulators_;
  std::vector<OperandTile> tiles_;
  Joined joined_;
  std::vector<ir::Buffer> shared_;  // partial results of the invocations
  std::vector<Expr> cell_, shape_;
  int64_t lanes_ = 1;
};

}  // namespace

Stmt reduction(const stages::Stage& stage, const Nest& nest, const Destination& destination,
               Coordinates& coordinates) {
  return Reduction(stage, nest, destination, coordinates).run();
}

}  // namespace gossamer::schedule
