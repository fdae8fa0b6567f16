// Text to numbers. Rounding: Lemire, "Number parsing at a gigabyte per second" (2021).
#include "ops/text/powers_of_ten.h"
#include "ops/text/text_of_numbers.h"

namespace gossamer::ops {
namespace {

using ir::BinaryOp;

Expr as_i32(Expr value) { return ir::cast(DType::i32, std::move(value)); }
Expr bits_of(const Expr& a, const Expr& mask) { return ir::binary(BinaryOp::bit_and, a, mask); }

constexpr int digits_kept = 19;  // as many as 64 bits hold
constexpr int least_power = -342, greatest_power = 291;

// Where the parts of each text lie. Places are i32; a part that is not there begins at the length.
class Reader {
 public:
  Reader(Builder& b, const Tensor& x) : b_(b), x_(x) {
    const Tensor begin =
        first("begin", [&](Point, const Expr& byte, const Expr&) { return byte > int32(' '); });
    negative_ = each("negative", [&](Point p) { return as_i32(byte(p, begin.at(p)) == '-'); });
    start_ = each("start", [&](Point p) {
      const Expr sign = byte(p, begin.at(p));
      return begin.at(p) + as_i32(sign == '-' || sign == '+');
    });
  }

  Tensor truth() const {
    // A digit other than 0 before any exponent, or a word other than "false".
    const Tensor end = mantissa_end();
    const Tensor leading = first_digit(end);
    return b_.compute("text.truth", DType::boolean, x_.shape(), [&](Point p) {
      const Expr letter = byte(p, start_.at(p));
      const Expr word = letter == 't' || letter == 'i' || letter == 'n';
      return Expr(word || leading.at(p) < end.at(p));
    });
  }

  Tensor whole(DType to) const {
    const Tensor end = first("end", [&](Point p, const Expr& byte, const Expr& place) {
      return place >= start_.at(p) && !is_digit(byte);
    });
    const Tensor powers = table();
    const auto of = [&](int64_t value) { return ir::constant_int(to, value); };
    return b_.reduce(
        "text.whole", Builder::Join::sum, to, x_.shape(), {x_.width()},
        [&](Point p, Point r) {
          const Expr place = as_i32(r[0]), right = end.at(p) - int32(1) - place;
          const Expr inside = place >= start_.at(p) && right >= 0.0;
          // Powers of ten in 9 digits: a GPU has no more.
          const Expr unit = powers({as_index(ir::floormod(ir::max(right, int32(0)), int32(9)))});
          Expr value = ir::cast(to, digit(p, r[0])) * ir::cast(to, unit);
          for (int i = 1; i <= 2; ++i)
            value = value * ir::select(right >= int32(9L * i), of(1000000000), of(1));
          return ir::select(inside, value, of(0));
        },
        [&](Point p, Expr sum) { return ir::select(negative_.at(p) != 0.0, of(0) - sum, sum); });
  }

