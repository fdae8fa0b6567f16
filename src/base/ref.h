// Intrusive reference counting for the immutable IR nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace gossamer {

// Base of counted objects. Not atomic: a program tree belongs to one thread at a time.
struct RefCounted {
  mutable uint32_t references = 0;
  RefCounted() = default;
  RefCounted(const RefCounted&) {}
  RefCounted& operator=(const RefCounted&) { return *this; }
};

// T must be complete where a Ref is destroyed, and `void release(const T*)` visible by ADL.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(const T* pointer) : pointer_(pointer) { retain(); }
  Ref(const Ref& other) : pointer_(other.pointer_) { retain(); }
  Ref(Ref&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
  template <class U>
    requires(std::is_base_of_v<T, U> && !std::is_same_v<T, U>)
  Ref(const Ref<U>& other) : pointer_(other.get()) {
    retain();
  }
  Ref& operator=(Ref other) noexcept {
    std::swap(pointer_, other.pointer_);
    return *this;
  }
  ~Ref() {
    if (pointer_ && --pointer_->references == 0) release(pointer_);
  }

  const T* get() const { return pointer_; }
  const T* operator->() const { return pointer_; }
  const T& operator*() const { return *pointer_; }
  explicit operator bool() const { return pointer_ != nullptr; }
  // Identity, not structure: see ir/rewrite.h for the latter.
  bool same(const Ref& other) const { return pointer_ == other.pointer_; }
  // Gives up this count without releasing: the caller now owns it.
  const T* detach() { return std::exchange(pointer_, nullptr); }

 private:
  void retain() const {
    if (pointer_) ++pointer_->references;
  }
  const T* pointer_ = nullptr;
};

}  // namespace gossamer
