// unroll_loops and vectorize_loops: the text they leave.
#include <gtest/gtest.h>

#include "ir/parse.h"
#include "ir/print.h"
#include "ir/simplify.h"
#include "passes/unroll_loops.h"
#include "passes/vectorize_loops.h"

namespace gossamer::passes {
namespace {

template <class Pass>
std::string after(std::string_view text, Pass pass) {
  auto kernel = ir::parse_kernel(text);
  if (!kernel) return kernel.error().to_string();
  kernel->body = ir::simplify(pass(kernel->body));
  return ir::print(*kernel);
}
std::string unrolled(std::string_view text) { return after(text, unroll_loops); }
std::string vectorized(std::string_view text) { return after(text, vectorize_loops); }

TEST(UnrollLoops, CopiesNestedBodies) {
  EXPECT_EQ(unrolled(R"(kernel k(A: f32[4, 6], write C: f32[4, 6]) {
  grid g in 0..4 {
    unrolled i in 0..2 {
      unrolled j in 0..2 {
        C[g, i * 3 + j] = A[g, i * 3 + j]
      }
    }
  }
})"),
            R"(kernel k(A: f32[4, 6], write C: f32[4, 6]) {
  grid g in 0..4 {
    C[g, 0] = A[g, 0]
    C[g, 1] = A[g, 1]
    C[g, 3] = A[g, 3]
    C[g, 4] = A[g, 4]
  }
}
)");
}

TEST(UnrollLoops, LeavesOtherLoops) {
  const char* text = R"(kernel k(A: f32[4, 6], write C: f32[4, 6]) {
  grid g in 0..4 {
    for i in 0..6 {
      C[g, i] = A[g, i]
    }
  }
}
)";
  EXPECT_EQ(unrolled(text), text);
}

TEST(VectorizeLoops, WalksLanesOneByOneWhereSomeAreSkipped) {
  EXPECT_EQ(vectorized(R"(kernel k[s0](A: f32[4, s0], write C: f32[4, s0]) {
  grid g in 0..4 {
    for t in 0..(s0 + 3) // 4 {
      vectorized l in 0..4 {
        if t * 4 + l < s0 {
          C[g, t * 4 + l] = A[g, t * 4 + l]
        }
      }
    }
  }
})"),
            R"(kernel k[s0](A: f32[4, s0], write C: f32[4, s0]) {
  grid g in 0..4 {
    for t in 0..(s0 + 3) // 4 {
      if t * 4 + 3 < s0 {
        C[g, ramp(t * 4, 1, 4)] = A[g, ramp(t * 4, 1, 4)]
      } else {
        for l in 0..4 {
          if t * 4 + l < s0 {
            C[g, t * 4 + l] = A[g, t * 4 + l]
          }
        }
      }
    }
  }
}
)");
}

TEST(VectorizeLoops, WidensWhatDependsOnTheLane) {
  EXPECT_EQ(vectorized(R"(kernel k(A: f32[4, 8], S: f32[4], write C: f32[4, 8]) {
  grid g in 0..4 {
    vectorized l in 0..4 {
      let x: f32 = A[g, l + 4]
      C[g, l] = x * S[g]
    }
  }
})"),
            R"(kernel k(A: f32[4, 8], S: f32[4], write C: f32[4, 8]) {
  grid g in 0..4 {
    let x: f32x4 = A[g, ramp(4, 1, 4)]
    C[g, ramp(0, 1, 4)] = x * x4(S[g])
  }
}
)");
}

TEST(VectorizeLoops, OneLaneNeedsNoVector) {
  EXPECT_EQ(vectorized(R"(kernel k(A: f32[4], write C: f32[4]) {
  grid g in 0..4 {
    vectorized l in 0..1 {
      C[g + l] = A[g + l]
    }
  }
})"),
            R"(kernel k(A: f32[4], write C: f32[4]) {
  grid g in 0..4 {
    C[g] = A[g]
  }
}
)");
}

TEST(VectorizeLoops, LoopsInsideStayScalarAndSelectsWiden) {
  EXPECT_EQ(vectorized(R"(kernel k(A: f32[8, 4], write C: f32[4]) {
  grid g in 0..1 {
    vectorized l in 0..4 {
      for r in 0..8 {
        C[l] = select(l < 3, A[r, l], 0.0)
      }
    }
  }
})"),
            R"(kernel k(A: f32[8, 4], write C: f32[4]) {
  grid g in 0..1 {
    for r in 0..8 {
      C[ramp(0, 1, 4)] = select(ramp(0, 1, 4) < x4(3), A[r, ramp(0, 1, 4)], x4(0.0))
    }
  }
}
)");
}

TEST(LaneOf, ReachesThroughArithmetic) {
  const auto a = ir::parse_expr("ramp(5, 2, 4) * x4(3)");
  ASSERT_TRUE(a);
  EXPECT_EQ(ir::print(ir::simplify(Lanes().of(*a, 2))), "27");
}

}  // namespace
}  // namespace gossamer::passes
