// flatten_access and clamp_guarded_loads: the addresses they leave.
#include <gtest/gtest.h>

#include <unordered_set>

#include "ir/build.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "passes/clamp_guarded_loads.h"
#include "passes/flatten_access.h"

namespace gossamer::passes {
namespace {

std::string flat(std::string_view text) {
  auto kernel = ir::parse_kernel(text);
  return kernel ? ir::print(flatten_access(*kernel)) : kernel.error().to_string();
}
std::string clamped(std::string_view text,
                    ir::Stmt (*clamp)(const ir::Stmt&) = clamp_guarded_loads) {
  auto kernel = ir::parse_kernel(text);
  if (!kernel) return kernel.error().to_string();
  kernel->body = ir::simplify(clamp(kernel->body));
  return ir::print(*kernel);
}
bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(FlattenAccess, PlainMemoryIsRowMajor) {
  EXPECT_EQ(flat(R"(kernel k(A: f32[3, 4, 5], write C: f32[5, 4]) {
  grid g in 0..5 {
    for i in 0..4 {
      C[g, i] = A[2, i, g]
    }
  }
})"),
            R"(kernel k(A: f32[3, 4, 5], write C: f32[5, 4]) {
  grid g in 0..5 {
    for i in 0..4 {
      C[g * 4 + i] = A[g + i * 5 + 40]
    }
  }
}
)");
}

TEST(FlattenAccess, BytesAreCutFromWords) {
  const std::string text = flat(
      R"(kernel k(A: u8[32] layout [] pack 4, B: i8[6, 4] layout [] pack 4, write C: i32[4, 32]) {
  grid g in 0..4 {
    for i in 0..8 {
      C[x4(g), ramp(i * 4, 1, 4)] = i32x4(A[ramp(i * 4, 1, 4)]) + x4(i32(B[g + 2, i]))
    }
  }
})");
  EXPECT_TRUE(has(text, "A: u32[8]")) << text;
  EXPECT_TRUE(has(text, "x4(A[i])")) << text;  // four neighbours are one word
  EXPECT_TRUE(has(text, "B[g + ")) << text;
}

TEST(FlattenAccess, HalvesAreCutFromWords) {
  const std::string text = flat(R"(kernel k(A: f16[32] layout [] pack 2, write C: f16[4, 32]) {
  grid g in 0..4 {
    for i in 0..8 {
      C[x4(g), ramp(i * 4, 1, 4)] = A[ramp(i * 4, 1, 4)] + x4(A[g + i])
    }
  }
})");
  EXPECT_TRUE(has(text, "A: u32[16]")) << text;
  EXPECT_TRUE(has(text, "vec(A[i * 2], A[i * 2], A[i * 2 + 1], A[i * 2 + 1])")) << text;
  EXPECT_TRUE(has(text, "A[(g + i) // 2]")) << text;
}

TEST(FlattenAccess, WholeWordsAreStored) {
  const std::string bytes = flat(R"(kernel k(A: f32[4, 32], write C: i8[4, 32] layout [] pack 4) {
  grid g in 0..4 {
    for i in 0..8 {
      C[x4(g), ramp(i * 4, 1, 4)] = i8x4(A[x4(g), ramp(i * 4, 1, 4)])
    }
  }
})");
  EXPECT_TRUE(has(bytes, "C: u32[32]")) << bytes;
  EXPECT_TRUE(has(bytes, "C[i + g * 8] = ") || has(bytes, "C[g * 8 + i] = ")) << bytes;
  EXPECT_TRUE(has(bytes, "lane(parts, 3) << 24")) << bytes;
  const std::string halves = flat(R"(kernel k(A: f16[32], write C: f16[32] layout [] pack 2) {
  grid g in 0..8 {
    C[ramp(g * 4, 1, 4)] = A[ramp(g * 4, 1, 4)]
  }
})");
  EXPECT_TRUE(has(halves, "C[ramp(g * 2, 1, 2)] = vec(")) << halves;
  EXPECT_TRUE(has(halves, "lane(parts, 3) << 16")) << halves;
}

