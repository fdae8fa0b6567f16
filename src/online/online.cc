#include "online/online.h"

#include <algorithm>
#include <map>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "stages/access.h"
#include "stages/factors.h"

namespace gossamer::online {
namespace {

using ir::Expr;
using stages::At;
using stages::Factors;
using stages::Group;
using stages::Member;
using stages::Stage;
using stages::StageKind;
using target::Capabilities;

class Finder {
 public:
  Finder(const Stage& last, const StageOf& stage_of, std::vector<const Stage*>& used,
         std::vector<const Stage*>* masks)
      : last_(last), stage_of_(stage_of), used_(used), masks_(masks) {}

  std::optional<Online> run() {
    if (last_.kind != StageKind::reduce || last_.reduce_axes.size() != 1 || last_.in_order ||
        !last_.starts.empty())
      return std::nullopt;
    const Factors factors = factors_of(last_);
    if (!factors.a.get() || last_.accumulators[0].left->type.dtype != ir::DType::f32)
      return std::nullopt;
    key_ = last_.reduce_axes[0];
    for (const bool swapped : {false, true}) {
      used_.clear();
      if (masks_) masks_->clear();
      online_ = {};
      const Expr& weights = swapped ? factors.b : factors.a;
      online_.value = swapped ? factors.a : factors.b;
      if (find_weight(inlined(weights)) && find_axes()) return online_;
    }
    return std::nullopt;
  }

 private:
  void use(const Stage* stage) {
    if (std::ranges::find(used_, stage) == used_.end()) used_.push_back(stage);
  }

  // With what maps make in place of loads of it.
  Expr inlined(const Expr& expr) {
    ir::Rewriter rewriter;
    rewriter.expr = [&](const Expr& e) -> Expr {
      const auto* load = ir::as<ir::Load>(e);
      const Stage* made = load ? stage_of_(load->buffer) : nullptr;
      // A loop's state may be made of itself.
      if (!made || made->kind != StageKind::compute || reads(*made, made->output)) return {};
      use(made);
      return inlined(at(*made, *load, made->result));
    };
    return ir::rewrite(expr, rewriter);
  }

  static Expr at(const Stage& made, const ir::Load& load, const Expr& expr) {
    ir::VarMap map;
    for (size_t i = 0; i < made.axes.size(); ++i) map[made.axes[i].get()] = load.indices[i];
    return ir::substitute(expr, map);
  }

  // The only load, or equal ones, of what a reduction of one accumulator makes.
  const ir::Load* reduction_in(const Expr& expr, const Stage*& made) const {
    const ir::Load* found = nullptr;
    for (const ir::Load* load : loads_of(expr)) {
      const Stage* stage = stage_of_(load->buffer);
      if (!stage || stage->kind != StageKind::reduce) continue;
      if (found && !ir::equal(Expr(found), Expr(load))) return nullptr;
      found = load;
      made = stage;
    }
    const bool plain = found && made->accumulators.size() == 1 && made->reduce_axes.size() == 1 &&
                       made->starts.empty() && !made->in_order &&
                       made->accumulators[0].left->type.dtype == ir::DType::f32;
    return plain ? found : nullptr;
  }

  static Expr replaced(const Expr& expr, const Expr& old, const Expr& fresh) {
    ir::Rewriter rewriter;
    rewriter.expr = [&](const Expr& e) -> Expr { return ir::equal(e, old) ? fresh : Expr{}; };
    return ir::rewrite(expr, rewriter);
  }

  // A reduction's value at a load, its accumulator as `total`.
  static Expr result_of(const Stage& made, const ir::Load& load, const ir::Var& total) {
    return ir::substitute(at(made, load, made.result),
                          {{made.accumulators[0].left.get(), Expr(total)}});
  }

