// Prints the functions of compiled modules as text.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gossamer::fingerprints {

using Functions = std::map<std::string, std::string>;  // by name

// Disassembles the exported functions of a WebAssembly module. Errors: the module is malformed.
Result<Functions> wasm_functions(std::span<const std::byte> module);

// Prints the functions of a module of LLVM's bitcode. The entry "module" has everything else:
// attributes, declarations and constants. Errors: LLVM cannot read the module.
Result<Functions> llvm_functions(std::span<const std::byte> bitcode);

// Splits the output of codegen::c::emit_source into its kernels and plans. The entry "module" is
// the text before the first of them.
Functions c_functions(std::string_view source);

}  // namespace gossamer::fingerprints
