// Writes the body of one function: IR statements and expressions as C.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "codegen/c/operations.h"
#include "ir/nodes.h"

namespace gossamer::codegen::c {

class FunctionEmitter {
 public:
  explicit FunctionEmitter(Operations& operations) : operations_(operations) {}

  // What a buffer's memory and a variable are called; the text tells which of them are used.
  void bind(const ir::BufferNode* buffer, const std::string& name) {
    memories_[buffer].name = name;
  }
  void bind(const ir::VarNode* var, const std::string& name) { vars_[var] = name; }
  bool uses(const ir::Node* bound) const { return used_.contains(bound); }

  // The grid loop runs from `begin` to `end`; Lets may stand before it.
  void emit_kernel(const ir::Stmt& body);
  // Where both arms of a select are evaluated, as here, loads must be inside of their buffers
  // (passes/clamp_guarded_loads.h). The text has no side effects and is evaluated where it stands.
  std::string value(const ir::Expr& expr);
  void line(const std::string& text);

  const std::string& text() const { return text_; }

 private:
  void emit(const ir::Stmt& stmt);
  void emit_loop(const ir::For& loop, const std::string& begin, const std::string& end);
  void emit_while(const ir::While& loop);
  void emit_branch(const ir::If& branch);
  void emit_store(const ir::Store& store);
  void emit_alloc(const ir::Alloc& alloc);
  void emit_let(const ir::Let& let);
  void in_braces(const ir::Stmt& body);

  std::string uncached(const ir::Expr& expr);
  std::string binary(const ir::Binary& binary);
  std::string load(const ir::Load& load);
  // Memory of a buffer. A private one whose places are all known is `cells` instead: one variable
  // for each `cell_lanes` elements (codegen/private_cells.h).
  struct Memory {
    std::string name;
    int cell_lanes = 0;
    std::vector<bool> cells;  // which are read
  };
  Memory& memory(const ir::Buffer& buffer);
  std::string cell(const Memory& memory, const ir::Expr& index);

  std::string named(const ir::Type& type, const std::string& value);  // a constant of the function
  std::string fresh(std::string_view prefix) { return cat(prefix, number_++); }

  Operations& operations_;
  std::string text_;
  int depth_ = 1, number_ = 0;
  std::unordered_map<const ir::BufferNode*, Memory> memories_;
  std::unordered_map<const ir::VarNode*, std::string> vars_;
  std::unordered_set<const ir::Node*> used_;
  // Values of shared subexpressions, within one statement.
  std::unordered_map<const ir::ExprNode*, std::string> cache_;
  std::vector<ir::Expr> expanded_;  // keys of cache_ stay alive
};

}  // namespace gossamer::codegen::c
