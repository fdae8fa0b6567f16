// Writes expressions and statements in a dialect. It takes no decisions: what a program needs has
// been raised before.
#pragma once

#include <set>
#include <string>
#include <unordered_map>

#include "codegen/text/dialect.h"
#include "codegen/text/place_buffers.h"
#include "ir/nodes.h"

namespace gossamer::codegen::text {

// Replaces $-marks of a pattern: fill("$0 + $1", {{'0', "a"}, {'1', "b"}}).
std::string fill(std::string_view pattern,
                 std::initializer_list<std::pair<char, std::string_view>> values);

class Writer {
 public:
  using Places = std::unordered_map<const ir::BufferNode*, Place>;
  Writer(const Dialect& dialect, const Places& places) : dialect_(dialect), places_(places) {}

  // A fixed spelling, for parameters; other names are made on first use and end in _number, as no
  // keyword does.
  void set_name(const ir::VarNode* var, std::string name) { names_[var] = std::move(name); }
  void set_name(const ir::BufferNode* buffer, std::string name) {
    names_[buffer] = std::move(name);
  }

  std::string name_of(const ir::VarNode* var);
  std::string name_of(const ir::BufferNode* buffer);
  std::string type_name(ir::Type type) const;
  std::string element_type(const ir::BufferNode* buffer) const;  // scalar or vector, by its place

  std::string expr(const ir::Expr&);
  std::string statements(const ir::Stmt&, int indent);
  // Definitions of the functions that were used so far, each after those that it uses.
  const std::string& functions() const { return functions_; }

 private:
  std::string name(const ir::Node* node, std::string_view wish);
  std::string constant(const ir::Expr&);
  std::string access(const ir::BufferNode* buffer, const std::vector<ir::Expr>& indices);
  std::string load(const ir::Load&);
  std::string store(const ir::Store&);
  std::string declare(const ir::BufferNode* buffer, int indent);
  std::string construct(ir::Type type, const std::vector<ir::Expr>& parts);
  std::string cast(const std::string& value, ir::Type from, ir::Type to) const;
  template <class Op>
  std::string call(Op op, ir::Type type, std::vector<std::string> operands);
  void define(const std::string& name, const std::vector<ir::Var>& params, const ir::Expr& body);

  const Dialect& dialect_;
  const Places& places_;
  std::unordered_map<const ir::Node*, std::string> names_;
  std::vector<ir::Expr> alive_;  // variables of functions: their addresses are keys of names_
  std::unordered_map<std::string, int> next_;
  std::set<std::string> defined_;
  std::string functions_;
};

}  // namespace gossamer::codegen::text
