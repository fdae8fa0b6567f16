#include "base/result.h"

#include <cstdio>
#include <cstdlib>

#include "base/strings.h"

namespace gossamer {

std::string Diagnostic::to_string() const {
  std::string text = where.empty() ? message : where + ": " + message;
  if (!hint.empty()) text += " (" + hint + ")";
  return one_line(text);
}

std::unexpected<Diagnostic> fail(std::string message, std::string hint) {
  return std::unexpected(Diagnostic{{}, std::move(message), std::move(hint)});
}

std::unexpected<Diagnostic> fail_at(std::string where, std::string message, std::string hint) {
  return std::unexpected(Diagnostic{std::move(where), std::move(message), std::move(hint)});
}

std::string detail::join(std::initializer_list<Piece> pieces) {
  std::string text;
  for (const Piece& piece : pieces) {
    switch (piece.kind) {
      case Piece::literal:
        text.append(piece.of_literal);
        break;
      case Piece::string:
        text.append(*piece.of_string);
        break;
      case Piece::view:
        text.append(*piece.of_view);
        break;
      case Piece::integer:
        text.append(std::to_string(piece.of_integer));
        break;
      case Piece::natural:
        text.append(std::to_string(piece.of_natural));
        break;
      case Piece::number: {
        char buffer[40];
        std::snprintf(buffer, sizeof buffer, "%.17g", piece.of_number);
        text.append(buffer);
      }
    }
  }
  return text;
}

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "gossamer: internal check failed: %s (%s:%d)\n%s\n", condition, file, line,
               message.c_str());
  std::abort();
}

}  // namespace gossamer
