#include "codegen/text/share_expressions.h"

#include <gtest/gtest.h>

#include "ir/parse.h"
#include "ir/print.h"

namespace gossamer::codegen::text {
namespace {

using namespace ir;

// The invocation's program of a kernel, shared.
std::string shared(std::string_view text) {
  auto kernel = parse_kernel(text);
  if (!kernel) return kernel.error().to_string();
  return print(share_expressions(as<For>(kernel->body)->body));
}

TEST(ShareExpressions, BindsWhatOccursTwice) {
  EXPECT_EQ(shared(R"(kernel k[](a: f32[64], write b: f32[64]) {
  grid g in 0..8 {
    b[g * 8 + 1] = a[g * 8 + 3] + a[g * 8 + 3]
    b[g * 8 + 2] = a[g * 8 + 5]
  }
}
)"),
            R"(let i: index = g * 8
let a: f32 = a_1[i + 3]
b[i + 1] = a + a
b[i + 2] = a_1[i + 5]
)");
}

// A conversion is not worth a variable, what it converts is.
TEST(ShareExpressions, LooksThroughWhatIsWrittenAgain) {
  EXPECT_EQ(shared(R"(kernel k[](a: i32[64], c: f32[64], write b: i32[64]) {
  grid g in 0..8 {
    b[g] = a[index(c[index(a[index(a[g])])] <= c[index(a[g])]) + index(a[g]) * 2]
  }
}
)"),
            R"(let a: i32 = a_1[g]
b[g] = a_1[index(c[index(a_1[index(a)])] <= c[index(a)]) + index(a) * 2]
)");
}

TEST(ShareExpressions, MovesInvariantsOutOfLoopsAndOrdersSums) {
  EXPECT_EQ(shared(R"(kernel k[](a: f32[64], write b: f32[64]) {
  grid g in 0..8 {
    for i in 0..2 {
      for j in 0..4 {
        b[j + (g * 8 + (i * 4))] = a[g]
      }
    }
  }
}
)"),
            R"(let i: index = g * 8
let a: f32 = a_1[g]
for i_1 in 0..2 {
  let i_2: index = i + i_1 * 4
  for j in 0..4 {
    b[i_2 + j] = a
  }
}
)");
}

// (n + 2) * 3 * g stands outside of the condition, and so must n + 2.
TEST(ShareExpressions, ExtentsStandWhereWhatUsesThemDoes) {
  EXPECT_EQ(shared(R"(kernel k[n](a: f32[64], write b: f32[64]) {
  grid g in 0..8 {
    if g < n * 2 {
      for i in 0..n + 2 {
        b[(n + 2) * g + i] = a[i]
      }
    }
  }
}
)"),
            R"(let i: index = n + 2
let i_1: index = i * g
if g < n * 2 {
  for i_2 in 0..i {
    b[i_1 + i_2] = a[i_2]
  }
}
)");
}

TEST(ShareExpressions, LoadsDoNotMoveAcrossStoresOrBarriers) {
  EXPECT_EQ(shared(R"(kernel k[](a: f32[8], write b: f32[8]) {
  grid g in 0..8 {
    alloc t: f32[8] group
    for i in 0..2 {
      t[0] = a[i]
      barrier group
      b[i] = t[1] + t[1]
      t[1] = t[1]
      barrier group
      b[i] = t[1]
    }
  }
}
)"),
            R"(alloc t: f32[8] group
for i in 0..2 {
  t[0] = a[i]
  barrier group
  let t_1: f32 = t[1]
  b[i] = t_1 + t_1
  t[1] = t_1
  barrier group
  b[i] = t[1]
}
)");
}

TEST(ShareExpressions, ALoadedLetStaysBeforeTheStore) {
  EXPECT_EQ(shared(R"(kernel k[](a: f32[8], write b: f32[8]) {
  grid g in 0..8 {
    alloc t: f32[2]
    let x: f32 = t[0]
    let unused: f32 = a[3]
    t[0] = t[1]
    t[1] = x
    b[g] = t[1]
  }
}
)"),
            R"(alloc t: f32[2]
let x: f32 = t[0]
t[0] = t[1]
t[1] = x
b[g] = t[1]
)");
}

TEST(ShareExpressions, BranchesKeepTheirFloatingPoint) {
  EXPECT_EQ(shared(R"(kernel k[](a: f32[8], write b: f32[8]) {
  grid g in 0..8 {
    if g < 3 {
      for i in 0..4 {
        b[g * 4 + i] = exp(a[g])
      }
    } else {
      b[g * 4] = exp(a[g])
    }
  }
}
)"),
            R"(let i: index = g * 4
if g < 3 {
  let t: f32 = exp(a[g])
  for i_1 in 0..4 {
    b[i + i_1] = t
  }
} else {
  let t_1: f32 = exp(a[g])
  b[i] = t_1
}
)");
}

// An integer that depends on such floating point stays with it.
TEST(ShareExpressions, NothingLeavesABranchBeforeItsOperands) {
  EXPECT_EQ(shared(R"(kernel k[](a: f32[8], write b: index[8]) {
  grid g in 0..8 {
    if g < 3 {
      b[g] = select(a[g] < 1.0, g * 3, g * 5) + 1
      b[g * 3] = select(a[g] < 1.0, g * 3, g * 5)
    }
  }
}
)"),
            R"(let i: index = g * 3
if g < 3 {
  let i_1: index = select(a[g] < 1.0, i, g * 5)
  b[g] = i_1 + 1
  b[i] = i_1
}
)");
}

}  // namespace
}  // namespace gossamer::codegen::text
