#include "ops/text/regex_parse.h"

#include <algorithm>
#include <optional>
#include <string>

#include "ops/text/letter_case.h"

namespace gossamer::ops {
namespace {

constexpr int32_t last_letter = 0x10ffff;
constexpr int deepest = 200;
constexpr int most_repeats = 1000;

LetterSet normal(LetterSet set) {
  std::ranges::sort(set, {}, &LetterRange::low);
  LetterSet merged;
  for (const LetterRange& range : set) {
    if (!merged.empty() && range.low <= merged.back().high + 1) {
      merged.back().high = std::max(merged.back().high, range.high);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

LetterSet negated(const LetterSet& set) {
  LetterSet rest;
  int32_t next = 0;
  for (const LetterRange& range : normal(set)) {
    if (range.low > next) rest.push_back({next, range.low - 1});
    next = range.high + 1;
  }
  if (next <= last_letter) rest.push_back({next, last_letter});
  return rest;
}

// With the letters that differ in case alone.
LetterSet folded(const LetterSet& set) {
  LetterSet all = set;
  // Twice: K, k and the Kelvin sign are three.
  for (int round = 0; round < 2; ++round) {
    const LetterSet before = normal(all);
    for (LetterCase to : {LetterCase::upper, LetterCase::lower}) {
      for (const CaseRange& row : case_ranges(to)) {
        for (const LetterRange& range : before) {
          for (int32_t letter = std::max(row.first, range.low);
               letter <= std::min(row.last, range.high); ++letter) {
            if ((letter - row.first) % row.step == 0)
              all.push_back({letter + row.shift, letter + row.shift});
          }
          // The other way round: what is mapped into the range.
          for (int32_t letter = std::max(row.first, range.low - row.shift);
               letter <= std::min(row.last, range.high - row.shift); ++letter) {
            if ((letter - row.first) % row.step == 0) all.push_back({letter, letter});
          }
        }
      }
    }
  }
  return normal(std::move(all));
}

struct NamedSet {
  std::string_view name;
  LetterSet letters;
};

const std::vector<NamedSet>& named_sets() {
  static const std::vector<NamedSet> sets = {
      {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
      {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
      {"ascii", {{0, 0x7f}}},
      {"blank", {{'\t', '\t'}, {' ', ' '}}},
      {"cntrl", {{0, 0x1f}, {0x7f, 0x7f}}},
      {"digit", {{'0', '9'}}},
      {"graph", {{'!', '~'}}},
      {"lower", {{'a', 'z'}}},
      {"print", {{' ', '~'}}},
      {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
      {"space", {{'\t', '\r'}, {' ', ' '}}},
      {"upper", {{'A', 'Z'}}},
      {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
      {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
  };
  return sets;
}

// \d, \s, \w and their negations.
std::optional<LetterSet> perl_set(char letter) {
  LetterSet set;
  switch (letter | 0x20) {
    case 'd':
      set = {{'0', '9'}};
      break;
    case 's':
      set = {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}};
      break;
    case 'w':
      set = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
      break;
    default:
      return std::nullopt;
  }
  return letter >= 'a' ? set : negated(set);
}

struct Flags {
  bool fold = false, lines = false, dot_all = false;
};

class Parser {
 public:
  explicit Parser(std::string_view pattern) : text_(pattern) {}

  Result<RegexNode> whole() {
    GS_ASSIGN(RegexNode node, choice(0));
    if (at_ < text_.size()) return wrong("has a ) too many");
    return node;
  }

 private:
  std::unexpected<Diagnostic> wrong(std::string_view what) const {
    return fail(cat("the pattern ", what, ", near byte ", at_));
  }
  bool more() const { return at_ < text_.size(); }
  bool take(std::string_view expected) {
    if (!text_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }

  // One code point of UTF-8; a stray byte stands for itself.
  int32_t letter() {
    const auto byte = [&](size_t i) {
      return at_ + i < text_.size() ? static_cast<int32_t>(text_[at_ + i] & 0xff) : 0;
    };
    const int32_t first = byte(0);
    const int size = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    int32_t value = size == 1 ? first : first & (0xff >> (size + 1));
    for (int i = 1; i < size; ++i) value = value << 6 | (byte(static_cast<size_t>(i)) & 0x3f);
    at_ = std::min(text_.size(), at_ + static_cast<size_t>(size));
    return std::min(value, last_letter);
  }

  RegexNode set(LetterSet letters, bool fold) const {
    RegexNode node;
    node.kind = RegexNode::set;
    node.letters = fold ? folded(letters) : normal(std::move(letters));
    return node;
  }
  RegexNode assertion(RegexAssert kind) const {
    RegexNode node;
    node.kind = RegexNode::assertion;
    node.assertion_kind = kind;
    return node;
  }

  Result<RegexNode> choice(int depth) {
    if (depth > deepest) return wrong("nests too deeply");
    const Flags outer = flags_;
    RegexNode node;
    node.kind = RegexNode::choice;
    do {
      GS_ASSIGN(RegexNode part, sequence(depth));
      node.parts.push_back(std::move(part));
    } while (take("|"));
    flags_ = outer;
    return node;
  }

  Result<RegexNode> sequence(int depth) {
    RegexNode node;
    node.kind = RegexNode::sequence;
    while (more() && text_[at_] != '|' && text_[at_] != ')') {
      if (take("\\Q")) {
        const size_t before = node.parts.size();
        while (more() && !take("\\E")) node.parts.push_back(single(letter()));
        // What follows repeats the last letter.
        if (node.parts.size() > before) {
          GS_ASSIGN(node.parts.back(), repeated(std::move(node.parts.back())));
        }
        continue;
      }
      GS_ASSIGN(RegexNode part, item(depth));
      GS_ASSIGN(part, repeated(std::move(part)));
      node.parts.push_back(std::move(part));
    }
    return node;
  }

  RegexNode single(int32_t value) const { return set({{value, value}}, flags_.fold); }

  Result<RegexNode> item(int depth) {
    if (take("(")) return group(depth);
    if (take("[")) return bracket();
    if (take("\\")) return escape();
    if (take(".")) return set(flags_.dot_all ? negated({}) : negated({{'\n', '\n'}}), false);
    if (take("^"))
      return assertion(flags_.lines ? RegexAssert::line_begin : RegexAssert::text_begin);
    if (take("$")) return assertion(flags_.lines ? RegexAssert::line_end : RegexAssert::text_end);
    if (text_[at_] == '*' || text_[at_] == '+' || text_[at_] == '?')
      return wrong("repeats nothing");
    return single(letter());
  }

  Result<RegexNode> group(int depth) {
    if (take("?")) {
      if (take("P<") || (!text_.substr(at_).starts_with("<=") &&
                         !text_.substr(at_).starts_with("<!") && take("<"))) {
        const size_t end = text_.find('>', at_);
        if (end == std::string_view::npos) return wrong("has a group's name without an end");
        at_ = end + 1;
      } else {
        const Flags outer = flags_;
        bool on = true;
        while (more() && text_[at_] != ':' && text_[at_] != ')') {
          const char flag = text_[at_++];
          if (flag == '-' && on) {
            on = false;
          } else if (flag == 'i') {
            flags_.fold = on;
          } else if (flag == 'm') {
            flags_.lines = on;
          } else if (flag == 's') {
            flags_.dot_all = on;
          } else if (flag != 'U') {
            return wrong("has a group of a kind that RE2 does not know");
          }
        }
        if (take(")")) return RegexNode{};  // flags for the rest of the group around
        if (!take(":")) return wrong("has a ( without its )");
        GS_ASSIGN(RegexNode node, choice(depth + 1));
        flags_ = outer;
        if (!take(")")) return wrong("has a ( without its )");
        return node;
      }
    }
    GS_ASSIGN(RegexNode node, choice(depth + 1));
    if (!take(")")) return wrong("has a ( without its )");
    return node;
  }

  std::optional<int> count() {
    if (!more() || text_[at_] < '0' || text_[at_] > '9') return std::nullopt;
    int value = 0;
    for (; more() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      value = std::min(value * 10 + (text_[at_] - '0'), most_repeats + 1);
    return value;
  }

  // {n}, {n,} or {n,m}; anything else in braces is text.
  bool braces(int& low, int& high) {
    const size_t start = at_;
    if (!take("{")) return false;
    const auto first = count();
    if (first) {
      low = high = *first;
      if (take(",")) high = count().value_or(-1);
      if (take("}")) return true;
    }
    at_ = start;
    return false;
  }

  Result<RegexNode> repeated(RegexNode inner) {
    while (more()) {
      int low = 0, high = -1;
      if (take("+")) {
        low = 1;
      } else if (take("?")) {
        high = 1;
      } else if (!take("*") && !braces(low, high)) {
        break;
      }
      if (low > most_repeats || high > most_repeats || (high >= 0 && high < low))
        return wrong("repeats a number of times that is out of range");
      take("?");  // which match is found first makes no difference
      RegexNode node;
      node.kind = RegexNode::repeat;
      node.low = low;
      node.high = high;
      node.parts.push_back(std::move(inner));
      inner = std::move(node);
    }
    return inner;
  }

  // Behind a backslash: a letter that stands for itself or for a code.
  Result<int32_t> escaped_letter() {
    if (!more()) return wrong("ends with a backslash");
    const char c = text_[at_];
    constexpr std::string_view codes = "aftnrv";
    constexpr std::string_view values = "\a\f\t\n\r\v";
    if (const size_t code = codes.find(c); code != std::string_view::npos) {
      ++at_;
      return static_cast<int32_t>(values[code]);
    }
    if (c >= '0' && c <= '7') {
      if (c != '0' && (at_ + 1 >= text_.size() || text_[at_ + 1] < '0' || text_[at_ + 1] > '7'))
        return wrong("refers back to a group, which automata cannot");
      int32_t value = 0;
      for (int i = 0; i < 3 && more() && text_[at_] >= '0' && text_[at_] <= '7'; ++i)
        value = value * 8 + (text_[at_++] - '0');
      return value;
    }
    if (take("x")) {
      const bool braced = take("{");
      int32_t value = 0;
      int digits = 0;
      for (; more() && digits < (braced ? 8 : 2); ++digits, ++at_) {
        const char d = text_[at_];
        const int digit = d >= '0' && d <= '9'   ? d - '0'
                          : d >= 'a' && d <= 'f' ? d - 'a' + 10
                          : d >= 'A' && d <= 'F' ? d - 'A' + 10
                                                 : -1;
        if (digit < 0) break;
        value = std::min(value * 16 + digit, last_letter + 1);
      }
      if (digits == 0 || (!braced && digits != 2) || (braced && !take("}")) || value > last_letter)
        return wrong("has \\x without a code");
      return value;
    }
    const bool word = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (word) return wrong(cat("has \\", std::string(1, c), ", which is not supported"));
    return letter();
  }

  Result<RegexNode> escape() {
    if (take("A")) return assertion(RegexAssert::text_begin);
    if (take("z")) return assertion(RegexAssert::text_end);
    if (take("b")) return assertion(RegexAssert::word_boundary);
    if (take("B")) return assertion(RegexAssert::no_word_boundary);
    if (take("E")) return RegexNode{};
    if (more()) {
      if (const auto known = perl_set(text_[at_])) {
        ++at_;
        return set(*known, false);
      }
    }
    GS_ASSIGN(const int32_t value, escaped_letter());
    return single(value);
  }

  Result<RegexNode> bracket() {
    const bool negative = take("^");
    LetterSet letters;
    const auto add = [&](const LetterSet& more_letters) {
      letters.insert(letters.end(), more_letters.begin(), more_letters.end());
    };
    for (bool first = true;; first = false) {
      if (!more()) return wrong("has a [ without its ]");
      if (!first && take("]")) break;
      if (take("[:")) {
        const bool other = take("^");
        const size_t end = text_.find(":]", at_);
        const std::string_view name =
            end == std::string_view::npos ? "" : text_.substr(at_, end - at_);
        const auto found = std::ranges::find(named_sets(), name, &NamedSet::name);
        if (found == named_sets().end()) return wrong("names a class that RE2 does not know");
        add(other ? negated(found->letters) : found->letters);
        at_ = end + 2;
        continue;
      }
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        if (const auto known = perl_set(text_[at_ + 1])) {
          add(*known);
          at_ += 2;
          continue;
        }
      }
      GS_ASSIGN(const int32_t low, bracket_letter());
      int32_t high = low;
      if (more() && text_[at_] == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        GS_ASSIGN(high, bracket_letter());
        if (high < low) return wrong("has a range that ends before it begins");
      }
      letters.push_back({low, high});
    }
    if (flags_.fold) letters = folded(letters);
    return set(negative ? negated(letters) : std::move(letters), false);
  }
  Result<int32_t> bracket_letter() {
    if (take("\\")) return escaped_letter();
    return letter();
  }

  std::string_view text_;
  size_t at_ = 0;
  Flags flags_;
};

}  // namespace

Result<RegexNode> parse_regex(std::string_view pattern) { return Parser(pattern).whole(); }

}  // namespace gossamer::ops
