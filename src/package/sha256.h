// SHA-256 (FIPS 180-4), by which caches know the files of a package.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace gossamer::package {

// The hash of bytes that come in parts.
class Sha256 {
 public:
  Sha256();
  void add(std::span<const std::byte> bytes);
  // 64 lower-case hexadecimal digits; nothing can be added afterwards.
  std::string finish();

 private:
  friend std::string sha256_without_instructions(std::span<const std::byte> bytes);
  using AddBlocks = void(uint32_t* state, const unsigned char* blocks, size_t count);
  explicit Sha256(AddBlocks* add_blocks);

  AddBlocks* add_blocks_;
  std::array<uint32_t, 8> state_;
  std::array<std::byte, 64> rest_;  // of a block that is not whole yet
  uint64_t length_ = 0;
};

// The same of all bytes at once. By the processor's instructions for it, where it has some.
std::string sha256(std::span<const std::byte> bytes);
// The same without them.
std::string sha256_without_instructions(std::span<const std::byte> bytes);

}  // namespace gossamer::package
