// How weights of GGUF files are packed: blocks of numbers along the last axis.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace gossamer::ops {

// Byte offsets in a block, -1 where it has no such part. A number is
//   (code - zero) * scale + minimum                            of plain blocks,
//   (code - zero) * (scale * sub_scale) - minimum * sub_minimum   of blocks of blocks.
struct BlockFormat {
  std::string_view name;
  int32_t type;      // ggml_type
  int32_t numbers;   // of a block
  int32_t bytes;     // of a block
  int32_t bits = 4;  // of a code, 8 or: the low 4 bits and, apart, others
  int32_t low = 0;   // bytes with two codes each: those of `run` codes, then of the next `run`
  int32_t run = 16;
  int32_t high = -1;
  int32_t zero = 0;
  int32_t scale = 0, minimum = -1;     // f16
  int32_t subs = -1, sub_numbers = 0;  // scales (and minima) of parts of so many numbers
};

inline constexpr std::array block_formats = {
    BlockFormat{.name = "Q4_0", .type = 2, .numbers = 32, .bytes = 18, .low = 2, .zero = 8},
    BlockFormat{.name = "Q4_1", .type = 3, .numbers = 32, .bytes = 20, .low = 4, .minimum = 2},
    BlockFormat{.name = "Q5_0",
                .type = 6,
                .numbers = 32,
                .bytes = 22,
                .bits = 5,
                .low = 6,
                .high = 2,
                .zero = 16},
    BlockFormat{.name = "Q5_1",
                .type = 7,
                .numbers = 32,
                .bytes = 24,
                .bits = 5,
                .low = 8,
                .high = 4,
                .minimum = 2},
    BlockFormat{
        .name = "Q8_0", .type = 8, .numbers = 32, .bytes = 34, .bits = 8, .low = 2, .zero = 128},
    BlockFormat{.name = "Q4_K",
                .type = 12,
                .numbers = 256,
                .bytes = 144,
                .low = 16,
                .run = 32,
                .minimum = 2,
                .subs = 4,
                .sub_numbers = 32},
    BlockFormat{.name = "Q5_K",
                .type = 13,
                .numbers = 256,
                .bytes = 176,
                .bits = 5,
                .low = 48,
                .run = 32,
                .high = 16,
                .minimum = 2,
                .subs = 4,
                .sub_numbers = 32},
    BlockFormat{.name = "Q6_K",
                .type = 14,
                .numbers = 256,
                .bytes = 210,
                .bits = 6,
                .low = 0,
                .run = 64,
                .high = 128,
                .zero = 32,
                .scale = 208,
                .subs = 192,
                .sub_numbers = 16},
};

// Null where there is none.
inline const BlockFormat* block_format(std::string_view name) {
  for (const BlockFormat& one : block_formats)
    if (one.name == name) return &one;
  return nullptr;
}
inline const BlockFormat* block_format(int64_t ggml_type) {
  for (const BlockFormat& one : block_formats)
    if (one.type == ggml_type) return &one;
  return nullptr;
}

}  // namespace gossamer::ops
