// Emits one function body: IR statements and expressions to LLVM instructions.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <unordered_map>
#include <vector>

#include "codegen/digits.h"
#include "codegen/llvm/target.h"
#include "ir/nodes.h"

namespace gossamer::codegen::llvm_ {

using ir::DType;
using ir::Expr;
using ir::Stmt;

class FunctionEmitter {
 public:
  FunctionEmitter(llvm::Function& function, const Target& target);

  // Where a buffer of the kernel begins. Reads of one that nobody writes may move freely.
  void bind(const ir::BufferNode* buffer, llvm::Value* pointer, bool written);
  void bind(const ir::VarNode* var, llvm::Value* value) { vars_[var] = value; }

  // The grid loop runs from `begin` to `end`; Lets may stand before it.
  void emit_kernel(const Stmt& body, llvm::Value* begin, llvm::Value* end);
  llvm::Value* emit_value(const Expr& expr);
  // Returns, and promotes private tiles to values.
  void finish();

  llvm::IRBuilder<>& builder() { return b_; }

 private:
  // Memory of a buffer. A private one whose indices are all constants is `cells`: one variable for
  // each `cell_lanes` elements, which become registers.
  struct Memory {
    llvm::Value* pointer = nullptr;
    bool written = false, is_private = false;
    llvm::MDNode* scope = nullptr;
    std::vector<llvm::AllocaInst*> cells;
    int cell_lanes = 1;
  };

  // Types
  llvm::Type* scalar_type(DType dtype);  // of a value; boolean i1, bf16 its 16 bits
  llvm::Type* memory_type(DType dtype);  // of an element in memory; boolean i8
  llvm::Type* type_of(ir::Type type);
  llvm::Constant* constant_int(ir::Type type, int64_t value);
  llvm::Constant* constant_float(ir::Type type, double value);

  // Statements (function_emitter.cc)
  void emit(const Stmt& stmt);
  void emit_loop(const ir::For& loop, llvm::Value* begin, llvm::Value* end);
  // Counters begin with the digits of the loop's first number; gives their extents.
  std::vector<llvm::Value*> start_counting(const std::vector<Digit>& digits);
  void count(const std::vector<Digit>& digits, const std::vector<llvm::Value*>& extents);
  void emit_while(const ir::While& loop);
  void emit_branch(const ir::If& branch);
  void emit_alloc(const ir::Alloc& alloc);
  llvm::AllocaInst* allocate(llvm::Type* type, int64_t count, const std::string& name);

  // Memory (memory.cc)
  Memory& memory_of(const ir::Buffer& buffer);
  llvm::Value* emit_load(const ir::Load& load);
  void emit_store(const ir::Store& store);
  llvm::Value* load_cells(const Memory& memory, const Expr& index, ir::Type type);
  void store_cells(const Memory& memory, const Expr& index, llvm::Value* value, ir::Type type);
  llvm::Value* address(const Memory& memory, DType storage, llvm::Value* index);
  llvm::Value* load_scalar(const Memory& memory, DType storage, llvm::Value* index,
                           llvm::Value* mask);
  // Of a short stride; `wanted`, a boolean or null: whether it may be read.
  llvm::Value* load_strided(const Memory& memory, DType storage, const ir::Ramp& ramp,
                            llvm::Value* wanted);
  llvm::Value* from_memory(llvm::Value* value, DType storage);
  llvm::Value* to_memory(llvm::Value* value, DType storage);
  void annotate(llvm::Instruction* access, const Memory& memory);

  // Expressions (expressions.cc, arithmetic.cc)
  llvm::Value* emit_uncached(const Expr& expr);
  llvm::Value* emit_select(const ir::Select& select);
  llvm::Value* emit_dot(const ir::Dot& dot);
  // Integers below 16, with or without a constant subtracted, by a table in a register of 512 bits;
  // null: it is another expression, or machine.
  llvm::Value* emit_small_numbers(const Expr& expr);
  // Neighbours in memory as one number; null: it is no load of them.
  llvm::Value* emit_word(const Expr& elements, ir::Type type);
  llvm::Value* emit_unary(const ir::Unary& unary);
  llvm::Value* emit_binary(const ir::Binary& binary);
  llvm::Value* scaled(llvm::Value* a, llvm::Value* n);  // a * 2^n
  llvm::Value* float_binary(ir::BinaryOp op, llvm::Value* a, llvm::Value* b);
  llvm::Value* float_extreme(bool largest, llvm::Value* a, llvm::Value* b);
  llvm::Value* compare(ir::BinaryOp op, DType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* int_binary(ir::BinaryOp op, ir::Type type, llvm::Value* a, llvm::Value* b,
                          const Expr& right);
  llvm::Value* divide(ir::BinaryOp op, ir::Type type, llvm::Value* a, llvm::Value* b,
                      const Expr& right);
  llvm::Value* shift(ir::BinaryOp op, ir::Type type, llvm::Value* a, llvm::Value* b,
                     const Expr& right);
  llvm::Value* cast(llvm::Value* value, ir::Type from, ir::Type to);
  llvm::Value* saturated(llvm::Value* value, llvm::Type* type, bool is_signed);
  llvm::Value* widen_bfloat(llvm::Value* value, int lanes);
  llvm::Value* narrow_bfloat(llvm::Value* value, int lanes);
  llvm::Value* splat(llvm::Value* value, int lanes);

  llvm::IRBuilder<> b_;
  llvm::Function& function_;
  const Target& target_;
  llvm::BasicBlock* entry_;  // allocations only; jumps to the first real block
  std::unordered_map<const ir::VarNode*, llvm::Value*> vars_;
  std::unordered_map<const ir::VarNode*, llvm::AllocaInst*> counters_;
  std::unordered_map<const ir::BufferNode*, Memory> memories_;
  std::vector<llvm::MDNode*> scopes_;
  llvm::MDNode* scope_domain_ = nullptr;
  std::vector<llvm::AllocaInst*> promotable_;

  // Which lanes of what is being evaluated are wanted, null for all: loads of others must not trap.
  llvm::Value* mask_ = nullptr;
  // Values of shared subexpressions, within one statement; under one mask, or for all lanes.
  struct Known {
    llvm::Value *value = nullptr, *mask = nullptr;
    int times = 0;  // evaluated
  };
  std::unordered_map<const ir::ExprNode*, Known> cache_;
  std::vector<Expr> expanded_;  // keys of cache_ stay alive
};

}  // namespace gossamer::codegen::llvm_
