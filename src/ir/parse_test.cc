#include "ir/parse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/rewrite.h"

namespace gossamer::ir {
namespace {

// print(parse(text)) == text, twice over.
void round_trip(const std::string& text) {
  auto k = parse_kernel(text);
  ASSERT_TRUE(k) << k.error().to_string();
  EXPECT_EQ(print(*k), text);
}

void round_trip(const Kernel& k) { round_trip(print(k)); }

std::string error_of(std::string_view text) {
  auto k = parse_kernel(text);
  return k ? "no error" : k.error().message;
}

TEST(Print, Matmul) {
  Expr n = var("n");
  Buffer a = buffer("A", DType::f32, {n, index(512)}),
         b = buffer("B", DType::f32, {index(512), index(512)}),
         c = buffer("C", DType::f32, {n, index(512)});
  Var i = var("m.o"), k = var("k");
  auto laid_out = new BufferNode(*b);
  laid_out->layout.axes = {{1, 8, 0}, {0, 1, 0}, {1, 1, 8}};
  Buffer packed(laid_out);
  Buffer sum = buffer("acc", DType::f32, {index(8)}, Scope::priv);
  Expr at = ramp(index(0), 1, 8);
  Stmt body =
      loop(i, n, LoopKind::grid,
           alloc(sum, block({store(sum, {at}, broadcast(constant(DType::f32, 0), 8)),
                             loop(k, index(512), LoopKind::serial,
                                  store(sum, {at},
                                        fma(broadcast(load(a, {i, k}), 8),
                                            load(packed, {broadcast(k, 8), at}), load(sum, {at})))),
                             store(c, {broadcast(i, 8), at}, max(load(sum, {at}), 0.0))})));
  Kernel kernel{"matmul_0", {{a, false}, {packed, false}, {c, true}}, {Var(as<VarNode>(n))}, body};
  EXPECT_EQ(
      print(kernel),
      R"(kernel matmul_0[n](A: f32[n, 512], B: f32[512, 512] layout [1/8, 0, 1%8], write C: f32[n, 512]) {
  grid m.o in 0..n {
    alloc acc: f32[8]
    acc[ramp(0, 1, 8)] = x8(0.0)
    for k in 0..512 {
      acc[ramp(0, 1, 8)] = fma(x8(A[m.o, k]), B[x8(k), ramp(0, 1, 8)], acc[ramp(0, 1, 8)])
    }
    C[x8(m.o), ramp(0, 1, 8)] = max(acc[ramp(0, 1, 8)], x8(0.0))
  }
}
)");
  round_trip(kernel);
}

TEST(Print, SameNamesAreMadeUnique) {
  Expr a = var("i"), b = var("i");
  EXPECT_EQ(print(a + b * a), "i + i_1 * i");
  EXPECT_EQ(print(Expr(var("let")) + Expr(var("9 b."))), "let_1 + _9_b_");
}

TEST(Print, PrecedenceNeedsNoMoreParenthesesThanItShould) {
  Expr a = var("a"), b = var("b"), c = var("c");
  EXPECT_EQ(print(a - (b - c)), "a - (b - c)");
  EXPECT_EQ(print((a - b) - c), "a - b - c");
  EXPECT_EQ(print((a + b) * c), "(a + b) * c");
  EXPECT_EQ(print(floordiv(a * b, c)), "a * b // c");
  EXPECT_EQ(print(floordiv(a, b * c)), "a // (b * c)");
  EXPECT_EQ(print(-(a + b)), "-(a + b)");
  EXPECT_EQ(print(-(-a)), "-(-a)");
  EXPECT_EQ(print(!(a < b && b < c)), "!(a < b && b < c)");
  EXPECT_EQ(print((a < b) == (b < c)), "(a < b) == (b < c)");
  EXPECT_EQ(print(min(a, floormod(b, 4))), "min(a, b % 4)");
}

TEST(Parse, EveryNode) {
  round_trip(
      R"(kernel all.of_it[n, m](A: f32[n, 4, m], T: f32[64] stored f16 layout flat[0/4, 0%4] texture 256 layers 2, K: i32[4] constant, write C: f32[n * 4 + 1], write D: u8[m]) {
  let x: f32 = -1.5 {
    C[0] = x
  }
  let y: f32 = 1e-07
  let big: u64 = 18446744073709551615u64
  let least: i64 = -9223372036854775808i64
  let v: f32x4 = x4(y)
  let u: f16 = f16(sqrt(y)) * -f16.inf + f16.nan
  grid g in 0..n // 64 {
    group t in 0..64 {
      alloc cell: i32[1] group
      alloc p: f32[8, 4]
      cell[0] = K[1] ^ ~K[0] & 7i32 | K[2] << 1i32 >> 2i32
      barrier group
      for i in 0..min(m, 4) {
        unrolled j in 0..4 {
          vectorized l in 0..8 {
            p[l, j] = select(g < 3 && !(t == 2 || i >= j), A[g, j, i], f32(rem(K[j], 3i32)))
          }
        }
      }
      while cell[0] > 0i32 {
        cell[0] = cell[0] - 1i32
      }
      if is_nan(p[0, 0]) ^^ true {
        C[g] = lane(v, 2) + lane(vec(1.0, 2.0), g % 2)
      } else {
        block {
          D[ramp(g, -1, 4)] = x4(255u8)
        }
        block {
        }
      }
      if false {
      }
      C[1] = bitcast<f32>(cell[0]) / 3.0 + f32(T[5]:f16)
      C[2] = fma(pow(y, 2.0), abs(-(5.0)), -y)
    }
  }
}
)");
  round_trip("kernel nothing() {\n}\n");
}

