#include "ir/verify.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/parse.h"

namespace gossamer::ir {
namespace {

std::string verdict(const Kernel& k, Properties properties = 0) {
  auto result = verify(k, properties);
  return result ? "ok" : result.error().message;
}

std::string verdict(std::string_view text, Properties properties = 0) {
  auto k = parse_kernel(text);
  return k ? verdict(*k, properties) : "does not parse: " + k.error().to_string();
}
std::string verdict(std::string_view text, Property property) {
  return verdict(text, static_cast<Properties>(property));
}

constexpr std::string_view good = R"(kernel k[n](A: f32[n], write C: f32[n]) {
  let blocks: index = (n + 63) // 64
  grid g in 0..blocks {
    alloc tile: f32[64] group
    group t in 0..64 {
      let i: index = g * 64 + t
      tile[t] = select(i < n, A[min(i, n - 1)], 0.0)
      barrier group
      for j in 0..4 {
        if i < n {
          C[i] = tile[t] + tile[j]
        }
      }
    }
  }
}
)";

TEST(Verify, AcceptsAGoodKernel) {
  using enum Property;
  EXPECT_EQ(verdict(good), "ok");
  EXPECT_EQ(verdict(good, scheduled | no_vector_loops | no_unrolled_loops | flat_access |
                              contiguous_vectors | storage_types | math_lowered),
            "ok");
  EXPECT_EQ(verify(*parse_kernel("kernel bad(write A: f32[1]) { for i in 0..2 { barrier group } }"))
                .error()
                .to_string(),
            "kernel bad: a barrier outside a group loop");
}

TEST(Verify, Names) {
  Kernel k = *parse_kernel("kernel k(write A: f32[4]) { grid g in 0..4 { A[g] = 1.0 } }");
  Var stray = var("stray");
  Kernel broken = k;
  broken.body = block({k.body, store(k.params[0].buffer, {stray}, constant(DType::f32, 0))});
  EXPECT_EQ(verdict(broken), "variable 'stray' is not in scope");
  Buffer other = buffer("other", DType::f32, {index(4)}, Scope::priv);
  broken.body = store(other, {index(0)}, constant(DType::f32, 0));
  EXPECT_EQ(verdict(broken).substr(0, 32), "buffer 'other' is not in scope: ");
  Stmt put = store(k.params[0].buffer, {stray}, constant(DType::f32, 0));
  broken.body =
      loop(stray, index(2), LoopKind::serial, loop(stray, index(2), LoopKind::serial, put));
  EXPECT_EQ(verdict(broken), "variable 'stray' is bound twice");
  broken.body = alloc(other, alloc(other, put));
  EXPECT_EQ(verdict(broken), "buffer 'other' is allocated twice");
  // Out of its loop again.
  broken.body = block({loop(stray, index(2), LoopKind::serial, put), put});
  EXPECT_EQ(verdict(broken), "variable 'stray' is not in scope");
  broken = k;
  broken.params.push_back(k.params[0]);
  EXPECT_EQ(verdict(broken), "parameter 'A' occurs twice");
}

TEST(Verify, Types) {
  Buffer a = buffer("A", DType::f32, {index(4)});
  auto with_value = [&](Expr value) {
    auto* s = new Store();
    s->buffer = a;
    s->indices = {index(0)};
    s->value = value;
    return Kernel{"k", {{a, true}}, {}, Stmt(s)};
  };
  Expr one = constant(DType::f32, 1), i = index(1);
  auto binary_node = [](BinaryOp op, Type type, Expr x, Expr y) {
    auto* b = new Binary(type);
    b->op = op;
    b->a = x;
    b->b = y;
    return Expr(b);
  };
  EXPECT_EQ(verdict(with_value(one)), "ok");
  EXPECT_EQ(verdict(with_value(binary_node(BinaryOp::add, DType::f32, one, i))),
            "'+' of f32 and index is not f32: 1.0 + 1");
  EXPECT_EQ(verdict(with_value(binary_node(BinaryOp::lt, DType::f32, one, one))),
            "'<' of f32 and f32 is not f32: 1.0 < 1.0");
  EXPECT_EQ(verdict(with_value(binary_node(BinaryOp::floordiv, DType::f32, one, one))),
            "'//' of f32 and f32 is not f32: 1.0 // 1.0");
  EXPECT_EQ(verdict(with_value(binary_node(BinaryOp::bit_and, DType::f32, one, one))),
            "'&' of f32 and f32 is not f32: 1.0 & 1.0");
  EXPECT_EQ(verdict(with_value(i)), "'A' is stored as f32, not index: 1");
  EXPECT_EQ(verdict(with_value(broadcast(one, 4))),
            "an index of 1 lanes for a value of 4: x4(1.0)");
  EXPECT_EQ(verdict(with_value({})), "an expression is missing");
  auto* cast_node = new Cast(Type(DType::f32));
  cast_node->a = broadcast(one, 2);
  EXPECT_EQ(verdict(with_value(Expr(cast_node))), "Cast of f32x2 is not f32: f32(x2(1.0))");
  auto* select_node = new Select(Type(DType::f32));
  select_node->condition = one;
  select_node->yes = select_node->no = one;
  EXPECT_EQ(verdict(with_value(Expr(select_node))),
            "Select of f32 is not f32: select(1.0, 1.0, 1.0)");
  auto* lane_node = new Lane(Type(DType::f32));
  lane_node->a = broadcast(one, 4);
  lane_node->lane = index(4);
  EXPECT_EQ(verdict(with_value(Expr(lane_node))), "a lane that does not exist: lane(x4(1.0), 4)");
  auto* vector_node = new MakeVector(Type(DType::f32, 2));
  vector_node->lanes = {one};
  EXPECT_EQ(verdict(with_value(Expr(vector_node))), "a vector of the wrong length: vec(1.0)");
}

