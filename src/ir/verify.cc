#include "ir/verify.h"

#include "ir/build.h"
#include "ir/print.h"
#include "ir/scalar.h"
#include "ir/simplify.h"
#include "ir/verifier.h"

namespace gossamer::ir {
namespace {

// An index expression of one variable at one value of it.
std::optional<int64_t> value_at(const Expr& e, const VarNode* var, int64_t at) {
  if (static_cast<const Node*>(e.get()) == var) return at;
  if (auto known = as_int(e)) return known;
  auto* node = as<Binary>(e);
  if (!node || node->type != Type(DType::index)) return std::nullopt;
  const auto a = value_at(node->a, var, at), b = value_at(node->b, var, at);
  if (!a || !b) return std::nullopt;
  return apply(node->op, Scalar::of_int(DType::index, *a), Scalar::of_int(DType::index, *b)).i;
}

// Whether e is `var` at every point of [0, extent), or at ever sparser ones of a large extent.
// Digits of several radixes put together again are the identity, but no rule sees it.
bool is_identity(const Expr& e, const VarNode* var, int64_t extent) {
  for (int64_t at = 0; at < extent; at += 1 + at / 4096) {
    if (value_at(e, var, at) != at) return false;
  }
  return true;
}

}  // namespace

std::unexpected<Diagnostic> Verifier::error(const std::string& message) const {
  return fail_at("kernel " + kernel_.name, message);
}

Result<> Verifier::run() {
  GS_TRY(params());
  if (!kernel_.body) return error("no body");
  if (wants(Property::scheduled)) {
    const Stmt* s = &kernel_.body;
    while (auto* l = as<Let>(*s)) s = &l->body;
    auto* f = as<For>(*s);
    if (!f || f->loop != LoopKind::grid) {
      return error("a scheduled kernel is Lets around one grid loop");
    }
  }
  return stmt(kernel_.body);
}

Result<> Verifier::params() {
  for (const Var& scalar : kernel_.scalars) {
    if (!scalar.get()) return error("a scalar is missing");
    if (scalar->type != Type(DType::index)) {
      return error(cat("scalar '", scalar->name, "' is ", to_string(scalar->type), ", not index"));
    }
    GS_TRY(bind(scalar));
  }
  for (const Kernel::Param& param : kernel_.params) {
    if (!param.buffer) return error("a parameter is missing");
    const BufferNode& b = *param.buffer;
    if (b.scope != Scope::global && b.scope != Scope::constant) {
      return error(cat("parameter '", b.name, "' is ", name_of(b.scope)));
    }
    if (param.written && b.scope == Scope::constant) {
      return error(cat("constant '", b.name, "' is written"));
    }
    if (!params_.insert(&b).second) return error(cat("parameter '", b.name, "' occurs twice"));
    if (param.updated && !param.written)
      return error(cat("'", b.name, "' is updated and not written"));
    buffers_[&b] = param.written;
    if (param.updated) updated_.insert(&b);
    for (const Expr& extent : b.shape) GS_TRY(expr(extent));
  }
  return {};
}

Result<> Verifier::bind(const Var& var) {
  if (!vars_.insert(var.get()).second)
    return error(cat("variable '", var->name, "' is bound twice"));
  checked_.clear();
  return {};
}

void Verifier::unbind(const Var& var) {
  vars_.erase(var.get());
  divergent_.erase(var.get());
  values_.erase(var.get());
  checked_.clear();
}

bool Verifier::diverges(const Expr& e) const {
  bool found = false;
  visit(e, [&](const Expr& node) {
    if (auto* v = as<VarNode>(node)) found = found || divergent_.contains(v);
    // What invocations wrote themselves may differ between them.
    if (auto* l = as<Load>(node)) found = found || !params_.contains(l->buffer.get());
    return !found;
  });
  return found;
}

Result<> Verifier::stmt(const Stmt& s) {
  if (!s) return error("a statement is missing");
  switch (s->kind) {
    case NodeKind::Block:
      for (const Stmt& one : as<Block>(s)->stmts) GS_TRY(stmt(one));
      return {};
    case NodeKind::Let:
      return let(*as<Let>(s));
    case NodeKind::For:
      return loop(*as<For>(s));
    case NodeKind::While:
      return while_loop(*as<While>(s));
    case NodeKind::If:
      return branch(*as<If>(s));
    case NodeKind::Store:
      return store(*as<Store>(s));
    case NodeKind::Alloc:
      return alloc(*as<Alloc>(s));
    case NodeKind::Barrier:
      if (as<Barrier>(s)->scope == Scope::group && !group_) {
        return error("a barrier outside a group loop");
      }
      if (divergent_depth_ > 0) return error("a barrier under divergent control flow");
      return {};
    default:
      return error(cat(name_of(s->kind), " is no statement"));
  }
}

Result<> Verifier::let(const Let& l) {
  GS_TRY(expr(l.value));
  if (l.value->type != l.var->type) {
    return error(cat("'", l.var->name, "' is ", to_string(l.var->type), ", its value ",
                     to_string(l.value->type)));
  }
  const bool divergent = diverges(l.value);
  GS_TRY(bind(l.var));
  if (divergent) divergent_.insert(l.var.get());
  if (l.var->type == Type(DType::index)) values_[l.var.get()] = substitute(l.value, values_);
  GS_TRY(stmt(l.body));
  unbind(l.var);
  return {};
}

Result<> Verifier::loop(const For& f) {
  GS_TRY(expr(f.extent));
  if (f.extent->type != Type(DType::index) || f.var->type != Type(DType::index)) {
    return error(cat("loop '", f.var->name, "' is not over an index"));
  }
  const bool inner = loops_ > 0 || branches_ > 0;
  const bool divergent = f.loop == LoopKind::group || diverges(f.extent);
  switch (f.loop) {
    case LoopKind::grid:
      if (grid_) return error("two grid loops");
      if (inner || group_) return error("the grid loop is not the outermost");
      grid_ = &f;
      break;
    case LoopKind::group:
      if (group_) return error("two group loops");
      if (inner || !grid_) return error("the group loop is not directly inside the grid loop");
      group_ = &f;
      break;
    case LoopKind::unrolled:
      if (wants(Property::no_unrolled_loops)) {
        return error(cat("loop '", f.var->name, "' was not unrolled"));
      }
      break;
    case LoopKind::vectorized:
      if (wants(Property::no_vector_loops)) {
        return error(cat("loop '", f.var->name, "' was not vectorized"));
      }
      break;
    case LoopKind::serial:
      if (!grid_ && wants(Property::scheduled)) return error("a loop outside the grid loop");
      break;
  }
  const bool counts = f.loop != LoopKind::grid && f.loop != LoopKind::group;
  loops_ += counts;
  // A barrier inside would run a different number of times in different invocations.
  divergent_depth_ += counts && divergent;
  GS_TRY(bind(f.var));
  if (divergent) divergent_.insert(f.var.get());
  GS_TRY(stmt(f.body));
  unbind(f.var);
  divergent_depth_ -= counts && divergent;
  loops_ -= counts;
  if (f.loop == LoopKind::group) group_ = nullptr;
  return {};
}

Result<> Verifier::while_loop(const While& w) {
  GS_TRY(expr(w.condition));
  if (w.condition->type != Type(DType::boolean)) return error("a condition that is no boolean");
  ++loops_;
  divergent_depth_ += diverges(w.condition);
  GS_TRY(stmt(w.body));
  divergent_depth_ -= diverges(w.condition);
  --loops_;
  return {};
}

Result<> Verifier::branch(const If& i) {
  GS_TRY(expr(i.condition));
  if (i.condition->type != Type(DType::boolean)) return error("a condition that is no boolean");
  const bool divergent = diverges(i.condition);
  ++branches_;
  divergent_depth_ += divergent;
  GS_TRY(stmt(i.yes));
  if (i.no) GS_TRY(stmt(i.no));
  divergent_depth_ -= divergent;
  --branches_;
  return {};
}

Result<> Verifier::alloc(const Alloc& a) {
  const BufferNode& b = *a.buffer;
  if (b.scope != Scope::priv && b.scope != Scope::group) {
    return error(cat("'", b.name, "' is allocated as ", name_of(b.scope)));
  }
  if (buffers_.contains(&b)) return error(cat("buffer '", b.name, "' is allocated twice"));
  for (const Expr& extent : b.shape) GS_TRY(expr(extent));
  buffers_[&b] = false;
  GS_TRY(stmt(a.body));
  buffers_.erase(&b);
  checked_.clear();
  return {};
}

Result<> Verifier::store(const Store& s) {
  for (const Expr& i : s.indices) GS_TRY(expr(i));
  GS_TRY(expr(s.value));
  GS_TRY(access(s.buffer, s.indices, s.value->type, s.value));
  stored_.insert(s.buffer.get());
  if (params_.contains(s.buffer.get())) {
    if (!buffers_[s.buffer.get()]) {
      return error("a store to '" + s.buffer->name + "', which the kernel does not write");
    }
    if (wants(Property::written_once)) GS_TRY(fragment_store(s));
  }
  return {};
}

Result<> Verifier::fragment_store(const Store& s) {
  const BufferNode& b = *s.buffer;
  if (b.layout.memory != Memory::texture || s.indices.size() != 3) {
    return error("'" + b.name + "' is no texture, but a fragment program writes it");
  }
  if (!grid_) return error("a store outside the grid loop");
  if (loops_ > 0 || branches_ > 0) {
    return error("a store to '" + b.name +
                 "' under a loop or a condition may happen twice or never");
  }
  Bounds bounds;
  for (const Var& scalar : kernel_.scalars) bounds.set(scalar.get(), {0, Range{}.high});
  bounds.set_extent(grid_->var.get(), grid_->extent);
  // A grid of at most one item has a known variable, be it empty or not.
  const Range items = bounds.of(grid_->extent);
  if (items.high > 0 && items.high < Range{}.high)
    bounds.set(grid_->var.get(), {0, items.high - 1});
  const Expr x = substitute(s.indices[0], values_), y = substitute(s.indices[1], values_);
  const Expr texel = y * index(b.layout.width) + x;
  const auto extent = as_int(grid_->extent);
  if (!prove_equal(texel, grid_->var, bounds) &&
      !(extent && is_identity(texel, grid_->var.get(), *extent))) {
    return error("'" + b.name + "' is written at (" + print(x) + ", " + print(y) +
                 "), not at the invocation's own texel");
  }
  auto layer = as_int(s.indices[2]);
  if (!layer || *layer < 0 || *layer >= b.layout.layers) {
    return error("a layer of '" + b.name + "' that does not exist", s.indices[2]);
  }
  int64_t param = 0;
  while (!kernel_.params[static_cast<size_t>(param)].buffer.same(s.buffer)) ++param;
  if (!written_.insert(param * 64 + *layer).second) {
    return error(cat("layer ", *layer, " of '", b.name, "' is written twice"));
  }
  return {};
}

Result<> verify(const Kernel& kernel, Properties properties) {
  return Verifier(kernel, properties).run();
}

}  // namespace gossamer::ir
