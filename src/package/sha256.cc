#include "package/sha256.h"

#include <algorithm>
#include <cstdint>

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

decltype(add_blocks)* fastest() {
#if defined(__x86_64__)
  static const bool has = has_instructions();
  if (has) return add_blocks_by_instructions;
#endif
  return add_blocks;
}

}  // namespace

Sha256::Sha256() : Sha256(fastest()) {}

Sha256::Sha256(AddBlocks* add_blocks)
    : add_blocks_(add_blocks), state_(GS_SHA256_BEGINNING), rest_{} {}

void Sha256::add(std::span<const std::byte> bytes) {
  const auto add_blocks = [&](std::span<const std::byte> blocks) {
    for (size_t at = 0; at < blocks.size(); at += most_blocks * block_size)
      add_blocks_(state_.data(), reinterpret_cast<const unsigned char*>(blocks.data() + at),
                  std::min(most_blocks, (blocks.size() - at) / block_size));
  };
  const size_t kept = length_ % block_size;
  length_ += bytes.size();
  if (kept > 0) {
    const auto head = bytes.first(std::min(bytes.size(), block_size - kept));
    std::ranges::copy(head, rest_.begin() + static_cast<std::ptrdiff_t>(kept));
    bytes = bytes.subspan(head.size());
    if (length_ % block_size != 0 && bytes.empty()) return;
    add_blocks(rest_);
  }
  const auto whole = bytes.first(bytes.size() / block_size * block_size);
  add_blocks(whole);
  std::ranges::copy(bytes.subspan(whole.size()), rest_.begin());
}

std::string Sha256::finish() {
  // 5.1.1: a one, zeros, and the number of bits, to the end of a block.
  const uint64_t bits = length_ * 8;
  std::byte tail[2 * block_size] = {std::byte{0x80}};
  const size_t kept = length_ % block_size;
  const size_t end = (kept + 9 <= block_size ? block_size : 2 * block_size) - kept;
  for (size_t at = 0; at < 8; ++at) tail[end - 1 - at] = static_cast<std::byte>(bits >> (8 * at));
  add(std::span(tail, end));
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const Sha256Word word : state_)
    for (int shift = 28; shift >= 0; shift -= 4) text += digits[word >> shift & 15];
  return text;
}

std::string sha256(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}

std::string sha256_without_instructions(std::span<const std::byte> bytes) {
  Sha256 hash(add_blocks);
  hash.add(bytes);
  return hash.finish();
}

}  // namespace gossamer::package
