// Regular expressions of RE2's syntax as deterministic automata over bytes of UTF-8.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gossamer::ops {

// Begins in state 0; a text matches as a whole if the state behind it accepts.
struct RegexAutomaton {
  std::vector<int32_t> classes;  // of each of the 256 bytes
  int32_t class_count = 0;
  std::vector<int32_t> next;     // [states, class_count]
  std::vector<uint8_t> accepts;  // of each state
  bool matches(std::string_view text) const;
};

// Errors: a pattern that is not of RE2's syntax, one with \p{...} or \C, one that takes too many
// states.
Result<RegexAutomaton> compile_regex(std::string_view pattern);

}  // namespace gossamer::ops
