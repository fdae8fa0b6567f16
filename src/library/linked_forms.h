// The forms that LLVM makes: objects, libraries, programs.
#pragma once

#include <span>
#include <string>

#include "library/encode.h"
#include "library/library.h"

namespace gossamer::library {

// A model before it has a form.
struct Made {
  package::Module module;
  Encoded encoded;
  std::span<const std::byte> code;  // kernels.bc or kernels.c
};

// Without LLVM an error.
Result<package::Files> finish_linked(const std::string& name, Made& made,
                                     const compiler::Options& compile, const Options& options);

}  // namespace gossamer::library