TEST(Verify, AccessesFitTheBuffer) {
  EXPECT_EQ(verdict("kernel k(A: f32[4, 4, 4], write C: f32[4]) { C[0] = A[0, 1] }"),
            "'A' has 3 axes, not 2: A[0, 1]");
  EXPECT_EQ(verdict("kernel k(A: f32[4, 4], write C: f32[4, 4]) "
                    "{ C[ramp(0, 1, 4), 0] = A[ramp(0, 1, 2), ramp(0, 1, 4)]:f32x4 }"),
            "indices of different lengths: A[ramp(0, 1, 2), ramp(0, 1, 4)]");
  EXPECT_EQ(verdict("kernel k(A: f32[4]) { A[0] = 1.0 }"),
            "a store to 'A', which the kernel does not write");
  EXPECT_EQ(verdict("kernel k(write A: f32[4]) { A[0] = A[1] }"),
            "a load of the written buffer 'A', before any store: A[1]");
  EXPECT_EQ(verdict("kernel k(write A: f32[4]) { A[0] = 1.0\nA[1] = A[0] }"), "ok");
  EXPECT_EQ(verdict("kernel k(update A: f32[4]) { A[0] = A[0] + 1.0 }"), "ok");
}

TEST(Verify, Structure) {
  auto in_grid = [](std::string body) {
    return "kernel k[n](A: i32[n], write C: f32[n]) { grid g in 0..4 { " + body + " } }";
  };
  EXPECT_EQ(verdict(in_grid("grid h in 0..2 { C[h] = 1.0 }")), "two grid loops");
  EXPECT_EQ(
      verdict("kernel k(write C: f32[4]) { for i in 0..2 { grid h in 0..2 { C[h] = 1.0 } } }"),
      "the grid loop is not the outermost");
  EXPECT_EQ(verdict(in_grid("group t in 0..2 { group u in 0..2 { C[u] = 1.0 } }")),
            "two group loops");
  EXPECT_EQ(verdict(in_grid("for i in 0..2 { group u in 0..2 { C[u] = 1.0 } }")),
            "the group loop is not directly inside the grid loop");
  // Barriers
  auto in_group = [&](std::string body) { return in_grid("group t in 0..8 { " + body + " }"); };
  const std::string divergent = "a barrier under divergent control flow";
  EXPECT_EQ(verdict(in_group("barrier group")), "ok");
  EXPECT_EQ(verdict(in_group("if g < 2 { barrier group }")), "ok");
  EXPECT_EQ(verdict(in_group("for i in 0..n { barrier group }")), "ok");
  EXPECT_EQ(verdict(in_group("if A[g] < 2i32 { barrier group }")), "ok");
  EXPECT_EQ(verdict(in_group("if t < 2 { barrier group }")), divergent);
  EXPECT_EQ(verdict(in_group("let x: index = t // 2 for i in 0..x { barrier group }")), divergent);
  EXPECT_EQ(verdict(in_group("if A[t] < 2i32 { } else { barrier group }")), divergent);
  EXPECT_EQ(verdict(in_group("alloc p: i32[1] while p[0] < 2i32 { barrier group }")), divergent);
}

TEST(Verify, Scheduled) {
  EXPECT_EQ(
      verdict("kernel k(write C: f32[4]) { for i in 0..4 { C[i] = 1.0 } }", Property::scheduled),
      "a scheduled kernel is Lets around one grid loop");
  EXPECT_EQ(verdict("kernel k(write C: f32[4]) { grid i in 0..4 { C[i] = 1.0 } C[0] = 2.0 }",
                    Property::scheduled),
            "a scheduled kernel is Lets around one grid loop");
  EXPECT_EQ(verdict("kernel k(write C: f32[4]) { for i in 0..4 { C[i] = 1.0 } }"), "ok");
}

TEST(Verify, LoopsThatPassesRemove) {
  EXPECT_EQ(verdict("kernel k(write C: f32[4]) { vectorized i in 0..4 { C[i] = 1.0 } }",
                    Property::no_vector_loops),
            "loop 'i' was not vectorized");
  EXPECT_EQ(verdict("kernel k(write C: f32[4]) { unrolled i in 0..4 { C[i] = 1.0 } }",
                    Property::no_unrolled_loops),
            "loop 'i' was not unrolled");
}

