// Memory of tensors.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace gossamer {

// Leaves new elements as they are, where std::allocator sets them to zero.
template <class T>
struct UnsetAllocator : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = UnsetAllocator<U>;
  };
  template <class U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
  }
};

// A vector whose resize(count) does not set the new ones: a run writes all of its results.
struct TensorBytes : std::vector<std::byte, UnsetAllocator<std::byte>> {
  using vector::vector;
  TensorBytes(const std::vector<std::byte>& other) : vector(other.begin(), other.end()) {}
};

}  // namespace gossamer
