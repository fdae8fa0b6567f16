#include "ir/rewrite.h"

#include <gtest/gtest.h>

#include "ir/build.h"

namespace gossamer::ir {
namespace {

TEST(Rewrite, SharedSubtreesAreVisitedOnce) {
  Expr x = var("x", DType::f32);
  Expr sum = x;
  for (int i = 0; i < 60; ++i) sum = sum + sum;  // 2^60 paths
  int count = 0;
  Rewriter rewriter;
  rewriter.expr = [&](const Expr&) -> Expr {
    ++count;
    return {};
  };
  EXPECT_TRUE(rewrite(sum, rewriter).same(sum));
  EXPECT_EQ(count, 61);
  Expr y = var("y", DType::f32);
  Expr replaced = substitute(sum, {{as<VarNode>(x), y}});
  EXPECT_TRUE(uses(replaced, as<VarNode>(y)));
  EXPECT_FALSE(uses(replaced, as<VarNode>(x)));
  Expr again = substitute(sum, {{as<VarNode>(x), y}});
  EXPECT_TRUE(equal(replaced, again));
  EXPECT_EQ(hash(replaced), hash(again));
  EXPECT_FALSE(equal(replaced, sum));
}

TEST(Rewrite, HookBeforeStopsTheDescent) {
  Expr x = var("x");
  Expr inner = x + 1;
  Expr outer = floordiv(inner, 2);
  Rewriter rewriter;
  rewriter.expr_before = [&](const Expr& e) { return e.same(inner) ? index(9) : Expr(); };
  Expr result = rewrite(outer, rewriter);
  EXPECT_EQ(as_int(as<Binary>(result)->a), 9);
}

TEST(Rewrite, SubstitutesBuffersInStatements) {
  Buffer a = buffer("a", DType::f32, {index(4)}), b = buffer("b", DType::f32, {index(4)});
  Var i = var("i");
  Stmt body = loop(i, index(4), LoopKind::serial, store(a, {i}, load(a, {i}) + 1.0));
  Stmt other = substitute_buffers(body, {{a.get(), b}});
  int loads = 0;
  visit(
      other,
      [&](const Stmt& s) {
        if (auto* st = as<Store>(s)) EXPECT_TRUE(st->buffer.same(b));
        return true;
      },
      [&](const Expr& e) {
        if (auto* l = as<Load>(e)) loads += l->buffer.same(b);
        return true;
      });
  EXPECT_EQ(loads, 1);
  EXPECT_FALSE(equal(body, other));
  EXPECT_TRUE(equal(body, substitute_buffers(other, {{b.get(), a}})));
}

}  // namespace
}  // namespace gossamer::ir
