// Constructors of statements.
#include "ir/build.h"

namespace gossamer::ir {

Stmt block(std::vector<Stmt> stmts) {
  auto* node = new Block();
  for (Stmt& stmt : stmts) {
    if (auto* inner = as<Block>(stmt)) {
      node->stmts.insert(node->stmts.end(), inner->stmts.begin(), inner->stmts.end());
    } else if (stmt) {
      node->stmts.push_back(std::move(stmt));
    }
  }
  Stmt result(node);
  if (node->stmts.size() == 1) return node->stmts[0];
  return result;
}

Stmt let(Var var, Expr value, Stmt body) {
  GS_CHECK(var.get() && value.get() && body && var->type == value->type, "let");
  auto* node = new Let();
  node->var = std::move(var);
  node->value = std::move(value);
  node->body = std::move(body);
  return Stmt(node);
}

Stmt loop(Var var, Expr extent, LoopKind kind, Stmt body) {
  GS_CHECK(var && var->type == Type(DType::index), "loop variable");
  GS_CHECK(extent && extent->type == Type(DType::index), "extent of loop ", var->name);
  GS_CHECK(body, "body of loop ", var->name);
  auto* node = new For();
  node->var = std::move(var);
  node->extent = std::move(extent);
  node->loop = kind;
  node->body = std::move(body);
  return Stmt(node);
}

Stmt while_loop(Expr condition, Stmt body) {
  GS_CHECK(condition && condition->type == Type(DType::boolean) && body, "while");
  auto* node = new While();
  node->condition = std::move(condition);
  node->body = std::move(body);
  return Stmt(node);
}

Stmt branch(Expr condition, Stmt yes, Stmt no) {
  GS_CHECK(condition && condition->type == Type(DType::boolean) && yes, "branch");
  if (auto value = as_int(condition)) return *value ? yes : no ? no : block({});
  auto* node = new If();
  node->condition = std::move(condition);
  node->yes = std::move(yes);
  node->no = std::move(no);
  return Stmt(node);
}

Stmt store(Buffer buffer, std::vector<Expr> indices, Expr value) {
  GS_CHECK(buffer && value, "store");
  GS_CHECK(value->type.dtype == buffer->dtype || value->type.dtype == buffer->storage, "store of ",
           to_string(value->type), " to ", buffer->name, " of ", name_of(buffer->dtype));
  for (const Expr& i : indices) {
    GS_CHECK(i && i->type.dtype == DType::index, "index of ", buffer->name);
  }
  auto* node = new Store();
  node->buffer = std::move(buffer);
  node->indices = std::move(indices);
  node->value = std::move(value);
  return Stmt(node);
}

Stmt alloc(Buffer buffer, Stmt body) {
  GS_CHECK(buffer && body && (buffer->scope == Scope::priv || buffer->scope == Scope::group),
           "alloc");
  auto* node = new Alloc();
  node->buffer = std::move(buffer);
  node->body = std::move(body);
  return Stmt(node);
}

Stmt barrier(Scope scope) {
  auto* node = new Barrier();
  node->scope = scope;
  return Stmt(node);
}

}  // namespace gossamer::ir
