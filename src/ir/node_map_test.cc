#include "ir/node_map.h"

#include <gtest/gtest.h>

#include "ir/build.h"

namespace gossamer::ir {
namespace {

TEST(NodeMap, FindsByIdentityAndKeepsTheFirst) {
  NodeMap<int> map;
  std::vector<Expr> keys;
  for (int i = 0; i < 200; ++i) {
    keys.push_back(index(7));
    EXPECT_EQ(map.find(keys.back()), nullptr);
    EXPECT_EQ(map.add(keys.back(), i), i);
    EXPECT_EQ(map.add(keys.back(), -1), i);
  }
  for (int i = 0; i < 200; ++i) {
    const int* found = map.find(keys[static_cast<size_t>(i)]);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(*found, i);
  }
  map.clear();
  EXPECT_EQ(map.find(keys[0]), nullptr);
  EXPECT_EQ(keys[0]->references, 1u);
}

TEST(NodeMap, HoldsItsKeys) {
  NodeMap<int> map;
  const Expr key = index(7);
  map.add(key, 1);
  EXPECT_EQ(key->references, 2u);
}

}  // namespace
}  // namespace gossamer::ir
