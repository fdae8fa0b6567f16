#include "ir/key.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/parse.h"

namespace gossamer::ir {
namespace {

std::string key(const std::string& text) {
  const auto kernel = parse_kernel(text);
  EXPECT_TRUE(kernel) << kernel.error().to_string();
  return key_of(*kernel);
}

TEST(Key, NamesDoNotCount) {
  EXPECT_EQ(
      key("kernel a[n](A: f32[n], write C: f32[n]) { grid g in 0..n { C[g] = A[g] + 1.0 } }"),
      key("kernel b[m](X: f32[m], write Y: f32[m]) { grid i in 0..m { Y[i] = X[i] + 1.0 } }"));
}

TEST(Key, EverythingElseDoes) {
  const std::string plain =
      "kernel k[n](A: f32[n], write C: f32[n]) { grid g in 0..n { C[g] = A[g] + 1.0 } }";
  for (const char* other : {
           "kernel k[n](A: f32[n], write C: f32[n]) { grid g in 0..n { C[g] = A[g] + 2.0 } }",
           "kernel k[n](A: f32[n], write C: f32[n]) { grid g in 0..n { C[g] = A[g] - 1.0 } }",
           "kernel k[n](A: f32[n], write C: f32[n]) { grid g in 0..n { C[g] = A[0] + 1.0 } }",
           "kernel k[n](A: f32[n], write C: f32[n]) { for g in 0..n { C[g] = A[g] + 1.0 } }",
           "kernel k[n](A: f32[9], write C: f32[n]) { grid g in 0..n { C[g] = A[g] + 1.0 } }",
           "kernel k[n](A: f32[n] stored f16, write C: f32[n]) { grid g in 0..n { C[g] = 1.0 } }",
       })
    EXPECT_NE(key(plain), key(other)) << other;
  // Which of two loops an index belongs to.
  const std::string loops = "kernel k(write C: f32[4, 4]) { for i in 0..4 { for j in 0..4 { ";
  EXPECT_NE(key(loops + "C[i, j] = 1.0 } } }"), key(loops + "C[j, i] = 1.0 } } }"));
  EXPECT_EQ(
      key(loops + "C[i, i] = 1.0 } } }"),
      key("kernel k(write C: f32[4, 4]) { for i in 0..4 { for i_1 in 0..4 { C[i, i] = 1.0 } } }"));
}

// The text of the kernel has a billion words, and the difference comes last.
TEST(Key, SharedExpressionsCountOnce) {
  const auto doubled = [](double last) {
    const Buffer c = buffer("C", DType::f32, {index(1)});
    Expr e = load(c, {index(0)});
    for (int i = 0; i < 30; ++i) e = e + e;
    Kernel kernel{"k", {{c, true}}, {}, store(c, {index(0)}, e + last)};
    return key_of(kernel);
  };
  EXPECT_EQ(doubled(1), doubled(1));
  EXPECT_NE(doubled(1), doubled(2));
  EXPECT_LT(doubled(1).size(), 2000u);
}

}  // namespace
}  // namespace gossamer::ir
