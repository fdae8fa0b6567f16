// How a tensor of strings lies in memory: as two tensors, see docs/specs/package.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gossamer {

// `bytes` has `width` bytes a string, zeros behind its end; `lengths` an int32 each.
struct PackedStrings {
  int64_t width = 1;
  std::vector<std::byte> bytes, lengths;
};

// How many bytes a string they take: the longest one's, rounded up, so that strings of about one
// length make tensors of one shape. Errors: they would be more bytes in all than 31 bits count, as
// many empty strings and a long one are.
Result<size_t> packed_width(std::span<const std::string> strings);

// Strings whose packed_width is no error.
PackedStrings pack_strings(std::span<const std::string> strings);

// Errors: a length that is negative or greater than the width.
Result<std::vector<std::string>> unpack_strings(int64_t width, std::span<const std::byte> bytes,
                                                std::span<const std::byte> lengths);

// The text with \n, \r, \t and \xNN in place of what ends a line or controls a terminal: names in
// messages are a file's.
std::string one_line(std::string_view text);

}  // namespace gossamer
