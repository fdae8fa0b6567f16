// Numbers to text. Shortest digits: Giulietti, "The Schubfach way to render doubles" (2021).
#include "ops/text/text_of_numbers.h"

#include <cmath>

#include "ops/text/powers_of_ten.h"

namespace gossamer::ops {
namespace {

using ir::BinaryOp;

Expr number(int64_t value) { return ir::constant_int(DType::i32, value); }
Expr as_i32(Expr value) { return ir::cast(DType::i32, std::move(value)); }
Expr flag(Expr condition) { return as_i32(std::move(condition)); }
Expr bits_of(const Expr& a, const Expr& mask) { return ir::binary(BinaryOp::bit_and, a, mask); }

constexpr int64_t billion = 1000000000;

// The decimal digits of a tensor's magnitudes: nine a limb, the least first, and what stands
// around.
struct Digits {
  std::vector<Tensor> limbs;  // u32
  Tensor style;               // i32: 1 if negative, and of floats twice the Form
  Tensor power;               // of floats: of ten, that the digits are multiplied by
};
enum Form : int8_t { plain, scientific, infinite, no_number };

// The value as c * 2^q, and the bits it is made of.
struct Binary {
  Expr bits;    // of f32 or f64, as a word
  Expr c;       // a word
  Expr q;       // i32
  Expr closer;  // boolean: the number below is only half as far as the one above
};

class Shortest {
 public:
  Shortest(Builder& b, const Tensor& x)
      : b_(b),
        x_(x),
        word_(x.dtype() == DType::f64 ? DType::u64 : DType::u32),
        powers_(b, word_, word_ == DType::u64 ? -292 : -31, word_ == DType::u64 ? 324 : 45) {
    if (x.dtype() == DType::f16) {
      dropped_ = 13;
      least_ = -24;
    } else if (x.dtype() == DType::bf16) {
      dropped_ = 16;
      least_ = -133;
    } else if (x.dtype() == DType::f64) {
      least_ = -1074;
    }
  }

  Digits digits() {
    // Where the interval that rounds to x begins, x itself, and where it ends: times 4 * 10^-k, the
    // last bit set where anything follows.
    Shape three = x_.shape();
    three.push_back(ir::index(3));
    const Tensor bounds = b_.compute("text.bounds", word_, three, [&](Point p) {
      const Point at(p.begin(), p.end() - 1);
      const Binary v = binary(at);
      const Expr below = ir::select(v.closer, word(1), word(2));
      const Expr four = v.c * word(4);
      const Expr bound = ir::select(p.back() == 0.0, four - below,
                                    ir::select(p.back() == 1.0, four, four + word(2)));
      const Expr k = exponent(v), inverse = -k;
      const Expr h = v.q + log2_of_power(inverse) + number(1);
      return rounded_to_odd(inverse, shifted_left(bound, ir::cast(word_, h)));
    });
    Digits made;
    const auto limb = [&](int which) {
      return b_.compute("text.limb", DType::u32, x_.shape(), [&](Point p) {
        const Expr all = ir::select(is_number(p), decimal(bounds, p).digits, word(0));
        if (word_ == DType::u32) return all;
        return ir::cast(DType::u32, which ? all / word(billion) : ir::floormod(all, word(billion)));
      });
    };
    made.limbs = {limb(0)};
    if (word_ == DType::u64) made.limbs.push_back(limb(1));
    made.power = b_.compute("text.power", DType::i32, x_.shape(), [&](Point p) {
      return ir::select(is_number(p), decimal(bounds, p).power, number(0));
    });
    made.style = b_.compute("text.style", DType::i32, x_.shape(), [&](Point p) {
      const Expr value = ir::abs(wide(p));
      const auto from = [&](double limit) {
        // The least number of the type computed in that is no less.
        if (word_ == DType::u64) return ir::constant(DType::f64, limit);
        float near = static_cast<float>(limit);
        if (static_cast<double>(near) < limit) near = std::nextafter(near, 1e30f);
        return ir::constant(DType::f32, near);
      };
      const Expr usual = value == 0.0 || (value >= from(1e-4) && value < from(1e16));
      const Expr form = ir::select(ir::is_inf(value), number(infinite),
                                   ir::select(usual, number(plain), number(scientific)));
      const Expr sign = as_i32(shifted_right(raw(p), word(word_ == DType::u64 ? 63 : 31)));
      return ir::select(ir::is_nan(value), number(2 * no_number), sign + form * number(2));
    });
    return made;
  }

