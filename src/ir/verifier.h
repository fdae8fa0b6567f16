// The parts of verify.h: expressions in verify_expr.cc, statements and properties in verify.cc.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "ir/rewrite.h"
#include "ir/verify.h"

namespace gossamer::ir {

class Verifier {
 public:
  Verifier(const Kernel& kernel, Properties properties) : kernel_(kernel), wanted_(properties) {}
  Result<> run();

 private:
  bool wants(Property p) const { return (wanted_ & static_cast<Properties>(p)) != 0; }
  std::unexpected<Diagnostic> error(const std::string& message) const;
  std::unexpected<Diagnostic> error(const std::string& message, const Expr& at) const;

  // Expressions (verify_expr.cc): types, names in scope, properties of loads.
  Result<> expr(const Expr& e);
  Result<> children(const Expr& e);
  Result<> node(const Expr& e);
  Result<> access(const Buffer& buffer, const std::vector<Expr>& indices, Type type,
                  const Expr& at);
  Result<> operation(const Expr& e);

  // Statements
  Result<> params();
  Result<> stmt(const Stmt& s);
  Result<> let(const Let& l);
  Result<> loop(const For& f);
  Result<> branch(const If& i);
  Result<> while_loop(const While& w);
  Result<> alloc(const Alloc& a);
  Result<> store(const Store& s);
  Result<> fragment_store(const Store& s);
  Result<> bind(const Var& var);
  void unbind(const Var& var);
  // Invocations of a group may disagree about it.
  bool diverges(const Expr& e) const;

  const Kernel& kernel_;
  Properties wanted_;
  std::unordered_set<const VarNode*> vars_;              // in scope
  std::unordered_map<const BufferNode*, bool> buffers_;  // in scope: written param?
  std::unordered_set<const BufferNode*> params_;
  std::unordered_set<const Node*> checked_;  // shared expressions, within one scope
  std::unordered_set<const VarNode*> divergent_;
  VarMap values_;                                 // of index Lets, for written_once
  std::unordered_set<const BufferNode*> stored_;  // so far
  std::unordered_set<const BufferNode*> updated_;
  const For* grid_ = nullptr;
  const For* group_ = nullptr;
  int loops_ = 0;  // serial, unrolled, vectorized and while loops around
  int branches_ = 0;
  int divergent_depth_ = 0;
  std::unordered_set<int64_t> written_;  // (param, layer) pairs of fragment stores
};

}  // namespace gossamer::ir
