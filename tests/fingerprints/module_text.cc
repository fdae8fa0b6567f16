#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

#include "fingerprints/module_text.h"

namespace gossamer::fingerprints {

Result<Functions> llvm_functions(std::span<const std::byte> bitcode) {
  llvm::LLVMContext context;
  const llvm::StringRef bytes(reinterpret_cast<const char*>(bitcode.data()), bitcode.size());
  auto module = llvm::parseBitcodeFile({bytes, "kernels"}, context);
  if (!module) return fail(cat("LLVM cannot read its bitcode: ", toString(module.takeError())));
  Functions functions;
  for (llvm::Function& function : **module) {
    if (function.isDeclaration()) continue;
    const std::string name = function.getName().str();
    llvm::raw_string_ostream text(functions[name]);
    function.setName("function");  // the text does not depend on the kernel's number
    function.print(text);
    function.setName(name);
  }
  // One declaration stays, so that the attributes shared by all functions are printed.
  for (llvm::Function& function : **module) function.deleteBody();
  while ((*module)->size() > 1) (*module)->getFunctionList().back().eraseFromParent();
  llvm::raw_string_ostream text(functions["module"]);
  (*module)->print(text, nullptr);
  return functions;
}

Functions c_functions(std::string_view source) {
  constexpr std::string_view begins = "\nstatic void ";
  const auto is_ours = [&](size_t at) {
    const std::string_view name = source.substr(at + begins.size());
    return name.starts_with("plan") ||
           (name.starts_with("k") && name.size() > 1 && name[1] >= '0' && name[1] <= '9');
  };
  const auto next = [&](size_t from) {
    size_t at = source.find(begins, from);
    while (at != std::string_view::npos && !is_ours(at)) at = source.find(begins, at + 1);
    return std::min(at, source.size());
  };
  Functions functions;
  size_t at = next(0);
  functions["module"] = source.substr(0, at);
  while (at < source.size()) {
    const size_t end = next(at + 1);
    const std::string_view text = source.substr(at + begins.size(), end - at - begins.size());
    const size_t name = std::min(text.find('('), text.size());
    functions[std::string(text.substr(0, name))] = text.substr(name);
    at = end;
  }
  return functions;
}

}  // namespace gossamer::fingerprints
