#include "base/strings.h"

#include <gtest/gtest.h>

namespace gossamer {
namespace {

TEST(Strings, ComeBackAsTheyWere) {
  const std::vector<std::string> texts{"", "a", "Gr\u00fc\u00dfe", std::string("with\0zero", 9),
                                       "one of seventeen."};
  const PackedStrings packed = pack_strings(texts);
  EXPECT_EQ(packed.width, 24);  // of 17, rounded up
  EXPECT_EQ(packed.bytes.size(), 5u * 24);
  const auto back = unpack_strings(packed.width, packed.bytes, packed.lengths);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, texts);
}

TEST(Strings, NoneHaveAWidth) {
  EXPECT_EQ(pack_strings({}).width, 8);
  EXPECT_TRUE(unpack_strings(8, {}, {})->empty());
}

TEST(Strings, MayNotTakeMoreThan31BitsPacked) {
  std::vector<std::string> texts(65536);
  texts[7] = std::string(32760, 'x');
  EXPECT_EQ(packed_width(texts), 32760u);
  texts[7] += 'x';
  const auto width = packed_width(texts);
  ASSERT_FALSE(width);
  EXPECT_EQ(width.error().message,
            "has 65536 strings, the longest of which takes 32768 bytes: at most 2147483647 are "
            "possible in all");
}

TEST(Strings, LengthsMayNotExceedTheWidth) {
  PackedStrings packed = pack_strings(std::vector<std::string>{"abc"});
  packed.lengths[0] = std::byte{9};
  EXPECT_FALSE(unpack_strings(packed.width, packed.bytes, packed.lengths));
  packed.lengths[3] = std::byte{0x80};
  EXPECT_FALSE(unpack_strings(packed.width, packed.bytes, packed.lengths));
}

TEST(Strings, MessagesAreOneLine) {
  EXPECT_EQ(one_line("plain \xc3\xa9"), "plain \xc3\xa9");
  EXPECT_EQ(one_line("a\nb\r\tc\x1b[2J\x7f"), "a\\nb\\r\\tc\\x1b[2J\\x7f");
  EXPECT_EQ(Diagnostic({"input \"x\n\"", "is wrong", ""}).to_string(), "input \"x\\n\": is wrong");
}

}  // namespace
}  // namespace gossamer
