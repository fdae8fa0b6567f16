#include "ir/rewriting.h"

#include <optional>
#include <unordered_set>

#include "base/small_vector.h"
#include "ir/node_map.h"

namespace gossamer::ir {

// Applies a Rewriter. Only nodes with several owners can be reached twice, so only they are
// remembered.
class RewriteWalk {
 public:
  explicit RewriteWalk(const Rewriter& rewriter) : rewriter_(rewriter) {}

  Expr apply(const Expr& expr) {
    if (!expr.get()) return expr;
    return remembered(expr, exprs_, rewriter_.expr_before, rewriter_.expr);
  }
  Stmt apply(const Stmt& stmt) {
    if (!stmt) return stmt;
    return remembered(stmt, stmts_, rewriter_.stmt_before, rewriter_.stmt);
  }

 private:
  using Stmts = std::unordered_map<const Node*, Stmt>;

  static const Expr* recall(const NodeMap<Expr>& memo, const Expr& key) { return memo.find(key); }
  static const Stmt* recall(const Stmts& memo, const Stmt& key) {
    const auto known = memo.find(key.get());
    return known == memo.end() ? nullptr : &known->second;
  }
  static void remember(NodeMap<Expr>& memo, const Expr& key, const Expr& result) {
    memo.add(key, result);
  }
  static void remember(Stmts& memo, const Stmt& key, const Stmt& result) {
    memo.emplace(key.get(), result);
  }

  template <class R, class Memo>
  R remembered(const R& node, Memo& memo, const std::function<R(const R&)>& before,
               const std::function<R(const R&)>& after) {
    const bool shared = node->references > 1;
    if (shared) {
      if (const R* known = recall(memo, node)) return *known;
    }
    R result;
    if (before) result = before(node);
    if (!result.get()) {
      result = rebuilt(node);
      if (after) {
        if (R replacement = after(result)) result = std::move(replacement);
      }
    }
    if (shared) remember(memo, node, result);
    return result;
  }

  // The node with rewritten children; itself where none changed.
  template <class R>
  R rebuilt(const R& node) {
    switch (node->kind) {
#define GS_EXPR(Name, ...) \
  case NodeKind::Name:     \
    return rebuilt_as<Name>(node);
#define GS_STMT(Name, ...) GS_EXPR(Name)
#include "ir/nodes.def"
#undef GS_EXPR
#undef GS_STMT
      default:
        return node;
    }
  }

  template <class T, class R>
  R rebuilt_as(const R& node) {
    if constexpr (!std::is_base_of_v<std::remove_cvref_t<decltype(*node)>, T>) {
      return node;
    } else {
      const T& original = static_cast<const T&>(*node);
      // Children in field order, each looked at once; the copy is made at the first that differs.
      SmallVector<Expr, 4> exprs;
      SmallVector<Stmt, 4> stmts;
      bool changed = false;
      auto collect = [&]<class F>(const F& field) {
        if constexpr (std::is_same_v<F, Expr>) {
          exprs.push_back(apply(field));
          changed = changed || !exprs.back().same(field);
        } else if constexpr (std::is_same_v<F, Stmt>) {
          stmts.push_back(apply(field));
          changed = changed || !stmts.back().same(field);
        }
      };
      visit_fields(original, [&]<class F>(const char*, const F& field) {
        if constexpr (std::is_same_v<F, std::vector<Expr>> ||
                      std::is_same_v<F, std::vector<Stmt>>) {
          for (const auto& child : field) collect(child);
        } else {
          collect(field);
        }
      });
      if (!changed) return node;
      auto* copy = new T(original);
      size_t next_expr = 0, next_stmt = 0;
      auto put = [&]<class F>(F& field) {
        if constexpr (std::is_same_v<F, Expr>) field = std::move(exprs[next_expr++]);
        if constexpr (std::is_same_v<F, Stmt>) field = std::move(stmts[next_stmt++]);
      };
      visit_fields(*copy, [&]<class F>(const char*, F& field) {
        if constexpr (std::is_same_v<F, std::vector<Expr>> ||
                      std::is_same_v<F, std::vector<Stmt>>) {
          for (auto& child : field) put(child);
        } else {
          put(field);
        }
      });
      return R(copy);
    }
  }

  const Rewriter& rewriter_;
  NodeMap<Expr> exprs_;
  Stmts stmts_;
};

Rewriting::Rewriting(Rewriter rewriter)
    : rewriter_(std::move(rewriter)), walk_(std::make_unique<RewriteWalk>(rewriter_)) {}
Rewriting::~Rewriting() = default;
Expr Rewriting::operator()(const Expr& expr) { return walk_->apply(expr); }

Expr rewrite(const Expr& expr, const Rewriter& rewriter) {
  return RewriteWalk(rewriter).apply(expr);
}
Stmt rewrite(const Stmt& stmt, const Rewriter& rewriter) {
  return RewriteWalk(rewriter).apply(stmt);
}

namespace {

class Visit {
 public:
  Visit(const std::function<bool(const Stmt&)>* on_stmt,
        const std::function<bool(const Expr&)>& on_expr)
      : on_stmt_(on_stmt), on_expr_(on_expr) {}

