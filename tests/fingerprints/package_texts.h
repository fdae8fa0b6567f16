// Packages as texts and hashes. They depend on the compiler and the model only, not on the machine,
// paths, LLVM's code generator or the linker.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gossamer::fingerprints {

struct Job {
  std::string package;               // name in the list of fingerprints
  std::string model;                 // path of an ONNX file
  std::string name;                  // the model's name in the package
  std::string target;                // as of compiler::Options, or "c" for `--emit c`
  std::vector<std::string> options;  // see apply() in package_texts.cc
};

// Parses a line with the fields above, separated by tabs; options are separated by commas. Error:
// no target.
Result<Job> parse_job(std::string_view line);

// A kernel, the manifest, the weights or a function of the plan.
struct Part {
  std::string name;
  std::string text;          // empty for weights
  std::string hash;          // 10 hexadecimal digits
  std::string loop_ir = {};  // source of the code, for readers; not part of the hash
};
struct Fingerprint {
  std::string hash;  // 12 hexadecimal digits, over all files of the package
  std::vector<Part> parts;
};

// Compiles the model. The text of a kernel is what the target gets: a shader, C or disassembled
// WebAssembly. For machine code it is the LLVM IR before LLVM's passes, because object files depend
// on LLVM's version. Kernels without LLVM IR (option "state", machine code next to a GPU) have
// their loop IR instead. Errors: an unknown option, those of compiler::compile.
Result<Fingerprint> fingerprint_of(const Job& job);

}  // namespace gossamer::fingerprints