 private:
  struct Decimal {
    Expr digits, power;
  };

  Expr word(int64_t value) const { return ir::constant_int(word_, value); }
  Expr wide(Point p) const {
    return word_ == DType::u64 ? x_.at(p) : ir::cast(DType::f32, x_.at(p));
  }
  Expr raw(Point p) const { return ir::bitcast(word_, wide(p)); }
  // The rest of the arithmetic is of numbers alone: others are taken for 1.
  Expr is_number(Point p) const {
    const Expr value = wide(p);
    return value != 0.0 && !ir::is_nan(value) && !ir::is_inf(value);
  }

  Binary binary(Point p) const {
    const bool twice = word_ == DType::u64;
    const int mantissa = twice ? 52 : 23;
    Binary v;
    v.bits = ir::select(is_number(p), raw(p), ir::bitcast(word_, ir::constant(wide(p)->type, 1)));
    const Expr fraction = bits_of(v.bits, word((int64_t{1} << mantissa) - 1));
    const Expr biased =
        as_i32(bits_of(shifted_right(v.bits, word(mantissa)), word(twice ? 0x7ff : 0xff)));
    const Expr own = ir::max(biased, number(1)) - number((twice ? 1023 : 127) + mantissa);
    const Expr implied = ir::select(biased != 0.0, word(int64_t{1} << mantissa), word(0));
    v.q = ir::max(own + number(dropped_), number(least_));
    v.c = shifted_right(implied + fraction, ir::cast(word_, v.q - own));
    v.closer = v.c == word(int64_t{1} << (mantissa - dropped_)) && v.q > number(least_);
    return v;
  }

  // The greatest k with 10^k no greater than the interval's width.
  static Expr exponent(const Binary& v) {
    const Expr base = v.q * number(1262611);
    return shifted_right(ir::select(v.closer, base - number(524031), base), number(22));
  }

  Expr rounded_to_odd(const Expr& power, const Expr& bound) const {
    const Expr high = powers_.high(power), low = powers_.low(power);
    const Expr last = high * bound;
    const Expr middle = last + high_of_product(low, bound);
    const Expr carry = ir::cast(word_, middle < last);
    const Expr whole = high_of_product(high, bound) + carry;
    return ir::binary(BinaryOp::bit_or, whole, ir::cast(word_, middle > word(1)));
  }

  Decimal decimal(const Tensor& bounds, Point p) const {
    const Binary v = binary(p);
    const auto bound = [&](int which) {
      std::vector<Expr> at(p.begin(), p.end());
      at.push_back(ir::index(which));
      return bounds.at(at);
    };
    const Expr odd = bits_of(v.c, word(1));
    const Expr lower = bound(0) + odd, value = bound(1), upper = bound(2) - odd;
    const Expr s = shifted_right(value, word(2)), k = exponent(v);
    const Expr ten = s / word(10);
    const Expr down = lower <= ten * word(40), up = ten * word(40) + word(40) <= upper;
    const Expr shorter = s >= word(10) && down != up;
    const Expr one_down = lower <= s * word(4), one_up = s * word(4) + word(4) <= upper;
    const Expr middle = s * word(4) + word(2);
    const Expr nearer = value > middle || (value == middle && bits_of(s, word(1)) != word(0));
    const Expr step = ir::select(Expr(one_down != one_up), one_up, nearer);
    return {ir::select(shorter, ten + ir::cast(word_, up), s + ir::cast(word_, step)),
            ir::select(shorter, k + number(1), k)};
  }

