#include "package/sha256.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "package/sha256_blocks.h"

namespace gossamer::package {

constexpr size_t block_size = 64;
// In one call: engines of wasm go over to faster code between calls only.
constexpr size_t most_blocks = 1024;

[[gnu::noinline]] static void add_blocks(Sha256Word* state, const unsigned char* blocks,
                                         size_t count) {
  sha256_add_blocks(state, blocks, count);
}

std::string sha256(std::span<const std::byte> bytes) {
  Sha256Word state[8] = GS_SHA256_BEGINNING;
  const auto add = [&](const std::byte* blocks, size_t count) {
    add_blocks(state, reinterpret_cast<const unsigned char*>(blocks), count);
  };
  const size_t whole = bytes.size() / block_size * block_size;
  for (size_t at = 0; at < whole; at += most_blocks * block_size)
    add(bytes.data() + at, std::min(most_blocks, (whole - at) / block_size));
  // 5.1.1: a one, zeros, and the number of bits, to the end of a block.
  std::byte tail[2 * block_size] = {};
  const size_t rest = bytes.size() - whole;
  if (rest > 0) std::memcpy(tail, bytes.data() + whole, rest);
  tail[rest] = std::byte{0x80};
  const size_t end = rest + 9 <= block_size ? block_size : 2 * block_size;
  const uint64_t bits = static_cast<uint64_t>(bytes.size()) * 8;
  for (size_t at = 0; at < 8; ++at) tail[end - 1 - at] = static_cast<std::byte>(bits >> (8 * at));
  add(tail, end / block_size);
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const Sha256Word word : state)
    for (int shift = 28; shift >= 0; shift -= 4) text += digits[word >> shift & 15];
  return text;
}

}  // namespace gossamer::package
