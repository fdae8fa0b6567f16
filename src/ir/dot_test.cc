#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/simplify.h"
#include "ir/verify.h"

namespace gossamer::ir {
namespace {

TEST(Dot, IsPrintedAndParsed) {
  const std::string text = R"(kernel dots(a: i16[8], b: u32[4], c: i32[4], write y: i32[4]) {
  grid i in 0..1 {
    y[ramp(0, 1, 4)] = dot4(b[ramp(0, 1, 4)], c[ramp(0, 1, 4)], x4(0i32))
    y[0] = dot2(bitcast<i32>(a[ramp(i * 2, 1, 2)]), c[0], y[0])
  }
}
)";
  const auto kernel = parse_kernel(text);
  ASSERT_TRUE(kernel) << kernel.error().to_string();
  EXPECT_EQ(print(*kernel), text);
}

TEST(Dot, IsRefusedOfOtherTypes) {
  for (const char* dot : {"dot2(a[0], a[0], 0)", "dot4(f[0], a[0], a[0])", "dot2(a[0], a[0], u[0])",
                          "dot4(a[0], x4(a[0]), a[0])"}) {
    const auto kernel = parse_kernel(
        cat("kernel k(a: i32[4], f: f32[4], u: u32[4], write y: i32[4]) {\n  grid i in "
            "0..1 {\n    y[0] = ",
            dot, "\n  }\n}\n"));
    EXPECT_FALSE(kernel) << dot;
  }
}

TEST(Dot, WordsOfKnownElementsAreIntegers) {
  const Buffer halves = buffer("h", DType::i16, {index(8)});
  const Expr one = load(halves, {index(5)}), other = load(halves, {index(2)});
  EXPECT_EQ(print(simplify(bitcast(DType::i32, make_vector({one, other})))),
            "i32(h[5]) & 65535i32 | i32(h[2]) << 16i32");
}

}  // namespace
}  // namespace gossamer::ir
