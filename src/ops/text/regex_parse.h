// The syntax tree of a regular expression.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gossamer::ops {

struct LetterRange {
  int32_t low = 0, high = 0;
};
using LetterSet = std::vector<LetterRange>;  // sorted, apart

enum class RegexAssert : uint8_t {
  text_begin,
  text_end,
  line_begin,
  line_end,
  word_boundary,
  no_word_boundary
};

struct RegexNode {
  enum Kind : uint8_t { empty, set, sequence, choice, repeat, assertion } kind = empty;
  LetterSet letters;             // set
  std::vector<RegexNode> parts;  // sequence, choice, repeat (one)
  int low = 0, high = 0;         // repeat; high -1: without end
  RegexAssert assertion_kind = RegexAssert::text_begin;
};

Result<RegexNode> parse_regex(std::string_view pattern);

}  // namespace gossamer::ops
