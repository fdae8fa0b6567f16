// Libraries and programs of a model: what runs it without a package and without this project's run
// time in C++ or TypeScript.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "compiler/compile.h"

namespace gossamer::library {

enum class Form : uint8_t { object, static_library, shared_library, c, wasi };

// "object", "static-lib", "shared-lib", "c", "wasi"
Result<Form> form_named(std::string_view name);

struct Options {
  Form form = Form::static_library;
  bool weights_beside = false;  // in NAME.weights, which the program reads or maps
};

// NAME.o, libNAME.a, libNAME.so, NAME.c or NAME.wasm, with NAME.h where there is one, for
// `compile.target`: "cpu" or "wasm". NAME is `compile.name` as an identifier, which must be given.
// Errors: as of compiler::compile; a form that the target or, without LLVM, this build does not
// have, what forms do not have, no linker.
Result<package::Files> make_library(std::span<const std::byte> model,
                                    const compiler::Options& compile, const Options& options,
                                    compiler::Report* report = nullptr);

}  // namespace gossamer::library
