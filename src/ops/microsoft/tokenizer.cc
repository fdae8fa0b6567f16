// Tokenizer: which bytes of a text belong to tokens, then the tokens' bytes. Separators and tokens
// are regular expressions, which ONNX Runtime matches from left to right, each match as long as it
// can be.
#include "ops/families.h"
#include "ops/microsoft/fused.h"
#include "ops/text/regex.h"
#include "ops/text/string_match.h"

namespace gossamer::ops {
namespace {

using Texts = std::vector<std::string>;

Expr at(const Tensor& x, Point outer, const Expr& last) {
  std::vector<Expr> point(outer.begin(), outer.end());
  point.push_back(last);
  return x.at(point);
}
Point outer(Point point) { return Point(point.begin(), point.end() - 1); }
Expr i32(const Expr& value) { return ir::cast(DType::i32, value); }

// Tokens of texts; all tensors are i32 [texts..., width].
struct Tokens {
  Tensor starts;  // 1 where a token begins
  Tensor ends;    // of the token that begins at a byte, or that the byte is in
};

// The tables of an expression.
struct Expression {
  Tensor classes, next, accepts, sides, starts;
  int64_t longest = -1;
};

class Tokenizing {
 public:
  explicit Tokenizing(Builder& b)
      : b_(b), x_(b.input(0)), least_(b.integer("mincharnum")), wide_(x_.shape()) {
    wide_.push_back(x_.width());
  }
  Result<> run();

 private:
  Expr width() const { return x_.width(); }
  Tensor over_bytes(const char* name, const std::function<Expr(Point)>& body) const {
    return b_.compute(name, DType::i32, wide_, body);
  }
  Tensor scanned(const char* name, Builder::Join join,
                 const std::function<Expr(Point)>& body) const {
    return b_.scan(name, join, DType::i32, wide_, static_cast<int>(wide_.size()) - 1, body);
  }
  // 1 for bytes that begin a character.
  Expr leads(Point p) const {
    const Expr byte = i32(x_.all_bytes().at(p));
    const Expr inside = p.back() < as_index(x_.all_lengths().at(outer(p)));
    return i32(inside && (byte < 0x80 || byte >= 0xc0));
  }
  Tensor ends_of(const Tensor& inside) const;
  Tensor starts_of(const Tensor& inside) const;
  // How many characters begin in the bytes from `begin` to `end`.
  Expr characters(Point text, const Expr& begin, const Expr& end) const;
  Result<Expression> expression(const std::string& pattern, bool may_be_empty, const char* name);
  Result<Tensor> lengths_of(const Expression& expression, const Tensor& inside,
                            const Tensor& ends) const;
  Result<std::vector<Tensor>> choose(const Tensor& lengths) const;
  Result<Tensor> without(const std::string& separator, const Tensor& inside);
  Tokens characters_apart() const;
  Result<Tokens> separated(const Texts& separators);
  Result<Tokens> found(const std::string& pattern);
  Result<> write(const Tokens& tokens);

