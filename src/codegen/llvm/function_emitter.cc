#include "codegen/llvm/function_emitter.h"

#include <llvm/IR/Dominators.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include "codegen/private_cells.h"
#include "ir/build.h"

namespace gossamer::codegen::llvm_ {

FunctionEmitter::FunctionEmitter(llvm::Function& function, const Target& target)
    : b_(function.getContext()), function_(function), target_(target) {
  entry_ = llvm::BasicBlock::Create(b_.getContext(), "entry", &function);
  b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "begin", &function));
}

void FunctionEmitter::bind(const ir::BufferNode* buffer, llvm::Value* pointer, bool written) {
  llvm::MDBuilder metadata(b_.getContext());
  if (!scope_domain_) scope_domain_ = metadata.createAnonymousAliasScopeDomain();
  Memory memory;
  memory.pointer = pointer;
  memory.written = written;
  memory.scope = metadata.createAnonymousAliasScope(scope_domain_);
  scopes_.push_back(memory.scope);
  memories_[buffer] = memory;
}

void FunctionEmitter::finish() {
  b_.CreateRetVoid();
  llvm::BasicBlock* first = entry_->getNextNode();
  llvm::IRBuilder<>(entry_).CreateBr(first);
  llvm::DominatorTree tree(function_);
  llvm::PromoteMemToReg(promotable_, tree);
}

void FunctionEmitter::emit_kernel(const Stmt& body, llvm::Value* begin, llvm::Value* end) {
  Stmt at = body;
  while (const auto* let = ir::as<ir::Let>(at)) {
    vars_[let->var.get()] = emit_value(let->value);
    at = let->body;
  }
  const auto* grid = ir::as<ir::For>(at);
  GS_CHECK(grid && grid->loop == ir::LoopKind::grid, "a kernel is Let* For(grid)");
  emit_loop(*grid, begin, end);
}

llvm::AllocaInst* FunctionEmitter::allocate(llvm::Type* type, int64_t count,
                                            const std::string& name) {
  llvm::IRBuilder<> entry(entry_);
  llvm::AllocaInst* memory = entry.CreateAlloca(
      type, count == 1 ? nullptr : entry.getInt64(static_cast<uint64_t>(count)), name);
  memory->setAlignment(llvm::Align(64));
  return memory;
}

void FunctionEmitter::emit(const Stmt& stmt) {
  if (!stmt) return;
  cache_.clear();
  switch (stmt->kind) {
    case ir::NodeKind::Block:
      for (const Stmt& part : ir::as<ir::Block>(stmt)->stmts) emit(part);
      return;
    case ir::NodeKind::Let: {
      const auto* let = ir::as<ir::Let>(stmt);
      const auto counted = counters_.find(let->var.get());
      vars_[let->var.get()] =
          counted == counters_.end()
              ? emit_value(let->value)
              : b_.CreateLoad(counted->second->getAllocatedType(), counted->second);
      emit(let->body);
      return;
    }
    case ir::NodeKind::For: {
      const auto* loop = ir::as<ir::For>(stmt);
      GS_CHECK(loop->loop != ir::LoopKind::vectorized, "loop ", loop->var->name,
               " should have become vectors");
      llvm::Value* extent = emit_value(loop->extent);
      emit_loop(*loop, llvm::ConstantInt::get(extent->getType(), 0), extent);
      return;
    }
    case ir::NodeKind::While:
      emit_while(*ir::as<ir::While>(stmt));
      return;
    case ir::NodeKind::If:
      emit_branch(*ir::as<ir::If>(stmt));
      return;
    case ir::NodeKind::Store:
      emit_store(*ir::as<ir::Store>(stmt));
      return;
    case ir::NodeKind::Alloc:
      emit_alloc(*ir::as<ir::Alloc>(stmt));
      return;
    default:
      GS_CHECK(false, "no native code for ", ir::name_of(stmt->kind), " in a kernel");
  }
}

