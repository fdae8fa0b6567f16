#include "ops/text/regex.h"

#include <gtest/gtest.h>

namespace gossamer::ops {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  auto automaton = compile_regex(pattern);
  EXPECT_TRUE(automaton) << pattern << ": " << (automaton ? "" : automaton.error().message);
  return automaton && automaton->matches(text);
}

struct Row {
  std::string_view pattern;
  std::vector<std::string_view> matching, others;
};

TEST(Regex, MatchesWholeTexts) {
  const std::vector<Row> rows = {
      {"", {""}, {"a"}},
      {"abc", {"abc"}, {"ab", "abcd", "xabc"}},
      {"a|bc|", {"a", "bc", ""}, {"b", "abc"}},
      {"a*b+c?", {"b", "aabbc", "bc"}, {"a", "ac", "abcc"}},
      {"(ab)*", {"", "abab"}, {"aba"}},
      {"(a*)*", {"", "aaa"}, {"b"}},
      {"a{2}", {"aa"}, {"a", "aaa"}},
      {"a{2,}", {"aa", "aaaaa"}, {"a"}},
      {"a{1,3}", {"a", "aa", "aaa"}, {"", "aaaa"}},
      {"(a{1,2}b){2}", {"abaab", "aabab"}, {"ab", "aaabab"}},
      {"a{,3}", {"a{,3}"}, {"a"}},
      {"x+?y*?z??", {"xxyz", "x"}, {"y"}},
      {"[a-cx]", {"a", "c", "x"}, {"d", "-"}},
      {"[^a-c]", {"d", "\n", "\xc3\xa9"}, {"b", ""}},
      {"[]a-]+", {"]a-"}, {"b"}},
      {"[\\w.\\-]+", {"a_B-9."}, {"a b"}},
      {"[[:alpha:][:^ascii:]]+", {"aZ\xc3\xa9"}, {"1"}},
      {".", {"a", "\xc3\xa9", "\xf0\x9f\x98\x80"}, {"\n", "ab", ""}},
      {"(?s).", {"\n"}, {}},
      {"(?i)stra\xc3\x9f"
       "e",
       {"STRA\xe1\xba\x9e"
        "E",
        "Stra\xc3\x9f"
        "e"},
       {"strasse"}},
      {"a(?i)b(?-i)c", {"abc", "aBc"}, {"Abc", "abC"}},
      {"(?i:a)b", {"Ab"}, {"AB"}},
      {"(?P<n>a)(?<m>b)(?:c)", {"abc"}, {"a"}},
      {"\\x41\\x{e9}\\101\\t",
       {"A\xc3\xa9"
        "A\t"},
       {"A"}},
      {"\\Qa.b*\\E+", {"a.b*", "a.b**"}, {"aab"}},
      {"\\d\\D\\s\\S\\W", {"1a \x01-"}, {"aaaaa"}},
      {"\\bab\\b", {"ab"}, {"a"}},
      {"a\\b.b", {"a b"}, {"aab"}},
      {"a\\B.*", {"ab", "a_"}, {"a", "a b"}},
      {"^a$", {"a"}, {"a\n"}},
      {"(?m)a$\n^b", {"a\nb"}, {"ab"}},
      {"a$\n^b", {}, {"a\nb"}},
      {"(\\W|^)x(\\W|$)", {"x", "-x-", " x"}, {"ax"}},
      {"[\xce\xb1-\xcf\x89]+", {"\xce\xb1\xcf\x89"}, {"\xcf\x8a", "\xcf"}},
      {"[^\xce\xb1]", {"a", "\xce\xb2", "\xe2\x82\xac"}, {"\xce\xb1"}},
  };
  for (const Row& row : rows) {
    for (std::string_view text : row.matching)
      EXPECT_TRUE(matches(row.pattern, text)) << row.pattern << " on " << text;
    for (std::string_view text : row.others)
      EXPECT_FALSE(matches(row.pattern, text)) << row.pattern << " on " << text;
  }
}

// The matches that begin at each place, as long as they can be.
TEST(Regex, FindsMatchesInsideOfAText) {
  using Lengths = std::vector<int64_t>;
  const auto found = [](std::string_view pattern, std::string_view text) {
    const auto search = compile_regex_search(pattern);
    EXPECT_TRUE(search.has_value()) << pattern;
    Lengths lengths;
    for (size_t at = 0; search && at <= text.size(); ++at)
      lengths.push_back(search->match_at(text, at));
    return lengths;
  };
  EXPECT_EQ(found("a|ab|aa", "xaab"), (Lengths{-1, 2, 2, -1, -1}));
  EXPECT_EQ(found("a+?", "aab"), (Lengths{2, 1, -1, -1}));
  EXPECT_EQ(found("a*", "ab"), (Lengths{1, 0, 0}));
  EXPECT_EQ(found("^a", "aa"), (Lengths{1, -1, -1}));
  EXPECT_EQ(found("a$", "aa"), (Lengths{-1, 1, -1}));
  EXPECT_EQ(found("(?m)^a$", "b\na\nb"), (Lengths{-1, -1, 1, -1, -1, -1}));
  EXPECT_EQ(found("\\bab?\\b", "a ab cab"), (Lengths{1, -1, 2, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(found("a\\B", "a ab"), (Lengths{-1, -1, 1, -1, -1}));
  EXPECT_EQ(found("\xc3\xa9", "\xc3\xa9"), (Lengths{2, -1, -1}));
  const auto longest = [](std::string_view pattern) {
    return compile_regex_search(pattern)->longest;
  };
  EXPECT_EQ(longest("a|abc|b{2}"), 3);
  EXPECT_EQ(longest("\\b[a-\xc3\xa9]\\b"), 2);
  EXPECT_EQ(longest("ab*"), -1);
  EXPECT_EQ(longest("^$"), 0);
  EXPECT_TRUE(compile_regex_search("a*")->matches_nothing);
  EXPECT_TRUE(compile_regex_search("\\b")->matches_nothing);
  EXPECT_FALSE(compile_regex_search("a+")->matches_nothing);
}

TEST(Regex, RefusesWhatIsNoPattern) {
  for (std::string_view pattern :
       {"(", ")", "[a", "a\\", "*a", "a{3,2}", "a{2000}", "[b-a]", "\\1", "(?=a)", "(?<=a)",
        "\\p{L}", "[[:no:]]", "\\x{110000}", "(?P<n", "\\C"}) {
    EXPECT_FALSE(compile_regex(pattern)) << pattern;
  }
  EXPECT_FALSE(compile_regex(std::string(10000, '(')));
  EXPECT_FALSE(compile_regex("((a{1000}){1000}){1000}"));
  EXPECT_FALSE(compile_regex("(a|b)*a(a|b){20}"));
}

}  // namespace
}  // namespace gossamer::ops
