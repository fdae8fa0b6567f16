#include "passes/vectorize_loops.h"

#include <algorithm>
#include <functional>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"

namespace gossamer::passes {
namespace {

using ir::Expr;
using ir::Stmt;

bool is_empty(const std::vector<Expr>& shape) {
  return std::ranges::any_of(shape, [](const Expr& extent) { return ir::is_const(extent, 0); });
}

class Widener {
 public:
  Widener(const ir::Var& var, int lanes) : lanes_(lanes) {
    wide_[var.get()] = ir::ramp(ir::index(0), 1, lanes);
  }

  Expr widen(const Expr& e) {
    if (const auto known = wide_.find(e.get()); known != wide_.end()) return known->second;
    const Expr result = make(e);
    wide_[e.get()] = result;
    kept_.push_back(e);
    return result;
  }

  Stmt widen(const Stmt& s) {
    if (!s) return s;
    if (const auto* block = ir::as<ir::Block>(s)) {
      std::vector<Stmt> stmts;
      for (const Stmt& child : block->stmts) stmts.push_back(widen(child));
      return ir::block(std::move(stmts));
    }
    if (const auto* let = ir::as<ir::Let>(s)) {
      const Expr value = widen(let->value);
      // What is a scalar stays as it is, and so do expressions that use it.
      const ir::Var var =
          value->type == let->var->type ? let->var : ir::var(let->var->name, value->type);
      wide_[let->var.get()] = var;
      return ir::let(var, value, widen(let->body));
    }
    if (const auto* store = ir::as<ir::Store>(s)) {
      std::vector<Expr> indices = widen_all(store->indices);
      bool vector = false;
      for (const Expr& index : indices) vector |= !index->type.is_scalar();
      Expr value = widen(store->value);
      if (vector) value = broadcast(value);
      // Every place of a tensor without elements is 0, as far as ranges tell, and nothing is
      // stored.
      if (!vector && !value->type.is_scalar() && is_empty(store->buffer->shape))
        return ir::block({});
      GS_CHECK(vector || value->type.is_scalar(), "a vector is stored to one element");
      return ir::store(store->buffer, std::move(indices), value);
    }
    if (const auto* loop = ir::as<ir::For>(s)) {
      return ir::loop(loop->var, scalar(loop->extent), loop->loop, widen(loop->body));
    }
    if (const auto* branch = ir::as<ir::If>(s)) {
      return ir::branch(scalar(branch->condition), widen(branch->yes), widen(branch->no));
    }
    if (const auto* alloc = ir::as<ir::Alloc>(s))
      return ir::alloc(alloc->buffer, widen(alloc->body));
    check_failed(__FILE_NAME__, __LINE__, "a vectorized loop holds this statement", "");
  }

 private:
  Expr broadcast(const Expr& e) const { return e->type.is_scalar() ? ir::broadcast(e, lanes_) : e; }

  Expr scalar(const Expr& e) {
    Expr result = widen(e);
    GS_CHECK(result->type.is_scalar(), "control flow does not depend on the lane");
    return result;
  }

  std::vector<Expr> widen_all(const std::vector<Expr>& exprs) {
    std::vector<Expr> result;
    for (const Expr& e : exprs) result.push_back(widen(e));
    return result;
  }

  // A word of several elements: all lanes share it, or each makes its own of elements one by one.
  Expr word(const Expr& e, const ir::Bitcast& cast) {
    bool moves = false;
    ir::visit(cast.a, [&](const Expr& part) {
      const auto known = wide_.find(part.get());
      moves = moves || (known != wide_.end() && !known->second.same(part));
      return !moves;
    });
    if (!moves) return e;
    const auto* load = ir::as<ir::Load>(cast.a);
    GS_CHECK(load, "words in lanes are loaded");
    std::vector<Expr> parts;
    for (int i = 0; i < cast.a->type.lanes; ++i) {
      std::vector<Expr> point;
      for (const Expr& index : load->indices) point.push_back(elements_.of(index, i));
      parts.push_back(ir::load(load->buffer, std::move(point)));
    }
    const Expr whole = ir::simplify(ir::bitcast(e->type, ir::make_vector(std::move(parts))));
    kept_.push_back(whole);
    return widen(whole);
  }

