#include "codegen/llvm/library.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/IPO.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/IPO/Internalize.h>

#include <set>

#include "codegen/llvm/target.h"

namespace gossamer::codegen::llvm_ {
namespace {

llvm::StringRef text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<std::unique_ptr<llvm::Module>> read(std::span<const std::byte> bitcode,
                                           llvm::LLVMContext& context) {
  auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(text_of(bitcode), "bitcode"), context);
  if (module) return std::move(*module);
  return fail(cat("LLVM cannot read the code: ", llvm::toString(module.takeError())));
}

// The definition of what the run time declares, or a new one.
void define(llvm::Module& module, const std::string& name, llvm::Constant* value, bool constant) {
  llvm::GlobalVariable* declared = module.getNamedGlobal(name);
  auto* made = new llvm::GlobalVariable(module, value->getType(), constant,
                                        llvm::GlobalValue::ExternalLinkage, value, "");
  made->setAlignment(llvm::Align(64));
  made->setDSOLocal(true);
  made->setVisibility(llvm::GlobalValue::HiddenVisibility);
  if (declared) {
    declared->replaceAllUsesWith(made);
    declared->eraseFromParent();
  }
  made->setName(name);
}

Result<> add_tables(llvm::Module& module, const LibraryParts& parts) {
  auto& context = module.getContext();
  llvm::PointerType* pointer = llvm::PointerType::getUnqual(context);
  for (const LibraryData& data : parts.data)
    define(module, data.name,
           llvm::ConstantDataArray::getString(context, text_of(data.bytes), false), true);
  for (const LibraryTable& table : parts.tables) {
    std::vector<llvm::Constant*> functions;
    for (const std::string& name : table.functions) {
      llvm::Function* function = module.getFunction(name);
      if (!function) return fail(cat("the code has no ", name), "compile the model again");
      functions.push_back(function);
    }
    if (functions.empty()) functions.push_back(llvm::ConstantPointerNull::get(pointer));
    define(module, table.name,
           llvm::ConstantArray::get(llvm::ArrayType::get(pointer, functions.size()), functions),
           true);
  }
  for (const auto& [name, data] : parts.pointers)
    define(module, name,
           data.empty() ? llvm::ConstantPointerNull::get(pointer)
                        : static_cast<llvm::Constant*>(module.getNamedGlobal(data)),
           true);
  return {};
}

// Others see what is exported, under its name for others, and nothing else.
Result<> name_symbols(llvm::Module& module, const LibraryParts& parts) {
  std::set<std::string> seen;
  for (const auto& [name, given] : parts.exported) {
    llvm::Function* function = module.getFunction(name);
    if (!function || function->isDeclaration()) return fail(cat("the run time has no ", name));
    if (llvm::GlobalValue* other = module.getNamedValue(given); other && other != function) {
      if (other->isDeclaration())
        return fail(cat("the name ", given, " is one of the C library's"),
                    "choose another by --name");
      other->setName("gs_other");
    }
    function->setName(given);
    if (function->getName() != given) return fail(cat("the name ", given, " is taken"));
    function->setVisibility(llvm::GlobalValue::DefaultVisibility);
    function->setDSOLocal(false);
    seen.insert(given);
  }
  llvm::internalizeModule(
      module, [&](const llvm::GlobalValue& value) { return seen.contains(value.getName().str()); });
  llvm::ModuleAnalysisManager analyses;
  llvm::GlobalDCEPass().run(module, analyses);
  return {};
}

}  // namespace

Result<std::vector<std::byte>> emit_library_object(const LibraryParts& parts,
                                                   const LlvmOptions& options) {
  LlvmOptions placed = options;
  placed.fixed_place = !parts.load_anywhere;
  GS_ASSIGN(const Target target, make_target(placed));
  llvm::LLVMContext context;
  GS_ASSIGN(std::unique_ptr<llvm::Module> module, read(parts.kernels, context));
  if (!parts.load_anywhere) module->setPICLevel(llvm::PICLevel::NotPIC);
  llvm::Linker linker(*module);
  for (const std::span<const std::byte> code : parts.run_time) {
    GS_ASSIGN(std::unique_ptr<llvm::Module> part, read(code, context));
    part->setTargetTriple(module->getTargetTriple());
    part->setDataLayout(module->getDataLayout());
    if (linker.linkInModule(std::move(part)))
      return fail("the run time does not link with the code");
  }
  GS_TRY(add_tables(*module, parts));
  GS_TRY(name_symbols(*module, parts));
  return compile_object(*module, target);
}

Result<std::vector<std::byte>> write_archive(const std::string& member,
                                             std::span<const std::byte> object) {
  std::vector<llvm::NewArchiveMember> members;
  members.emplace_back(llvm::MemoryBufferRef(text_of(object), member));
  auto archive = llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NormalSymtab,
                                            llvm::object::Archive::K_GNU, true, false);
  if (!archive) return fail(cat("no archive: ", llvm::toString(archive.takeError())));
  const auto* begin = reinterpret_cast<const std::byte*>((*archive)->getBufferStart());
  return std::vector<std::byte>(begin, begin + (*archive)->getBufferSize());
}

}  // namespace gossamer::codegen::llvm_
