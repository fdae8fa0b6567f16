// Statements: ranges from loops and conditions, and what becomes empty.
#include <algorithm>
#include <ranges>
#include <unordered_set>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplifier.h"

namespace gossamer::ir {
namespace {

bool is_empty(const Stmt& s) {
  auto* b = as<Block>(s);
  return !s || (b && b->stmts.empty());
}

bool has_load(const Expr& e) {
  bool found = false;
  visit(e, [&](const Expr& node) {
    found = found || node->kind == NodeKind::Load;
    return !found;
  });
  return found;
}

// A launch consists of these whatever their extent.
bool is_structure(LoopKind kind) { return kind == LoopKind::grid || kind == LoopKind::group; }

}  // namespace

void Simplifier::forget() {
  memory_ = {};
  ranges_.forget();
  varies_.clear();
}

void Simplifier::bind(const VarNode* var, Range range) {
  auto known = bounds_.ranges_.find(var);
  // Bound before: what was remembered speaks of another loop.
  if (known != bounds_.ranges_.end() || bounds_.extents_.contains(var) || values_.contains(var)) {
    bounds_.extents_.erase(var);
    values_.erase(var);
    definitions_.erase(var);
    forget();
  }
  bounds_.ranges_[var] = range;
}

bool Simplifier::learn(const VarNode* var, Range range, int64_t multiple) {
  const auto [known, is_new] = bounds_.ranges_.try_emplace(var, range);
  const auto [factor, is_first] = bounds_.multiples_.try_emplace(var, multiple);
  return known->second.low == range.low && known->second.high == range.high &&
         factor->second == multiple;
}

Stmt Simplifier::stmt(const Stmt& s) {
  if (!s) return s;
  switch (s->kind) {
    case NodeKind::Block: {
      std::vector<Stmt> stmts;
      for (const Stmt& one : as<Block>(s)->stmts) {
        Stmt simple = stmt(one);
        if (!is_empty(simple)) stmts.push_back(std::move(simple));
      }
      return block(std::move(stmts));
    }
    case NodeKind::Let:
      return let_stmt(*as<Let>(s));
    case NodeKind::For:
      return loop_stmt(*as<For>(s));
    case NodeKind::If:
      return if_stmt(*as<If>(s));
    case NodeKind::While: {
      auto* w = as<While>(s);
      const Expr condition = expr(w->condition);
      return is_const(condition, 0) ? block({}) : while_loop(condition, stmt(w->body));
    }
    case NodeKind::Store: {
      auto* st = as<Store>(s);
      auto* copy = new Store(*st);
      for (Expr& i : copy->indices) i = expr(i);
      copy->value = expr(st->value);
      return Stmt(copy);
    }
    case NodeKind::Alloc: {
      Stmt body = stmt(as<Alloc>(s)->body);
      return is_empty(body) ? body : alloc(as<Alloc>(s)->buffer, std::move(body));
    }
    default:
      return s;
  }
}

Stmt Simplifier::loop_stmt(const For& f) {
  const Expr extent = expr(f.extent);
  const Range r = ranges_.of(extent);
  if (r.high <= 0 && !is_structure(f.loop)) return block({});
  const bool known = as_int(extent).has_value();
  bind(f.var.get(),
       {0, r.high == plus_infinity ? plus_infinity : std::max<int64_t>(r.high - 1, 0)});
  std::vector<std::pair<const VarNode*, std::optional<Range>>> narrowed;
  const size_t positive = bounds_.positive_.size();
  if (!known) {
    bounds_.extents_[f.var.get()] = extent;
    for (const Expr& factor : positive_factors(extent)) {  // the body runs only where they are
      const Range now = ranges_.of(factor);
      if (now.low > 0 || now.high < 1) continue;
      auto* dimension = as<VarNode>(factor);
      if (!dimension) {
        bounds_.positive_.push_back(factor);
        continue;
      }
      auto old = bounds_.ranges_.find(dimension);
      narrowed.emplace_back(
          dimension, old == bounds_.ranges_.end() ? std::nullopt : std::optional(old->second));
      bounds_.ranges_[dimension] = {1, now.high};
    }
  }
  const bool knows_more = !narrowed.empty() || bounds_.positive_.size() > positive;
  if (knows_more) forget();
  order_.set_depth(f.var.get(), ++depth_);
  Stmt body = stmt(f.body);
  --depth_;
  for (const auto& [dimension, old] : std::views::reverse(narrowed)) {
    if (old) {
      bounds_.ranges_[dimension] = *old;
    } else {
      bounds_.ranges_.erase(dimension);
    }
  }
  bounds_.positive_.resize(positive);
  if (knows_more) forget();
  if (is_structure(f.loop)) return loop(f.var, extent, f.loop, body);
  if (is_empty(body) || is_const(extent, 1)) return body;
  return loop(f.var, extent, f.loop, std::move(body));
}

Stmt Simplifier::let_stmt(const Let& l) {
  const Expr value = expr(l.value);
  auto* splat = as<Broadcast>(value);
  const Expr& core = splat ? splat->a : value;
  if (as<IntImm>(core) || as<FloatImm>(core) || as<VarNode>(value)) {
    bind(l.var.get(), {});
    bounds_.ranges_.erase(l.var.get());
    values_[l.var.get()] = value;
    return stmt(l.body);
  }
  if (l.var->type == Type(DType::index)) {
    const Range r = ranges_.of(value);
    const int64_t multiple = ranges_.multiple_of(value);
    bind(l.var.get(), r);
    bounds_.multiples_[l.var.get()] = multiple;
    if (const Poly extent = extent_of(value); r.low >= 0 && extent.valid && !extent.is_constant())
      bounds_.extents_[l.var.get()] = finish(extent);
    // Spelled out later, a load might see another value.
    if (!has_load(value)) define(l.var.get(), value);
  }
  order_.set_depth(l.var.get(), order_.depth_of(value));
  return let(l.var, value, stmt(l.body));
}

Stmt Simplifier::if_stmt(const If& i) {
  const Expr condition = expr(i.condition);
  if (auto value = as_int(condition)) {
    if (*value) return stmt(i.yes);
    return i.no ? stmt(i.no) : block({});
  }
  // Memory may change in between, so what loads say now does not hold later.
  const bool lasting = !has_load(condition);
  auto branch_body = [&](const Stmt& body, bool holds) {
    if (!body || !lasting) return stmt(body);
    const size_t facts = facts_.size();
    const Bounds bounds = bounds_;
    Memory memory = std::move(memory_);
    forget();
    assume(condition, holds);
    forget();
    Stmt result = stmt(body);
    facts_.resize(facts);
    forget();
    bounds_ = bounds;
    for (const auto& [lanes, v] : lane_variables_) {
      bounds_.ranges_[as<VarNode>(v)] = {0, lanes - 1};
    }
    memory_ = std::move(memory);
    return result;
  };
  const Stmt yes = branch_body(i.yes, true), no = branch_body(i.no, false);
  if (is_empty(yes) && is_empty(no)) return block({});
  if (is_empty(yes)) return branch(negation(condition), no);
  return branch(condition, yes, is_empty(no) ? Stmt() : no);
}

namespace {

// From the innermost outwards, so that a Let used only by a dead one is dead as well.
class DeadLets {
 public:
  Stmt operator()(const Stmt& s) {
    if (!s) return s;
    switch (s->kind) {
      case NodeKind::Let: {
        auto* l = as<Let>(s);
        Stmt body = (*this)(l->body);
        if (!used_.contains(l->var.get())) return body;
        note(l->value);
        return body.same(l->body) ? s : let(l->var, l->value, std::move(body));
      }
      case NodeKind::Block: {
        std::vector<Stmt> stmts;
        for (const Stmt& one : as<Block>(s)->stmts) stmts.push_back((*this)(one));
        return block(std::move(stmts));
      }
      case NodeKind::For: {
        auto* f = as<For>(s);
        Stmt body = (*this)(f->body);
        note(f->extent);
        return loop(f->var, f->extent, f->loop, std::move(body));
      }
      case NodeKind::If: {
        auto* i = as<If>(s);
        Stmt yes = (*this)(i->yes), no = (*this)(i->no);
        note(i->condition);
        return branch(i->condition, std::move(yes), std::move(no));
      }
      case NodeKind::While: {
        auto* w = as<While>(s);
        Stmt body = (*this)(w->body);
        note(w->condition);
        return while_loop(w->condition, std::move(body));
      }
      case NodeKind::Alloc: {
        auto* a = as<Alloc>(s);
        Stmt body = (*this)(a->body);
        for (const Expr& extent : a->buffer->shape) note(extent);
        return alloc(a->buffer, std::move(body));
      }
      default:
        dispatch(*s, [this](const auto& node) {
          visit_fields(node, [this]<class F>(const char*, const F& field) {
            if constexpr (std::is_same_v<F, Expr>) note(field);
            if constexpr (std::is_same_v<F, std::vector<Expr>>) {
              for (const Expr& e : field) note(e);
            }
          });
        });
        return s;
    }
  }

 private:
  void note(const Expr& e) {
    if (auto* v = as<VarNode>(e)) {
      used_.insert(v);
      return;
    }
    if (e->references > 1 && !seen_.insert(e.get()).second) return;
    dispatch(*e, [this](const auto& node) {
      visit_fields(node, [this]<class F>(const char*, const F& field) {
        if constexpr (std::is_same_v<F, Expr>) note(field);
        if constexpr (std::is_same_v<F, std::vector<Expr>>) {
          for (const Expr& child : field) note(child);
        }
      });
    });
  }

  std::unordered_set<const VarNode*> used_;
  std::unordered_set<const Node*> seen_;
};

}  // namespace

Stmt drop_dead_lets(const Stmt& s) { return DeadLets()(s); }

Stmt simplify(const Stmt& s, Bounds bounds) { return drop_dead_lets(Simplifier(bounds).stmt(s)); }

}  // namespace gossamer::ir
