// StringSplit: where parts begin and how long they are, then their bytes.
#include "ops/families.h"
#include "ops/text/string_match.h"

namespace gossamer::ops {
namespace {

Expr at(const Tensor& x, Point outer, const Expr& last) {
  std::vector<Expr> point(outer.begin(), outer.end());
  point.push_back(last);
  return x.at(point);
}

// The strings, and what both ways of splitting need of them.
struct Split {
  Builder& b;
  const Tensor& x;
  Expr limit;  // as many splits at most; null: as many as there are

  Shape wide(const Expr& last) const {
    Shape shape = x.shape();
    shape.push_back(last);
    return shape;
  }
  Expr length(Point p) const { return x.all_lengths().at(p); }
  static Point outer(Point p) { return Point(p.begin(), p.end() - 1); }
  // How many flags (0 or 1) are set up to each byte.
  Tensor counted(const Tensor& flags) const {
    return b.reduce("string_split.count", Builder::Join::sum, DType::i32, flags.shape(),
                    {x.width()}, [&](Point p, Point r) {
                      return ir::select(r[0] <= p.back(), at(flags, outer(p), r[0]), int32(0));
                    });
  }
  Tensor total(const Tensor& flags) const {
    return b.reduce("string_split.total", Builder::Join::sum, DType::i32, x.shape(), {x.width()},
                    [&](Point p, Point r) { return at(flags, p, r[0]); });
  }
  // The greatest number of parts, which the host program reads.
  Result<Expr> most(const Tensor& parts) const {
    Tensor largest = parts;
    if (!x.shape().empty()) {
      largest = b.reduce(
          "string_split.most", Builder::Join::max, DType::i32, {}, x.shape(),
          [&](Point, Point r) { return parts.at(r); },
          [](Point, Expr count) { return ir::max(count, 0.0); });
    }
    GS_ASSIGN(std::vector<Expr> read, b.read(largest));
    return read[0];
  }
  // [x.shape, parts]: the least byte whose flag is set and whose count is that of the part.
  Tensor place(const Tensor& flags, const Tensor& counts, const Expr& parts) const {
    constexpr double none = 0x7fffffff;
    return b.reduce("string_split.place", Builder::Join::min, DType::i32, wide(parts), {x.width()},
                    [&](Point p, Point r) {
                      const Expr set = at(flags, outer(p), r[0]) != 0;
                      const Expr mine =
                          at(counts, outer(p), r[0]) == ir::cast(DType::i32, p.back()) + 1;
                      return ir::select(set && mine, ir::cast(DType::i32, r[0]),
                                        ir::constant(DType::i32, none));
                    });
  }
  // Outputs from where parts begin and how long they are; `parts` counts them for each string.
  void finish(const Tensor& begin, const Tensor& size, const Tensor& parts) const {
    const Tensor lengths =
        b.compute("string_split.lengths", DType::i32, size.shape(), [&](Point p) {
          const Expr there = ir::cast(DType::i32, p.back()) < parts.at(outer(p));
          return ir::select(there, size.at(p), int32(0));
        });
    Shape shape = size.shape();
    shape.push_back(x.width());
    const Tensor bytes = b.compute("string_split", DType::u8, shape, [&](Point p) {
      const Point part = outer(p);
      const Expr from = as_index(begin.at(part)) + p.back();
      const Expr inside = p.back() < as_index(lengths.at(part));
      return ir::select(inside, at(x.all_bytes(), outer(part), from), ir::zero(DType::u8));
    });
    b.output(0, b.strings(bytes, lengths));
    b.output(1, b.compute("string_split.counts", DType::i64, x.shape(),
                          [&](Point p) { return ir::cast(DType::i64, parts.at(p)); }));
  }
};

// Bytes of the white space character that begins at a byte, 0 where none does: that of Unicode.
Expr space_size(const Expr& first, const Expr& second, const Expr& third) {
  const auto between = [](const Expr& byte, int low, int high) -> Expr {
    return byte >= low && byte <= high;
  };
  const Expr one = between(first, 0x09, 0x0d) || between(first, 0x1c, 0x20);
  const Expr two = first == 0xc2 && (second == 0x85 || second == 0xa0);
  const Expr narrow =
      second == 0x80 && (between(third, 0x80, 0x8a) || between(third, 0xa8, 0xa9) || third == 0xaf);
  const Expr e2 = first == 0xe2 && (narrow || (second == 0x81 && third == 0x9f));
  const Expr three = e2 || (first == 0xe1 && second == 0x9a && third == 0x80) ||
                     (first == 0xe3 && second == 0x80 && third == 0x80);
  return ir::select(one, int32(1),
                    ir::select(two, int32(2), ir::select(three, int32(3), int32(0))));
}

Result<> by_space(const Split& s) {
  Builder& b = s.b;
  const Tensor& x = s.x;
  const Tensor bytes = x.all_bytes();
  const auto byte = [&](Point p, int behind) {
    const Expr place = b.simplify(p.back() + static_cast<double>(behind));
    Expr value = ir::cast(DType::i32, at(bytes, Split::outer(p), place));
    return behind == 0 ? value : ir::select(place < x.width(), value, int32(0));
  };
  const Tensor sizes = b.compute("string_split.space", DType::i32, bytes.shape(), [&](Point p) {
    return space_size(byte(p, 0), byte(p, 1), byte(p, 2));
  });
  // 1 for bytes of words.
  const Tensor inside = b.compute("string_split.inside", DType::i32, bytes.shape(), [&](Point p) {
    Expr space = sizes.at(p) > 0;
    for (int before : {1, 2}) {
      const Expr place = b.simplify(p.back() - static_cast<double>(before));
      const Expr covers = at(sizes, Split::outer(p), place) > static_cast<double>(before);
      space = space || ir::select(place >= 0, covers, ir::boolean(false));
    }
    const Expr within = p.back() < as_index(s.length(Split::outer(p)));
    return ir::cast(DType::i32, within && !space);
  });
  const Tensor starts = b.compute("string_split.start", DType::i32, bytes.shape(), [&](Point p) {
    const Expr place = b.simplify(p.back() - 1);
    const Expr before = at(inside, Split::outer(p), place) == 0;
    const Expr first = ir::select(p.back() > 0, before, ir::boolean(true));
    return ir::cast(DType::i32, inside.at(p) != 0 && first);
  });
  const Tensor counts = s.counted(starts), words = s.total(starts);
  const Tensor parts = b.compute("string_split.parts", DType::i32, x.shape(), [&](Point p) {
    return s.limit ? ir::min(words.at(p), s.limit + 1) : words.at(p);
  });
  GS_ASSIGN(const Expr most, s.most(parts));
  const Tensor begin = s.place(starts, counts, most);
  const Tensor size = b.reduce(
      "string_split.size", Builder::Join::sum, DType::i32, s.wide(most), {x.width()},
      [&](Point p, Point r) {
        const Point outer = Split::outer(p);
        const Expr mine = at(counts, outer, r[0]) == ir::cast(DType::i32, p.back()) + 1;
        return ir::select(mine, at(inside, outer, r[0]), int32(0));
      },
      [&](Point p, Expr bytes_of_word) {
        if (!s.limit.get()) return bytes_of_word;
        // The last split leaves the rest as it is.
        const Expr rest = s.length(Split::outer(p)) - begin.at(p);
        return ir::select(ir::cast(DType::i32, p.back()) == s.limit, rest, bytes_of_word);
      });
  s.finish(begin, size, parts);
  return {};
}

// Whether a text can overlap itself, so that which matches count depends on those before.
bool overlaps(const std::string& text) {
  for (size_t shift = 1; shift < text.size(); ++shift) {
    if (text.compare(shift, std::string::npos, text, 0, text.size() - shift) == 0) return true;
  }
  return false;
}

// [x.shape, width], 1 where the delimiter begins.
Result<Tensor> delimiters(const Split& s, const std::string& delimiter) {
  Builder& b = s.b;
  const Tensor& x = s.x;
  const auto size = static_cast<int64_t>(delimiter.size());
  const Tensor text =
      b.constant(uint8s({size}, std::vector<uint8_t>(delimiter.begin(), delimiter.end())));
  const Tensor matches = b.reduce(
      "string_split.match", Builder::Join::min, DType::i32, s.wide(x.width()), {ir::index(size)},
      [&](Point p, Point r) {
        const Expr place = b.simplify(p.back() + r[0]);
        const Expr equal = at(x.all_bytes(), Split::outer(p), place) == text({r[0]});
        return ir::cast(DType::i32, ir::select(place < x.width(), equal, ir::boolean(false)));
      },
      [&](Point p, Expr all) {
        const Expr fits =
            p.back() + static_cast<double>(size) <= as_index(s.length(Split::outer(p)));
        return ir::select(fits, std::move(all), int32(0));
      });
  if (!overlaps(delimiter)) return matches;
  // From left to right: how many bytes are left of the delimiter that was found last.
  const Tensor none =
      b.compute("string_split.none", DType::i32, x.shape(), [](Point) { return int32(0); });
  const auto body = [&](const Expr& round,
                        std::span<const Tensor> states) -> Result<Builder::Round> {
    const Tensor& left = states[0];
    const Tensor found = b.compute("string_split.found", DType::i32, x.shape(), [&](Point p) {
      return ir::select(left.at(p) == 0, at(matches, p, round), int32(0));
    });
    const Tensor next = b.compute("string_split.left", DType::i32, x.shape(), [&](Point p) {
      return ir::select(found.at(p) != 0, int32(size - 1), ir::max(left.at(p) - 1, 0.0));
    });
    return Builder::Round{{next}, {found}};
  };
  GS_ASSIGN(const Builder::Round rounds,
            b.loop("string_split", x.width(), std::span(&none, 1), body));
  const Tensor found = rounds.rows[0];
  return b.compute("string_split.matches", DType::i32, s.wide(x.width()), [&](Point p) {
    std::vector<Expr> from{p.back()};
    from.insert(from.end(), p.begin(), p.end() - 1);
    return found.at(from);
  });
}

Result<> by_text(const Split& s, const std::string& delimiter) {
  Builder& b = s.b;
  const Tensor& x = s.x;
  const auto size = static_cast<int64_t>(delimiter.size());
  GS_ASSIGN(const Tensor found, delimiters(s, delimiter));
  const Tensor counts = s.counted(found), all = s.total(found);
  const Tensor parts = b.compute("string_split.parts", DType::i32, x.shape(), [&](Point p) {
    return (s.limit ? ir::min(all.at(p), s.limit) : all.at(p)) + 1;
  });
  GS_ASSIGN(const Expr most, s.most(parts));
  const Tensor ends = s.place(found, counts, most);  // of part k: where delimiter k begins
  const Tensor begin = b.compute("string_split.begin", DType::i32, s.wide(most), [&](Point p) {
    const Expr before = at(ends, Split::outer(p), b.simplify(p.back() - 1));
    const Expr there = p.back() > 0 && ir::cast(DType::i32, p.back()) < parts.at(Split::outer(p));
    return ir::select(there, before + static_cast<double>(size), int32(0));
  });
  const Tensor lengths = b.compute("string_split.size", DType::i32, s.wide(most), [&](Point p) {
    const Point outer = Split::outer(p);
    const Expr last = ir::cast(DType::i32, p.back()) + 1 >= parts.at(outer);
    return ir::select(last, s.length(outer), ends.at(p)) - begin.at(p);
  });
  s.finish(begin, lengths, parts);
  return {};
}

Result<> string_split(Builder& b) {
  Split split{b, b.input(0), {}};
  if (b.has_attribute("maxsplit")) {
    const int64_t limit = b.integer("maxsplit");
    constexpr int64_t most = 1 << 30;
    if (limit >= 0 && limit < most) split.limit = int32(limit);
  }
  const std::string delimiter = b.text("delimiter");
  return delimiter.empty() ? by_space(split) : by_text(split, delimiter);
}

}  // namespace

std::vector<OpDef> string_split_family() {
  const TensorData texts =
      strings({2, 2}, {"hello world", " def.net  x ", "o n n\xc2\xa0x", "the quick brown fox "});
  return {
      {.name = "StringSplit",
       .doc =
           "The parts of strings between delimiters, or between runs of white space, padded with "
           "empty strings, and how many there are.",
       .since = 20,
       .inputs = {{"X", strings_only}},
       .outputs = {"Y", "Z"},
       .attributes = {{"delimiter", ""}, {"maxsplit", {}}},
       .define = string_split,
       .cases = [=] -> Cases {
         return {{.name = "white space", .inputs = {texts}},
                 {.name = "at most", .attributes = {{"maxsplit", 1}}, .inputs = {texts}},
                 {.name = "delimiter",
                  .attributes = {{"delimiter", "."}},
                  .inputs = {strings({3}, {"a.bc..d", "", "."})}},
                 {.name = "delimiter at most",
                  .attributes = {{"delimiter", ", "}, {"maxsplit", 2}},
                  .inputs = {strings({2}, {"a, b, c, d", "a,b"})}},
                 {.name = "delimiter that overlaps itself",
                  .attributes = {{"delimiter", "aa"}},
                  .inputs = {strings({3}, {"aaa", "baaaac", "a"})}}};
       }},
  };
}

}  // namespace gossamer::ops
