#include "base/result.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace gossamer {
namespace {

TEST(Cat, JoinsTextsAndNumbersOfEveryType) {
  const std::string text = "text";
  const char* const pointer = "pointer";
  char characters[8] = "four";
  EXPECT_EQ(cat(), "");
  EXPECT_EQ(cat(text, " ", std::string_view("a view").substr(2), "/", pointer, "/", characters),
            "text view/pointer/four");
  EXPECT_EQ(cat(text + "s", std::string(), ""), "texts");
  EXPECT_EQ(cat(-1, " ", 2u, " ", size_t{3}, " ", int8_t{-4}, " ", uint8_t{5}, " ", true),
            "-1 2 3 -4 5 1");
  EXPECT_EQ(cat(std::numeric_limits<int64_t>::min(), " ", std::numeric_limits<uint64_t>::max()),
            "-9223372036854775808 18446744073709551615");
  EXPECT_EQ(cat(0.1, " ", 0.5f, " ", -1e300), "0.10000000000000001 0.5 -1.0000000000000001e+300");
}

}  // namespace
}  // namespace gossamer
