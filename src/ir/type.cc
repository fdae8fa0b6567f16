#include "ir/type.h"

#include <array>

namespace gossamer::ir {
namespace {

struct Row {
  std::string_view name;
  int bytes;
  char kind;  // f, i, u, b(oolean), s(tring)
};
constexpr std::array<Row, 15> rows{{{"f32", 4, 'f'},
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
                                    {"string", 0, 's'}}};
const Row& row(DType dtype) { return rows[static_cast<size_t>(dtype)]; }

}  // namespace

bool is_float(DType dtype) { return row(dtype).kind == 'f'; }
bool is_signed_int(DType dtype) { return row(dtype).kind == 'i'; }
bool is_unsigned_int(DType dtype) { return row(dtype).kind == 'u'; }
bool is_int(DType dtype) { return is_signed_int(dtype) || is_unsigned_int(dtype); }
int byte_size(DType dtype) { return row(dtype).bytes; }
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
