#include "ir/type_rules.h"

#include <iterator>

#include "base/result.h"

namespace gossamer::ir {
namespace {

using D = DType;

struct TypeRow {
  DType value;
  TypeRule bytes, words;  // by machines that address bytes, and by those of 32-bit words
};

constexpr TypeRow type_rows[] = {
    {D::f32, {D::f32, D::f32}, {D::f32, D::f32}},
    {D::f64, {D::f64, D::f64}, {D::f32, D::f32}},
    {D::f16, {D::u16, D::f32}, {D::f32, D::f32}},
    {D::bf16, {D::u16, D::f32}, {D::f32, D::f32}},
    {D::i8, {D::i8, D::i8}, {D::i32, D::i32}},
    {D::i16, {D::i16, D::i16}, {D::i32, D::i32}},
    {D::i32, {D::i32, D::i32}, {D::i32, D::i32}},
    {D::i64, {D::i64, D::i64}, {D::i32, D::i32}},
    {D::u8, {D::u8, D::u8}, {D::i32, D::i32}},
    {D::u16, {D::u16, D::u16}, {D::i32, D::i32}},
    {D::u32, {D::u32, D::u32}, {D::u32, D::u32}},
    {D::u64, {D::u64, D::u64}, {D::u32, D::u32}},
    {D::boolean, {D::boolean, D::boolean}, {D::i32, D::boolean}},
    {D::index, {D::index, D::index}, {D::i32, D::index}},
    {D::string, {D::string, D::string}, {D::i32, D::i32}},
};

}  // namespace

TypeRule TypeRules::of(DType value) const {
  const DType type = carrier_of(value);
  if (words && stores_halves && type == D::f16) return {D::f16, D::f32};
  for (const TypeRow& row : type_rows) {
    if (row.value == type) return words ? row.words : row.bytes;
  }
  check_failed(__FILE_NAME__, __LINE__, "a type without a rule", std::string(name_of(value)));
}

}  // namespace gossamer::ir
