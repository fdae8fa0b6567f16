// Regular expressions of RE2's syntax as deterministic automata over bytes of UTF-8.
#pragma once

#include <array>
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

// What is next to a place between two bytes: the end of the text, a letter, digit or underscore, a
// new line, or something else.
enum class RegexSide : uint8_t { nothing, word, newline, other };
RegexSide regex_side_of(int byte);

// Finds matches inside of a text: it begins anywhere, and ends wherever a state accepts.
struct RegexSearch {
  RegexAutomaton automaton;
  std::array<int32_t, 4> starts{};      // the first state after each side
  std::vector<uint8_t> accepts_before;  // [states, 4], whether the match ends before each side
  bool matches_nothing = false;         // whether a match may have no bytes
  int64_t longest = -1;                 // bytes of a match; -1: any number
  // Bytes of the longest match that begins at a place of the text; -1 for none.
  int64_t match_at(std::string_view text, size_t place) const;
};
Result<RegexSearch> compile_regex_search(std::string_view pattern);

}  // namespace gossamer::ops
