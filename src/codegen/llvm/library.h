// A model's kernels, tables and run time as one object, by LLVM's linker of modules.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "codegen/llvm/emit.h"

namespace gossamer::codegen::llvm_ {

// Read-only data that the run time knows by name, at a multiple of 64 bytes.
struct LibraryData {
  std::string name;
  std::span<const std::byte> bytes;
};
// An array of pointers to functions of the kernels' module; where there are none, of one null.
struct LibraryTable {
  std::string name;
  std::vector<std::string> functions;
};

struct LibraryParts {
  std::span<const std::byte> kernels;                // of emit_bitcode
  std::vector<std::span<const std::byte>> run_time;  // bitcode of C files for the same machine
  std::vector<LibraryData> data;
  std::vector<LibraryTable> tables;
  // {name, data}: a constant that points to data; "": to nothing.
  std::vector<std::pair<std::string, std::string>> pointers;
  // {name in the run time, name for others}: all that the object defines for others to see.
  std::vector<std::pair<std::string, std::string>> exported;
  bool load_anywhere = true;  // code for a shared library
};

// Errors: bitcode that this LLVM does not read, names that are defined twice or not at all.
Result<std::vector<std::byte>> emit_library_object(const LibraryParts& parts,
                                                   const LlvmOptions& options);

// An archive (ar) with one member and its symbol table, for ELF, Mach-O and wasm.
Result<std::vector<std::byte>> write_archive(const std::string& member,
                                             std::span<const std::byte> object);

}  // namespace gossamer::codegen::llvm_
