// Loads and stores: of the kernel's buffers, of private memory, of private cells.
#include <numeric>

#include "codegen/llvm/function_emitter.h"
#include "codegen/private_cells.h"
#include "ir/build.h"

namespace gossamer::codegen::llvm_ {

FunctionEmitter::Memory& FunctionEmitter::memory_of(const ir::Buffer& buffer) {
  const auto found = memories_.find(buffer.get());
  GS_CHECK(found != memories_.end(), "buffer ", buffer->name, " is not bound");
  return found->second;
}

void FunctionEmitter::annotate(llvm::Instruction* access, const Memory& memory) {
  if (!memory.scope) return;
  auto& context = b_.getContext();
  std::vector<llvm::Metadata*> others;
  for (llvm::MDNode* scope : scopes_)
    if (scope != memory.scope) others.push_back(scope);
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, llvm::MDNode::get(context, memory.scope));
  access->setMetadata(llvm::LLVMContext::MD_noalias, llvm::MDNode::get(context, others));
  if (!memory.written && llvm::isa<llvm::LoadInst>(access))
    access->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context, {}));
}

llvm::Value* FunctionEmitter::from_memory(llvm::Value* value, DType storage) {
  if (storage == DType::boolean)
    return b_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
  if (storage == DType::index) {
    llvm::Type* wide = b_.getIntNTy(target_.index_bits);
    if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType()))
      wide = llvm::FixedVectorType::get(wide, vector->getNumElements());
    return b_.CreateSExt(value, wide);
  }
  return value;
}

llvm::Value* FunctionEmitter::to_memory(llvm::Value* value, DType storage) {
  if (storage != DType::boolean && storage != DType::index) return value;
  llvm::Type* type = memory_type(storage);
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType()))
    type = llvm::FixedVectorType::get(type, vector->getNumElements());
  return storage == DType::boolean ? b_.CreateZExt(value, type) : b_.CreateTrunc(value, type);
}

llvm::Value* FunctionEmitter::address(const Memory& memory, DType storage, llvm::Value* index) {
  return b_.CreateGEP(memory_type(storage), memory.pointer, index);
}

llvm::Value* FunctionEmitter::load_scalar(const Memory& memory, DType storage, llvm::Value* index,
                                          llvm::Value* mask) {
  llvm::Value* pointer = address(memory, storage, index);
  // An unwanted load reads the buffer's first element instead of what may lie outside.
  if (mask && !memory.is_private) pointer = b_.CreateSelect(mask, pointer, memory.pointer);
  auto* load = b_.CreateAlignedLoad(memory_type(storage), pointer,
                                    llvm::Align(static_cast<uint64_t>(ir::byte_size(storage))));
  annotate(load, memory);
  return from_memory(load, storage);
}

// Strides whose vectors are read whole and shuffled: beyond four, lanes one by one are fewer loads.
bool is_short(int64_t stride) { return stride != 0 && std::abs(stride) <= 4; }

// As many vectors as the stride, from the first element to the last one that a lane needs: nothing
// before or after is read.
llvm::Value* FunctionEmitter::load_strided(const Memory& memory, DType storage,
                                           const ir::Ramp& ramp, llvm::Value* wanted) {
  const int lanes = ramp.type.lanes;
  const auto stride = static_cast<int>(std::abs(ramp.stride));
  const int last = (lanes - 1) * stride;
  llvm::Type* type = llvm::FixedVectorType::get(memory_type(storage), static_cast<unsigned>(lanes));
  llvm::Value* first = emit_value(ramp.base);
  if (ramp.stride < 0) first = b_.CreateAdd(first, constant_int({DType::index, 1}, -last));
  llvm::Value* result = nullptr;
  for (int part = 0; part < stride; ++part) {
    const int begin = std::min(part * lanes, last + 1 - lanes);
    llvm::Value* at = b_.CreateAdd(first, constant_int({DType::index, 1}, begin));
    llvm::Value* pointer = address(memory, storage, at);
    if (wanted && !memory.is_private) pointer = b_.CreateSelect(wanted, pointer, memory.pointer);
    auto* value = b_.CreateAlignedLoad(type, pointer,
                                       llvm::Align(static_cast<uint64_t>(ir::byte_size(storage))));
    annotate(value, memory);
    llvm::SmallVector<int> lanes_of(static_cast<size_t>(lanes));
    for (int lane = 0; lane < lanes; ++lane) {
      const int offset = (ramp.stride < 0 ? lanes - 1 - lane : lane) * stride;
      const bool here = offset >= begin && offset < begin + lanes && offset >= part * lanes;
      lanes_of[static_cast<size_t>(lane)] = here ? lanes + offset - begin : lane;
    }
    result =
        b_.CreateShuffleVector(result ? result : llvm::PoisonValue::get(type), value, lanes_of);
  }
  return result;
}