  Builder& b_;
  const Tensor& x_;
  DType word_;
  PowersOfTen powers_;
  int dropped_ = 0;   // bits of f32 that the type lacks
  int least_ = -149;  // q of the smallest number
};

Digits digits_of_integers(Builder& b, const Tensor& x) {
  const DType type = x.dtype();
  const int bits = ir::bit_width(type);
  const int limbs = bits > 32 ? 3 : bits > 16 ? 2 : 1;
  Digits made;
  for (int which = 0; which < limbs; ++which) {
    made.limbs.push_back(b.compute("text.limb", DType::u32, x.shape(), [&](Point p) {
      Expr value = x.at(p);
      if (bits <= 16) value = as_i32(value);
      const Expr unit = ir::constant_int(value->type, billion);
      for (int i = 0; i < which; ++i) value = value / unit;
      if (which + 1 < limbs) value = value - value / unit * unit;
      return ir::cast(DType::u32,
                      ir::is_unsigned_int(type) && bits > 16 ? value : ir::abs(as_i32(value)));
    }));
  }
  made.style = b.compute("text.style", DType::i32, x.shape(), [&](Point p) {
    return ir::is_unsigned_int(type) ? number(0) : flag(x.at(p) < 0.0);
  });
  return made;
}

// Writes digits: one tensor of bytes, one of lengths.
class Writer {
 public:
  Writer(Builder& b, const Digits& digits) : b_(b), digits_(digits) {
    TensorData table = int32s({9}, {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000});
    table.dtype = DType::u32;
    powers_ = b.constant(table);
    const Shape& shape = digits.style.shape();
    const auto unit = [](int at) {
      return ir::constant_int(DType::u32, static_cast<int64_t>(std::pow(10.0, at)));
    };
    count_ = b.compute("text.count", DType::i32, shape, [&](Point p) {
      Expr count = number(1);
      for (size_t i = 0; i < digits.limbs.size(); ++i) {
        Expr here = number(static_cast<int64_t>(i) * 9);
        for (int at = 0; at < 9; ++at) here = here + flag(digits.limbs[i].at(p) >= unit(at));
        count = i == 0 ? ir::max(here, number(1))
                       : ir::select(digits.limbs[i].at(p) > 0.0, here, count);
      }
      return count;
    });
    if (!digits.power) return;
    // Without zeros at the end.
    significant_ = b.compute("text.significant", DType::i32, shape, [&](Point p) {
      // All limbs 0: the number has one digit, and none of it goes.
      Expr zeros = number(-9 * static_cast<int64_t>(digits.limbs.size()));
      for (size_t i = digits.limbs.size(); i-- > 0;) {
        Expr here = number(0);
        for (int at = 1; at < 9; ++at)
          here = here + flag(ir::floormod(digits.limbs[i].at(p), unit(at)) == 0.0);
        zeros = ir::select(digits.limbs[i].at(p) > 0.0, here, zeros + number(9));
      }
      return count_.at(p) - zeros;
    });
    // How many digits stand before the point.
    before_ = b.compute("text.before", DType::i32, shape,
                        [&](Point p) { return count_.at(p) + digits.power.at(p); });
  }

  Tensor text(int64_t width) {
    const Shape& shape = digits_.style.shape();
    const Tensor lengths =
        b_.compute("text.lengths", DType::i32, shape, [&](Point p) { return length(p); });
    Shape wide = shape;
    wide.push_back(ir::index(width));
    const Tensor bytes = b_.compute("text", DType::u8, wide, [&](Point p) {
      const Point at(p.begin(), p.end() - 1);
      const Expr place = as_i32(p.back()), i = place - negative(at);
      Expr byte = digits_.power ? float_byte(at, i) : digit(at, i);
      byte = ir::select(i < 0.0, number('-'), byte);
      byte = ir::select(place < length(at), byte, number(0));
      return ir::cast(DType::u8, byte);
    });
    return b_.strings(bytes, lengths);
  }

 private:
  // The j-th digit from the left, 0 outside.
  Expr digit(Point p, const Expr& j) const {
    const Expr all = count_.at(p), right = all - number(1) - j;
    Expr limb = digits_.limbs[0].at(p);
    for (size_t i = 1; i < digits_.limbs.size(); ++i) {
      limb = ir::select(right >= number(static_cast<int64_t>(i) * 9), digits_.limbs[i].at(p), limb);
    }
    const Expr unit = powers_({as_index(ir::floormod(ir::max(right, number(0)), number(9)))});
    const Expr value = as_i32(ir::floormod(limb / unit, ir::constant_int(DType::u32, 10)));
    const Expr inside = j >= 0.0 && right >= 0.0;
    return ir::select(inside, value, number(0)) + number('0');
  }

