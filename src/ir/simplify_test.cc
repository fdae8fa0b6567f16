#include "ir/simplify.h"

#include <gtest/gtest.h>

#include <limits>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/scalar.h"

namespace gossamer::ir {
namespace {

class Simplify : public testing::Test {
 protected:
  Simplify() {
    bounds.set(a.get(), {0, 63});
    bounds.set(b.get(), {0, 7});
    bounds.set(c.get(), {0, 3});
    bounds.set(n.get(), {1, 1 << 20});
    bounds.set(m.get(), {1, 1 << 20});
    bounds.set_multiple(q.get(), 8);
  }
  void same(const Expr& from, const Expr& to) {
    const Expr simple = simplify(from, bounds);
    EXPECT_TRUE(equal(simple, simplify(to, bounds)))
        << print(from) << "\n  became   " << print(simple) << "\n  expected " << print(to);
    // The expected form is the simple one already.
    EXPECT_TRUE(equal(simplify(to, bounds), to))
        << print(to) << " became " << print(simplify(to, bounds));
    EXPECT_TRUE(equal(simplify(simple, bounds), simple));
  }

  Var a = var("a"), b = var("b"), c = var("c"), x = var("x"), y = var("y"), n = var("n"),
      m = var("m"), q = var("q");
  Expr A = a, B = b, C = c, X = x, Y = y, N = n, M = m, Q = q;
  Bounds bounds;
};

TEST_F(Simplify, Sums) {
  same((X + Y) - X, Y);
  same((X + 1) * (Y + 1) - X - Y - 1, X * Y);
  same(2 * (X + 3) + Y - X, X + Y + 6);
  same(3 - X - 5, index(-2) - X);
  same(X * Y - Y * X, index(0));
  same((X + Y) * (X - Y), X * X - Y * Y);
}

TEST_F(Simplify, EqualPolynomialsGiveTheSameText) {
  Expr one = ((X * N + Y) * M + A) * N, two = X * N * M * N + N * A + M * (Y * N);
  EXPECT_TRUE(equal(simplify(one), simplify(two)));
}

TEST_F(Simplify, FloorDivision) {
  same(floordiv(8 * X + B, 8), X);
  same(floormod(8 * X + B, 8), B);
  same(floordiv(X, 4) * 4 + floormod(X, 4), X);
  same(floordiv(floordiv(X, 3), 5), floordiv(X, 15));
  same(floordiv(floormod(X, 32), 8), floormod(floordiv(X, 8), 4));
  same(floormod(floormod(X, 32), 8), floormod(X, 8));
  same(X - floordiv(X, 8) * 8, floormod(X, 8));
  same(floordiv(X + 15, 8), floordiv(X + 7, 8) + 1);
  same(floordiv(B, 8), index(0));
  same(floormod(B, 8), B);
  same(floordiv(4 * X + C, 16), floordiv(X, 4));
  same(floormod(4 * X + C, 16), C + floormod(X, 4) * 4);
  same(floordiv(X * 6 + 4, 8), floordiv(X * 3 + 2, 4));
  same(floordiv(X, -2), floordiv(X * -1, 2));
  same(floormod(Q, 8), index(0));
  same(floordiv(Q + B, 8), floordiv(Q, 8));
  same(A / 8, floordiv(A, 8));
  // x // c and x % c over one x.
  same(floormod(9 * X, 8), floormod(X * 9, 8));
  same(floormod(9 * C, 8), C);
}

TEST_F(Simplify, TripleSplitComesBackTogether) {
  Expr f = X;
  Expr h = floordiv(f, 64 * 8), w = floormod(floordiv(f, 8), 64), lane = floormod(f, 8);
  same(h * 512 + w * 8 + lane, X);
}

TEST_F(Simplify, SymbolicDivision) {
  Bounds more = bounds;
  Var i = var("i"), j = var("j");
  more.set_extent(j.get(), N);
  Expr I = i, J = j;
  EXPECT_TRUE(equal(simplify(floordiv(I * N + J, N), more), I));
  EXPECT_TRUE(equal(simplify(floormod(I * N + J, N), more), J));
  EXPECT_TRUE(equal(simplify(floordiv(I * N * M, M), more), simplify(I * N)));
  EXPECT_TRUE(prove(J < N, more));
  EXPECT_TRUE(prove(I * N + J < I * N + N, more));
  EXPECT_FALSE(prove(J < N - 1, more));
  // (n + 1) * i + j over rows of n + 1
  more.set_extent(j.get(), N + 1);
  EXPECT_TRUE(equal(simplify(floordiv(I * (N + 1) + J, N + 1), more), I));
}

TEST_F(Simplify, MinMaxAndComparisons) {
  same(min(A, 100), A);
  same(max(A, 100), index(100));
  same(min(X + 3, X + 5), X + 3);
  same(min(min(X, 3), 5), min(X, 3));
  same(min(X, index(std::numeric_limits<int64_t>::max())), X);
  same(max(X, index(std::numeric_limits<int64_t>::min())), X);
  same(A < 64, boolean(true));
  same(A >= 64, boolean(false));
  same(X + 3 < Y + 5, X < Y + 2);
  same(X * 4 < 9, X < 3);
  same(floordiv(X, 8) < 4, X < 32);
  same(floordiv(X, 8) >= 4, X >= 32);
  same(X <= 5, X < 6);
  same(0 - X <= 0, X >= 0);
  same(X * 2 == Y * 2 + 1, boolean(false));
  same(!(X < Y), Y < X + 1);
  same(Expr(X < 5) && Expr(X < 8), X < 5);
  same(Expr(X < 5) || Expr(X < 8), X < 8);
  same(Expr(X < 5) && Expr(X >= 5), boolean(false));
  same(Expr(X < 5) || Expr(X >= 3), boolean(true));
  same(select(A < 64, X, Y), X);
  same(select(!(X < 5), X, Y), select(X >= 5, X, Y));
}

// All lanes of such a vector are on one side of the bound.
TEST_F(Simplify, ComparisonsWithoutRemainders) {
  same(8 * X + B < 16, X < 2);
  same(8 * X + B >= 16, X >= 2);
  same(8 * X + B < 8 * Y, X < Y);
  same(8 * X + C + 4 <= 15, X < 2);
  same(8 * X + B < 15, B + X * 8 < 15);
  same(8 * X + C + 5 < 16, C + X * 8 < 11);
  EXPECT_TRUE(
      equal(simplify(ramp(X * 8, 1, 8) < broadcast(index(24), 8)), broadcast(Expr(X < 3), 8)));
}

TEST_F(Simplify, Casts) {
  Expr wide = cast(DType::i64, X);
  same(cast(DType::index, wide), X);
  same(cast(DType::index, wide + wide * 2.0), X * 3);
  same(wide < 5, X < 5);
  Var k = var("k", DType::i64);
  same(cast(DType::i64, cast(DType::index, k)), k);
  Var f = var("f", DType::f32);
  same(cast(DType::f32, cast(DType::f64, f)), f);
  Expr narrow = cast(DType::f32, cast(DType::f16, f));
  same(narrow, narrow);
  Var u = var("u", DType::u8);
  same(cast(DType::i32, cast(DType::i64, u)), cast(DType::i32, u));
  EXPECT_TRUE(prove(cast(DType::index, u) < 256));
}

TEST_F(Simplify, FloatsOnlyExactly) {
  Var f = var("f", DType::f32), g = var("g", DType::f32);
  Expr F = f, G = g;
  same(F * 1.0, F);
  same(1.0 * F, F);
  same(-(-F), F);
  same(F - 0.0, F);
  same(F + -0.0, F);
  same(F / 4.0, F * 0.25);
  same(max(max(F, 0.0), 1.0), max(F, 1.0));
  Expr kept[] = {F + 0.0, F * 0.0, F - F, F / 3.0, (F + 1.0) + 2.0, (F + G) - F};
  for (const Expr& e : kept) EXPECT_TRUE(equal(simplify(e), e));
  EXPECT_TRUE(equal(simplify(!(F < G)), !(F < G)));  // NaN
}

TEST_F(Simplify, Vectors) {
  auto splat = [](Expr e) { return broadcast(e, 4); };
  same(ramp(X, 1, 4) + splat(Y), ramp(X + Y, 1, 4));
  same(ramp(X, 1, 4) * splat(index(3)), ramp(X * 3, 3, 4));
  same(floordiv(ramp(4 * X, 1, 4), splat(index(8))), splat(floordiv(X, 2)));
  same(floormod(ramp(8 * X + 4, 1, 4), splat(index(8))), ramp(index(4), 1, 4));
  same(floormod(ramp(4 * X, 1, 4), splat(index(8))), ramp(floormod(X, 2) * 4, 1, 4));
  same(floordiv(ramp(X, 8, 4), splat(index(8))), ramp(floordiv(X, 8), 1, 4));
  same(floormod(ramp(X, 8, 4), splat(index(8))), splat(floormod(X, 8)));
  same(ramp(C, 1, 4) < splat(index(7)), splat(boolean(true)));
  same(min(ramp(C, 1, 4), splat(index(9))), ramp(C, 1, 4));
  same(make_vector({X, X + 2, X + 4, X + 6}), ramp(X, 2, 4));
  same(lane(ramp(X, 3, 4) + ramp(Y, 1, 4), index(2)), X + Y + 8);
  Buffer t = buffer("t", DType::index, {index(100)});
  Expr gather = load(t, {ramp(X, 1, 4)});
  same(gather + splat(X) - gather, splat(X));
  Buffer d = buffer("d", DType::f32, {index(100)});
  same(load(d, {splat(X)}), splat(load(d, {X})));
  Expr odd = floordiv(ramp(X, 1, 4), splat(index(3)));
  same(odd * splat(index(3)) + floormod(ramp(X, 1, 4), splat(index(3))), ramp(X, 1, 4));
}

TEST_F(Simplify, Statements) {
  Buffer out = buffer("out", DType::f32, {N});
  Var i = var("i"), j = var("j");
  auto put = [&](Expr at) { return store(out, {at}, constant(DType::f32, 1)); };
  // A loop of one iteration, a guard that always holds, a dead Let.
  Stmt s =
      loop(i, index(1), LoopKind::serial,
           loop(j, N, LoopKind::serial, let(x, j + 5, branch(Expr(j) < N, put(Expr(i) * N + j)))));
  EXPECT_TRUE(equal(simplify(s, bounds), loop(j, N, LoopKind::serial, put(j))));
  EXPECT_TRUE(equal(simplify(loop(i, index(0), LoopKind::serial, put(i))), block({})));
  // Conditions hold in their branch.
  Stmt guarded = branch(Y < 8, branch(Y < 9, put(Y), put(X)), branch(Y >= 8, put(X)));
  EXPECT_TRUE(equal(simplify(guarded), branch(Y < 8, put(Y), put(X))));
  // A grid loop stays whatever its extent.
  Stmt grid = loop(i, index(1), LoopKind::grid, put(Expr(i) + 2));
  EXPECT_TRUE(equal(simplify(grid), loop(i, index(1), LoopKind::grid, put(index(2)))));
  // The same variable again over another extent.
  Stmt twice = block({loop(i, index(4), LoopKind::serial, put(floordiv(i, 4))),
                      loop(i, index(8), LoopKind::serial, put(floordiv(i, 4)))});
  EXPECT_TRUE(
      equal(simplify(twice), block({loop(i, index(4), LoopKind::serial, put(index(0))),
                                    loop(i, index(8), LoopKind::serial, put(floordiv(i, 4)))})));
}

TEST_F(Simplify, CoordinatesOfOneNumberJoinAgain) {
  Buffer out = buffer("out", DType::f32, {index(1000)});
  Var i = var("item");
  Expr I = i;
  auto put = [&](Expr at) { return store(out, {at}, constant(DType::f32, 1)); };
  Stmt s = loop(i, index(1000), LoopKind::grid,
                let(x, floordiv(I, 100),
                    let(y, floormod(floordiv(I, 10), 10),
                        let(n, floormod(I, 10), put(floordiv(X * 100 + Y * 10 + N, 4))))));
  EXPECT_TRUE(equal(simplify(s), loop(i, index(1000), LoopKind::grid, put(floordiv(I, 4)))))
      << print(simplify(s));
}

TEST_F(Simplify, LetsKeepWhatTheyLoaded) {
  // cell changes between the Lets and their use.
  Buffer cell = buffer("cell", DType::index, {index(1)}, Scope::priv);
  Buffer out = buffer("out", DType::f32, {index(1000)});
  Expr held = load(cell, {index(0)});
  Stmt s = let(x, floordiv(held, 4),
               let(y, floormod(held, 4),
                   block({store(cell, {index(0)}, index(7)),
                          store(out, {X * 4 + Y}, constant(DType::f32, 1))})));
  EXPECT_TRUE(equal(simplify(s), s)) << print(simplify(s));
}

TEST_F(Simplify, OuterTermsComeFirst) {
  Var outer = var("z"), inner = var("a");
  Buffer out = buffer("out", DType::f32, {index(100)});
  auto put = [&](Expr at) { return store(out, {at}, constant(DType::f32, 1)); };
  Stmt s = loop(outer, index(8), LoopKind::serial,
                loop(inner, index(8), LoopKind::serial, put(inner + outer * 8)));
  EXPECT_TRUE(
      equal(simplify(s), loop(outer, index(8), LoopKind::serial,
                              loop(inner, index(8), LoopKind::serial, put(outer * 8 + inner)))));
}

// A norm over groups of channels: the indices that exporters write as reshapes.
TEST(SimplifyOpen, Reshapes) {
  const Var h = var("h"), w = var("w"), c = var("c"), y = var("y"), x = var("x"), r = var("r");
  Bounds bounds;
  bounds.set_axis(c.get(), index(64));
  bounds.set_axis(y.get(), h);
  bounds.set_axis(x.get(), w);
  bounds.set_axis(r.get(), Expr(h) * w * 2);
  const auto simple = [&](const Expr& e) { return print(simplify(e, bounds)); };
  const Expr size = Expr(h) * w, place = (Expr(c) * h + y) * w + x;
  EXPECT_EQ(simple(floordiv(place, size * 2)), "c // 2");
  EXPECT_EQ(
      simple(floordiv(size * floordiv(place, size * 2) * 2 + floormod(place, size * 2), size)),
      "c");
  EXPECT_EQ(simple(floormod(floormod(place, size * 2), w)), "x");
  const Expr group = size * c * 2 + r;
  EXPECT_EQ(simple((floordiv(group, size) * h + floormod(floordiv(group, w), h)) * w +
                   floormod(group, w)),
            simple(group));
}

// A cache of keys, repeated for groups of heads, as torch.export writes it: its length is a sum.
TEST(SimplifyOpen, ReshapesBySums) {
  const Var past = var("past"), length = var("length"), batch = var("batch");
  const Var b = var("b"), head = var("head"), row = var("row"), column = var("column");
  Bounds bounds;
  for (const Var& n : {past, length, batch}) bounds.set(n.get(), {0, 1 << 20});
  const Expr all = Expr(past) + length;
  bounds.set_axis(b.get(), batch);
  bounds.set_axis(head.get(), index(8));
  bounds.set_axis(row.get(), index(32));
  bounds.set_axis(column.get(), all);
  const auto simple = [&](const Expr& e) { return print(simplify(e, bounds)); };
  const Expr place = ((Expr(b) * 8 + head) * 32 + row) * all + column;
  EXPECT_EQ(simple(floordiv(place, all * 32)), "b * 8 + head");
  EXPECT_EQ(simple(floormod(floordiv(place, all), 32)), "row");
  EXPECT_EQ(simple(floormod(place, all)), "column");
}

// torch.export writes (n - 1) // 2 + 1 for a convolution of stride 2; ONNX divides towards 0.
TEST(SimplifyOpen, ExtentsByTruncatedDivision) {
  const Var h = var("h"), w = var("w"), c = var("c"), r = var("r");
  Bounds bounds;
  bounds.set(h.get(), {0, 1 << 20});
  bounds.set(w.get(), {0, 1 << 20});
  bounds.set_axis(c.get(), index(8));
  const auto half = [](const Var& n) { return binary(BinaryOp::div, Expr(n) - 1, index(2)) + 1; };
  EXPECT_EQ(bounds.of(half(h)).low, 1);
  EXPECT_EQ(bounds.of(binary(BinaryOp::div, Expr(h) - 7, index(3))).low, -2);
  EXPECT_EQ(bounds.of(binary(BinaryOp::div, Expr(h) - 7, index(3))).high, (1 << 20) / 3 - 2);
  const Expr plane = half(h) * half(w) * 4;
  bounds.set_axis(r.get(), plane * 16);
  EXPECT_EQ(print(simplify(floordiv(plane * c * 16 + r, plane * 16), bounds)), "c");
  EXPECT_EQ(print(simplify(floordiv(plane * c * 16, plane), bounds)), "c * 16");
  // A norm over 16 of 128 channels, whose images are twice as high and wide.
  const Var channel = var("channel"), y = var("y"), x = var("x");
  const Expr height = half(h) * 2, width = half(w) * 2;
  bounds.set_axis(channel.get(), index(128));
  bounds.set_axis(y.get(), height);
  bounds.set_axis(x.get(), width);
  bounds.set_axis(r.get(), height * width * 16);
  const Expr place = (Expr(channel) * height + y) * width + x, group = height * width * 16;
  const auto simple = [&](const Expr& e) { return print(simplify(e, bounds)); };
  EXPECT_EQ(simple(floordiv(group, height * width)), "16");
  EXPECT_EQ(simple(floordiv(place, group)), "channel // 16");
  EXPECT_EQ(simple(floordiv(floormod(place, group), height * width)), "channel % 16");
  EXPECT_EQ(simple(floormod(floordiv(floormod(place, group), width), height)), "y");
  EXPECT_EQ(simple(floormod(floormod(place, group), width)), "x");
}

// Tiles of 4 x 4 points of an image that they make up lie inside of it.
TEST(SimplifyOpen, TilesOfWholeImages) {
  const Var h = var("h"), w = var("w"), item = var("item"), tile = var("tile");
  Bounds bounds;
  bounds.set_axis(item.get(), Expr(h) * w * 96);
  const Buffer out = buffer("out", DType::f32, {index(1)});
  const Expr row = floordiv(tile, Expr(w) * 2) * 4, channel = floordiv(item, Expr(h) * w * 4);
  const Stmt stored = store(out, {index(0)}, cast(DType::f32, min(Expr(h) * 8 + 1, row + 5)));
  const Stmt inside =
      branch(row + 5 < Expr(h) * 8 + 2 && min(channel, index(23)) == channel, stored);
  const Stmt body = let(tile, floormod(item, Expr(h) * w * 4), inside);
  EXPECT_EQ(print(simplify(loop(item, Expr(h) * w * 96, LoopKind::serial, body))),
            R"(for item in 0..h * w * 96 {
  let tile: index = item % (h * w * 4)
  out[0] = f32(tile // (w * 2) * 4 + 5)
}
)");
}

// A product too long to expand stays one, in vectors too.
TEST(SimplifySpeed, LongProductsOfVectors) {
  Expr number = ramp(var("x"), 1, 4);
  for (int i = 0; i < 8; ++i) {
    const Expr a = var("a"), b = var("b"), c = var("c");
    number = number * broadcast(a + b * c + 1, 4) + broadcast(a * c, 4);
  }
  EXPECT_TRUE(simplify(number));
  EXPECT_TRUE(simplify(floordiv(number, broadcast(index(7), 4)) * number));
}

TEST(SimplifySpeed, LinearInSharedSize) {
  Expr e = var("x");
  for (int i = 0; i < 40; ++i) e = select(e < i, e + i, floordiv(e, 3));
  EXPECT_TRUE(simplify(e));
}

}  // namespace
}  // namespace gossamer::ir
