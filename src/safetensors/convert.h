// Numbers of weights in another form: as 16 bits, or as blocks of 32 numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"

namespace gossamer::safetensors {

enum class Form : uint8_t { f32, f16, bf16, q4_0, q8_0 };

std::optional<Form> form_named(std::string_view type);  // "F32", "F16", "BF16"
bool is_packed(Form form);
uint64_t bytes_of(Form form, uint64_t numbers);
constexpr uint64_t block_numbers = 32;

// Numbers from one of f32, f16 and bf16 to a form, which may be the same: whole blocks of packed
// ones. Blocks are to the bit what the gguf package makes of them (Q4_0, Q8_0). `to` has room for
// bytes_of them. Errors: numbers of packed blocks, or of f32 as f16, that are not finite or too
// large.
Result<> convert(Form from, std::span<const std::byte> numbers, Form into, std::span<std::byte> to);

}  // namespace gossamer::safetensors