  // `exactly`: to the nearest; else the last bit says whether anything follows, so that rounding
  // the result is rounding the number.
  Tensor real(bool exactly) const {
    const Tensor end = mantissa_end(), leading = first_digit(end);
    const Tensor dot = first("point", [&](Point p, const Expr& byte, const Expr& place) {
      return place >= start_.at(p) && byte == '.';
    });
    const Tensor exponent = exponent_after(end);
    // The mantissa is 19 digits from the first that is not 0; this is the power of ten of the last.
    const Tensor power = each("power", [&](Point p) {
      const Expr point = ir::min(dot.at(p), end.at(p)), from = leading.at(p);
      const Expr first_power = point - from - as_i32(from < point);
      const Expr all = first_power - int32(digits_kept - 1) + exponent.at(p);
      return ir::max(ir::min(all, int32(greatest_power)), int32(least_power - 1));
    });
    const Tensor small = table();
    const PowersOfTen powers(b_, DType::u64, least_power, greatest_power);
    const auto word = [](int64_t value) { return ir::constant_int(DType::u64, value); };
    return b_.reduce(
        "text.real", Builder::Join::sum, DType::f64, x_.shape(), {x_.width()},
        [&](Point p, Point r) {
          const Expr place = as_i32(r[0]), from = leading.at(p);
          const Expr after = dot.at(p) < place && from < dot.at(p);
          const Expr right = int32(digits_kept - 1) - (place - from - as_i32(after));
          const Expr counts = place >= from && place < end.at(p) && right >= 0.0 &&
                              is_digit(as_i32(digit(p, r[0])) + int32('0'));
          const Expr unit = small({as_index(ir::floormod(ir::max(right, int32(0)), int32(9)))});
          Expr value = ir::cast(DType::u64, digit(p, r[0])) * ir::cast(DType::u64, unit);
          for (int i = 1; i <= 2; ++i)
            value = value * ir::select(right >= int32(9L * i), word(1000000000), word(1));
          return ir::select(counts, value, word(0));
        },
        [&](Point p, Expr sum) {
          const Expr magnitude = scaled(sum, power.at(p), powers, exactly);
          const Expr letter = byte(p, start_.at(p));
          const Expr infinite = shifted_left(word(0x7ff), word(52));
          const Expr quiet = shifted_left(ir::cast(DType::u64, letter == 'n'), word(51));
          const Expr sign = shifted_left(ir::cast(DType::u64, negative_.at(p) != 0.0), word(63));
          const Expr bits = ir::select(letter == 'i' || letter == 'n', infinite + quiet, magnitude);
          return ir::bitcast(DType::f64, ir::binary(BinaryOp::bit_or, bits, sign));
        });
  }

 private:
  static Expr is_digit(const Expr& byte) { return byte >= int32('0') && byte <= int32('9'); }

  Tensor each(const char* name, const std::function<Expr(Point)>& body) const {
    return b_.compute(cat("text.", name), DType::i32, x_.shape(), body);
  }
  Expr length(Point p) const { return x_.all_lengths().at(p); }
  // A byte in lower case; 0 behind the end.
  Expr byte(Point p, const Expr& place) const {
    std::vector<Expr> at(p.begin(), p.end());
    at.push_back(as_index(place));
    const Expr value = as_i32(x_.all_bytes().at(at));
    const Expr lower =
        ir::select(value >= int32('A') && value <= int32('Z'), value + int32(32), value);
    return ir::select(place < length(p), lower, int32(0));
  }
  Expr digit(Point p, const Expr& place) const {
    std::vector<Expr> at(p.begin(), p.end());
    at.push_back(place);
    return as_i32(x_.all_bytes().at(at)) - int32('0');
  }
  Tensor table() const {
    return b_.constant(
        int32s({9}, {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000}));
  }

  // The first place where `found(point, byte, place)` holds, the length where it holds nowhere.
  Tensor first(const char* name,
               const std::function<Expr(Point, const Expr&, const Expr&)>& found) const {
    return b_.reduce(
        cat("text.", name), Builder::Join::min, DType::i32, x_.shape(), {x_.width()},
        [&](Point p, Point r) {
          const Expr place = as_i32(r[0]);
          const Expr here = ir::Condition(found(p, byte(p, place), place)) && place < length(p);
          return ir::select(here, place, int32(0x7fffffff));
        },
        [&](Point p, Expr place) { return ir::min(std::move(place), length(p)); });
  }
  Tensor mantissa_end() const {
    return first("stop", [&](Point p, const Expr& byte, const Expr& place) {
      return place >= start_.at(p) && !is_digit(byte) && byte != '.';
    });
  }
  Tensor first_digit(const Tensor& end) const {
    return first("leading", [&](Point p, const Expr& byte, const Expr& place) {
      const Expr inside = place >= start_.at(p) && place < end.at(p);
      return ir::Condition(inside) && byte >= int32('1') && byte <= int32('9');
    });
  }