llvm::Value* FunctionEmitter::emit_load(const ir::Load& load) {
  const Memory& memory = memory_of(load.buffer);
  const DType storage = load.buffer->storage;
  GS_CHECK(load.indices.size() == 1, "load of ", load.buffer->name, " is not flat");
  const Expr& index = load.indices[0];
  const int lanes = index->type.lanes;
  if (!memory.cells.empty()) return load_cells(memory, index, load.type);
  // What one scalar or a vector of another width needs: wanted where any lane is.
  llvm::Value* mask = mask_;
  const auto* mask_type = mask ? llvm::dyn_cast<llvm::FixedVectorType>(mask->getType()) : nullptr;
  const bool by_lane = mask_type && static_cast<int>(mask_type->getNumElements()) == lanes;
  const auto any_lane = [&] { return mask_type ? b_.CreateOrReduce(mask) : mask; };
  if (lanes == 1) return load_scalar(memory, storage, emit_value(index), any_lane());
  if (const auto* one = ir::as<ir::Broadcast>(index))
    return splat(load_scalar(memory, storage, emit_value(one->a), any_lane()), lanes);
  llvm::Type* type = llvm::FixedVectorType::get(memory_type(storage), static_cast<unsigned>(lanes));
  const llvm::Align align(static_cast<uint64_t>(ir::byte_size(storage)));
  if (const auto* ramp = ir::as<ir::Ramp>(index); ramp && ramp->stride == 1) {
    llvm::Value* pointer = address(memory, storage, emit_value(ramp->base));
    llvm::Instruction* value = nullptr;
    if (by_lane && !memory.is_private && target_.masked_loads) {
      value = b_.CreateMaskedLoad(type, pointer, align, mask, llvm::Constant::getNullValue(type));
    } else {
      if (mask && !memory.is_private)
        pointer = b_.CreateSelect(any_lane(), pointer, memory.pointer);
      value = b_.CreateAlignedLoad(type, pointer, align);
    }
    annotate(value, memory);
    return from_memory(value, storage);
  }
  if (const auto* ramp = ir::as<ir::Ramp>(index); ramp && !by_lane && is_short(ramp->stride))
    return from_memory(load_strided(memory, storage, *ramp, mask ? any_lane() : nullptr), storage);
  // A gather, lane by lane.
  llvm::Value* indices = emit_value(index);
  llvm::Value* result = llvm::PoisonValue::get(type_of({storage, lanes}));
  llvm::Value* all = by_lane ? nullptr : any_lane();
  for (uint64_t lane = 0; lane < static_cast<uint64_t>(lanes); ++lane) {
    llvm::Value* wanted = by_lane ? b_.CreateExtractElement(mask, lane) : all;
    llvm::Value* at = b_.CreateExtractElement(indices, lane);
    result = b_.CreateInsertElement(result, load_scalar(memory, storage, at, wanted), lane);
  }
  return result;
}

llvm::Value* FunctionEmitter::emit_word(const Expr& elements, ir::Type type) {
  const auto* load = ir::as<ir::Load>(elements);
  const auto* ramp =
      load && load->indices.size() == 1 ? ir::as<ir::Ramp>(load->indices[0]) : nullptr;
  if (!ramp || ramp->stride != 1 || !ir::is_int(load->type.dtype)) return nullptr;
  const Memory& memory = memory_of(load->buffer);
  const DType storage = load->buffer->storage;
  if (!memory.cells.empty() || storage != load->type.dtype || storage == DType::index)
    return nullptr;
  auto* word = b_.CreateAlignedLoad(type_of(type), address(memory, storage, emit_value(ramp->base)),
                                    llvm::Align(static_cast<uint64_t>(ir::byte_size(storage))));
  annotate(word, memory);
  return word;
}

void FunctionEmitter::emit_store(const ir::Store& store) {
  const Memory& memory = memory_of(store.buffer);
  const DType storage = store.buffer->storage;
  GS_CHECK(store.indices.size() == 1, "store to ", store.buffer->name, " is not flat");
  GS_CHECK(memory.written, "store to ", store.buffer->name, ", which is read only");
  const Expr& index = store.indices[0];
  llvm::Value* value = emit_value(store.value);
  if (!memory.cells.empty()) return store_cells(memory, index, value, store.value->type);
  const llvm::Align align(static_cast<uint64_t>(ir::byte_size(storage)));
  const auto write = [&](llvm::Value* at, llvm::Value* what) {
    annotate(b_.CreateAlignedStore(to_memory(what, storage), address(memory, storage, at), align),
             memory);
  };
  const auto* ramp = ir::as<ir::Ramp>(index);
  if (index->type.is_scalar()) return write(emit_value(index), value);
  if (ramp && ramp->stride == 1) return write(emit_value(ramp->base), value);
  llvm::Value* indices = emit_value(index);
  for (uint64_t lane = 0; lane < index->type.lanes; ++lane)
    write(b_.CreateExtractElement(indices, lane), b_.CreateExtractElement(value, lane));
}

llvm::Value* FunctionEmitter::load_cells(const Memory& memory, const Expr& index, ir::Type type) {
  const int64_t offset = constant_offset(index);
  llvm::AllocaInst* cell = memory.cells[static_cast<size_t>(offset / memory.cell_lanes)];
  llvm::Value* value = b_.CreateLoad(cell->getAllocatedType(), cell);
  if (type.lanes == memory.cell_lanes) return value;
  if (type.lanes == 1)
    return b_.CreateExtractElement(value, static_cast<uint64_t>(offset % memory.cell_lanes));
  llvm::SmallVector<int> part(static_cast<size_t>(type.lanes));
  std::iota(part.begin(), part.end(), static_cast<int>(offset % memory.cell_lanes));
  return b_.CreateShuffleVector(value, part);
}

void FunctionEmitter::store_cells(const Memory& memory, const Expr& index, llvm::Value* value,
                                  ir::Type type) {
  const int64_t offset = constant_offset(index);
  llvm::AllocaInst* cell = memory.cells[static_cast<size_t>(offset / memory.cell_lanes)];
  if (type.lanes != memory.cell_lanes) {
    const auto first = static_cast<uint64_t>(offset % memory.cell_lanes);
    llvm::Value* whole = b_.CreateLoad(cell->getAllocatedType(), cell);
    for (uint64_t lane = 0; lane < type.lanes; ++lane) {
      llvm::Value* one = type.lanes == 1 ? value : b_.CreateExtractElement(value, lane);
      whole = b_.CreateInsertElement(whole, one, first + lane);
    }
    value = whole;
  }
  b_.CreateStore(value, cell);
}

}  // namespace gossamer::codegen::llvm_
