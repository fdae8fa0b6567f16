#include "ir/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace gossamer::ir::text {

int precedence(BinaryOp op) {
  switch (op) {
    case BinaryOp::logical_or:
      return 1;
    case BinaryOp::logical_xor:
      return 2;
    case BinaryOp::logical_and:
      return 3;
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge:
      return 4;
    case BinaryOp::bit_or:
      return 5;
    case BinaryOp::bit_xor:
      return 6;
    case BinaryOp::bit_and:
      return 7;
    case BinaryOp::shl:
    case BinaryOp::shr:
      return 8;
    case BinaryOp::add:
    case BinaryOp::sub:
      return 9;
    case BinaryOp::mul:
    case BinaryOp::div:
    case BinaryOp::floordiv:
    case BinaryOp::floormod:
      return 10;
    default:
      return 0;
  }
}

bool is_reserved(std::string_view word) {
  static constexpr std::array<std::string_view, 16> words{
      "alloc", "barrier", "bitcast", "block",  "else", "false", "for",   "grid",
      "group", "if",      "in",      "kernel", "let",  "true",  "while", "write"};
  if (std::find(words.begin(), words.end(), word) != words.end()) return true;
  if (word == "unrolled" || word == "vectorized") return true;
  return word.ends_with(".inf") || word.ends_with(".nan");
}

std::string number(DType dtype, int64_t value) {
  if (dtype == DType::boolean) return value ? "true" : "false";
  std::string text =
      dtype == DType::u64 ? std::to_string(static_cast<uint64_t>(value)) : std::to_string(value);
  if (dtype != DType::index) text += name_of(dtype);
  return text;
}

std::string number(DType dtype, double value) {
  const std::string type(name_of(dtype));
  if (std::isnan(value)) return type + ".nan";
  if (std::isinf(value)) return (value < 0 ? "-" : "") + type + ".inf";
  char buffer[40];
  const auto says = [&](int digits) {
    std::snprintf(buffer, sizeof buffer, "%.*g", digits, value);
    const double back = std::strtod(buffer, nullptr);
    return back == value || (dtype == DType::f32 && static_cast<float>(back) == value);
  };
  // The fewest that say it; with more they do, too.
  if (!says(1)) {
    int few = 1, enough = 17;
    while (enough - few > 1) {
      const int middle = (few + enough) / 2;
      (says(middle) ? enough : few) = middle;
    }
    says(enough);
  }
  std::string text = buffer;
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (dtype != DType::f32) text += type;
  return text;
}

}  // namespace gossamer::ir::text
