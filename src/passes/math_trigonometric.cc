#include <cmath>
#include <vector>

#include "passes/math_functions.h"

namespace gossamer::passes::math {

using namespace ir;

namespace {

constexpr double pi = 3.14159265358979323846;

// x = q pi/2 + r with |r| <= pi/4.
struct Reduced {
  Expr quadrant;  // integers
  Expr r;
};

// 2/pi in parts of 29 bits: an f32 times one is exact in f64, and so is what is left of the product
// after full turns. The six parts reach 2^-46 of the largest f32.
constexpr double two_over_pi[] = {0x1.45f306dp-1,  0x1.9391054p-30,  0x1.4fe13abp-59,
                                  0x1.d1f534dp-88, 0x1.b81b6c5p-117, 0x1.5993c4p-148};

Reduced reduce_single(const Expr& x) {
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
Reduced reduce_double(const Expr& x) {
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

Reduced reduce(const Expr& x) { return is_double(x) ? reduce_double(x) : reduce_single(x); }

Expr sine_of_reduced(const Expr& r) {
  const Expr z = r * r;
  return fma(polynomial(z, sin_fit) * z, r, r);
}

Expr cosine_of_reduced(const Expr& r) {
  const Expr z = r * r;
  return fma(polynomial(z, cos_fit), z * z, fma(z, number(r, -0.5), number(r, 1)));
}

Expr bit(const Expr& integer, int64_t mask) {
  return binary(BinaryOp::bit_and, integer, constant_int(integer->type, mask)) !=
         constant_int(integer->type, 0);
}

Expr rotated(const Expr& quadrant, const Expr& r) {
  const Expr value = select(bit(quadrant, 1), cosine_of_reduced(r), sine_of_reduced(r));
  return select(bit(quadrant, 2), -value, value);
}

// asin of 0 <= x <= 1/2.
Expr small_asin(const Expr& x) {
  const Expr z = x * x;
  return fma(polynomial(z, asin_fit) * z, x, x);
}

}  // namespace

Expr sin(const Expr& x) {
  const Reduced reduced = reduce(x);
  return select(x == 0.0, x, rotated(reduced.quadrant, reduced.r));  // the sign of zero
}

Expr cos(const Expr& x) {
  const Reduced reduced = reduce(x);
  return rotated(reduced.quadrant + constant_int(reduced.quadrant->type, 1), reduced.r);
}

Expr tan(const Expr& x) {
  const Reduced reduced = reduce(x);
  const Expr s = sine_of_reduced(reduced.r), c = cosine_of_reduced(reduced.r);
  const Expr odd = bit(reduced.quadrant, 1);
  return select(x == 0.0, x, select(odd, -c, s) / select(odd, s, c));
}

Expr asin(const Expr& x) {
  const Expr a = unary(UnaryOp::abs, x);
  const Expr far = a > number(x, 0.5);
  const Expr root = unary(UnaryOp::sqrt, (number(x, 1) - a) * number(x, 0.5));
  const Expr angle = small_asin(select(far, root, a));
  return with_sign_of(select(far, number(x, pi / 2) - (angle + angle), angle), x);
}

Expr acos(const Expr& x) {
  const Expr a = unary(UnaryOp::abs, x);
  const Expr far = a > number(x, 0.5);
  const Expr root = unary(UnaryOp::sqrt, (number(x, 1) - a) * number(x, 0.5));
  const Expr angle = small_asin(select(far, root, a));
  const Expr twice = angle + angle;
  const Expr negative = x < number(x, 0);
  const double low = is_double(x) ? 6.123233995736766e-17
                                  : pi / 2 - static_cast<double>(static_cast<float>(pi / 2));
  const Expr from_right = number(x, pi / 2) - (select(negative, -angle, angle) - number(x, low));
  return select(far, select(negative, number(x, pi) - twice, twice), from_right);
}

// Folds to |x| <= tan(pi/8) by the tangents of pi/4 and pi/2.
Expr atan(const Expr& x) {
  const Expr a = unary(UnaryOp::abs, x);
  const Expr one = number(x, 1), zero = number(x, 0);
  const Expr far = a > number(x, 2.414213562373095), middle = a > number(x, 0.4142135623730950);
  const Expr over = select(far, -one, select(middle, a - one, a));
  const Expr under = select(far, a, select(middle, a + one, one));
  const Expr t = over / under;
  const Expr offset = select(far, number(x, pi / 2), select(middle, number(x, pi / 4), zero));
  const Expr z = t * t;
  const Expr angle = offset + fma(polynomial(z, atan_fit) * z, t, t);
  return with_sign_of(angle, x);
}

}  // namespace gossamer::passes::math
