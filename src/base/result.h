// Results and diagnostics: everything a user can cause is a value, never an exception.
#pragma once

#include <expected>
#include <string>
#include <string_view>
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

// Concatenates strings and integers into one string; the core uses no stream and no std::format.
namespace detail {
std::string text_of(std::string_view piece);
std::string text_of(long long piece);
std::string text_of(unsigned long long piece);
std::string text_of(double piece);
template <class T>
std::string text_of_any(const T& piece) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return text_of(std::string_view(piece));
  } else if constexpr (std::is_floating_point_v<T>) {
    return text_of(static_cast<double>(piece));
  } else if constexpr (std::is_signed_v<T>) {
    return text_of(static_cast<long long>(piece));
  } else {
    return text_of(static_cast<unsigned long long>(piece));
  }
}
}  // namespace detail

template <class... Pieces>
std::string cat(const Pieces&... pieces) {
  std::string text;
  (text.append(detail::text_of_any(pieces)), ...);
  return text;
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