  Builder& b_;
  const Tensor& x_;
  int64_t least_;  // characters of a token
  Shape wide_;
  Tensor counted_;  // how many characters begin up to each byte
};

Tensor Tokenizing::starts_of(const Tensor& inside) const {
  return over_bytes("tokenizer.starts", [&](Point p) {
    const Expr before = at(inside, outer(p), ir::max(p.back() - 1, 0.0));
    const Expr first = p.back() == 0.0 || before == 0;
    return i32(inside.at(p) != 0 && first);
  });
}

// The first byte from each on that is not inside.
Tensor Tokenizing::ends_of(const Tensor& inside) const {
  const auto turned = [&](Point p) { return width() - 1 - p.back(); };
  const Tensor backwards = scanned("tokenizer.next", Builder::Join::min, [&](Point p) {
    const Expr place = turned(p);
    return ir::select(at(inside, outer(p), place) != 0, i32(width()), i32(place));
  });
  return over_bytes("tokenizer.ends", [&](Point p) { return at(backwards, outer(p), turned(p)); });
}

Expr Tokenizing::characters(Point text, const Expr& begin, const Expr& end) const {
  const auto before = [&](const Expr& place) {
    return ir::select(place > 0, at(counted_, text, ir::max(place - 1, 0.0)), int32(0));
  };
  return before(end) - before(begin);
}

Result<Expression> Tokenizing::expression(const std::string& pattern, bool may_be_empty,
                                          const char* name) {
  auto made = compile_regex_search(pattern);
  if (!made) return b_.error(made.error().message, cat("`", name, "` has RE2's syntax"));
  if (made->matches_nothing && !may_be_empty) {
    return b_.error(cat("`", name, "` has \"", pattern, "\", which matches the empty text"),
                    "write an expression that matches one character at least");
  }
  const RegexAutomaton& automaton = made->automaton;
  const auto states = static_cast<int64_t>(automaton.accepts.size());
  std::vector<int32_t> sides(256), accepts;
  for (int byte = 0; byte < 256; ++byte)
    sides[static_cast<size_t>(byte)] = static_cast<int32_t>(regex_side_of(byte));
  accepts.assign(made->accepts_before.begin(), made->accepts_before.end());
  Expression tables;
  tables.classes = b_.constant(int32s({256}, automaton.classes));
  tables.next = b_.constant(int32s({states, automaton.class_count}, automaton.next));
  tables.accepts = b_.constant(int32s({states, 4}, accepts));
  tables.sides = b_.constant(int32s({256}, sides));
  tables.starts = b_.constant(int32s({4}, {made->starts.begin(), made->starts.end()}));
  tables.longest = made->longest;
  return tables;
}

// How many bytes the longest match has that begins at each byte; 0 for none. A match stays inside.
Result<Tensor> Tokenizing::lengths_of(const Expression& expression, const Tensor& inside,
                                      const Tensor& ends) const {
  const auto side = [&](Point text, const Expr& place) {
    const Expr kept = ir::max(ir::min(place, width() - 1), 0.0);
    const Expr byte = as_index(at(x_.all_bytes(), text, kept));
    const Expr there = place >= 0 && place < width();
    const Expr within = there && at(inside, text, kept) != 0;
    return ir::select(within, expression.sides({byte}), int32(0));
  };
  const Tensor first = over_bytes("tokenizer.state", [&](Point p) {
    return expression.starts({as_index(side(outer(p), p.back() - 1))});
  });
  const Tensor none = over_bytes("tokenizer.none", [](Point) { return int32(0); });
  const auto body = [&](const Expr& round,
                        std::span<const Tensor> states) -> Result<Builder::Round> {
    const auto there = [&](Point p) {
      return inside.at(p) != 0 && p.back() + round < as_index(ends.at(p));
    };
    const Tensor next = over_bytes("tokenizer.walked", [&](Point p) {
      const Expr place = ir::min(p.back() + round, width() - 1);
      const Expr kind = expression.classes({as_index(at(x_.all_bytes(), outer(p), place))});
      const Expr state = states[0].at(p);
      return ir::select(there(p), expression.next({as_index(state), as_index(kind)}), state);
    });
    const Tensor length = over_bytes("tokenizer.length", [&](Point p) {
      const Expr behind = side(outer(p), p.back() + round + 1);
      const Expr accepts = expression.accepts({as_index(next.at(p)), as_index(behind)});
      return ir::select(there(p) && accepts != 0, i32(round + 1), states[1].at(p));
    });
    return Builder::Round{{next, length}, {}};
  };
  const Expr rounds =
      expression.longest < 0 ? width() : ir::min(width(), ir::index(expression.longest));
  const Tensor begin[] = {first, none};
  GS_ASSIGN(const Builder::Round last, b_.loop("tokenizer.match", rounds, begin, body));
  return last.states[1];
}

// Of matches that overlap, the leftmost: 1 where each begins, and 1 for every byte of one.
Result<std::vector<Tensor>> Tokenizing::choose(const Tensor& lengths) const {
  const Tensor none =
      b_.compute("tokenizer.free", DType::i32, x_.shape(), [](Point) { return int32(0); });
  const auto body = [&](const Expr& round,
                        std::span<const Tensor> states) -> Result<Builder::Round> {
    const Tensor& free = states[0];
    const Tensor chosen = b_.compute("tokenizer.found", DType::i32, x_.shape(), [&](Point p) {
      return i32(free.at(p) <= i32(round) && at(lengths, p, round) > 0);
    });
    const Tensor next = b_.compute("tokenizer.behind", DType::i32, x_.shape(), [&](Point p) {
      return ir::select(chosen.at(p) != 0, i32(round) + at(lengths, p, round), free.at(p));
    });
    const Tensor covered = b_.compute("tokenizer.covered", DType::i32, x_.shape(),
                                      [&](Point p) { return i32(next.at(p) > i32(round)); });
    return Builder::Round{{next}, {chosen, covered}};
  };
  GS_ASSIGN(const Builder::Round rounds,
            b_.loop("tokenizer.choose", width(), std::span(&none, 1), body));
  std::vector<Tensor> flags;
  for (const Tensor& row : rounds.rows) {
    flags.push_back(over_bytes("tokenizer.flags", [&](Point p) {
      std::vector<Expr> from{p.back()};
      from.insert(from.end(), p.begin(), p.end() - 1);
      return row.at(from);
    }));
  }
  return flags;
}

// The bytes of `inside` that no match of the separator covers, less pieces that are too short.
Result<Tensor> Tokenizing::without(const std::string& separator, const Tensor& inside) {
  GS_ASSIGN(const Expression tables, expression(separator, false, "separators"));
  GS_ASSIGN(const Tensor lengths, lengths_of(tables, inside, ends_of(inside)));
  GS_ASSIGN(const std::vector<Tensor> flags, choose(lengths));
  const Tensor rest = over_bytes(
      "tokenizer.rest", [&](Point p) { return i32(inside.at(p) != 0 && flags[1].at(p) == 0); });
  if (least_ < 2) return rest;
  const Tensor starts = starts_of(rest), ends = ends_of(rest);
  const Tensor begins = scanned("tokenizer.begin", Builder::Join::max, [&](Point p) {
    return ir::select(starts.at(p) != 0, i32(p.back()), int32(0));
  });
  return over_bytes("tokenizer.kept", [&](Point p) {
    const Expr count = characters(outer(p), as_index(begins.at(p)), as_index(ends.at(p)));
    return i32(rest.at(p) != 0 && count >= static_cast<double>(least_));
  });
}

Tokens Tokenizing::characters_apart() const {
  const Tensor starts = over_bytes("tokenizer.starts", [&](Point p) { return leads(p); });
  const Tensor ends = over_bytes("tokenizer.ends", [&](Point p) {
    const Expr byte = i32(x_.all_bytes().at(p));
    const Expr size =
        ir::select(byte < 0x80, int32(1),
                   ir::select(byte < 0xe0, int32(2), ir::select(byte < 0xf0, int32(3), int32(4))));
    return ir::min(i32(p.back()) + size, x_.all_lengths().at(outer(p)));
  });
  return {starts, ends};
}

Result<Tokens> Tokenizing::separated(const Texts& separators) {
  Tensor inside = over_bytes("tokenizer.inside", [&](Point p) {
    return i32(p.back() < as_index(x_.all_lengths().at(outer(p))));
  });
  for (const std::string& separator : separators) {
    GS_ASSIGN(inside, without(separator, inside));
  }
  return Tokens{starts_of(inside), ends_of(inside)};
}

Result<Tokens> Tokenizing::found(const std::string& pattern) {
  GS_ASSIGN(const Expression tables, expression(pattern, true, "tokenexp"));
  const Tensor inside = over_bytes("tokenizer.inside", [&](Point p) {
    return i32(p.back() < as_index(x_.all_lengths().at(outer(p))));
  });
  GS_ASSIGN(const Tensor lengths, lengths_of(tables, inside, ends_of(inside)));
  GS_ASSIGN(const std::vector<Tensor> flags, choose(lengths));
  Tokens tokens{flags[0], over_bytes("tokenizer.ends",
                                     [&](Point p) { return i32(p.back()) + lengths.at(p); })};
  if (least_ < 2) return tokens;
  tokens.starts = over_bytes("tokenizer.starts", [&](Point p) {
    const Expr count = characters(outer(p), p.back(), as_index(tokens.ends.at(p)));
    return i32(flags[0].at(p) != 0 && count >= static_cast<double>(least_));
  });
  return tokens;
}

// The tokens of each text, after a mark and before another one where they are asked for, then pads.
Result<> Tokenizing::write(const Tokens& tokens) {
  const Tensor counts =
      scanned("tokenizer.counts", Builder::Join::sum, [&](Point p) { return tokens.starts.at(p); });
  const auto total = [&](Point text) { return at(counts, text, width() - 1); };
  const Tensor most = b_.reduce(
      "tokenizer.most", Builder::Join::max, DType::i32, {index(1)}, x_.shape(),
      [&](Point, Point r) { return total(r); },
      [](Point, Expr count) { return ir::max(count, 0.0); });
  GS_ASSIGN(const std::vector<Expr> read, b_.read(most));
  const int64_t marks = b_.integer("mark") != 0 ? 1 : 0;
  const Expr columns =
      marks ? b_.simplify(ir::select(read[0] > 0, read[0] + 2, index(0))) : read[0];
  Shape shape = x_.shape();
  shape.push_back(columns);
  const Tensor begins =
      b_.search("tokenizer.place", shape, width(), [&](Point p, const Expr& place) {
        return as_index(at(counts, outer(p), place)) > p.back() - static_cast<double>(marks);
      });
  const std::string pad = b_.text("pad_value");
  const auto pad_size = static_cast<int64_t>(pad.size());
  const Tensor pads = b_.constant(
      uint8s({std::max<int64_t>(pad_size, 1)},
             pad.empty() ? std::vector<uint8_t>{0} : std::vector<uint8_t>(pad.begin(), pad.end())));
  // What stands at a point: a token, a mark or a pad.
  const auto choose_one = [&](Point p, const Expr& token, const Expr& mark, const Expr& padding) {
    const Expr place = p.back(), count = as_index(total(outer(p)));
    const double first = static_cast<double>(marks);
    const Expr is_token = place >= first && place < count + first;
    if (!marks) return ir::select(is_token, token, padding);
    return ir::select(is_token, token, ir::select(place <= count + 1, mark, padding));
  };
  const auto begin_of = [&](Point p) {
    return ir::max(ir::min(as_index(begins.at(p)), width() - 1), 0.0);
  };
  const Tensor lengths = b_.compute("tokenizer.lengths", DType::i32, shape, [&](Point p) {
    const Expr begin = begin_of(p);
    return choose_one(p, at(tokens.ends, outer(p), begin) - i32(begin), int32(1), int32(pad_size));
  });
  Shape bytes_shape = shape;
  bytes_shape.push_back(b_.simplify(ir::max(width(), index(std::max<int64_t>(pad_size, 1)))));
  const Tensor bytes = b_.compute("tokenizer", DType::u8, bytes_shape, [&](Point p) {
    const Point token = outer(p);
    const Expr from = ir::min(begin_of(token) + p.back(), width() - 1);
    const Expr padding = pads({ir::min(p.back(), index(std::max<int64_t>(pad_size, 1) - 1))});
    const Expr mark = ir::select(token.back() == 0.0, ir::constant_int(DType::u8, 2),
                                 ir::constant_int(DType::u8, 3));
    const Expr byte = choose_one(token, at(x_.all_bytes(), outer(token), from), mark, padding);
    return ir::select(p.back() < as_index(lengths.at(token)), byte, ir::zero(DType::u8));
  });
  b_.output(0, b_.strings(bytes, lengths));
  return {};
}

Result<> Tokenizing::run() {
  if (x_.rank() != 1 && x_.rank() != 2)
    return b_.error(cat("X has rank ", x_.rank()), "it is [C] or [N, C]");
  if (least_ < 1) return b_.error(cat("`mincharnum` is ", least_), "it must be positive");
  const Texts separators = b_.texts("separators");
  const std::string pattern = b_.text("tokenexp");
  // ONNX Runtime does not read the expression where there are separators.
  if (separators.empty() && pattern.empty())
    return b_.error("neither `separators` nor `tokenexp` is given", "give one of them");
  const bool any_character = separators.empty() && pattern == ".";  // a new line, too
  if (any_character || (separators.size() == 1 && separators[0].empty())) {
    if (least_ > 1)
      return b_.error("`mincharnum` is greater than 1, and each character is a token");
    return write(characters_apart());
  }
  if (least_ > 1) {
    counted_ =
        scanned("tokenizer.characters", Builder::Join::sum, [&](Point p) { return leads(p); });
  }
  GS_ASSIGN(const Tokens tokens, separators.empty() ? found(pattern) : separated(separators));
  return write(tokens);
}

Result<> tokenizer(Builder& b) { return Tokenizing(b).run(); }

}  // namespace

std::vector<OpDef> microsoft_tokenizer_family() {
  const TensorData texts =
      strings({2, 2}, {"a bb, ccc", "\xc3\xa9t\xc3\xa9  x_1!", "", "the quick, brown"});
  const auto with = [](Attributes more) {
    Attributes attributes = {{"mark", 0}, {"mincharnum", 1}, {"pad_value", "#"}};
    for (auto& [name, value] : more) attributes[name] = value;
    return attributes;
  };
  return {
      {.name = "Tokenizer",
       .doc = "The tokens of strings: what separators leave, or what an expression of RE2's syntax "
              "matches.",
       .domain = std::string(microsoft),
       .since = 1,
       .inputs = {{"X", strings_only}},
       .attributes = {{"mark", {}, true},
                      {"mincharnum", {}, true},
                      {"pad_value", {}, true},
                      {"separators", Texts{}},
                      {"tokenexp", ""}},
       .define = tokenizer,
       .cases = [=] -> Cases {
         return {{.name = "expression",
                  .attributes = with({{"tokenexp", "[a-z0-9_]+"}}),
                  .inputs = {texts}},
                 {.name = "words of two letters",
                  .attributes = with({{"tokenexp", R"(\b\w\w+\b)"}, {"mark", 1}}),
                  .inputs = {texts}},
                 {.name = "separators",
                  .attributes = with({{"separators", Texts{" ", ",+"}},
                                      {"mincharnum", 2},
                                      {"mark", 1},
                                      {"pad_value", "<pad>"}}),
                  .inputs = {texts}},
                 {.name = "characters",
                  .attributes = with({{"separators", Texts{""}}, {"pad_value", ""}}),
                  .inputs = {strings({2}, {"a\xc3\xa9\xe2\x82\xac", ""})}},
                 {.name = "characters of an expression",
                  .attributes = with({{"tokenexp", "."}}),
                  .inputs = {strings({2}, {"a\nb", ""})}},
                 {.name = "no tokens",
                  .attributes = with({{"separators", Texts{"a"}}, {"mark", 1}}),
                  .inputs = {strings({2}, {"", "aa"})}}};
       }},
  };
}

}  // namespace gossamer::ops