  Expr make(const Expr& e) {
    switch (e->kind) {
      case ir::NodeKind::Unary: {
        const auto& u = *ir::as<ir::Unary>(e);
        const Expr a = widen(u.a);
        return a.same(u.a) ? e : ir::unary(u.op, a);
      }
      case ir::NodeKind::Binary: {
        const auto& b = *ir::as<ir::Binary>(e);
        const Expr x = widen(b.a), y = widen(b.b);
        if (x->type.is_scalar() && y->type.is_scalar()) return e;
        return ir::binary(b.op, broadcast(x), broadcast(y));
      }
      case ir::NodeKind::Fma: {
        const auto& f = *ir::as<ir::Fma>(e);
        const Expr a = widen(f.a), b = widen(f.b), c = widen(f.c);
        if (a->type.is_scalar() && b->type.is_scalar() && c->type.is_scalar()) return e;
        return ir::fma(broadcast(a), broadcast(b), broadcast(c));
      }
      case ir::NodeKind::Dot: {
        const auto& d = *ir::as<ir::Dot>(e);
        const Expr a = widen(d.a), b = widen(d.b), c = widen(d.c);
        if (a->type.is_scalar() && b->type.is_scalar() && c->type.is_scalar()) return e;
        return ir::dot(broadcast(a), broadcast(b), broadcast(c), d.terms);
      }
      case ir::NodeKind::Select: {
        const auto& s = *ir::as<ir::Select>(e);
        const Expr c = widen(s.condition), y = widen(s.yes), n = widen(s.no);
        if (c->type.is_scalar() && y->type.is_scalar() && n->type.is_scalar()) return e;
        return ir::select(broadcast(c), broadcast(y), broadcast(n));
      }
      case ir::NodeKind::Cast: {
        const auto& c = *ir::as<ir::Cast>(e);
        const Expr a = widen(c.a);
        return a->type.is_scalar() ? e : ir::cast(e->type.with_lanes(lanes_), a);
      }
      case ir::NodeKind::Bitcast: {
        const auto& c = *ir::as<ir::Bitcast>(e);
        if (!c.a->type.is_scalar()) return word(e, c);
        const Expr a = widen(c.a);
        return a->type.is_scalar() ? e : ir::bitcast(e->type.with_lanes(lanes_), a);
      }
      case ir::NodeKind::Load: {
        const auto& load = *ir::as<ir::Load>(e);
        std::vector<Expr> indices = widen_all(load.indices);
        bool same = true;
        for (size_t i = 0; i < indices.size(); ++i) same &= indices[i].same(load.indices[i]);
        return same ? e : ir::load(load.buffer, std::move(indices));
      }
      default:
        return e;  // constants, variables of outside; vectors do not nest
    }
  }

