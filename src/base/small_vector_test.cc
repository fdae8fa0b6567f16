#include "base/small_vector.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/ref.h"

namespace gossamer {
namespace {

struct Counted : RefCounted {
  explicit Counted(int* living) : living_(living) { ++*living_; }
  ~Counted() { --*living_; }
  int* living_;
};
void release(const Counted* one) { delete one; }

using Refs = SmallVector<Ref<Counted>, 2>;

// Inline, at the limit, and on the heap.
class SmallVectorOf : public testing::TestWithParam<size_t> {
 protected:
  Refs made() {
    Refs all;
    for (size_t i = 0; i < GetParam(); ++i) all.push_back(Ref<Counted>(new Counted(&living_)));
    return all;
  }
  int count() const { return static_cast<int>(GetParam()); }
  int living_ = 0;
};

TEST_P(SmallVectorOf, CopiesAndMovesHoldEachElementOnce) {
  {
    Refs first = made();
    Refs copy = first, moved = std::move(first);
    EXPECT_TRUE(first.empty());
    EXPECT_EQ(copy.size(), GetParam());
    for (size_t i = 0; i < GetParam(); ++i) {
      EXPECT_TRUE(copy[i].same(moved[i]));
      EXPECT_EQ(copy[i]->references, 2u);
    }
    first = std::move(copy);
    copy = first;
    moved = std::move(copy);
    EXPECT_EQ(living_, count());
    moved.clear();
    EXPECT_EQ(living_, count());
    const Refs& same = first;
    first = same;
    EXPECT_EQ(first.size(), GetParam());
  }
  EXPECT_EQ(living_, 0);
}

TEST_P(SmallVectorOf, ErasesWhatAVectorErases) {
  Refs all = made();
  std::vector<Ref<Counted>> wanted(all.begin(), all.end());
  all.push_back(all[0]);
  wanted.push_back(wanted[0]);
  const auto is_first = [first = wanted[0].get()](const Ref<Counted>& one) {
    return one.get() == first;
  };
  all.erase(all.begin() + 1);
  wanted.erase(wanted.begin() + 1);
  all.erase_if(is_first);
  std::erase_if(wanted, is_first);
  ASSERT_EQ(all.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(all[i].same(wanted[i]));
  wanted.clear();
  EXPECT_EQ(living_, static_cast<int>(all.size()));
}

INSTANTIATE_TEST_SUITE_P(Sizes, SmallVectorOf, testing::Values(1, 2, 3, 9));

}  // namespace
}  // namespace gossamer
