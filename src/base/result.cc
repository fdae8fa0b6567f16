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

namespace detail {
std::string text_of(std::string_view piece) { return std::string(piece); }
std::string text_of(long long piece) { return std::to_string(piece); }
std::string text_of(unsigned long long piece) { return std::to_string(piece); }
std::string text_of(double piece) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.17g", piece);
  return buffer;
}
}  // namespace detail

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "gossamer: internal check failed: %s (%s:%d)\n%s\n", condition, file, line,
               message.c_str());
  std::abort();
}

}  // namespace gossamer
