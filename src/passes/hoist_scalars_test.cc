#include "passes/hoist_scalars.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/parse.h"
#include "ir/print.h"

namespace gossamer::passes {
namespace {

struct Printed {
  std::string kernel;
  std::vector<std::string> values;
};

Printed hoisted(std::string_view text) {
  const auto kernel = ir::parse_kernel(text);
  if (!kernel) return {kernel.error().to_string(), {}};
  const HoistedScalars made = hoist_scalars(*kernel);
  Printed printed{ir::print(made.kernel), {}};
  for (const ir::Expr& value : made.values) printed.values.push_back(ir::print(value));
  return printed;
}

TEST(HoistScalars, TheLargestExpressionsBecomeScalars) {
  const Printed made = hoisted(R"(kernel k[n, m](A: f32[n * m], write C: f32[n * m]) {
  grid g in 0..(n + 3) // 4 {
    for i in 0..m {
      C[g * ((n + 3) // 4) + i] = A[g * m + i]
    }
  }
})");
  EXPECT_EQ(made.values, (std::vector<std::string>{"(n + 3) // 4", "m"})) << made.kernel;
}

// A scalar is not negative.
TEST(HoistScalars, DifferencesStay) {
  const Printed made = hoisted(R"(kernel k[n, m](A: f32[n], write C: f32[n]) {
  grid g in 0..n {
    C[g] = A[max(g + (n - m), 0)]
  }
})");
  EXPECT_EQ(made.values, (std::vector<std::string>{"n", "m"})) << made.kernel;
}

}  // namespace
}  // namespace gossamer::passes
