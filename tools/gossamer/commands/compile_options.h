// The options of options.def on the command line: relaxed_simd is --relaxed-simd, and so on.
#pragma once

#include <map>
#include <string>

#include "compiler/compile.h"
#include "gossamer/command_line.h"

namespace gossamer::command {

using CompileOptionNames = std::map<std::string, Option>;  // "relaxed-simd", ...
CompileOptionNames add_compile_options(const Command& command, compiler::Options& options);

}  // namespace gossamer::command
