// The parser's state and productions: expressions in parse_expr.cc, statements in parse.cc.
#pragma once

#include <algorithm>
#include <unordered_map>

#include "ir/lex.h"
#include "ir/nodes.h"

namespace gossamer::ir::text {

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  void declare(Var var) { vars_[var->name].push_back(std::move(var)); }
  void declare(Buffer buffer) { buffers_[buffer->name].push_back(std::move(buffer)); }

  Result<Kernel> kernel();
  Result<Expr> expr(int strength = 0);
  bool at_end() const { return peek().kind == Token::Kind::end; }
  std::unexpected<Diagnostic> error(std::string message) const;

 private:
  // Tokens
  const Token& peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  bool at(std::string_view text, size_t ahead = 0) const;
  bool accept(std::string_view text);
  Result<> expect(std::string_view text);
  Result<std::string> name(std::string_view what);
  Result<int64_t> integer(std::string_view what);
  Result<Type> type();
  static bool type_named(std::string_view word, Type* type);

  // Expressions
  Result<Expr> operand();
  Result<Expr> unary_operand();
  Result<Expr> literal(bool negative);
  Result<Expr> call(const std::string& function);
  Result<Expr> load(const Buffer& buffer);
  Result<Expr> combined(BinaryOp op, Expr a, Expr b);
  Result<Expr> applied(UnaryOp op, Expr a);
  Result<std::vector<Expr>> expr_list(std::string_view close);
  Result<std::vector<Expr>> index_list();

  // Statements
  Result<Stmt> braces();
  Result<std::vector<Stmt>> braced_list();
  Result<std::vector<Stmt>> statements();  // to the closing brace
  Result<Stmt> statement();
  Result<Stmt> loop(LoopKind kind);
  Result<Stmt> store(const std::string& name);
  // The variable that a loop or Let binds: one bound before, out of scope by now, is bound again,
  // as loops that passes copied are.
  Var bound(const std::string& name, Type type);
  Result<Buffer> buffer(Scope usual);
  Result<Layout> layout();
  Result<Buffer> known_buffer();

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  // The innermost declaration of a name is the last.
  std::unordered_map<std::string, std::vector<Var>> vars_;
  std::unordered_map<std::string, std::vector<Buffer>> buffers_;
  std::unordered_map<std::string, Var> last_bound_;
};

// Limits recursion on nested text.
constexpr int deepest_nesting = 400;

}  // namespace gossamer::ir::text
