#include "ir/lex.h"

namespace gossamer::ir::text {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> run() {
    while (true) {
      skip_blank();
      if (at_ >= text_.size()) break;
      const char c = text_[at_];
      if (is_letter(c)) {
        word();
      } else if (is_digit(c)) {
        number();
      } else {
        GS_TRY(symbol());
      }
    }
    push(Token::Kind::end, "end of text");
    return std::move(tokens_);
  }

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void push(Token::Kind kind, std::string_view text) {
    tokens_.push_back({kind, std::string(text), {}, line_});
  }

  void skip_blank() {
    while (at_ < text_.size()) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r' ||
                 text_[at_] == '\n') {
        ++at_;
      } else {
        return;
      }
    }
  }

  void word() {
    const size_t start = at_;
    while (is_letter(peek()) || is_digit(peek()) ||
           (peek() == '.' && (is_letter(peek(1)) || is_digit(peek(1))))) {
      ++at_;
    }
    push(Token::Kind::word, text_.substr(start, at_ - start));
  }

  void number() {
    const size_t start = at_;
    while (is_digit(peek())) ++at_;
    if (peek() == '.' && is_digit(peek(1))) {
      ++at_;
      while (is_digit(peek())) ++at_;
    }
    const bool sign = peek(1) == '+' || peek(1) == '-';
    if (peek() == 'e' && is_digit(peek(sign ? 2 : 1))) {
      at_ += sign ? 2 : 1;
      while (is_digit(peek())) ++at_;
    }
    push(Token::Kind::number, text_.substr(start, at_ - start));
    const size_t suffix = at_;
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    tokens_.back().suffix = text_.substr(suffix, at_ - suffix);
  }

  Result<> symbol() {
    static constexpr std::string_view pairs[] = {
        "||", "&&", "^^", "==", "!=", "<=", ">=", "<<", ">>", "//", ".."};
    static constexpr std::string_view singles = "+-*/%<>!~&|^=(){}[],;:";
    for (std::string_view pair : pairs) {
      if (text_.substr(at_, 2) != pair) continue;
      push(Token::Kind::symbol, pair);
      at_ += 2;
      return {};
    }
    if (singles.find(text_[at_]) == std::string_view::npos) {
      return fail(cat("line ", line_, ": unexpected character '", text_.substr(at_, 1), "'"));
    }
    push(Token::Kind::symbol, text_.substr(at_, 1));
    ++at_;
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> lex(std::string_view text) { return Lexer(text).run(); }

}  // namespace gossamer::ir::text
