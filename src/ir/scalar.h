// One number of an element type, and the arithmetic of nodes.def on it: what constants fold by and
// the interpreter runs on, so that the two cannot differ.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/nodes.h"

namespace gossamer::ir {

// Integers and booleans in `i` (u64 as its bits), floats in `f`, always exactly a value of `dtype`.
struct Scalar {
  DType dtype = DType::index;
  int64_t i = 0;
  double f = 0;

  static Scalar of_int(DType dtype, int64_t value);  // wraps; converts where dtype is a float
  static Scalar of_float(DType dtype,
                         double value);  // rounds; converts (saturating) where dtype is an integer
  bool truthy() const { return is_float(dtype) ? f != 0 : i != 0; }
  double as_double() const;
  int64_t as_int() const;  // floats truncate and saturate
  bool operator==(const Scalar&) const = default;
};

Scalar apply(UnaryOp op, const Scalar& a);
Scalar apply(BinaryOp op, const Scalar& a, const Scalar& b);  // of one type
Scalar apply_fma(const Scalar& a, const Scalar& b, const Scalar& c);
Scalar apply_dot(const Scalar& a, const Scalar& b, const Scalar& c, int64_t terms);
Scalar convert(DType dtype, const Scalar& a);
// Same bits; std::nullopt where the sizes differ or a type has no bits.
std::optional<Scalar> reinterpret(DType dtype, Scalar a);

// To and from little-endian memory of byte_size(dtype); `index` occupies 4 bytes there.
Scalar read_scalar(DType dtype, const std::byte* from);
void write_scalar(const Scalar& value, std::byte* to);

double round_to(DType dtype, double value);  // the nearest value of a float type
double round_even(double value);             // to an integer, halves to the even one
uint16_t to_half(double value);
double from_half(uint16_t bits);
uint16_t to_bfloat(double value);
double from_bfloat(uint16_t bits);

int64_t floor_div(int64_t a, int64_t b);  // 0 where b is 0
int64_t floor_mod(int64_t a, int64_t b);

}  // namespace gossamer::ir
