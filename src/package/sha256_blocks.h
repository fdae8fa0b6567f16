// The blocks of SHA-256 (FIPS 180-4), in the C that pages compile by themselves as well
// (web/runtime/build/hash.mjs).
#pragma once

typedef unsigned int Sha256Word;

// 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes.
static const Sha256Word sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// 5.3.3: eight words.
#define GS_SHA256_BEGINNING \
  {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}

static inline Sha256Word sha256_rotated(Sha256Word x, int n) { return x >> n | x << (32 - n); }

// 6.2.2: adds so many blocks of 64 bytes to the state, on a little-endian machine.
static inline void sha256_add_blocks(Sha256Word* state, const unsigned char* block,
                                     unsigned long count) {
  Sha256Word w[64];
  for (; count > 0; --count, block += 64) {
    __builtin_memcpy(w, block, 64);
    for (int t = 0; t < 16; ++t) w[t] = __builtin_bswap32(w[t]);
    for (int t = 16; t < 64; ++t)
      w[t] = w[t - 16] +
             (sha256_rotated(w[t - 15], 7) ^ sha256_rotated(w[t - 15], 18) ^ w[t - 15] >> 3) +
             w[t - 7] +
             (sha256_rotated(w[t - 2], 17) ^ sha256_rotated(w[t - 2], 19) ^ w[t - 2] >> 10);
    Sha256Word a = state[0], b = state[1], c = state[2], d = state[3];
    Sha256Word e = state[4], f = state[5], g = state[6], h = state[7];
    for (int t = 0; t < 64; ++t) {
      const Sha256Word t1 = h +
                            (sha256_rotated(e, 6) ^ sha256_rotated(e, 11) ^ sha256_rotated(e, 25)) +
                            (g ^ (e & (f ^ g))) + sha256_constants[t] + w[t];
      const Sha256Word t2 = (sha256_rotated(a, 2) ^ sha256_rotated(a, 13) ^ sha256_rotated(a, 22)) +
                            ((a & b) | (c & (a | b)));
      h = g;
      g = f;
      f = e;
      e = d + t1;
      d = c;
      c = b;
      b = a;
      a = t1 + t2;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
  }
}
