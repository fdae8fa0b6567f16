#include "net/secret.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

namespace gossamer::net {
namespace {

TEST(Secret, OnlyTheSameTextIsEqual) {
  EXPECT_TRUE(equal_secrets("abc", "abc"));
  for (const char* other : {"", "abd", "bbc", "ab", "abcd", "abcabc"})
    EXPECT_FALSE(equal_secrets("abc", other)) << other;
  EXPECT_FALSE(equal_secrets("", "a"));
  EXPECT_FALSE(equal_secrets(std::string_view("a\0", 2), "a"));
}

// A text that differs at its first byte and one that does at its last: of many turns the fastest.
TEST(Secret, TimeDoesNotTellWhereTheyDiffer) {
  const std::string secret(1 << 16, 's');
  std::string first = secret, last = secret;
  first.front() = 'x';
  last.back() = 'x';
  const auto time = [&](const std::string& guess) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(equal_secrets(secret, guess));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  double at_first = 1, at_last = 1;
  for (int turn = 0; turn < 200; ++turn) {
    at_first = std::min(at_first, time(first));
    at_last = std::min(at_last, time(last));
  }
  EXPECT_GT(at_first / at_last, 0.5);
  EXPECT_LT(at_first / at_last, 2.0);
}

}  // namespace
}  // namespace gossamer::net
