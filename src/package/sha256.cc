#include "package/sha256.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace gossamer::package {
namespace {

constexpr size_t block_size = 64;

// FIPS 180-4, 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64
// primes.
constexpr uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<uint32_t, 8>;

uint32_t word_at(const std::byte* bytes) {
  uint32_t word = 0;
  for (size_t at = 0; at < 4; ++at) word = word << 8 | std::to_integer<uint32_t>(bytes[at]);
  return word;
}

// 6.2.2
void add_block(State& state, const std::byte* block) {
  uint32_t w[64];
  for (size_t t = 0; t < 16; ++t) w[t] = word_at(block + 4 * t);
  for (size_t t = 16; t < 64; ++t) {
    const uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
    const uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t t = 0; t < 64; ++t) {
    const uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + constants[t] + w[t];
    const uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const State added{a, b, c, d, e, f, g, h};
  for (size_t at = 0; at < state.size(); ++at) state[at] += added[at];
}

}  // namespace

std::string sha256(std::span<const std::byte> bytes) {
  // 5.3.3
  State state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
              0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const size_t whole = bytes.size() / block_size * block_size;
  for (size_t at = 0; at < whole; at += block_size) add_block(state, bytes.data() + at);
  // 5.1.1: a one, zeros, and the number of bits, to the end of a block.
  std::byte tail[2 * block_size] = {};
  const size_t rest = bytes.size() - whole;
  if (rest > 0) std::memcpy(tail, bytes.data() + whole, rest);
  tail[rest] = std::byte{0x80};
  const size_t end = rest + 9 <= block_size ? block_size : 2 * block_size;
  const uint64_t bits = static_cast<uint64_t>(bytes.size()) * 8;
  for (size_t at = 0; at < 8; ++at) tail[end - 1 - at] = static_cast<std::byte>(bits >> (8 * at));
  for (size_t at = 0; at < end; at += block_size) add_block(state, tail + at);
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const uint32_t word : state)
    for (int shift = 28; shift >= 0; shift -= 4) text += digits[word >> shift & 15];
  return text;
}

}  // namespace gossamer::package
