#include "ir/type.h"

#include <array>

namespace gossamer::ir {
namespace {

struct Row {
  std::string_view name;
  int bytes;
  char kind;     // f, i, u, b(oolean), s(tring)
  int bits = 0;  // of a small type
};
constexpr std::array<Row, 27> rows{{{"f32", 4, 'f'},
                                    {"f16", 2, 'f'},
                                    {"bf16", 2, 'f'},
                                    {"f64", 8, 'f'},
                                    {"i8", 1, 'i'},
                                    {"i16", 2, 'i'},
                                    {"i32", 4, 'i'},
                                    {"i64", 8, 'i'},
                                    {"u8", 1, 'u'},
                                    {"u16", 2, 'u'},
                                    {"u32", 4, 'u'},
                                    {"u64", 8, 'u'},
                                    {"bool", 1, 'b'},
                                    {"index", 4, 'i'},
                                    {"string", 0, 's'},
                                    {"f8e4m3fn", 1, 'f', 8},
                                    {"f8e4m3fnuz", 1, 'f', 8},
                                    {"f8e5m2", 1, 'f', 8},
                                    {"f8e5m2fnuz", 1, 'f', 8},
                                    {"f8e8m0", 1, 'f', 8},
                                    {"f4e2m1", 1, 'f', 4},
                                    {"f6e2m3", 1, 'f', 6},
                                    {"f6e3m2", 1, 'f', 6},
                                    {"i4", 1, 'i', 4},
                                    {"u4", 1, 'u', 4},
                                    {"i2", 1, 'i', 2},
                                    {"u2", 1, 'u', 2}}};
const Row& row(DType dtype) { return rows[static_cast<size_t>(dtype)]; }

}  // namespace

bool is_float(DType dtype) { return row(dtype).kind == 'f'; }
bool is_signed_int(DType dtype) { return row(dtype).kind == 'i'; }
bool is_unsigned_int(DType dtype) { return row(dtype).kind == 'u'; }
bool is_int(DType dtype) { return is_signed_int(dtype) || is_unsigned_int(dtype); }
bool is_small(DType dtype) { return row(dtype).bits != 0; }
int byte_size(DType dtype) { return row(dtype).bytes; }
int bit_width(DType dtype) { return is_small(dtype) ? row(dtype).bits : 8 * byte_size(dtype); }
DType carrier_of(DType dtype) {
  if (!is_small(dtype)) return dtype;
  return is_signed_int(dtype) ? DType::i8 : DType::u8;
}
std::string_view name_of(DType dtype) { return row(dtype).name; }

std::optional<DType> dtype_named(std::string_view name) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::string to_string(Type type) {
  std::string text(name_of(type.dtype));
  if (type.lanes > 1) text += "x" + std::to_string(type.lanes);
  return text;
}

}  // namespace gossamer::ir