TEST(FlattenAccess, VectorsStayWhereTheyAreConsecutive) {
  const std::string text =
      flat(R"(kernel k(A: f32[8, 16] layout [1/4, 0, 1%4], B: f32[16, 8], write C: f32[8, 16]) {
  grid g in 0..8 {
    for i in 0..4 {
      C[x4(g), ramp(i * 4, 1, 4)] = A[x4(g), ramp(i * 4, 1, 4)] + B[ramp(i * 4, 1, 4), x4(g)]
    }
  }
})");
  EXPECT_TRUE(has(text, "A[ramp(g * 4 + i * 32, 1, 4)]")) << text;  // the block is consecutive
  EXPECT_TRUE(has(text, "vec(B[")) << text;                         // a column is gathered
  EXPECT_TRUE(has(text, "C[ramp(g * 16 + i * 4, 1, 4)]")) << text;
}

TEST(FlattenAccess, ScatteredStoresEvaluateTheirValueOnce) {
  const std::string text = flat(R"(kernel k(A: f32[8, 4], write C: f32[4, 8]) {
  grid g in 0..8 {
    C[ramp(0, 1, 4), x4(g)] = A[x4(g), ramp(0, 1, 4)]
  }
})");
  EXPECT_TRUE(has(text, "let value: f32x4 = A[ramp(g * 4, 1, 4)]")) << text;
  EXPECT_TRUE(has(text, "C[g + 24] = lane(value, 3)")) << text;
}

TEST(FlattenAccess, TexturesAreReadATexelAtATime) {
  const std::string text = flat(
      R"(kernel k(A: f32[3, 8] layout flat[0/4, 0%4] texture 4, write C: f32[3, 8] layout flat[0/4, 0%4] texture 4) {
  grid t in 0..6 {
    C[x4(t // 2), ramp(t % 2 * 4, 1, 4)] = A[x4(t // 2), ramp(t % 2 * 4, 1, 4)]
  }
})");
  EXPECT_TRUE(has(text, "C[t % 4, t // 4, 0] = A[t % 4, t // 4, 0]:f32x4")) << text;
}

void add_nodes(const ir::Expr& e, std::unordered_set<const ir::Node*>& seen) {
  if (!e.get() || !seen.insert(e.get()).second) return;
  ir::dispatch(*e, [&](const auto& node) {
    ir::visit_fields(node, [&]<class F>(const char*, const F& field) {
      if constexpr (std::is_same_v<F, ir::Expr>) add_nodes(field, seen);
      if constexpr (std::is_same_v<F, std::vector<ir::Expr>>) {
        for (const ir::Expr& part : field) add_nodes(part, seen);
      }
    });
  });
}

// A walk down a tree: each level's place occurs twice in the next one's address, and the address
// three times in the coordinates of a texel.
TEST(FlattenAccess, AddressesOfNestedLoadsShareTheirParts) {
  auto kernel = ir::parse_kernel(
      R"(kernel k(A: i32[99, 2] layout flat[0/4, 0%4] texture 8, write C: i32[99] layout flat[0/4, 0%4] texture 8) {
  grid t in 0..25 {
    C[ramp(t * 4, 1, 4)] = x4(A[t, 0])
  }
})");
  ASSERT_TRUE(kernel) << kernel.error().to_string();
  const ir::Buffer child = kernel->params[0].buffer, to = kernel->params[1].buffer;
  const auto* grid = ir::as<ir::For>(kernel->body);
  const auto* store = ir::as<ir::Store>(grid->body);
  ir::Expr place = ir::load(child, {grid->var, ir::index(0)});
  for (int level = 0; level < 7; ++level) {
    const ir::Expr at = ir::cast(ir::DType::index, place);
    place = ir::load(child, {at, ir::cast(ir::DType::index, place > 7.0)});
  }
  kernel->body = ir::loop(grid->var, grid->extent, grid->loop,
                          ir::store(to, store->indices, ir::broadcast(place, 4)));
  const ir::Kernel flattened = flatten_access(*kernel);
  std::unordered_set<const ir::Node*> nodes;
  ir::visit(
      flattened.body, [](const ir::Stmt&) { return true; },
      [&](const ir::Expr& e) {
        add_nodes(e, nodes);
        return false;
      });
  EXPECT_LT(nodes.size(), 400u);
}

