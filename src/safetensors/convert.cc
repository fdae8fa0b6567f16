#include "safetensors/convert.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "ir/scalar.h"

namespace gossamer::safetensors {
namespace {

constexpr uint32_t infinity = 0x7f800000, magnitude = 0x7fffffff;
using Block = std::array<float, block_numbers>;

float from_half(uint16_t half) {
  constexpr uint32_t largest = 0x0f800000;  // what an exponent of all ones becomes
  constexpr float places = 0x1p112F;        // between the exponents of both formats
  const uint32_t value = half, moved = (value & 0x7fffU) << 13;
  const uint32_t bits = std::bit_cast<uint32_t>(std::bit_cast<float>(moved) * places);
  return std::bit_cast<float>((value & 0x8000U) << 16 |
                              (moved >= largest ? infinity | (moved & 0x7fffffU) : bits));
}

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}
void store(uint16_t value, std::byte* to) { std::memcpy(to, &value, sizeof(value)); }

template <Form from>
void decode(const std::byte* numbers, Block& block) {
  for (size_t i = 0; i < block_numbers; ++i) {
    if constexpr (from == Form::f32)
      block[i] = load<float>(numbers + 4 * i);
    else if constexpr (from == Form::f16)
      block[i] = from_half(load<uint16_t>(numbers + 2 * i));
    else
      block[i] = std::bit_cast<float>(uint32_t{load<uint16_t>(numbers + 2 * i)} << 16);
  }
}

// Bits of the greatest magnitude, those of numbers that are not finite being the greatest.
uint32_t greatest(const Block& block) {
  uint32_t most = 0;
  for (const float number : block)
    most = std::max(most, std::bit_cast<uint32_t>(number) & magnitude);
  return most;
}

constexpr uint32_t half_infinity = 0x7c00;

Result<> too_large(uint32_t most) {
  return fail(most >= infinity
                  ? std::string("has a number that is not finite")
                  : cat("has the number ", std::bit_cast<float>(most), ", too large for this form"),
              most >= infinity
                  ? "the file is damaged, or training has failed: use another checkpoint"
                  : "take dtype fp32");
}

// The scale of a block as f16 and as it was; false where it is too large.
bool put_scale(float scale, std::byte* to) {
  const uint16_t half = ir::to_half(static_cast<double>(scale));
  store(half, to);
  return (half & 0x7fffU) < half_infinity;
}

Result<> pack_4(const Block& block, std::byte* to) {
  constexpr size_t half = block_numbers / 2;
  constexpr float middle = 8.5F;
  const uint32_t most = greatest(block);
  // The number of the greatest magnitude, of equal ones the first, is -8.
  const float extreme = *std::ranges::find_if(
      block, [&](float number) { return (std::bit_cast<uint32_t>(number) & magnitude) == most; });
  const float scale = extreme / -8;
  if (most >= infinity || !put_scale(scale, to)) return too_large(most);
  const float inverse = scale == 0 ? 0 : 1 / scale;
  const auto code = [&](float number) {
    return static_cast<uint8_t>(std::clamp(static_cast<int>(number * inverse + middle), 0, 15));
  };
  for (size_t i = 0; i < half; ++i)
    to[2 + i] = static_cast<std::byte>(code(block[i]) | code(block[half + i]) << 4);
  return {};
}

Result<> pack_8(const Block& block, std::byte* to) {
  constexpr float steps = 127;
  const uint32_t most = greatest(block);
  const float scale = std::bit_cast<float>(most) / steps;
  if (most >= infinity || !put_scale(scale, to)) return too_large(most);
  const float inverse = scale == 0 ? 0 : 1 / scale;
  for (size_t i = 0; i < block_numbers; ++i)
    to[2 + i] = static_cast<std::byte>(static_cast<int8_t>(std::round(block[i] * inverse)));
  return {};
}

template <Form from, class Pack>
Result<> pack(std::span<const std::byte> numbers, Pack each, std::span<std::byte> to) {
  const size_t read = bytes_of(from, block_numbers);
  const size_t written = to.size() / (numbers.size() / read);
  Block block;
  for (size_t at = 0, out = 0; at < numbers.size(); at += read, out += written) {
    decode<from>(numbers.data() + at, block);
    GS_TRY(each(block, to.data() + out));
  }
  return {};
}

// f32 as f16, in the same order.
Result<> halve(std::span<const std::byte> numbers, std::span<std::byte> to) {
  for (size_t i = 0; 4 * i < numbers.size(); ++i) {
    const float number = load<float>(numbers.data() + 4 * i);
    const uint16_t half = ir::to_half(static_cast<double>(number));
    store(half, to.data() + 2 * i);
    if ((half & 0x7fffU) >= half_infinity)
      return too_large(std::bit_cast<uint32_t>(number) & magnitude);
  }
  return {};
}

}  // namespace

std::optional<Form> form_named(std::string_view type) {
  if (type == "F32") return Form::f32;
  if (type == "F16") return Form::f16;
  if (type == "BF16") return Form::bf16;
  return std::nullopt;
}

bool is_packed(Form form) { return form == Form::q4_0 || form == Form::q8_0; }

uint64_t bytes_of(Form form, uint64_t numbers) {
  switch (form) {
    case Form::f32:
      return numbers * 4;
    case Form::f16:
    case Form::bf16:
      return numbers * 2;
    case Form::q4_0:
      return numbers / block_numbers * (2 + block_numbers / 2);
    case Form::q8_0:
      return numbers / block_numbers * (2 + block_numbers);
  }
  return 0;
}

Result<> convert(Form from, std::span<const std::byte> numbers, Form into,
                 std::span<std::byte> to) {
  if (from == into) {
    std::memcpy(to.data(), numbers.data(), numbers.size());
    return {};
  }
  if (into == Form::f16) return halve(numbers, to);
  const bool four = into == Form::q4_0;
  if (from == Form::f32)
    return four ? pack<Form::f32>(numbers, pack_4, to) : pack<Form::f32>(numbers, pack_8, to);
  if (from == Form::f16)
    return four ? pack<Form::f16>(numbers, pack_4, to) : pack<Form::f16>(numbers, pack_8, to);
  return four ? pack<Form::bf16>(numbers, pack_4, to) : pack<Form::bf16>(numbers, pack_8, to);
}

}  // namespace gossamer::safetensors