  Expr negative(Point p) const { return bits_of(digits_.style.at(p), number(1)); }
  Expr length(Point p) const {
    return negative(p) + (digits_.power ? float_length(p) : count_.at(p));
  }
  Expr is(Point p, Form form) const {
    return shifted_right(digits_.style.at(p), number(1)) == number(form);
  }
  Expr exponent(Point p) const { return before_.at(p) - number(1); }
  // The length of what stands before the exponent.
  Expr fraction_length(Point p) const {
    const Expr n = significant_.at(p);
    return ir::select(n > 1.0, n + number(1), number(1));
  }

  Expr float_length(Point p) const {
    const Expr n = significant_.at(p), before = before_.at(p);
    const Expr usual = ir::max(before, number(1)) + number(1) + ir::max(n - before, number(1));
    const Expr exponent_length =
        ir::select(ir::abs(exponent(p)) >= number(100), number(5), number(4));
    return ir::select(
        is(p, plain), usual,
        ir::select(is(p, scientific), fraction_length(p) + exponent_length, number(3)));
  }

  Expr float_byte(Point p, const Expr& i) const {
    const Expr before = before_.at(p), whole = ir::max(before, number(1));
    const Expr usual =
        ir::select(i == whole, number('.'),
                   digit(p, ir::select(i < whole, i - whole, i - whole - number(1)) + before));
    const Expr from = i - fraction_length(p), size = ir::abs(exponent(p));
    const Expr hundreds = flag(size >= number(100));
    // 'e', the sign, and two or three digits.
    const Expr place = from - number(2) + number(1) - hundreds;
    const Expr unit =
        ir::select(place == 0.0, number(100), ir::select(place == 1.0, number(10), number(1)));
    const Expr last = ir::floormod(size / unit, number(10)) + number('0');
    const Expr tail = ir::select(
        from == 0.0, number('e'),
        ir::select(from == 1.0, ir::select(exponent(p) < 0.0, number('-'), number('+')), last));
    const Expr mantissa =
        ir::select(i == 1.0, number('.'), digit(p, ir::select(i == 0.0, i, i - number(1))));
    const auto word = [&](const char* text) {
      return ir::select(i == 0.0, number(text[0]),
                        ir::select(i == 1.0, number(text[1]), number(text[2])));
    };
    return ir::select(is(p, plain), usual,
                      ir::select(is(p, scientific), ir::select(from < 0.0, mantissa, tail),
                                 ir::select(is(p, infinite), word("inf"), word("nan"))));
  }

  Builder& b_;
  const Digits& digits_;
  Tensor powers_, count_, significant_, before_;
};

// The longest text of a type.
int64_t width_of(DType type) {
  switch (type) {
    case DType::f64:
      return 24;  // -1.2345678901234567e-300
    case DType::f16:
      return 12;  // -0.00012345
    case DType::i64:
    case DType::u64:
      return 20;
    case DType::i32:
    case DType::u32:
      return 11;
    default:
      return ir::is_float(type) ? 19 : 6;  // -1234567900000000.0
  }
}

}  // namespace

Tensor text_of_numbers(Builder& b, const Tensor& x) {
  if (x.dtype() == DType::boolean) {
    const Tensor words = b.constant(strings({2}, {"False", "True"}));
    return b.compute("text", DType::string, x.shape(), [&](Point p) {
      return words({ir::select(x.at(p), ir::index(1), ir::index(0))});
    });
  }
  Tensor numbers = x;
  if (ir::is_small(x.dtype())) {
    const DType known = ir::is_float(x.dtype()) ? DType::f32 : DType::i8;
    numbers = b.compute("text.number", known, x.shape(),
                        [&](Point p) { return ir::cast(known, x.at(p)); });
  }
  const Digits digits = ir::is_float(numbers.dtype()) ? Shortest(b, numbers).digits()
                                                      : digits_of_integers(b, numbers);
  return Writer(b, digits).text(width_of(numbers.dtype()));
}

}  // namespace gossamer::ops
