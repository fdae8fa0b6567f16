#include "codegen/llvm/emit.h"

#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "codegen/llvm/function_emitter.h"
#include "codegen/llvm/target.h"

namespace gossamer::codegen::llvm_ {
namespace {

llvm::Function* add_function(llvm::Module& module, const Target& target, const std::string& name,
                             llvm::ArrayRef<llvm::Type*> parameters) {
  auto& context = module.getContext();
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), parameters, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
  function->addFnAttr("target-cpu", target.cpu);
  if (!target.features.empty()) function->addFnAttr("target-features", target.features);
  // LLVM splits 512-bit vectors on most processors unless told that they are meant.
  function->addFnAttr("prefer-vector-width", std::to_string(target.vector_bits));
  function->addFnAttr("min-legal-vector-width", std::to_string(target.vector_bits));
  function->addFnAttr("no-builtins");
  function->setDoesNotThrow();
  return function;
}

void add_kernel(llvm::Module& module, const Target& target, const ir::Kernel& kernel,
                const std::string& name) {
  auto& context = module.getContext();
  llvm::Type* word = llvm::Type::getIntNTy(context, target.index_bits);
  const llvm::Align align(target.index_bits / 8);
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  llvm::Function* function = add_function(module, target, name, {word, word, pointer});
  FunctionEmitter emitter(*function, target);
  llvm::IRBuilder<>& b = emitter.builder();
  llvm::Value* args = function->getArg(2);
  const auto argument = [&](size_t at, llvm::Type* type) {
    auto* load = b.CreateAlignedLoad(type, b.CreateConstGEP1_64(pointer, args, at), align);
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context, {}));
    return load;
  };
  for (size_t at = 0; at < kernel.params.size(); ++at)
    emitter.bind(kernel.params[at].buffer.get(), argument(at, pointer), kernel.params[at].written);
  for (size_t at = 0; at < kernel.scalars.size(); ++at)
    emitter.bind(kernel.scalars[at].get(), argument(kernel.params.size() + at, word));
  emitter.emit_kernel(kernel.body, function->getArg(0), function->getArg(1));
  emitter.finish();
}

void add_plan(llvm::Module& module, const Target& target, const PlanFunction& plan, int segment) {
  auto& context = module.getContext();
  llvm::Type* word = llvm::Type::getDoubleTy(context);
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  llvm::Function* function =
      add_function(module, target, segment_name(segment), {pointer, pointer});
  FunctionEmitter emitter(*function, target);
  llvm::IRBuilder<>& b = emitter.builder();
  for (size_t at = 0; at < plan.dims.size(); ++at)
    emitter.bind(plan.dims[at].get(),
                 b.CreateLoad(word, b.CreateConstGEP1_64(word, function->getArg(0), at)));
  for (size_t at = 0; at < plan.values.size(); ++at) {
    if (plan.segment_of(at) != segment) continue;
    b.CreateStore(emitter.emit_value(plan.values[at]),
                  b.CreateConstGEP1_64(word, function->getArg(1), at));
  }
  emitter.finish();
}

void build(llvm::Module& module, const Target& target, std::span<const ir::Kernel> kernels,
           const PlanFunction* plan) {
  module.setTargetTriple(target.machine->getTargetTriple().str());
  module.setDataLayout(target.machine->createDataLayout());
  module.setPICLevel(llvm::PICLevel::BigPIC);
  for (size_t at = 0; at < kernels.size(); ++at)
    add_kernel(module, target, kernels[at], cat("k", at));
  const PlanFunction numbers = plan ? in_doubles(*plan) : PlanFunction();
  for (int segment = 0; plan && segment < plan->segment_count(); ++segment)
    add_plan(module, target, numbers, segment);
  std::string problem;
  llvm::raw_string_ostream text(problem);
  GS_CHECK(!llvm::verifyModule(module, &text), "the LLVM module is malformed: ", problem);
}

}  // namespace

Result<std::vector<std::byte>> emit_bitcode(std::span<const ir::Kernel> kernels,
                                            const PlanFunction* plan, const LlvmOptions& options) {
  GS_ASSIGN(const Target target, make_target(options));
  llvm::LLVMContext context;
  llvm::Module module("kernels", context);
  build(module, target, kernels, plan);
  llvm::SmallVector<char, 0> bitcode;
  llvm::raw_svector_ostream out(bitcode);
  llvm::WriteBitcodeToFile(module, out);
  const auto* begin = reinterpret_cast<const std::byte*>(bitcode.data());
  return std::vector<std::byte>(begin, begin + bitcode.size());
}

Result<std::vector<std::byte>> emit_object(std::span<const ir::Kernel> kernels,
                                           const PlanFunction* plan, const LlvmOptions& options) {
  GS_ASSIGN(const Target target, make_target(options));
  llvm::LLVMContext context;
  llvm::Module module("kernels", context);
  build(module, target, kernels, plan);
  return compile_object(module, target);
}

}  // namespace gossamer::codegen::llvm_