  void operator()(const Expr& expr) {
    if (expr && first_time(*expr) && (!on_expr_ || on_expr_(expr))) children(*expr);
  }
  void operator()(const Stmt& stmt) {
    if (stmt && first_time(*stmt) && (!on_stmt_ || !*on_stmt_ || (*on_stmt_)(stmt))) {
      children(*stmt);
    }
  }

 private:
  bool first_time(const Node& node) { return node.references <= 1 || seen_.insert(&node).second; }
  void children(const Node& node) {
    dispatch(node, [this](const auto& concrete) {
      visit_fields(concrete, [this]<class F>(const char*, const F& field) {
        if constexpr (std::is_same_v<F, Expr> || std::is_same_v<F, Stmt>) {
          (*this)(field);
        } else if constexpr (std::is_same_v<F, std::vector<Expr>> ||
                             std::is_same_v<F, std::vector<Stmt>>) {
          for (const auto& child : field) (*this)(child);
        }
      });
    });
  }

  const std::function<bool(const Stmt&)>* on_stmt_;
  const std::function<bool(const Expr&)>& on_expr_;
  std::unordered_set<const Node*> seen_;
};

Rewriter substituter(const VarMap& map) {
  Rewriter rewriter;
  rewriter.expr_before = [&map](const Expr& expr) -> Expr {
    auto* var = as<VarNode>(expr);
    if (!var) return {};
    auto found = map.find(var);
    return found == map.end() ? expr : found->second;
  };
  return rewriter;
}

// Replaces the buffers of one node; null where none of them is in the map.
template <class R>
R with_buffers(const R& node, const BufferMap& map) {
  auto replaced = [&map](Buffer& buffer) {
    auto found = map.find(buffer.get());
    if (found == map.end()) return false;
    buffer = found->second;
    return true;
  };
  return dispatch(*node, [&]<class T>(const T& original) -> R {
    if constexpr (!std::is_base_of_v<std::remove_cvref_t<decltype(*node)>, T> ||
                  std::is_same_v<T, VarNode>) {
      return {};
    } else {
      bool any = false;
      visit_fields(original, [&]<class F>(const char*, const F& field) {
        if constexpr (std::is_same_v<F, Buffer>) any = any || map.contains(field.get());
        if constexpr (std::is_same_v<F, std::vector<Buffer>>) {
          for (const Buffer& buffer : field) any = any || map.contains(buffer.get());
        }
      });
      if (!any) return {};
      auto* copy = new T(original);
      visit_fields(*copy, [&]<class F>(const char*, F& field) {
        if constexpr (std::is_same_v<F, Buffer>) replaced(field);
        if constexpr (std::is_same_v<F, std::vector<Buffer>>) {
          for (Buffer& buffer : field) replaced(buffer);
        }
      });
      return R(copy);
    }
  });
}

Rewriter buffer_substituter(const BufferMap& map) {
  Rewriter rewriter;
  rewriter.expr = [&map](const Expr& expr) { return with_buffers(expr, map); };
  rewriter.stmt = [&map](const Stmt& stmt) { return with_buffers(stmt, map); };
  return rewriter;
}

}  // namespace

void visit(const Expr& expr, const std::function<bool(const Expr&)>& on_expr) {
  Visit(nullptr, on_expr)(expr);
}
void visit(const Stmt& stmt, const std::function<bool(const Stmt&)>& on_stmt,
           const std::function<bool(const Expr&)>& on_expr) {
  Visit(&on_stmt, on_expr)(stmt);
}

Expr substitute(const Expr& expr, const VarMap& map) {
  return map.empty() ? expr : rewrite(expr, substituter(map));
}
Stmt substitute(const Stmt& stmt, const VarMap& map) {
  return map.empty() ? stmt : rewrite(stmt, substituter(map));
}
Expr substitute_buffers(const Expr& expr, const BufferMap& map) {
  return map.empty() ? expr : rewrite(expr, buffer_substituter(map));
}
Stmt substitute(const Stmt& stmt, const VarMap& variables, const BufferMap& buffers) {
  Rewriter both = buffer_substituter(buffers);
  both.expr_before = substituter(variables).expr_before;
  return rewrite(stmt, both);
}
Stmt substitute_buffers(const Stmt& stmt, const BufferMap& map) {
  return map.empty() ? stmt : rewrite(stmt, buffer_substituter(map));
}

bool uses(const Expr& expr, const VarNode* var) {
  bool found = false;
  visit(expr, [&](const Expr& e) {
    found = found || e.get() == var;
    return !found;
  });
  return found;
}

}  // namespace gossamer::ir