  Tensor exponent_after(const Tensor& end) const {
    const Tensor begin = each("exponent_begin", [&](Point p) {
      const Expr sign = byte(p, end.at(p) + int32(1));
      return end.at(p) + int32(1) + as_i32(sign == '-' || sign == '+');
    });
    const Tensor last = first("exponent_end", [&](Point p, const Expr& byte, const Expr& place) {
      return place >= begin.at(p) && !is_digit(byte);
    });
    return b_.reduce(
        "text.exponent", Builder::Join::sum, DType::i32, x_.shape(), {x_.width()},
        [&](Point p, Point r) {
          const Expr place = as_i32(r[0]), right = last.at(p) - int32(1) - place;
          const Expr inside = place >= begin.at(p) && right >= 0.0 && byte(p, end.at(p)) == 'e';
          Expr unit = int32(1);
          for (int at = 1, ten = 10; at < 5; ++at, ten *= 10)
            unit = ir::select(right >= int32(at), int32(ten), unit);
          const Expr value = digit(p, r[0]);
          const Expr far = ir::select(value > 0.0, int32(100000), int32(0));
          return ir::select(inside, ir::select(right < int32(5), value * unit, far), int32(0));
        },
        [&](Point p, Expr sum) {
          const Expr minus = byte(p, end.at(p) + int32(1)) == '-';
          const Expr size = ir::min(std::move(sum), int32(100000));
          return ir::select(minus, -size, size);
        });
  }

  // The bits of the f64 that is digits * 10^power: zero, or digits of 19 places.
  static Expr scaled(const Expr& digits, const Expr& power, const PowersOfTen& powers,
                     bool exactly) {
    const auto word = [](int64_t value) { return ir::constant_int(DType::u64, value); };
    const auto wide = [](const Expr& x) { return ir::cast(DType::u64, x); };
    const auto rest = [&](const Expr& x, const Expr& by) {
      return bits_of(x, shifted_left(word(1), by) - word(1));
    };
    Expr leading = int32(0);
    for (int bit = 60; bit < 64; ++bit)
      leading = leading + as_i32(shifted_right(digits, word(bit)) == word(0));
    const Expr w = shifted_left(digits, wide(leading));
    const Expr at = ir::max(power, int32(least_power));
    const Expr high = powers.high(at), low = powers.low(at);
    const Expr last = w * high, middle = last + high_of_product(w, low);
    const Expr top = high_of_product(w, high) + wide(middle < last);
    const Expr upper = shifted_right(top, word(63)), shift = upper + word(9);
    const Expr biased = log2_of_power(at) + int32(1023 + 63) + as_i32(upper) - leading;
    // 53 bits, one to round by, and whether anything follows.
    const Expr all = shifted_right(top, shift);
    const Expr beyond = ir::min(ir::max(int32(1) - biased, int32(0)), int32(63));
    const Expr rounder = shifted_right(all, wide(beyond));
    const Expr follows =
        rest(top, shift) != word(0) || middle != word(0) || rest(all, wide(beyond)) != word(0);
    const Expr kept = shifted_right(rounder, word(1)), half = bits_of(rounder, word(1));
    Expr mantissa;
    if (exactly) {
      const Expr up =
          half != word(0) && (ir::Condition(follows) || bits_of(kept, word(1)) != word(0));
      mantissa = kept + wide(up);
    } else {
      const Expr more = half != word(0) || ir::Condition(follows);
      mantissa = ir::binary(BinaryOp::bit_or, kept, wide(more));
    }
    const Expr exponent = wide(ir::max(biased, int32(1)) - int32(1));
    const Expr bits = shifted_left(exponent, word(52)) + mantissa;
    const Expr infinity = shifted_left(word(0x7ff), word(52));
    const Expr finite = ir::select(biased >= int32(2047), infinity, bits);
    const Expr none = digits == word(0) || power < int32(least_power);
    return ir::select(none, word(0), finite);
  }

  Builder& b_;
  const Tensor& x_;
  Tensor negative_, start_;
};

}  // namespace

Tensor numbers_of_text(Builder& b, const Tensor& x, DType to) {
  const Reader reader(b, x);
  if (to == DType::boolean) return reader.truth();
  if (ir::is_float(to)) {
    const Tensor real = reader.real(to == DType::f64);
    if (to == DType::f64) return real;
    return b.compute("text.number", to, x.shape(),
                     [&](Point p) { return ir::cast(to, real.at(p)); });
  }
  return reader.whole(to);
}

}  // namespace gossamer::ops
