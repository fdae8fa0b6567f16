// Memory of tensors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace gossamer {

// Bytes that grow as a vector's do, but for resize(count), which leaves new ones as they are, where
// a vector sets them to zero: a run writes all of its results.
class TensorBytes {
 public:
  TensorBytes() = default;
  template <std::contiguous_iterator Iterator>
  TensorBytes(Iterator first, Iterator last) {
    assign(first, last);
  }
  TensorBytes(const std::vector<std::byte>& other) : TensorBytes(other.begin(), other.end()) {}
  TensorBytes(const TensorBytes& other) : TensorBytes(other.begin(), other.end()) {}
  TensorBytes(TensorBytes&& other) noexcept { swap(other); }
  TensorBytes& operator=(TensorBytes other) noexcept {
    swap(other);
    return *this;
  }

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  std::byte* begin() { return data(); }
  std::byte* end() { return data() + size_; }
  const std::byte* begin() const { return data(); }
  const std::byte* end() const { return data() + size_; }
  std::byte& operator[](size_t at) { return data_[at]; }
  std::byte operator[](size_t at) const { return data_[at]; }

  void resize(size_t count) {
    if (count > capacity_) {
      const size_t room = std::max(count, capacity_ + capacity_ / 2);
      auto larger = std::make_unique_for_overwrite<std::byte[]>(room);
      if (size_ > 0) std::memcpy(larger.get(), data_.get(), size_);
      data_ = std::move(larger);
      capacity_ = room;
    }
    size_ = count;
  }
  void resize(size_t count, std::byte value) {
    const size_t before = size_;
    resize(count);
    if (count > before) std::fill(begin() + before, end(), value);
  }
  template <std::contiguous_iterator Iterator>
  void assign(Iterator first, Iterator last) {
    const auto from = std::as_bytes(std::span(first, last));
    size_ = 0;
    resize(from.size());
    if (!from.empty()) std::memcpy(data(), from.data(), from.size());
  }
  void append(std::span<const std::byte> more) {
    const size_t before = size_;
    resize(before + more.size());
    std::ranges::copy(more, begin() + before);
  }
  void clear() { size_ = 0; }
  void swap(TensorBytes& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  friend bool operator==(const TensorBytes& a, const TensorBytes& b) {
    return std::ranges::equal(a, b);
  }

 private:
  std::unique_ptr<std::byte[]> data_;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace gossamer
