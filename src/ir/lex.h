// Tokens of IR text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gossamer::ir::text {

struct Token {
  enum class Kind : uint8_t { word, number, symbol, end } kind = Kind::end;
  std::string text;    // a number without its suffix
  std::string suffix;  // of a number: the name of its type, or empty
  int line = 1;
};

// Ends with a token of kind `end`. The error names the line.
Result<std::vector<Token>> lex(std::string_view text);

}  // namespace gossamer::ir::text
