#include "gossamer/commands/opening.h"

#include <cstdio>

#include "base/strings.h"
#include "compiler/instructions.h"

namespace gossamer::command {
namespace {

void count_into(compiler::Options& options, double& instructions, size_t& launches) {
  options.on_launch = [&](const ir::Kernel& kernel, std::span<const int64_t> scalars,
                          int64_t range) {
    instructions += compiler::instructions_of(kernel, scalars, range);
    ++launches;
  };
}

}  // namespace

void count_launches(compiler::Options& options, Opening& opening) {
  count_into(options, opening.instructions, opening.launches);
}

void compare_fixed(std::span<const std::byte> model, compiler::Options options,
                   const compiler::Report& report, Opening& opening) {
  opening.dims = report.dims;
  if (opening.dims.empty()) return;
  options.known.dims.insert(opening.dims.begin(), opening.dims.end());
  options.code = compiler::CodeForm::none;
  options.progress = {};
  count_into(options, opening.fixed, opening.fixed_launches);
  compiler::Report known;
  if (!compiler::compile(model, options, &known) || known.variables != report.variables)
    opening.fixed = 0;
}

std::string to_string(const Opening& opening) {
  std::string names, fixed;
  for (const auto& [name, extent] : opening.dims) {
    names += cat(names.empty() ? "" : ", ", name);
    fixed += cat(" --dim ", name, "=", extent);
  }
  if (opening.fixed == 0) return cat("open: ", names);
  char ratio[32];
  std::snprintf(ratio, sizeof ratio, "%.2f", opening.instructions / opening.fixed);
  return cat("open: ", names, ". A run takes ", ratio, "x the instructions that it takes with",
             fixed, ", and ", opening.launches, " launches instead of ", opening.fixed_launches);
}

}  // namespace gossamer::command
