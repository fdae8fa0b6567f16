#include "autodiff/invert_access.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/print.h"

namespace gossamer::autodiff {
namespace {

using ir::index;

struct InvertAccess : testing::Test {
  Var i = ir::var("i"), j = ir::var("j"), k = ir::var("k");

  // "i = ..., j = ... over q0 < 2 if ..."
  std::string inverse(const std::vector<Expr>& indices, const std::vector<int64_t>& shape,
                      const std::vector<std::pair<Var, int64_t>>& axes) {
    Domain domain;
    for (const auto& [var, extent] : axes) {
      domain.axes.push_back(var);
      domain.extents.push_back(index(extent));
    }
    std::vector<Expr> extents;
    for (int64_t extent : shape) extents.push_back(index(extent));
    const auto found = invert(indices, extents, domain, {});
    if (!found) return "none";
    std::string text;
    for (const auto& [var, extent] : axes)
      text += cat(text.empty() ? "" : ", ", var->name, " = ", ir::print(found->axes.at(var.get())));
    for (size_t r = 0; r < found->rest.axes.size(); ++r)
      text += cat(" over ", found->rest.axes[r]->name, " < ", ir::print(found->rest.extents[r]));
    for (const Expr& guard : found->guards) text += cat(" if ", ir::print(guard));
    return text;
  }
};

TEST_F(InvertAccess, Permutations) {
  EXPECT_EQ(inverse({j, i}, {3, 2}, {{i, 2}, {j, 3}}), "i = p1, j = p0");
}

TEST_F(InvertAccess, Broadcasts) {
  EXPECT_EQ(inverse({index(0), j}, {1, 3}, {{i, 2}, {j, 3}}), "i = i, j = p1 over i < 2");
}

TEST_F(InvertAccess, Slices) {
  EXPECT_EQ(inverse({i * 1.0 + index(2)}, {10}, {{i, 5}}), "i = p0 - 2 if p0 >= 2 if p0 < 7");
  EXPECT_EQ(inverse({i * 3.0}, {10}, {{i, 4}}), "i = p0 // 3 if p0 % 3 == 0");
  EXPECT_EQ(inverse({index(9) - i}, {10}, {{i, 10}}), "i = 9 - p0");
}

TEST_F(InvertAccess, OneElement) {
  EXPECT_EQ(inverse({index(2), i}, {4, 3}, {{i, 3}}), "i = p1 if p0 == 2");
}

TEST_F(InvertAccess, Diagonals) {
  EXPECT_EQ(inverse({i, i}, {3, 3}, {{i, 3}}), "i = p0 if p0 == p1");
}

TEST_F(InvertAccess, Windows) {
  EXPECT_EQ(inverse({i + j}, {10}, {{i, 8}, {j, 3}}),
            "i = p0 - j, j = j over j < 3 if j < p0 + 1 if p0 < j + 8");
  // A window as far as its stride has one point an element.
  EXPECT_EQ(inverse({i * 2.0 + j}, {10}, {{i, 5}, {j, 2}}), "i = p0 // 2, j = p0 % 2");
}

TEST_F(InvertAccess, GroupsAndRepeats) {
  EXPECT_EQ(inverse({ir::floordiv(i, 2)}, {4}, {{i, 8}}), "i = p0 * 2 + q1 over q1 < 2");
}

TEST_F(InvertAccess, NotWhatIsCutOff) {
  EXPECT_EQ(inverse({ir::min(i, index(3))}, {4}, {{i, 8}}), "none");
}

}  // namespace
}  // namespace gossamer::autodiff