  int lanes_;
  std::unordered_map<const ir::ExprNode*, Expr> wide_;
  std::vector<Expr> kept_;  // keys of wide_ stay alive
  Lanes elements_;
};

}  // namespace

namespace {

// Whether a condition that holds in a lane holds in all lanes before it: an index that does not
// fall from lane to lane is below what is the same in all of them.
bool holds_in_leading_lanes(const Expr& condition, const ir::Var& lane) {
  const auto* less = ir::as<ir::Binary>(condition);
  if (!less || less->op != ir::BinaryOp::lt || ir::uses(less->b, lane.get())) return false;
  const Expr next = ir::substitute(less->a, {{lane.get(), lane + 1}});
  const auto step = ir::as_int(ir::simplify(next - less->a));
  return step && *step >= 0;
}

// Lanes that stand under conditions of their own: a vector where the last of them counts, else
// shorter vectors where theirs do, at last one after the other. Null: the loop has another form.
Stmt guarded_lanes(const ir::For& loop, int lanes) {
  constexpr int short_lanes = 4;
  std::vector<Expr> outer, guards;
  Stmt body = loop.body;
  while (const auto* branch = ir::as<ir::If>(body)) {
    if (branch->no) break;
    const bool varies = ir::uses(branch->condition, loop.var.get());
    if (varies && !holds_in_leading_lanes(branch->condition, loop.var)) return {};
    if (!varies && !guards.empty()) break;
    (varies ? guards : outer).push_back(branch->condition);
    body = branch->yes;
  }
  if (guards.empty()) return {};
  // The lanes behind `first`, which is below a multiple of as many.
  const std::function<Stmt(const Expr&, int)> from = [&](const Expr& first, int count) -> Stmt {
    const ir::Var lane = ir::var(loop.var->name);
    const ir::VarMap at{{loop.var.get(), first + lane}},
        last{{loop.var.get(), first + (count - 1)}};
    const Stmt inside = ir::substitute(body, at);
    Expr all = ir::boolean(true);
    for (const Expr& guard : guards) all = all && ir::substitute(guard, last);
    if (count == 1) return ir::branch(ir::simplify(all), ir::substitute(body, last));
    const int part = count > short_lanes ? short_lanes : 1;
    const ir::Var next = ir::var(loop.var->name);
    return ir::branch(ir::simplify(all), Widener(lane, count).widen(inside),
                      ir::loop(next, ir::index(count / part), ir::LoopKind::serial,
                               from(first + next * ir::index(part), part)));
  };
  Stmt result = from(ir::index(0), lanes);
  for (auto condition = outer.rbegin(); condition != outer.rend(); ++condition)
    result = ir::branch(*condition, result);
  return result;
}

}  // namespace

Stmt vectorize_loops(const Stmt& body) {
  ir::Rewriter rewriter;
  rewriter.stmt = [](const Stmt& s) -> Stmt {
    const auto* loop = ir::as<ir::For>(s);
    if (!loop || loop->loop != ir::LoopKind::vectorized) return {};
    const auto lanes = ir::as_int(loop->extent);
    GS_CHECK(lanes, "a vectorized loop has a constant extent");
    if (*lanes == 1) return ir::substitute(loop->body, {{loop->var.get(), ir::index(0)}});
    if (Stmt guarded = guarded_lanes(*loop, static_cast<int>(*lanes))) return guarded;
    return Widener(loop->var, static_cast<int>(*lanes)).widen(loop->body);
  };
  return ir::rewrite(body, rewriter);
}

Expr Lanes::of(const Expr& e, int lane) {
  if (e->type.is_scalar()) return e;
  const auto [known, added] = known_.try_emplace(e.get(), e->type.lanes);
  if (added) kept_.push_back(e);
  Expr& result = known->second[static_cast<size_t>(lane)];  // stays in place when the map grows
  if (!result.get()) result = make(e, lane);
  return result;
}

Expr Lanes::make(const Expr& e, int lane) {
  switch (e->kind) {
    case ir::NodeKind::Ramp: {
      const auto& r = *ir::as<ir::Ramp>(e);
      return r.base + ir::constant_int(r.base->type, lane * r.stride);
    }
    case ir::NodeKind::Broadcast:
      return ir::as<ir::Broadcast>(e)->a;
    case ir::NodeKind::MakeVector:
      return ir::as<ir::MakeVector>(e)->lanes[static_cast<size_t>(lane)];
    case ir::NodeKind::Unary: {
      const auto& u = *ir::as<ir::Unary>(e);
      return ir::unary(u.op, of(u.a, lane));
    }
    case ir::NodeKind::Binary: {
      const auto& b = *ir::as<ir::Binary>(e);
      return ir::binary(b.op, of(b.a, lane), of(b.b, lane));
    }
    case ir::NodeKind::Fma: {
      const auto& f = *ir::as<ir::Fma>(e);
      return ir::fma(of(f.a, lane), of(f.b, lane), of(f.c, lane));
    }
    case ir::NodeKind::Dot: {
      const auto& d = *ir::as<ir::Dot>(e);
      return ir::dot(of(d.a, lane), of(d.b, lane), of(d.c, lane), d.terms);
    }
    case ir::NodeKind::Select: {
      const auto& s = *ir::as<ir::Select>(e);
      return ir::select(of(s.condition, lane), of(s.yes, lane), of(s.no, lane));
    }
    case ir::NodeKind::Cast:
      return ir::cast(e->type.with_lanes(1), of(ir::as<ir::Cast>(e)->a, lane));
    case ir::NodeKind::Bitcast:
      return ir::bitcast(e->type.with_lanes(1), of(ir::as<ir::Bitcast>(e)->a, lane));
    default:
      return ir::lane(e, ir::index(lane));
  }
}

}  // namespace gossamer::passes
