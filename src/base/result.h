// Results and diagnostics: everything a user can cause is a value, never an exception.
#pragma once

#include <expected>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace gossamer {

// What went wrong, where, and what to do about it. Printed as `where: message (hint)`.
struct Diagnostic {
  std::string where;    // "[Conv] \"features.3\"", a file name, an option; may be empty
  std::string message;  // one line, with both shapes or values where two things disagree
  std::string hint;     // what the user can do; may be empty

  std::string to_string() const;
};

template <class T = void>
using Result = std::expected<T, Diagnostic>;

// `return fail("weight has 3 input channels, input has 4");`
std::unexpected<Diagnostic> fail(std::string message, std::string hint = {});
std::unexpected<Diagnostic> fail_at(std::string where, std::string message, std::string hint = {});

// Concatenates strings and numbers into one string; the core uses no stream and no std::format.
namespace detail {
// What stays of a piece's type. Each list of them is one more function in compiler.wasm, so there
// are no literals by their lengths and no integers by their widths.
template <class T>
auto piece_of(const T& piece) {
  if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) {
    return &piece;
  } else if constexpr (std::is_convertible_v<const T&, const char*>) {
    return static_cast<const char*>(piece);
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<double>(piece);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<long long>(piece);
  } else {
    return static_cast<unsigned long long>(piece);
  }
}

struct Piece {
  enum Kind { literal, string, view, integer, natural, number } kind;
  union {
    const char* of_literal;
    const std::string* of_string;
    const std::string_view* of_view;
    long long of_integer;
    unsigned long long of_natural;
    double of_number;
  };
  Piece(const char* piece) : kind(literal), of_literal(piece) {}
  Piece(const std::string* piece) : kind(string), of_string(piece) {}
  Piece(const std::string_view* piece) : kind(view), of_view(piece) {}
  Piece(long long piece) : kind(integer), of_integer(piece) {}
  Piece(unsigned long long piece) : kind(natural), of_natural(piece) {}
  Piece(double piece) : kind(number), of_number(piece) {}
};
std::string join(std::initializer_list<Piece> pieces);

template <class... Pieces>
std::string join_pieces(Pieces... pieces) {
  return join({pieces...});
}
}  // namespace detail

template <class... Pieces>
[[gnu::always_inline]] inline std::string cat(const Pieces&... pieces) {
  return detail::join_pieces(detail::piece_of(pieces)...);
}

// A broken invariant of ours: prints and stops (traps in wasm).
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);

}  // namespace gossamer

#define GS_CHECK(condition, ...)                                                                   \
  do {                                                                                             \
    if (!static_cast<bool>(condition))                                                             \
      ::gossamer::check_failed(__FILE_NAME__, __LINE__, #condition, ::gossamer::cat(__VA_ARGS__)); \
  } while (false)

#define GS_CONCAT_(a, b) a##b
#define GS_CONCAT(a, b) GS_CONCAT_(a, b)

// GS_TRY(expression);            returns the error of a Result<void>
// GS_ASSIGN(auto x, expression); declares x from a Result<T> or returns the error
#define GS_TRY(...)                                         \
  do {                                                      \
    if (auto gs_status = (__VA_ARGS__); !gs_status)         \
      return std::unexpected(std::move(gs_status).error()); \
  } while (false)
#define GS_ASSIGN(declaration, ...)                                             \
  auto GS_CONCAT(gs_result_, __LINE__) = (__VA_ARGS__);                         \
  if (!GS_CONCAT(gs_result_, __LINE__))                                         \
    return std::unexpected(std::move(GS_CONCAT(gs_result_, __LINE__)).error()); \
  declaration = *std::move(GS_CONCAT(gs_result_, __LINE__))
