// Upper and lower case of letters, one for one: Unicode's simple case mapping.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gossamer::ops {

enum class LetterCase : uint8_t { upper, lower };

// Every `step`th letter from `first` to `last` is mapped to the one `shift` behind it.
struct CaseRange {
  int32_t first, last, step, shift;
};
// In order, without overlap; a mapped letter's UTF-8 is at most half as long again.
std::span<const CaseRange> case_ranges(LetterCase to);

int32_t in_case(LetterCase to, int32_t letter);
std::string in_case(LetterCase to, std::string_view text);  // UTF-8

void append_utf8(std::string& text, int32_t letter);

}  // namespace gossamer::ops