TEST(Verify, FlatAccess) {
  EXPECT_EQ(verdict("kernel k(write C: f32[4, 4]) { C[0, 1] = 1.0 }", Property::flat_access),
            "'C' takes 1 indices once accesses are flat, not 2: 1.0");
  const std::string texture =
      "kernel k(T: f32[64] layout flat[0/4, 0%4] texture 4, write C: f32[4]) ";
  EXPECT_EQ(verdict(texture + "{ C[ramp(0, 1, 4)] = T[0, 1, 0]:f32x4 }", Property::flat_access),
            "ok");
  EXPECT_EQ(verdict(texture + "{ C[0] = T[5] }", Property::flat_access),
            "'T' takes 3 indices once accesses are flat, not 1: T[5]");
  EXPECT_EQ(verdict(texture + "{ C[0] = T[0, 1, 0] }", Property::flat_access),
            "a texture is accessed by whole texels at scalar coordinates: T[0, 1, 0]");
}

TEST(Verify, ContiguousVectors) {
  EXPECT_EQ(verdict("kernel k(A: f32[16], write C: f32[4]) { C[ramp(0, 1, 4)] = A[ramp(0, 4, 4)] }",
                    Property::contiguous_vectors),
            "a vector index that is no ramp of stride 1: A[ramp(0, 4, 4)]");
  EXPECT_EQ(verdict("kernel k(A: f32[16], write C: f32[4]) { C[ramp(0, 1, 4)] = A[ramp(8, 1, 4)] }",
                    Property::contiguous_vectors),
            "ok");
}

TEST(Verify, StorageTypes) {
  const std::string half = "kernel k(A: f32[4] stored f16, write C: f32[4]) ";
  EXPECT_EQ(verdict(half + "{ C[0] = A[0] }"), "ok");
  EXPECT_EQ(verdict(half + "{ C[0] = A[0] }", Property::storage_types),
            "'A' is stored as f16, not f32: A[0]");
  EXPECT_EQ(verdict(half + "{ C[0] = f32(A[0]:f16) }", Property::storage_types), "ok");
}

TEST(Verify, WrittenOnce) {
  auto fragment = [](std::string body) {
    return "kernel k(A: f32[64] layout flat[0/4, 0%4] texture 4, write C: f32[64, 2] layout [0/4, "
           "1, "
           "0%4] texture 4 layers 2) { grid g in 0..16 { " +
           body + " } }";
  };
  auto check = [&](std::string body) { return verdict(fragment(body), Property::written_once); };
  EXPECT_EQ(check("C[g % 4, g // 4, 0] = x4(1.0) C[g % 4, g // 4, 1] = x4(2.0)"), "ok");
  EXPECT_EQ(check("let x: index = g % 4 let y: index = g // 4 C[x, y, 0] = A[x, y, 0]:f32x4"),
            "ok");
  // Digits base 2, 3 and 2 of the texel, put together again.
  EXPECT_EQ(check("C[g % 2 + (g // 6 * 3 + g // 2 % 3) % 2 * 2, (g // 6 * 3 + g // "
                  "2 % 3) // 2, 0] = x4(1.0)"),
            "ok");
  EXPECT_EQ(check("C[g // 4, g % 4, 0] = x4(1.0)"),
            "'C' is written at (g // 4, g % 4), not at the invocation's own texel");
  // At most one item: its number is 0.
  EXPECT_EQ(verdict("kernel k[n](write C: f32[n] layout flat[0/4, 0%4] texture 4) { "
                    "grid g in 0..min(n, 4) // 8 + 1 { C[0, 0, 0] = x4(1.0) } }",
                    Property::written_once),
            "ok");
  EXPECT_EQ(check("C[g % 4, g // 4, 0] = x4(1.0) C[g % 4, g // 4, 0] = x4(2.0)"),
            "layer 0 of 'C' is written twice");
  EXPECT_EQ(check("C[g % 4, g // 4, 2] = x4(1.0)"), "a layer of 'C' that does not exist: 2");
  EXPECT_EQ(check("if g < 3 { C[g % 4, g // 4, 0] = x4(1.0) }"),
            "a store to 'C' under a loop or a condition may happen twice or never");
  EXPECT_EQ(verdict("kernel k(write C: f32[64]) { grid g in 0..16 { C[g] = 1.0 } }",
                    Property::written_once),
            "'C' is no texture, but a fragment program writes it");
}

TEST(Verify, MathLowered) {
  EXPECT_EQ(verdict("kernel k(write C: f32[4]) { C[0] = exp(1.0) }", Property::math_lowered),
            "exp was not lowered: exp(1.0)");
  EXPECT_EQ(verdict("kernel k(write C: f32[4]) { C[0] = pow(2.0, 3.0) }", Property::math_lowered),
            "pow was not lowered: pow(2.0, 3.0)");
  EXPECT_EQ(
      verdict("kernel k(write C: f32[4]) { C[0] = sqrt(floor(1.5)) }", Property::math_lowered),
      "ok");
}

}  // namespace
}  // namespace gossamer::ir