  // Whether a reduction over all keys has these terms, one a key, where it is loaded.
  bool sums(const Stage& made, const ir::Load& load, const Expr& term) {
    Expr own = at(made, load, inlined(made.values[0]));
    if (ir::prove_equal(made.reduce_extents[0], last_.reduce_extents[0])) {
      own = ir::substitute(own, {{made.reduce_axes[0].get(), Expr(key_)}});
    } else if (own = terms_of_parts(made, own); !own.get()) {
      return false;
    }
    ir::Bounds bounds;
    if (const auto known = ir::as_int(last_.reduce_extents[0]))
      bounds.set(key_.get(), {0, *known - 1});
    return ir::equal(ir::simplify(own, bounds), ir::simplify(term, bounds));
  }

  // Of a sum of the sums of parts, as long ones are defined: the term of a key. Null: it is none.
  Expr terms_of_parts(const Stage& made, const Expr& value) {
    const auto* load = ir::as<ir::Load>(value);
    const Stage* parts = nullptr;
    if (!load || !stages::is_sum(made.accumulators) || reduction_in(value, parts) != load ||
        !stages::is_sum(parts->accumulators) ||
        !ir::equal(parts->result, parts->accumulators[0].left))
      return {};
    const auto parts_of = ir::as_int(made.reduce_extents[0]),
               size = ir::as_int(parts->reduce_extents[0]),
               keys = ir::as_int(last_.reduce_extents[0]);
    if (!parts_of || !size || !keys || *parts_of != (*keys + *size - 1) / *size) return {};
    use(parts);
    return ir::substitute(at(*parts, *load, inlined(parts->values[0])),
                          {{made.reduce_axes[0].get(), ir::floordiv(key_, *size)},
                           {parts->reduce_axes[0].get(), ir::floormod(key_, *size)}});
  }

  bool find_weight(const Expr& weights) {
    Expr exponential;
    bool several = false;
    ir::visit(weights, [&](const Expr& e) {
      const auto* unary = ir::as<ir::Unary>(e);
      if (!unary || unary->op != ir::UnaryOp::exp) return true;
      several |= exponential.get() != nullptr && !ir::equal(exponential, e);
      exponential = e;
      return false;
    });
    if (!exponential.get() || several || exponential->type.dtype != ir::DType::f32) return false;
    const auto* difference = ir::as<ir::Binary>(ir::as<ir::Unary>(exponential)->a);
    if (!difference || difference->op != ir::BinaryOp::sub) return false;
    online_.of_score = ir::var("score", ir::DType::f32);
    online_.of_peak = ir::var("peak", ir::DType::f32);
    online_.weight = ir::exp(online_.of_score - online_.of_peak);
    return find_score(difference->a) && find_peak(difference->b, difference->a) &&
           find_result(weights, exponential);
  }

  bool find_score(const Expr& score) {
    const Stage* made = nullptr;
    const ir::Load* load = reduction_in(score, made);
    if (!load || !stages::is_sum(made->accumulators)) return false;
    const Factors factors = factors_of(*made);
    if (!factors.a.get() || factors.a->type.dtype != ir::DType::f32) return false;
    use(made);
    // Stages may share variables.
    online_.along = ir::var("along");
    const ir::VarMap fresh{{made->reduce_axes[0].get(), Expr(online_.along)}};
    online_.extent = at(*made, *load, made->reduce_extents[0]);
    online_.left = at(*made, *load, ir::substitute(factors.a, fresh));
    online_.right = at(*made, *load, ir::substitute(factors.b, fresh));
    online_.products = made->accumulators[0].left;
    online_.score =
        with_masks(replaced(score, Expr(load), result_of(*made, *load, online_.products)));
    return true;
  }

  // With what maps make of positions alone in place of loads of it: that takes less than to read
  // it, and may tell which keys no query sees.
  Expr with_masks(const Expr& score) {
    ir::Rewriter rewriter;
    rewriter.expr = [&](const Expr& e) -> Expr {
      const auto* load = ir::as<ir::Load>(e);
      const Stage* made = load && masks_ ? stage_of_(load->buffer) : nullptr;
      if (!made || made->kind != StageKind::compute) return {};
      const Expr value = at(*made, *load, made->result);
      for (const ir::Load* each : loads_of(value)) {
        if (ir::uses(Expr(each), key_.get())) return {};
      }
      masks_->push_back(made);
      return value;
    };
    return ir::rewrite(score, rewriter);
  }

