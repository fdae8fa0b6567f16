#include "passes/number_codes.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "interp/tape.h"
#include "ir/build.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/scalar.h"
#include "ir/small_float.h"
#include "passes/legalize_types.h"

namespace gossamer::passes {
namespace {

using namespace ir;

constexpr ir::DType floats[] = {ir::DType::f8e4m3fn,   ir::DType::f8e4m3fnuz, ir::DType::f8e5m2,
                                ir::DType::f8e5m2fnuz, ir::DType::f8e8m0,     ir::DType::f4e2m1,
                                ir::DType::f6e2m3,     ir::DType::f6e3m2};
constexpr ir::DType integers[] = {ir::DType::i4, ir::DType::u4, ir::DType::i2, ir::DType::u2};

// An expression of one variable, evaluated with the interpreter's arithmetic.
class Function {
 public:
  Function(const ir::Var& var, const ir::Expr& body)
      : place_(frame_.place(var.get())), tape_(body, frame_) {}
  ir::Scalar operator()(ir::Scalar argument) {
    std::vector<ir::Scalar> values(place_ + 1);
    values[place_] = argument;
    return tape_.run(values, [](auto&&...) { return ir::Scalar(); })[0];
  }

 private:
  interp::Frame frame_;
  size_t place_;
  interp::Tape tape_;
};

// The code that memory holds of a value.
int64_t code_of(ir::Scalar value) {
  std::byte byte;
  write_scalar(value, &byte);
  return std::to_integer<int64_t>(byte);
}

TEST(SmallConversions, DecodeEveryCode) {
  for (ir::DType dtype : floats) {
    const ir::Var code = var("code", ir::DType::u8);
    Function decode(code, decode_small(dtype, code));
    for (int i = 0; i < 1 << bit_width(dtype); ++i) {
      const double got = decode({ir::DType::u8, i, 0}).f,
                   want = from_small(dtype, static_cast<uint8_t>(i));
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << name_of(dtype) << " " << i;
      } else {
        EXPECT_EQ(got, want) << name_of(dtype) << " " << i;
        EXPECT_EQ(std::signbit(got), std::signbit(want)) << name_of(dtype) << " " << i;
      }
    }
  }
}

class EncodeTest : public testing::TestWithParam<ir::DType> {};

// Every f16, and f32 numbers around every f16 (its halfway points among them).
TEST_P(EncodeTest, SinglesAsTheOracleDoes) {
  const ir::DType dtype = GetParam();
  const ir::Var x = var("x", ir::DType::f32);
  Function encode(x, encode_small(dtype, x));
  for (int bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<float>(ir::from_half(static_cast<uint16_t>(bits)));
    for (float value : {half, std::nextafter(half, 0.0f), std::nextafter(half, 1e30f),
                        half * 1e-35f, half * 0x1p100f}) {
      const ir::Scalar single{ir::DType::f32, 0, value};
      const int64_t want = code_of(convert(dtype, single)), got = encode(single).i;
      if (std::isnan(value) && bit_width(dtype) == 8) {
        ASSERT_TRUE(std::isnan(from_small(dtype, static_cast<uint8_t>(got))));
      } else {
        ASSERT_EQ(got, want) << name_of(dtype) << " of " << value;
      }
    }
  }
}

// A double that f32 would round to a halfway point must not be rounded twice.
TEST_P(EncodeTest, DoublesAreRoundedOnce) {
  const ir::DType dtype = GetParam();
  if (dtype == ir::DType::f8e8m0) return;  // by definition what f32 has of the number
  const ir::Var x = var("x", ir::DType::f64);
  Function encode(x, encode_small(dtype, narrowed_to_odd(x)));
  for (int bits = 0; bits < 0x7c00; ++bits) {
    const double half = ir::from_half(static_cast<uint16_t>(bits));
    for (double value :
         {half, half * (1 + 0x1p-40), half * (1 - 0x1p-40), half + 1e-300, half * 1e200}) {
      const ir::Scalar number{ir::DType::f64, 0, value};
      ASSERT_EQ(encode(number).i, code_of(convert(dtype, number)))
          << name_of(dtype) << " " << value;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EncodeTest, testing::ValuesIn(floats),
                         [](const auto& info) { return std::string(ir::name_of(info.param)); });

TEST(SmallConversions, IntegersWrap) {
  for (ir::DType dtype : integers) {
    const ir::Var x = var("x", ir::DType::i32);
    Function encode(x, encode_small(dtype, x));
    for (int64_t value = -300; value < 300; ++value) {
      const ir::Scalar want = ir::Scalar::of_int(dtype, value);
      EXPECT_EQ(encode({ir::DType::i32, value, 0}).i, want.i) << name_of(dtype) << " of " << value;
    }
  }
}

ir::Kernel lowered(const char* text) {
  auto kernel = ir::parse_kernel(text);
  EXPECT_TRUE(kernel) << kernel.error().to_string();
  return *legalize_types(*kernel);
}

TEST(LegalizeSmallTypes, WhatOnlyMovesStaysACode) {
  const ir::Kernel kernel = lowered(R"(
kernel move(A: f8e5m2[8], C: bool[8], write B: f8e5m2[8]) {
  grid i in 0..8 {
    B[i] = select(C[i], A[i], 1.5f8e5m2)
  }
})");
  EXPECT_EQ(print(kernel), R"(kernel move(A: u8[8], C: bool[8], write B: u8[8]) {
  grid i in 0..8 {
    B[i] = select(C[i], A[i], 62u8)
  }
}
)");
}

TEST(LegalizeSmallTypes, OnlyTheTypesOwnBitsCount) {
  const ir::Kernel kernel = lowered(R"(
kernel widen(A: u4[8], write B: i32[8]) {
  grid i in 0..8 {
    B[i] = i32(A[i])
  }
})");
  EXPECT_EQ(print(kernel), R"(kernel widen(A: u8[8], write B: i32[8]) {
  grid i in 0..8 {
    B[i] = i32(u8(i32(A[i]) & 15i32))
  }
}
)");
}

TEST(LegalizeSmallTypes, KernelsWithoutThemStayAsTheyAre) {
  const char* text =
      "kernel copy(A: f32[8], write B: f32[8]) {\n  grid i in 0..8 {\n    B[i] = A[i]\n  }\n}\n";
  EXPECT_EQ(print(lowered(text)), text);
}

}  // namespace
}  // namespace gossamer::passes
