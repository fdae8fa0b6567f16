// Results that are there at once or later: a coroutine gives one, and so does a plain value. It
// begins where it is awaited; one that never waits costs no stack.
#pragma once

#include <concepts>
#include <coroutine>
#include <optional>
#include <utility>

#include "base/result.h"

namespace gossamer::tune {

template <class T>
class [[nodiscard]] Task {
 public:
  struct promise_type {
    std::optional<T> value;
    std::coroutine_handle<> waiting;

    struct Done {
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<promise_type> self) const noexcept {
        if (const auto waiting = self.promise().waiting) waiting.resume();
      }
      void await_resume() const noexcept {}
    };

    Task get_return_object() { return Task(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    Done final_suspend() const noexcept { return {}; }
    void return_value(T given) { value.emplace(std::move(given)); }
    void unhandled_exception() const noexcept {}  // there are none
  };

  // What is known already.
  Task()
    requires std::default_initializable<T>
      : value_(T()) {}
  template <class U>
    requires(std::convertible_to<U, T> && !std::same_as<std::remove_cvref_t<U>, Task>)
  Task(U&& value) : value_(std::forward<U>(value)) {}

  Task(Task&& other) noexcept
      : handle_(std::exchange(other.handle_, {})), value_(std::move(other.value_)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  // Until it is done, or waits for something outside.
  void begin() {
    if (handle_) handle_.resume();
  }
  bool is_done() const { return !handle_ || handle_.done(); }
  // Of one that is done, once.
  T take() { return handle_ ? *std::move(handle_.promise().value) : *std::move(value_); }

  // Of one that waits for nothing outside.
  T now() {
    begin();
    GS_CHECK(is_done(), "a task waits, and nothing will tell it");
    return take();
  }

  // `co_await task`.
  bool await_ready() {
    begin();
    return is_done();
  }
  void await_suspend(std::coroutine_handle<> waiting) { handle_.promise().waiting = waiting; }
  T await_resume() { return take(); }

 private:
  using Handle = std::coroutine_handle<promise_type>;
  explicit Task(Handle handle) : handle_(handle) {}

  Handle handle_;
  std::optional<T> value_;
};

}  // namespace gossamer::tune

// GS_TRY and GS_ASSIGN (base/result.h) in a coroutine: GS_CO_TRY(co_await task);
#define GS_CO_TRY(...)                                         \
  do {                                                         \
    if (auto gs_status = (__VA_ARGS__); !gs_status)            \
      co_return std::unexpected(std::move(gs_status).error()); \
  } while (false)
#define GS_CO_ASSIGN(declaration, ...)                                             \
  auto GS_CONCAT(gs_result_, __LINE__) = (__VA_ARGS__);                            \
  if (!GS_CONCAT(gs_result_, __LINE__))                                            \
    co_return std::unexpected(std::move(GS_CONCAT(gs_result_, __LINE__)).error()); \
  declaration = *std::move(GS_CONCAT(gs_result_, __LINE__))