  bool find_peak(const Expr& shift, const Expr& score) {
    const Stage* made = nullptr;
    const ir::Load* load = reduction_in(shift, made);
    if (!load || ir::uses(shift, key_.get())) return false;
    const auto* joined = ir::as<ir::Binary>(made->accumulators[0].joined);
    if (!joined || joined->op != ir::BinaryOp::max || !sums(*made, *load, score)) return false;
    use(made);
    online_.peak = ir::var("peak", ir::DType::f32);
    online_.shift = replaced(shift, Expr(load), result_of(*made, *load, online_.peak));
    return true;
  }

  // weights = exponential, times or divided by what depends on the sum of the exponentials.
  bool find_result(const Expr& weights, const Expr& exponential) {
    online_.sum = last_.accumulators[0].left;
    online_.total = ir::var("total", ir::DType::f32);
    Expr sum = online_.sum;
    if (!ir::equal(weights, exponential)) {
      const auto* scaled = ir::as<ir::Binary>(weights);
      if (!scaled) return false;
      const bool divides = scaled->op == ir::BinaryOp::div;
      const bool first = ir::equal(scaled->a, exponential);
      if ((scaled->op != ir::BinaryOp::mul && !(divides && first)) ||
          (!first && !ir::equal(scaled->b, exponential)))
        return false;
      const Expr& by = first ? scaled->b : scaled->a;
      const Stage* made = nullptr;
      const ir::Load* load = reduction_in(by, made);
      if (!load || ir::uses(by, key_.get()) || !stages::is_sum(made->accumulators) ||
          !sums(*made, *load, exponential))
        return false;
      use(made);
      const Expr scale = replaced(by, Expr(load), result_of(*made, *load, online_.total));
      sum = divides ? sum / scale : sum * scale;
      // A sum over no keys is 0, not 0 / 0.
      const Expr& keys = last_.reduce_extents[0];
      if (!ir::as_int(keys)) sum = ir::select(keys == ir::index(0), ir::zero(ir::DType::f32), sum);
    }
    online_.result = ir::substitute(last_.result, {{last_.accumulators[0].left.get(), sum}});
    return true;
  }

  // A causal mask: select(key < q + .., s, -inf), or s + select(key < q + .., 0, -inf).
  void find_bound() {
    const auto* sum = ir::as<ir::Binary>(online_.score);
    const bool adds = sum && sum->op == ir::BinaryOp::add;
    for (const Expr& part : adds ? std::vector{sum->a, sum->b} : std::vector{online_.score}) {
      const auto* masked = ir::as<ir::Select>(part);
      if (!masked || !ir::equal(masked->no, ir::lowest(ir::DType::f32))) continue;
      const auto* below = ir::as<ir::Binary>(masked->condition);
      if (!below || !below->a.same(key_) || ir::uses(below->b, key_.get()) || !grows(below->b))
        continue;
      if (below->op == ir::BinaryOp::lt) online_.bound = below->b;
      if (below->op == ir::BinaryOp::le) online_.bound = below->b + ir::index(1);
    }
  }

  // Whether a later row has no lower one.
  bool grows(const Expr& limit) const {
    const ir::Var& row = last_.axes[static_cast<size_t>(online_.row)];
    if (!ir::uses(limit, row.get()) || !ir::uses(ir::simplify(limit - Expr(row)), row.get()))
      return true;
    const auto* least = ir::as<ir::Binary>(limit);
    return least && least->op == ir::BinaryOp::min && grows(least->a) && grows(least->b);
  }

  bool is_point(size_t axis) const { return ir::is_const(last_.extents[axis], 1); }

