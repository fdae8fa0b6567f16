#include "ir/type.h"

#include <iterator>

namespace gossamer::ir {
namespace {

struct Row {
  std::string_view name;
  char kind;  // element_types.h
  int bits;
};
#define GOSSAMER_TYPE(NAME, name, text, kind, bits, onnx) {text, kind, bits},
constexpr Row rows[] = {GOSSAMER_ELEMENT_TYPES(GOSSAMER_TYPE){"index", 'i', 32}};
#undef GOSSAMER_TYPE
static_assert(std::size(rows) == static_cast<size_t>(DType::index) + 1);
const Row& row(DType dtype) { return rows[static_cast<size_t>(dtype)]; }

}  // namespace

bool is_float(DType dtype) { return row(dtype).kind == 'f'; }
bool is_signed_int(DType dtype) { return row(dtype).kind == 'i'; }
bool is_unsigned_int(DType dtype) { return row(dtype).kind == 'u'; }
bool is_int(DType dtype) { return is_signed_int(dtype) || is_unsigned_int(dtype); }
bool is_small(DType dtype) { return dtype >= DType::f8e4m3fn && dtype <= DType::u2; }
int byte_size(DType dtype) { return (row(dtype).bits + 7) / 8; }
int bit_width(DType dtype) { return row(dtype).bits; }
DType carrier_of(DType dtype) {
  if (!is_small(dtype)) return dtype;
  return is_signed_int(dtype) ? DType::i8 : DType::u8;
}
std::string_view name_of(DType dtype) { return row(dtype).name; }

std::optional<DType> dtype_named(std::string_view name) {
  for (size_t i = 0; i < std::size(rows); ++i) {
    if (rows[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

bool is_dot(Type a, Type b, Type sum, int64_t terms) {
  const auto is_word = [&](Type type) {
    return (type.dtype == DType::i32 || type.dtype == DType::u32) && type.lanes == sum.lanes;
  };
  return (terms == 2 || terms == 4) && is_word(a) && is_word(b) && sum.dtype == DType::i32;
}

std::string to_string(Type type) {
  std::string text(name_of(type.dtype));
  if (type.lanes > 1) text += "x" + std::to_string(type.lanes);
  return text;
}

}  // namespace gossamer::ir
