// What open dimensions cost in a run.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/compile.h"

namespace gossamer::command {

struct Opening {
  std::vector<std::pair<std::string, int64_t>> dims;  // Report::dims
  double instructions = 0;                            // of a run with these extents
  double fixed = 0;                                   // the same of a package for these alone
  size_t launches = 0, fixed_launches = 0;
};

// Counts a compilation's launches in `opening`, which must outlive `options`.
void count_launches(compiler::Options& options, Opening& opening);

// Fills what is known only once the model is compiled again with its dimensions fixed. `options`
// and `report` are of the first compilation. `fixed` stays 0 where that fails, or where it makes
// sizes known that otherwise only a run computes, of which there is no estimate.
void compare_fixed(std::span<const std::byte> model, compiler::Options options,
                   const compiler::Report& report, Opening& opening);

// A line for people; of one with dims.
std::string to_string(const Opening& opening);

}  // namespace gossamer::command