TEST(FlattenAccess, ElementsIncludePadding) {
  const auto kernel = ir::parse_kernel(
      "kernel k(A: f32[3, 10] layout [1/8, 0, 1%8], write C: f32[3, 10] layout flat[0/4, 0%4] "
      "texture 4) { C[0, 0] = A[0, 0] }");
  ASSERT_TRUE(kernel);
  EXPECT_EQ(ir::print(physical_elements(*kernel->params[0].buffer)), "48");
  EXPECT_EQ(ir::print(physical_elements(*kernel->params[1].buffer)), "32");
}

TEST(ClampGuardedLoads, HoldsLoadsOfArmsInside) {
  const std::string text = clamped(R"(kernel k(A: f32[8], write C: f32[10]) {
  grid g in 0..10 {
    C[g] = select(g >= 1 && g < 9, A[g - 1], 0.0)
  }
})");
  EXPECT_TRUE(has(text, "max(") && has(text, "min(")) << text;
}

// Padding of both ends, of which a generator that masks loads needs no clamp; a sum of loads under
// two conditions, one beyond its condition, and one that a function takes keep theirs.
TEST(ClampUnmaskedLoads, LeavesWhatTheConditionKeepsInside) {
  const auto text = [](std::string_view value) {
    return clamped(cat("kernel k[n](A: f32[n], write C: f32[n + 2]) {\n  grid g in 0..n + 2 {\n",
                       "    C[g] = ", value, "\n  }\n}"),
                   clamp_unmasked_loads);
  };
  const std::string inside = "select(g - 1 >= 0 && g - 1 < n, A[g - 1], 0.0)";
  EXPECT_FALSE(has(text(inside), "max(") || has(text(inside), "min(")) << text(inside);
  const std::string twice = text(inside + " + select(g < n, A[g], 0.0)");
  EXPECT_TRUE(has(twice, "max(") && has(twice, "min(")) << twice;
  const std::string beyond = text("select(g - 1 >= 0 && g - 1 < n, A[g], 0.0)");
  EXPECT_TRUE(has(beyond, "min(")) << beyond;
  const std::string function = text("exp(" + inside + ")");
  EXPECT_TRUE(has(function, "max(") && has(function, "min(")) << function;
}

TEST(ClampGuardedLoads, LeavesWhatIsInside) {
  const char* text = R"(kernel k(A: f32[8], write C: f32[8]) {
  grid g in 0..8 {
    C[g] = select(g < 4, A[g], A[7 - g])
  }
}
)";
  EXPECT_EQ(clamped(text), text);
}

TEST(ClampGuardedLoads, LeavesLoadsOutsideOfSelects) {
  const char* text = R"(kernel k(A: f32[8], write C: f32[8]) {
  grid g in 0..8 {
    C[g] = A[g + 1]
  }
}
)";
  EXPECT_FALSE(has(clamped(text), "min("));
}

// An arm within arms, and what several of them share: one load, clamped once, where no extent can
// be proven.
TEST(ClampGuardedLoads, ClampsASharedLoadOnce) {
  auto kernel = ir::parse_kernel(R"(kernel k[n](A: f32[n], write C: f32[n]) {
  grid g in 0..n {
    C[g] = A[g]
  }
})");
  ASSERT_TRUE(kernel) << kernel.error().to_string();
  const auto* grid = ir::as<ir::For>(kernel->body);
  const auto* store = ir::as<ir::Store>(grid->body);
  const ir::Expr shared = ir::load(kernel->params[0].buffer, {ir::Expr(grid->var) + ir::index(1)});
  ir::Expr value = shared;
  for (int level = 0; level < 8; ++level) {
    const ir::Expr inside = ir::Expr(grid->var) < ir::index(level);
    value = ir::select(inside, value + shared, value * shared);
  }
  const ir::Stmt body = clamp_guarded_loads(ir::loop(
      grid->var, grid->extent, grid->loop, ir::store(store->buffer, store->indices, value)));
  int loads = 0;
  ir::visit(
      body, [](const ir::Stmt&) { return true; },
      [&](const ir::Expr& e) {
        loads += e->kind == ir::NodeKind::Load;
        return true;
      });
  EXPECT_EQ(loads, 1);
}