  // One axis that the scores do not know, and perhaps one that values and keys do not.
  bool find_axes() {
    int columns = 0;
    online_.row = -1;
    for (size_t i = 0; i < last_.axes.size(); ++i) {
      const ir::VarNode* axis = last_.axes[i].get();
      const bool left = ir::uses(online_.left, axis), right = ir::uses(online_.right, axis);
      const bool scored = left || right || ir::uses(online_.score, axis);
      if (is_point(i)) continue;
      if (!scored) {
        ++columns;
        online_.column = static_cast<int>(i);
      } else if (!ir::uses(online_.value, axis) && left != right) {
        online_.row = static_cast<int>(i);
      }
    }
    if (columns != 1) return false;
    if (ir::uses(online_.left, key_.get())) std::swap(online_.left, online_.right);
    if (online_.row >= 0) {
      if (ir::uses(online_.right, last_.axes[static_cast<size_t>(online_.row)].get())) return false;
      find_bound();
    }
    return !ir::uses(online_.left, key_.get()) && ir::uses(online_.right, key_.get());
  }

  const Stage& last_;
  const StageOf& stage_of_;
  std::vector<const Stage*>& used_;
  std::vector<const Stage*>* masks_;
  ir::Var key_;
  Online online_;
};

}  // namespace

std::optional<Online> online_of(const Stage& last, const StageOf& stage_of,
                                std::vector<const Stage*>& used, std::vector<const Stage*>* masks) {
  return Finder(last, stage_of, used, masks).run();
}

void visit_online(const stages::Program& program, const std::set<const ir::BufferNode*>& kept,
                  const VisitOnline& visit) {
  std::map<const ir::BufferNode*, std::vector<size_t>> writers, readers;
  for (size_t i = 0; i < program.size(); ++i) {
    for (const ir::Buffer& input : program[i].inputs()) readers[input.get()].push_back(i);
    if (program[i].output()) writers[program[i].output().get()].push_back(i);
  }
  for (size_t i = 0; i < program.size(); ++i) {
    const Stage* last = program[i].stage();
    if (!last || !last->side.empty()) continue;
    std::map<const Stage*, size_t> places{{last, i}};
    const StageOf stage_of = [&](const ir::Buffer& buffer) -> const Stage* {
      const auto found = writers.find(buffer.get());
      if (found == writers.end() || found->second.size() != 1 || found->second[0] >= i)
        return nullptr;
      const Stage* stage = program[found->second[0]].stage();
      if (!stage || !stage->side.empty() || stage->view || kept.contains(buffer.get()))
        return nullptr;
      places[stage] = found->second[0];
      return stage;
    };
    std::vector<const Stage*> used;
    if (!online_of(*last, stage_of, used)) continue;
    std::set<size_t> inside{i};
    for (const Stage* stage : used) inside.insert(places.at(stage));
    Group group;
    std::set<const ir::BufferNode*> made;
    bool alone = true;
    for (const size_t place : inside) {
      const Stage& stage = *program[place].stage();
      group.members.push_back({stage, {}, place == i, At::walk});
      made.insert(stage.output.get());
      alone = alone &&
              (place == i || std::ranges::all_of(readers[stage.output.get()], [&](size_t reader) {
                 return inside.contains(reader);
               }));
    }
    if (alone) visit(group, made);
  }
}

std::set<const ir::BufferNode*> online_products(const stages::Program& program,
                                                const std::set<const ir::BufferNode*>& kept,
                                                const Capabilities& capabilities) {
  std::set<const ir::BufferNode*> products;
  visit_online(program, kept, [&](const Group& group, const auto& made) {
    if (online_tile(group, capabilities).keys > 0) products.insert(made.begin(), made.end());
  });
  return products;
}

Online online_of(const Group& group) {
  std::vector<const Stage*> used;
  const StageOf stage_of = [&](const ir::Buffer& buffer) -> const Stage* {
    for (const Member& member : group.members) {
      if (member.stage.output.same(buffer) && &member != &group.members.back())
        return &member.stage;
    }
    return nullptr;
  };
  std::vector<const Stage*> masks;
  auto online = online_of(group.last(), stage_of, used, &masks);
  GS_CHECK(online, title_of(group));
  return *std::move(online);
}

}  // namespace gossamer::online
