// Traversal and rewriting of the loop IR, derived from the field table.
#pragma once

#include <functional>
#include <unordered_map>

#include "ir/nodes.h"

namespace gossamer::ir {

// Rebuilds a tree bottom-up. For every node (children first) the hook may return a replacement, or
// null to keep the node (rebuilt only when a child changed). Shared subtrees are rewritten once.
struct Rewriter {
  std::function<Expr(const Expr&)> expr;  // after the children
  std::function<Stmt(const Stmt&)> stmt;
  std::function<Expr(const Expr&)>
      expr_before;  // before: a non-null answer stands, children are not visited
  std::function<Stmt(const Stmt&)> stmt_before;
};
Expr rewrite(const Expr&, const Rewriter&);
Stmt rewrite(const Stmt&, const Rewriter&);

// Calls the hooks on every node, parents first; a hook that returns false skips the node's
// children.
void visit(const Expr&, const std::function<bool(const Expr&)>&);
void visit(const Stmt&, const std::function<bool(const Stmt&)>& on_stmt,
           const std::function<bool(const Expr&)>& on_expr);

using VarMap = std::unordered_map<const VarNode*, Expr>;
Expr substitute(const Expr&, const VarMap&);
Stmt substitute(const Stmt&, const VarMap&);
using BufferMap = std::unordered_map<const BufferNode*, Buffer>;
Stmt substitute_buffers(const Stmt&, const BufferMap&);
Stmt substitute(const Stmt&, const VarMap&, const BufferMap&);
Expr substitute_buffers(const Expr&, const BufferMap&);

bool uses(const Expr&, const VarNode*);

bool equal(const Expr&, const Expr&);  // structure; variables and buffers by identity
bool equal(const Stmt&, const Stmt&);
size_t hash(const Expr&);
size_t hash(const Stmt&);

}  // namespace gossamer::ir
