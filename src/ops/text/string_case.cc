#include "ops/text/string_case.h"

namespace gossamer::ops {
namespace {

// How many bytes a letter has in UTF-8; none where there is no letter (-1).
Expr size_of(const Expr& letter) {
  Expr size = ir::select(letter < 0x10000, int32(3), int32(4));
  size = ir::select(letter < 0x800, int32(2), size);
  size = ir::select(letter < 0x80, int32(1), size);
  return ir::select(letter < 0, int32(0), size);
}

// Byte `at` of a letter in UTF-8.
Expr byte_of(const Expr& letter, const Expr& at) {
  const Expr size = size_of(letter);
  const auto shifted = [&](int64_t bits) { return ir::floordiv(letter, int64_t{1} << bits); };
  const Expr behind = size - at - 1;  // bytes that follow
  Expr part = ir::select(behind == 2, shifted(12), shifted(18));
  part = ir::select(behind == 1, shifted(6), part);
  part = ir::select(behind == 0, letter, part);
  Expr lead = ir::select(size == 3, int32(0xe0), int32(0xf0));
  lead = ir::select(size == 2, int32(0xc0), lead);
  lead = ir::select(size == 1, int32(0), lead);
  return ir::select(at == 0, lead + part, ir::floormod(part, 64) + 0x80);
}

// [x.shape, width], i32: the letter that begins at each byte, or -1.
Tensor letters_of(Builder& b, const std::string& name, const Tensor& x) {
  const Tensor bytes = x.all_bytes(), lengths = x.all_lengths();
  return b.compute(name + ".letters", DType::i32, bytes.shape(), [&](Point p) {
    const auto byte = [&](int64_t behind) {
      std::vector<Expr> at(p.begin(), p.end());
      at.back() = b.simplify(at.back() + static_cast<double>(behind));
      Expr value = ir::cast(DType::i32, bytes.at(at));
      return behind == 0 ? value : ir::select(at.back() < x.width(), value, int32(0));
    };
    const Expr first = byte(0);
    Expr letter = int32(0);
    // Of the longest form down: what the first byte has of the letter, then six bits a byte.
    const auto form = [&](int size, int64_t lead) {
      Expr value = first - static_cast<double>(lead);
      for (int i = 1; i < size; ++i) value = value * 64.0 + ir::floormod(byte(i), 64);
      return value;
    };
    letter = ir::select(first < 0xf0, form(3, 0xe0), form(4, 0xf0));
    letter = ir::select(first < 0xe0, form(2, 0xc0), letter);
    letter = ir::select(first < 0x80, first, letter);
    const Expr inside = p.back() < as_index(lengths.at(Point(p.begin(), p.end() - 1)));
    const Expr begins = first < 0x80 || first >= 0xc0;
    return ir::select(inside && begins, letter, int32(-1));
  });
}

}  // namespace

Tensor in_case(Builder& b, const std::string& name, const Tensor& x, LetterCase to) {
  std::vector<int32_t> table;
  for (const CaseRange& range : case_ranges(to))
    table.insert(table.end(), {range.first, range.last, range.step, range.shift});
  const int64_t count = static_cast<int64_t>(table.size()) / 4;
  const Tensor ranges = b.constant(int32s({count, 4}, std::move(table)));
  const Tensor letters = letters_of(b, name, x);
  const Tensor mapped = b.reduce(
      name + ".mapped", Builder::Join::sum, DType::i32, letters.shape(), {ir::index(count)},
      [&](Point p, Point r) {
        const auto field = [&](int64_t at) { return ranges({r[0], ir::index(at)}); };
        const Expr letter = letters.at(p), beyond = letter - field(0);
        const Expr whole = ir::floormod(beyond, 2) == 0 || field(2) == 1;
        return ir::select(beyond >= 0 && letter <= field(1) && whole, field(3), int32(0));
      },
      [&](Point p, Expr shift) { return letters.at(p) + shift; });
  const auto before = [&](Point p, const Expr& at) {
    std::vector<Expr> place(p.begin(), p.end());
    place.back() = at;
    return mapped.at(place);
  };
  const Tensor offset =
      b.reduce(name + ".offset", Builder::Join::sum, DType::i32, letters.shape(), {x.width()},
               [&](Point p, Point r) {
                 return ir::select(r[0] < p.back(), size_of(before(p, r[0])), int32(0));
               });
  Shape wide = x.shape();
  wide.push_back(x.width() + ir::floordiv(x.width(), 2));
  const Tensor bytes = b.reduce(
      name, Builder::Join::sum, DType::u8, wide, {x.width()},
      [&](Point p, Point r) {
        std::vector<Expr> from(p.begin(), p.end());
        from.back() = r[0];
        const Expr letter = mapped.at(from);
        const Expr at = ir::cast(DType::i32, p.back()) - offset.at(from);
        return ir::select(at >= 0 && at < size_of(letter), byte_of(letter, at), int32(0));
      },
      [](Point, Expr byte) { return ir::cast(DType::u8, byte); });
  const Tensor lengths = b.reduce(name + ".lengths", Builder::Join::sum, DType::i32, x.shape(),
                                  {x.width()}, [&](Point p, Point r) {
                                    std::vector<Expr> at(p.begin(), p.end());
                                    at.push_back(r[0]);
                                    return size_of(mapped.at(at));
                                  });
  return b.strings(bytes, lengths);
}

}  // namespace gossamer::ops