TEST(Parse, KeepsTheTreeAsWritten) {
  // No folding: 1 + 2 stays, and so do blocks of one.
  auto e = parse_expr("1 + 2 * 3");
  ASSERT_TRUE(e);
  EXPECT_EQ(print(*e), "1 + 2 * 3");
  round_trip(
      "kernel k(write A: f32[4]) {\n  block {\n    block {\n      A[0] = 1.0\n      A[1] = 1.0\n   "
      " }\n  }\n}\n");
}

// Passes copy loops and Lets with their variables.
TEST(Parse, NamesOutOfScopeAreBoundAgain) {
  round_trip(R"(kernel twice(write C: f32[8]) {
  for i in 0..4 {
    let x: f32 = 1.0
    C[i] = x
  }
  for i in 0..4 {
    let x: f32 = 2.0
    C[i + 4] = x
  }
}
)");
}

TEST(Parse, ExpressionsOfGivenNames) {
  Var x = var("x");
  Buffer a = buffer("A", DType::f32, {index(4)});
  auto e = parse_expr("A[x] * 2.0", {x}, {a});
  ASSERT_TRUE(e);
  EXPECT_TRUE(equal(*e, load(a, {x}) * 2.0));
}

TEST(Parse, NumbersReadBackExactly) {
  for (double v : {0.1, 1e30, -0.0, 5e-324, 1.0 / 3, 16777217.0, 3.4028234663852886e38}) {
    for (DType t : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
      Expr e = constant(t, v);
      auto back = parse_expr(print(e));
      ASSERT_TRUE(back) << print(e);
      EXPECT_TRUE(equal(*back, e)) << print(e);
    }
  }
}

TEST(Parse, Errors) {
  EXPECT_EQ(error_of("kernel"), "line 1: expected the kernel's name, found 'end of text'");
  EXPECT_EQ(error_of("kernel k() {\n  A[0] = 1.0\n}"), "line 2: unknown buffer 'A'");
  EXPECT_EQ(error_of("kernel k(write A: f32[4]) {\n\n  A[0] = i\n}"),
            "line 3: unknown variable 'i'");
  EXPECT_EQ(error_of("kernel k(write A: f32[4]) { A[0] = 1i32 }"),
            "line 1: 'A' holds f32, the value is i32");
  EXPECT_EQ(error_of("kernel k(write A: f32[4]) { A[0] = 1.0 + 1 }"),
            "line 1: '+' of f32 and index");
  EXPECT_EQ(error_of("kernel k(A: f33[4]) { }"), "line 1: unknown type 'f33'");
  EXPECT_EQ(error_of("kernel k() { wait }"), "line 1: unknown statement 'wait'");
  EXPECT_EQ(error_of("kernel k() { $ }"), "line 1: unexpected character '$'");
  EXPECT_EQ(error_of("kernel k() { } }"), "line 1: text after the kernel: '}'");
  EXPECT_EQ(error_of("kernel k() { let x: u8 = 256u8 }"), "line 1: 256 does not fit u8");
  EXPECT_EQ(error_of("kernel k() { if 1 < 2 < 3 { } }"), "line 1: comparisons do not chain");
  std::string deep = "kernel k() { if " + std::string(100000, '(');
  EXPECT_EQ(error_of(deep), "line 1: nested too deeply");
  deep = "kernel k() { if " + std::string(100000, '-') + "x";
  EXPECT_EQ(error_of(deep), "line 1: nested too deeply");
  std::string braces = "kernel k() ";
  for (int i = 0; i < 100000; ++i) braces += "{ block ";
  EXPECT_EQ(error_of(braces), "line 1: nested too deeply");
}

TEST(Parse, TruncatedTextIsAnErrorOrShorterProgram) {
  const std::string text =
      "kernel k[n](A: f32[n] layout [0/4, 0%4], write C: f32[4]) { let x: f32 = A[n - 1] "
      "grid g in 0..4 { C[ramp(g, 1, 4)] = select(x4(true), x4(x), x4(-1.5)) } }";
  ASSERT_TRUE(parse_kernel(text)) << error_of(text);
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(parse_kernel(text.substr(0, size)));
  }
  // Any one character replaced: no crash.
  for (size_t i = 0; i < text.size(); ++i) {
    for (char c : {'(', ')', '{', '}', '9', 'x', '-', '"', '.', '\0', '\xff'}) {
      std::string broken = text;
      broken[i] = c;
      if (auto k = parse_kernel(broken)) round_trip(*k);
    }
  }
}

TEST(Parse, ThousandsOfLets) {
  std::string text = "kernel k() {\n  let x0: index = 0\n";
  for (int i = 1; i < 5000; ++i) {
    text += "  let x" + std::to_string(i) + ": index = x" + std::to_string(i - 1) + " + 1\n";
  }
  text += "}\n";
  auto k = parse_kernel(text);
  ASSERT_TRUE(k);
  EXPECT_EQ(print(*k), text);
}

}  // namespace
}  // namespace gossamer::ir
