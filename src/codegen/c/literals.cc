#include "codegen/c/literals.h"

#include <charconv>
#include <cmath>

#include "base/result.h"

namespace gossamer::codegen::c {

std::string int_literal(ir::DType dtype, int64_t value) {
  const std::string digits = cat(value);
  switch (dtype) {
    case ir::DType::u64:
      return cat("UINT64_C(", static_cast<uint64_t>(value), ")");
    case ir::DType::i64:
      // The smallest number is no literal: its sign is an operation on one that is too large.
      if (value == INT64_MIN) return "INT64_MIN";
      return value < 0 ? cat("(-INT64_C(", digits.substr(1), "))") : cat("INT64_C(", digits, ")");
    case ir::DType::u32:
      return cat("UINT32_C(", static_cast<uint32_t>(value), ")");
    case ir::DType::index:
      if (value > INT32_MAX || value < -INT32_MAX)
        return cat("((gs_word)", int_literal(ir::DType::i64, value), ")");
      break;
    default:
      if (value == INT32_MIN) return "INT32_MIN";
  }
  return value < 0 ? cat("(", digits, ")") : digits;
}

std::string float_literal(ir::DType dtype, double value) {
  const std::string suffix = dtype == ir::DType::f64 ? "" : "f";
  if (std::isnan(value)) return "NAN";
  std::string text;
  const double size = std::abs(value);
  if (std::isinf(value)) {
    text = "INFINITY";
  } else if (size == std::floor(size) && size < 1e6) {
    text = cat(static_cast<int64_t>(size), ".0", suffix);
  } else {
    char digits[40];
    const auto end = std::to_chars(digits, digits + sizeof digits, size, std::chars_format::hex);
    text = cat("0x", std::string(digits, end.ptr), suffix);
  }
  return std::signbit(value) ? cat("(-", text, ")") : text;
}

}  // namespace gossamer::codegen::c
