#include "passes/reduce_angle.h"

#include <cmath>
#include <limits>
#include <vector>

namespace gossamer::passes::math {

using namespace ir;

namespace {

constexpr double pi = 3.14159265358979323846;

// 2/pi in parts of 29 bits: an f32 times one is exact in f64, and so is what is left of the product
// after full turns. The six parts reach 2^-46 of the largest f32.
constexpr double two_over_pi[] = {0x1.45f306dp-1,  0x1.9391054p-30,  0x1.4fe13abp-59,
                                  0x1.d1f534dp-88, 0x1.b81b6c5p-117, 0x1.5993c4p-148};

Angle reduce_in_doubles(const Expr& x) {
  const Expr wide = cast(x->type.with_dtype(DType::f64), x);
  const auto whole = [](const Expr& e) { return unary(UnaryOp::round, e); };
  const auto within_turn = [&](double part) {
    const Expr product = wide * number(wide, part);
    return product - whole(product * number(wide, 0.25)) * number(wide, 4);
  };
  Expr rest = within_turn(two_over_pi[5]);
  for (int part = 4; part > 0; --part) rest = rest + within_turn(two_over_pi[part]);
  const Expr first = within_turn(two_over_pi[0]), quarters = whole(first);
  // The difference is exact, so that near a multiple of pi/2 the sum keeps the digits of `rest`.
  const Expr sum = (first - quarters) + rest, more = whole(sum);
  return {cast(bits_type(x->type), quarters + more),
          cast(x->type, (sum - more) * number(wide, pi / 2))};
}

// f32: the multiple of pi/2 is small, and pi/2 in parts of 8 bits keeps the products exact.
Angle reduce_small(const Expr& x) {
  const Expr k = unary(UnaryOp::round, x * number(x, 2 / pi));
  Expr r = x;
  for (double part :
       {1.5703125, 0.000484466552734375, -6.4074993133544921875e-7, 9.9209362947050294679e-10})
    r = r - k * number(x, part);
  return {cast(bits_type(x->type), k), r};
}

// f32 from 2^16 on, in integers: x is m 2^e, and of 2/pi only 56 bits matter, those before them
// give full turns. Products of the first 40 are exact.
Angle reduce_large(const Expr& x) {
  const Type single = x->type, bits = single.with_dtype(DType::u32);
  const auto word = [&](uint32_t value) { return constant_int(bits, value); };
  const auto masked = [&](const Expr& a, uint32_t mask) {
    return binary(BinaryOp::bit_and, a, word(mask));
  };
  const auto joined = [](const Expr& a, const Expr& b) { return binary(BinaryOp::bit_or, a, b); };
  const auto left = [](const Expr& a, const Expr& by) { return binary(BinaryOp::shl, a, by); };
  const auto right = [](const Expr& a, const Expr& by) { return binary(BinaryOp::shr, a, by); };
  const Expr pattern = bitcast(bits, x);
  const Expr m = joined(masked(pattern, 0x7fffff), word(0x800000));
  // Where the bits begin: 9 zeros, then 2/pi.
  const Expr exponent = masked(right(pattern, word(23)), 255);
  const Expr begin = select(exponent > word(143), exponent - word(143), word(0));
  const uint32_t stream[] = {0x00517cc1, 0xb727220a, 0x94fe13ab,
                             0xe8fa9a6e, 0xe06db14a, 0xcc9e21c8};
  const auto chosen = [&](int next) {
    const auto at = [&](int k) { return word(stream[k + next]); };
    return select(begin < word(64), select(begin < word(32), at(0), at(1)),
                  select(begin < word(96), at(2), at(3)));
  };
  const Expr shift = masked(begin, 31), back = word(31) - shift;
  const auto window = [&](int next) {
    return joined(left(chosen(next), shift), right(right(chosen(next + 1), word(1)), back));
  };
  const Expr first = window(0), second = window(1);
  const Expr middle = m * right(second, word(24));
  // Units of 2^-30 quarter turns.
  const Expr sum = m * first + right(middle, word(8));
  const Expr tail = cast(single, masked(middle, 255)) * 0x1p-8 +
                    cast(single, m) * (cast(single, masked(second, 0xffffff)) * 0x1p-32);
  const Expr quarters = right(sum + word(1 << 29), word(30));
  const Expr rest = bitcast(bits_type(single), sum - left(quarters, word(30)));
  const Expr r = (cast(single, rest) + tail) * (pi / 2 * 0x1p-30);
  const Expr negative = x < number(x, 0), q = bitcast(bits_type(single), quarters);
  return {select(negative, -q, q), select(negative, -r, r)};
}

Angle reduce_in_words(const Expr& x) {
  const Expr size = unary(UnaryOp::abs, x);
  const Expr is_large = size >= number(x, 0x1p16);
  const Angle small = reduce_small(x), large = reduce_large(x);
  const Expr r = select(is_large, large.rest, small.rest);
  return {select(is_large, large.quadrant, small.quadrant),
          select(size < number(x, std::numeric_limits<double>::infinity()), r,
                 number(x, std::numeric_limits<double>::quiet_NaN()))};
}

// 2/pi = the sum of digit k times 2^-(26 k + 25).
constexpr double digits_of_two_over_pi[] = {
    21361415,  -9276895,  -22724731, -5510917,  -26625150, -19196755, -14186382, 2162473,
    -20490307, 31337230,  -18575929, 18949865,  29363346,  24596559,  -30260320, -15796850,
    23221070,  32982034,  -21060137, 27411061,  -13049779, 27458546,  2568763,   -14892630,
    -25958087, 2292830,   -4250361,  26213452,  -17397,    12615545,  31601003,  17118864,
    -19239682, -25608616, 20376041,  -14699697, 12571739,  -5685802,  16612542,  12426884,
    -25956587, -23816365, 25127926,  9422511,   -32461818};

// The nearest multiple of 2^-bits, and what is left.
struct Split {
  Expr top, rest;
};
Split split(const Expr& x, int bits) {
  const double unit = std::ldexp(1, -bits);
  const Expr top = unary(UnaryOp::round, x * (1 / unit)) * unit;
  return {top, x - top};
}

// Payne and Hanek's reduction (1983) in f64, exact to 2^-107 of a quarter turn's fraction. The
// digits of 2/pi that multiply x to whole turns are skipped, 26 bits each, and x is scaled instead.
// Products of parts of x with digits are exact, and so are the sums of their multiples of 2^-48 and
// of 2^-96.
Angle reduce_double(const Expr& x) {
  std::vector<Expr> digits;
  for (double digit : digits_of_two_over_pi) digits.push_back(number(x, digit));
  constexpr size_t used = 8;
  Expr scaled = x;
  for (size_t skipped = 32; skipped > 0; skipped /= 2) {
    const int bits = 26 * static_cast<int>(skipped);
    const Expr skips = unary(UnaryOp::abs, scaled) >= std::ldexp(1, 53 + bits);
    scaled = select(skips, scaled * std::ldexp(1, -bits), scaled);
    // After it, fewer than `skipped` more are skipped.
    for (size_t k = 0; k < used + skipped - 1 && k + skipped < digits.size(); ++k)
      digits[k] = select(skips, digits[k + skipped], digits[k]);
  }

  const Expr high = top_bits(scaled, 27) * 0x1p-25, low = (scaled - top_bits(scaled, 27)) * 0x1p1;
  std::vector<Expr> terms = {high * digits[0]};
  for (size_t k = 1; k < used; ++k) {
    const Expr term = high * digits[k] + low * digits[k - 1];
    terms.push_back(term * std::ldexp(1, -26 * static_cast<int>(k)));
  }
  for (size_t k = 0; k < 3; ++k)  // the others are small
    terms[k] = terms[k] - unary(UnaryOp::round, terms[k] * 0.25) * 4;

  // Sums of `count` terms' multiples; the terms keep the rest.
  const auto sum_of = [&](size_t count, int bits) {
    Expr sum;
    for (size_t k = 0; k < count; ++k) {
      const Split parts = split(terms[k], bits);
      sum = k == 0 ? parts.top : sum + parts.top;
      terms[k] = parts.rest;
    }
    return sum;
  };
  const Expr turns = sum_of(5, 48), quarters = unary(UnaryOp::round, turns);
  const Expr coarse = turns - quarters, fine = sum_of(7, 96);
  Expr finest = terms[used - 1];
  for (size_t k = used - 1; k-- > 0;) finest = finest + terms[k];

  const Expr sum = coarse + fine;
  const Expr rest = ((coarse - sum) + fine) + finest;
  const Expr fraction = sum + rest, top = top_bits(fraction, 27);
  const Expr bottom = (sum - top) + rest;
  // pi/2 in two parts, the first of 26 bits.
  const Expr r = top * 0x1.921fb5p+0 + (top * 0x1.110b4611a6263p-26 + bottom * (pi / 2));
  // Products with tiny angles would lose digits.
  const Expr is_small = unary(UnaryOp::abs, x) < pi / 4;
  return {cast(bits_type(x->type), quarters), select(is_small, x, r)};
}

}  // namespace

Angle reduce_angle(const Expr& x, const Primitives& target) {
  if (is_double(x)) return reduce_double(x);
  return target.doubles ? reduce_in_doubles(x) : reduce_in_words(x);
}

}  // namespace gossamer::passes::math
