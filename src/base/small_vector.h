// A vector whose first elements need no allocation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <utility>

namespace gossamer {

// std::vector's interface, as far as it is used. Up to N elements are stored in the object itself.
// A move leaves the source empty. It copies bytes, so T must not contain its own address (Ref,
// SmallVector and what is made of them do not).
template <class T, size_t N>
class SmallVector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() = default;
  SmallVector(std::initializer_list<T> elements) { append(elements.begin(), elements.end()); }
  SmallVector(const SmallVector& other) { append(other.begin(), other.end()); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      clear();
      append(other.begin(), other.end());
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  ~SmallVector() { release(); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return is_inline() ? reinterpret_cast<T*>(storage_) : heap_; }
  T* end() { return begin() + size_; }
  const T* begin() const { return is_inline() ? reinterpret_cast<const T*>(storage_) : heap_; }
  const T* end() const { return begin() + size_; }
  auto rbegin() const { return std::reverse_iterator(end()); }
  auto rend() const { return std::reverse_iterator(begin()); }
  T& operator[](size_t at) { return begin()[at]; }
  const T& operator[](size_t at) const { return begin()[at]; }
  T& back() { return begin()[size_ - 1]; }
  const T& back() const { return begin()[size_ - 1]; }

  void reserve(size_t count) {
    if (count > capacity_) grow(count);
  }
  // By value: the element may be one of this vector.
  void push_back(T element) {
    if (size_ == capacity_) grow(size_ + 1);
    std::construct_at(end(), std::move(element));
    ++size_;
  }
  void pop_back() {
    --size_;
    std::destroy_at(end());
  }
  void clear() {
    std::destroy(begin(), end());
    size_ = 0;
  }
  void erase(T* at) {
    std::move(at + 1, end(), at);
    pop_back();
  }
  template <class Condition>
  void erase_if(Condition condition) {
    T* kept = std::remove_if(begin(), end(), condition);
    std::destroy(kept, end());
    size_ = static_cast<uint32_t>(kept - begin());
  }

 private:
  bool is_inline() const { return capacity_ == N; }

  void append(const T* first, const T* last) {
    reserve(size_ + static_cast<size_t>(last - first));
    std::uninitialized_copy(first, last, end());
    size_ += static_cast<uint32_t>(last - first);
  }
  // This one has no elements and no allocation.
  void take(SmallVector& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, static_cast<uint32_t>(N));
    if (is_inline()) {
      std::memcpy(storage_, other.storage_, size_ * sizeof(T));
    } else {
      heap_ = other.heap_;
    }
  }
  void release() {
    clear();
    if (is_inline()) return;
    std::allocator<T>().deallocate(heap_, capacity_);
    capacity_ = N;
  }
  void grow(size_t count) {
    const size_t capacity = std::max<size_t>(count, size_t{2} * capacity_);
    T* larger = std::allocator<T>().allocate(capacity);
    std::memcpy(static_cast<void*>(larger), static_cast<const void*>(begin()), size_ * sizeof(T));
    if (!is_inline()) std::allocator<T>().deallocate(heap_, capacity_);
    heap_ = larger;
    capacity_ = static_cast<uint32_t>(capacity);
  }

  uint32_t size_ = 0;
  uint32_t capacity_ = N;  // more than N: on the heap
  union {
    T* heap_;
    alignas(T) std::byte storage_[N * sizeof(T)];
  };
};

}  // namespace gossamer
