#include "passes/round_to_integers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"

namespace gossamer::passes {
namespace {

using namespace ir;

constexpr double inputs[] = {
    0,     -0.0,   0.5,    -0.5,    1.5,     2.5,      -1.5,    -2.5,    3.49,     127.5,
    128.5, -128.5, -129.5, 254.5,   255.5,   256,      -0.51,   1e-30,   1e9,      -1e9,
    4e9,   3e38,   -3e38,  32767.5, 32766.5, -32768.5, 65534.5, 65535.5, HUGE_VAL, -HUGE_VAL};

double saturated(double value, DType to) {
  const int bits = 8 * byte_size(to);
  const double least = is_signed_int(to) ? -std::ldexp(1, bits - 1) : 0;
  return std::clamp(value, least, least + std::ldexp(1, bits) - 1);
}

TEST(RoundToIntegers, SaturatesAndRoundsToEven) {
  const Var x = var("x", DType::f32);
  for (DType to : {DType::u8, DType::i8, DType::u16, DType::i16}) {
    for (double addend : {0.0, 1.0, 128.0, -7.0, 255.0}) {
      const Expr sum = unary(UnaryOp::round, Expr(x)) + constant(DType::f32, addend);
      const Expr made = round_to_integers(cast(to, sum));
      EXPECT_EQ(print(made).find("round"), std::string::npos) << print(made);
      for (double input : inputs) {
        const auto single = static_cast<double>(static_cast<float>(input));
        const Expr at = constant(DType::f32, single);
        EXPECT_EQ(as_int(simplify(substitute(made, {{x.get(), at}}))),
                  static_cast<int64_t>(saturated(std::nearbyint(single) + addend, to)))
            << input << " + " << addend << " as " << name_of(to);
      }
    }
  }
}

TEST(RoundToIntegers, WholeSumsAreNotTruncated) {
  const Expr x = cast(DType::f32, Expr(var("x", DType::i16)));
  const Expr made = round_to_integers(cast(DType::u8, x + 0.0));
  EXPECT_NE(print(made).find("bitcast"), std::string::npos) << print(made);
  for (int64_t number : {-32768, -300, -1, 0, 1, 254, 255, 256, 32767}) {
    Rewriter rewriter;
    rewriter.expr_before = [&](const Expr& e) {
      return equal(e, x) ? constant(DType::f32, static_cast<double>(number)) : Expr();
    };
    EXPECT_EQ(as_int(simplify(rewrite(made, rewriter))), std::clamp<int64_t>(number, 0, 255));
  }
}

TEST(RoundToIntegers, OtherCastsStay) {
  const Var x = var("x", DType::f32);
  for (const Expr& other :
       {cast(DType::u8, Expr(x)), cast(DType::i32, unary(UnaryOp::round, Expr(x))),
        cast(DType::u8, unary(UnaryOp::round, Expr(x)) + 0.5)})
    EXPECT_TRUE(equal(round_to_integers(other), other)) << print(other);
}

}  // namespace
}  // namespace gossamer::passes
