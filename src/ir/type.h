// Element types and vector types of the loop IR.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gossamer/element_types.h"

namespace gossamer::ir {

// The public element types, in their order, and `index`: a mathematical integer that never
// overflows (the compiler may reorder it freely): dimensions, loop variables, addresses. Targets
// compute it in 32 bits (64 natively). Small types, f8e4m3fn to u2, are what tensors hold and
// kernels compute with wider ones (ir/type_rules.h): one element a byte in memory; of
// six, four and two bits, the low bits count.
#define GOSSAMER_TYPE(NAME, name, text, kind, bits, onnx) name,
enum class DType : uint8_t { GOSSAMER_ELEMENT_TYPES(GOSSAMER_TYPE) index };
#undef GOSSAMER_TYPE

bool is_float(DType);
bool is_signed_int(DType);    // i2..i64 and index
bool is_unsigned_int(DType);  // u2..u64
bool is_int(DType);           // either, not boolean
bool is_small(DType);         // f8e4m3fn to u2
int byte_size(DType);         // in linear memory; boolean 1, index 4, string 0
int bit_width(DType);     // of the value: 8 * byte_size, but 6, 4 and 2 for types of so many bits
DType carrier_of(DType);  // u8 or i8 for a small type, whose code it holds; else the type
std::string_view name_of(DType);  // "f32", "bool", "index", ...
std::optional<DType> dtype_named(std::string_view name);

// A scalar (lanes == 1) or a vector of `lanes` elements.
struct Type {
  DType dtype = DType::f32;
  uint16_t lanes = 1;

  Type() = default;
  Type(DType element, int lane_count = 1)
      : dtype(element), lanes(static_cast<uint16_t>(lane_count)) {}
  bool operator==(const Type&) const = default;
  bool is_scalar() const { return lanes == 1; }
  Type with_lanes(int count) const { return {dtype, count}; }
  Type with_dtype(DType element) const { return {element, lanes}; }
};

// Whether a Dot of `terms` terms takes these.
bool is_dot(Type a, Type b, Type sum, int64_t terms);

std::string to_string(Type);  // "f32", "f32x4"

}  // namespace gossamer::ir
