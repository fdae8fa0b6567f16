#include <array>
#include <utility>

#include "serve/protocol.h"

namespace gossamer::serve {
namespace {

using ir::DType;

constexpr auto datatypes = std::to_array<std::pair<DType, std::string_view>>({
    {DType::boolean, "BOOL"},
    {DType::u8, "UINT8"},
    {DType::u16, "UINT16"},
    {DType::u32, "UINT32"},
    {DType::u64, "UINT64"},
    {DType::i8, "INT8"},
    {DType::i16, "INT16"},
    {DType::i32, "INT32"},
    {DType::i64, "INT64"},
    {DType::f16, "FP16"},
    {DType::f32, "FP32"},
    {DType::f64, "FP64"},
    {DType::bf16, "BF16"},
    {DType::string, "BYTES"},
});

}  // namespace

std::optional<std::string_view> datatype_of(DType dtype) {
  for (const auto& [type, name] : datatypes)
    if (type == dtype) return name;
  return std::nullopt;
}

std::optional<DType> dtype_of(std::string_view datatype) {
  for (const auto& [type, name] : datatypes)
    if (name == datatype) return type;
  return std::nullopt;
}

}  // namespace gossamer::serve