// A number that is rounded is loaded for the condition, too: its vector stays contiguous.
TEST(ClampGuardedLoads, LeavesLoadsThatAConditionMakes) {
  const char* text = R"(kernel k[n](A: f32[n], write C: f32[n + 2]) {
  grid g in 0..n + 2 {
    C[g] = select(A[g] > 2.0, A[g], 2.0)
  }
}
)";
  EXPECT_EQ(clamped(text), text);
  // This one is not.
  EXPECT_TRUE(has(clamped(R"(kernel k[n](A: f32[n], write C: f32[n + 2]) {
  grid g in 0..n + 2 {
    C[g] = select(A[g] > 2.0, A[g + 1], 2.0)
  }
})"),
                  "min("));
}

// Vectors of a concatenation lie in one of its parts where these end as vectors do.
TEST(ClampGuardedLoads, HoldsWholeVectorsInside) {
  const auto text = [](int part, int lanes) {
    return clamped(cat("kernel k(A: f32[", part, "], B: f32[32], write C: f32[", part + 32,
                       "]) {\n  grid t in 0..", part + 32, " // ", lanes,
                       " {\n    vectorized l in 0..", lanes, " {\n      C[t * ", lanes,
                       " + l] = select(t * ", lanes, " + l < ", part, ", A[t * ", lanes,
                       " + l], B[t * ", lanes, " + l - ", part, "])\n    }\n  }\n}"));
  };
  const std::string whole = text(16, 8);
  EXPECT_TRUE(has(whole, "A[min(t, 1) * 8 + l]")) << whole;
  EXPECT_TRUE(has(whole, "B[max(t - 2, 0) * 8 + l]")) << whole;
  const std::string shared = text(12, 8);
  EXPECT_TRUE(has(shared, "A[min(t * 8 + l, 11)]")) << shared;
  EXPECT_TRUE(has(shared, "B[max(t * 8 + l - 12, 0)]")) << shared;
}

// Blocks round up, and the padding is memory that may be read.
TEST(ClampGuardedLoads, PaddingOfABlockIsInside) {
  const auto text = [](const char* layout) {
    return cat("kernel k(A: f32[6] layout ", layout, R"(, write C: f32[8]) {
  grid g in 0..8 {
    C[g] = select(g < 6, A[g], 0.0)
  }
}
)");
  };
  EXPECT_FALSE(has(clamped(text("[0/4, 0%4]")), "min("));
  EXPECT_TRUE(has(clamped(text("[0]")), "min("));
}

TEST(FlattenAccess, CountsNeighboursThatStoresWrite) {
  const auto neighbours = [](const std::string& text) {
    const auto kernel = ir::parse_kernel(text);
    EXPECT_TRUE(kernel) << text;
    return kernel ? neighbours_stored(*kernel) : std::vector<int>();
  };
  EXPECT_EQ(
      neighbours(R"(kernel k(A: f16[8], write C: f16[64], write D: f16[64], write E: f16[64]) {
  grid i in 0..8 {
    C[ramp(i * 4, 1, 4)] = x4(A[i])
    D[ramp(i * 2, 1, 4)] = x4(A[i])
    E[ramp(i * 4 + 1, 1, 4)] = x4(A[i])
  }
}
)"),
      (std::vector<int>{4, 4, 2, 1}));
}

}  // namespace
}  // namespace gossamer::passes
