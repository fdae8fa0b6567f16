#include "package/sha256.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "package/sha256_blocks.h"

namespace gossamer::package {
namespace {

constexpr size_t block_size = 64;
// In one call: engines of wasm go over to faster code between calls only.
constexpr size_t most_blocks = 1024;

[[gnu::noinline]] void add_blocks(Sha256Word* state, const unsigned char* blocks, size_t count) {
  sha256_add_blocks(state, blocks, count);
}

#if defined(__x86_64__)

// By the processor's own instructions, some six times as fast.
[[gnu::target("sha,sse4.1")]] void add_blocks_by_instructions(Sha256Word* state,
                                                              const unsigned char* blocks,
                                                              size_t count) {
  const auto load = [](const void* from) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  };
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  // They want a, b, e, f in one register and c, d, g, h in the other, the first word highest.
  const __m128i cdab = _mm_shuffle_epi32(load(state), 0xb1);
  const __m128i efgh = _mm_shuffle_epi32(load(state + 4), 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  for (; count > 0; --count, blocks += block_size) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];
    for (int at = 0; at < 4; ++at) w[at] = _mm_shuffle_epi8(load(blocks + 16 * at), big_endian);
#pragma GCC unroll 16
    for (int t = 0; t < 16; ++t) {
      const __m128i words = _mm_add_epi32(w[t % 4], load(sha256_constants + 4 * t));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, words);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(words, 0x0e));
      if (t >= 12) continue;
      const __m128i last = w[(t + 3) % 4];
      const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w[t % 4], w[(t + 1) % 4]),
                                        _mm_alignr_epi8(last, w[(t + 2) % 4], 4));
      w[t % 4] = _mm_sha256msg2_epu32(sum, last);
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state), _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

bool has_instructions() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSE4_1)) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_SHA;
}

#endif

std::string sha256_by(decltype(add_blocks)* add, std::span<const std::byte> bytes) {
  Sha256Word state[8] = GS_SHA256_BEGINNING;
  const auto add_bytes = [&](const std::byte* blocks, size_t count) {
    add(state, reinterpret_cast<const unsigned char*>(blocks), count);
  };
  const size_t whole = bytes.size() / block_size * block_size;
  for (size_t at = 0; at < whole; at += most_blocks * block_size)
    add_bytes(bytes.data() + at, std::min(most_blocks, (whole - at) / block_size));
  // 5.1.1: a one, zeros, and the number of bits, to the end of a block.
  std::byte tail[2 * block_size] = {};
  const size_t rest = bytes.size() - whole;
  if (rest > 0) std::memcpy(tail, bytes.data() + whole, rest);
  tail[rest] = std::byte{0x80};
  const size_t end = rest + 9 <= block_size ? block_size : 2 * block_size;
  const uint64_t bits = static_cast<uint64_t>(bytes.size()) * 8;
  for (size_t at = 0; at < 8; ++at) tail[end - 1 - at] = static_cast<std::byte>(bits >> (8 * at));
  add_bytes(tail, end / block_size);
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const Sha256Word word : state)
    for (int shift = 28; shift >= 0; shift -= 4) text += digits[word >> shift & 15];
  return text;
}

}  // namespace

std::string sha256(std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  static const bool has = has_instructions();
  if (has) return sha256_by(add_blocks_by_instructions, bytes);
#endif
  return sha256_by(add_blocks, bytes);
}

std::string sha256_without_instructions(std::span<const std::byte> bytes) {
  return sha256_by(add_blocks, bytes);
}

}  // namespace gossamer::package
