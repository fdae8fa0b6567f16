// Libraries and programs of a model: what runs it without a package and without this project's run
// time in C++ or TypeScript.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/compile.h"

namespace gossamer::library {

enum class Form : uint8_t { object, static_library, shared_library, c, wasi, oci, component };

// "object", "static-lib", "shared-lib", "c", "wasi", "oci", "component"
Result<Form> form_named(std::string_view name);

struct Options {
  Form form = Form::static_library;
  bool weights_beside = false;  // in NAME.weights, which the program reads or maps
  int threads =
      1;  // of a program: more take an engine with wasi-threads; libraries are told by init
};

// What NAME_values has, for callers that are not compiled with its header.
struct Interface {
  package::Module module;         // ports and groups
  std::vector<std::string> dims;  // named by the caller, in order
};

// NAME.o, libNAME.a, libNAME.so, NAME.c, NAME.wasm or an image of it (oci.h), with NAME.h where
// there is one, for `compile.target`: "cpu", "wasm" or, as Form::wasi, "webgpu". NAME is
// `compile.name` as an identifier, which must be given. Errors: as of compiler::compile; a form
// that the target or, without LLVM, this build does not have, what forms do not have, no linker.
Result<package::Files> make_library(std::span<const std::byte> model,
                                    const compiler::Options& compile, const Options& options,
                                    compiler::Report* report = nullptr,
                                    Interface* interface = nullptr);

}  // namespace gossamer::library