// Tested at the bottom, which is the form that LLVM's strength reduction likes.
void FunctionEmitter::emit_loop(const ir::For& loop, llvm::Value* begin, llvm::Value* end) {
  auto& context = b_.getContext();
  llvm::BasicBlock* before = b_.GetInsertBlock();
  auto* body = llvm::BasicBlock::Create(context, loop.var->name, &function_);
  auto* after = llvm::BasicBlock::Create(context, "after", &function_);
  const auto* known_begin = llvm::dyn_cast<llvm::ConstantInt>(begin);
  const auto* known_end = llvm::dyn_cast<llvm::ConstantInt>(end);
  if (known_begin && known_end && known_begin->getSExtValue() < known_end->getSExtValue())
    b_.CreateBr(body);
  else
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), body, after);
  const std::vector<Digit> digits =
      loop.loop == ir::LoopKind::grid ? digits_of(loop) : std::vector<Digit>();
  std::vector<llvm::Value*> extents;
  if (!digits.empty()) {
    // Here, extents that divide are not 0.
    auto* start = llvm::BasicBlock::Create(context, "start", &function_, body);
    before->getTerminator()->replaceSuccessorWith(body, start);
    b_.SetInsertPoint(start);
    vars_[loop.var.get()] = begin;
    extents = start_counting(digits);
    b_.CreateBr(body);
    before = start;
  }
  b_.SetInsertPoint(body);
  llvm::PHINode* var = b_.CreatePHI(begin->getType(), 2, loop.var->name);
  var->addIncoming(begin, before);
  vars_[loop.var.get()] = var;
  emit(loop.body);
  cache_.clear();
  if (!digits.empty()) count(digits, extents);
  llvm::Value* next = b_.CreateAdd(var, llvm::ConstantInt::get(var->getType(), 1), "", true, true);
  var->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, end), body, after);
  b_.SetInsertPoint(after);
}

std::vector<llvm::Value*> FunctionEmitter::start_counting(const std::vector<Digit>& digits) {
  std::vector<llvm::Value*> extents;
  for (const auto& [let, extent] : digits) {
    llvm::Value* first = emit_value(let->value);
    llvm::AllocaInst* counter = allocate(first->getType(), 1, let->var->name);
    promotable_.push_back(counter);
    counters_[let->var.get()] = counter;
    b_.CreateStore(first, counter);
    extents.push_back(extent ? emit_value(extent) : nullptr);
  }
  cache_.clear();
  return extents;
}

void FunctionEmitter::count(const std::vector<Digit>& digits,
                            const std::vector<llvm::Value*>& extents) {
  llvm::Value* carry = nullptr;
  for (size_t at = 0; at < digits.size(); ++at) {
    llvm::AllocaInst* counter = counters_.at(digits[at].let->var.get());
    llvm::Type* type = counter->getAllocatedType();
    llvm::Value* step = carry ? b_.CreateZExt(carry, type) : llvm::ConstantInt::get(type, 1);
    llvm::Value* next = b_.CreateAdd(b_.CreateLoad(type, counter), step, "", true, true);
    if (extents[at]) {
      carry = b_.CreateICmpEQ(next, extents[at]);
      next = b_.CreateSelect(carry, llvm::ConstantInt::get(type, 0), next);
    }
    b_.CreateStore(next, counter);
  }
}

void FunctionEmitter::emit_while(const ir::While& loop) {
  auto& context = b_.getContext();
  auto* test = llvm::BasicBlock::Create(context, "while", &function_);
  auto* body = llvm::BasicBlock::Create(context, "do", &function_);
  auto* after = llvm::BasicBlock::Create(context, "after", &function_);
  b_.CreateBr(test);
  b_.SetInsertPoint(test);
  b_.CreateCondBr(emit_value(loop.condition), body, after);
  b_.SetInsertPoint(body);
  emit(loop.body);
  b_.CreateBr(test);
  b_.SetInsertPoint(after);
  cache_.clear();
}

void FunctionEmitter::emit_branch(const ir::If& branch) {
  auto& context = b_.getContext();
  llvm::Value* condition = emit_value(branch.condition);
  auto* yes = llvm::BasicBlock::Create(context, "yes", &function_);
  auto* no = branch.no ? llvm::BasicBlock::Create(context, "no", &function_) : nullptr;
  auto* after = llvm::BasicBlock::Create(context, "after", &function_);
  b_.CreateCondBr(condition, yes, no ? no : after);
  b_.SetInsertPoint(yes);
  emit(branch.yes);
  b_.CreateBr(after);
  if (no) {
    b_.SetInsertPoint(no);
    emit(branch.no);
    b_.CreateBr(after);
  }
  b_.SetInsertPoint(after);
  cache_.clear();
}

void FunctionEmitter::emit_alloc(const ir::Alloc& alloc) {
  const ir::BufferNode* buffer = alloc.buffer.get();
  const int64_t count = private_elements(buffer);
  Memory memory;
  memory.written = memory.is_private = true;
  memory.cell_lanes = cell_lanes_of(buffer, alloc.body, true);
  if (memory.cell_lanes > 0) {
    llvm::Type* type = type_of({buffer->storage, memory.cell_lanes});
    const int64_t cells = (count + memory.cell_lanes - 1) / memory.cell_lanes;
    for (int64_t cell = 0; cell < cells; ++cell)
      memory.cells.push_back(allocate(type, 1, buffer->name));
    promotable_.insert(promotable_.end(), memory.cells.begin(), memory.cells.end());
  } else {
    memory.pointer = allocate(memory_type(buffer->storage), count + 64, buffer->name);
  }
  memories_[buffer] = std::move(memory);
  emit(alloc.body);
}

}  // namespace gossamer::codegen::llvm_
