"""Special functions of each element, as compositions; web/tensor/src/composed/special.ts is written from this file."""

from __future__ import annotations

from .elementwise import exp2, logaddexp
from .prelude import *  # noqa: F403


def fmax(x: Tensor, other: Tensor) -> Tensor:
    """The larger one; where one is NaN the other."""
    return where(x.isnan(), other, where(other.isnan(), x, x.maximum(other)))


def fmin(x: Tensor, other: Tensor) -> Tensor:
    """The smaller one; where one is NaN the other."""
    return where(x.isnan(), other, where(other.isnan(), x, x.minimum(other)))


def sgn(x: Tensor) -> Tensor:
    """-1, 0 or 1."""
    return x.sign()


def signbit(x: Tensor) -> Tensor:
    """Whether elements are negative, -0 included."""
    if not is_float(x):
        return x < 0
    return where(x == 0, x.reciprocal(), x) < 0


def copysign(x: Tensor, other: Tensor | float) -> Tensor:
    """The size of x with the sign of the other."""
    size = floating(x).abs()
    negative = (signbit(other) if is_tensor(other) else other < 0)
    if is_tensor(negative):
        return where(negative, -size, size)
    return -size if negative else size


def angle(x: Tensor) -> Tensor:
    """pi below 0, else 0."""
    x = floating(x)
    return where(x.isnan(), x, where(x < 0, math.pi, 0.0).to(x._dtype))


def deg2rad(x: Tensor) -> Tensor:
    """Degrees in radians."""
    return x * (math.pi / 180)


def rad2deg(x: Tensor) -> Tensor:
    """Radians in degrees."""
    return x * (180 / math.pi)


def float_power(x: Tensor, exponent: Tensor | float) -> Tensor:
    """The power, in 64 bits."""
    return x.to("f64").pow(exponent.to("f64") if is_tensor(exponent) else exponent)


def heaviside(x: Tensor, values: Tensor) -> Tensor:
    """0 below 0, 1 above, and `values` at 0."""
    return where(x == 0, values, where(x > 0, 1.0, 0.0).to(values._dtype))


def ldexp(x: Tensor, other: Tensor) -> Tensor:
    """x * 2^other"""
    return x * exp2(other)


def logaddexp2(x: Tensor, other: Tensor) -> Tensor:
    """log2(2^x + 2^other), without overflow."""
    return logaddexp(x * math.log(2), other * math.log(2)) / math.log(2)


def sinc(x: Tensor) -> Tensor:
    """sin(pi x) / (pi x), 1 at 0."""
    x = floating(x)
    at = where(x == 0, 1.0, x) * math.pi
    return where(x == 0, 1.0 - x * x, at.sin() / at)


def isreal(x: Tensor) -> Tensor:
    """True everywhere."""
    return (x == x).logical_or(True)


def erfc(x: Tensor) -> Tensor:
    """1 - erf(x), accurate where it is small (a Chebyshev fit, Numerical Recipes, 6.2)."""
    x = floating(x)
    size = x.abs()
    t = (size * 0.5 + 1).reciprocal()
    factors = [0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223]
    made = t * factors[0]
    for factor in factors[1:9]:
        made = t * (made + factor)
    tail = t * (made + factors[9] - size * size).exp()
    return where(size < 1, 1 - x.erf(), where(x > 0, tail, 2 - tail))


def erfinv(x: Tensor) -> Tensor:
    """The inverse of erf() (M. Giles: Approximating the erfinv function), with one step of Newton's method."""
    x = floating(x)
    inside = x.abs() < 1
    y = where(inside, x, 0.5)
    w = -((1 - y) * (1 + y)).log()
    near = w < 5
    a = w - 2.5
    b = where(near, 5.0, w).sqrt() - 3
    first = a * 2.81022636e-08
    for factor in [3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164, 0.246640727]:
        first = a * (first + factor)
    second = b * -0.000200214257
    for factor in [0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406]:
        second = b * (second + factor)
    rough = (y * where(near, first + 1.50140941, second + 2.83297682)).detach()
    made = rough - (rough.erf() - y) * (rough * rough).exp().clamp(None, 1e30) * (0.5 * math.sqrt(math.pi))
    return where(inside, made, where(x == 1, math.inf, where(x == -1, -math.inf, math.nan)).to(x._dtype))


def lgamma(x: Tensor) -> Tensor:
    """The logarithm of |gamma(x)| (Lanczos)."""
    x = floating(x)
    small = x < 0.5
    z = where(small, 1 - x, x) - 1
    factors = [676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905, -0.13857109526572012, 9.984369578019572e-6, 1.5056327351493116e-7]
    sum_ = z * 0 + 0.9999999999998099
    for at in range(8):
        sum_ = sum_ + (z + (at + 1)).reciprocal() * factors[at]
    t = z + 7.5
    made = (z + 0.5) * t.log() - t + sum_.log() + 0.5 * math.log(2 * math.pi)
    sine = (where(small, x, 0.5) * math.pi).sin().abs()
    reflected = where(small, math.log(math.pi) - sine.log() - made, made)
    return where((x <= 0) & (x == x.floor()) | x.isinf(), math.inf, reflected)


def digamma(x: Tensor) -> Tensor:
    """The derivative of lgamma()."""
    x = floating(x)
    small = x < 0.5
    z = where(small, 1 - x, x)
    shift = z * 0
    for at in range(6):
        shift = shift + (z + at).reciprocal()
    y = (z + 6).reciprocal()
    square = y * y
    tail = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square * (1 / 132)))))
    made = -y.log() - y * 0.5 - tail - shift
    reflected = where(small, made - math.pi / (where(small, x, 0.25) * math.pi).tan(), made)
    return where(x == 0, -x.reciprocal(), where((x < 0) & (x == x.floor()), math.nan, reflected))


def polygamma(x: Tensor, n: int) -> Tensor:
    """The n-th derivative of digamma(), to 1e-5 for x > -10 (Hurwitz's zeta function by Euler and Maclaurin)."""
    if n < 0:
        raise Error(f"n = {n}; it must be 0 or more", "polygamma")
    x = floating(x)
    if n == 0:
        return digamma(x)
    pole = (x <= 0) & (x == x.floor())
    z = where(pole, 0.5, x)
    power = n + 1
    made = z * 0
    for at in range(20):
        made = made + (z + at).pow(-power)
    far = z + 20
    made = made + far.pow(-n) / n + far.pow(-power) / 2
    # B(2j) / (2j)!, by the rising product of n + 1.
    rising = power * 1.0
    for at, factor in enumerate([1 / 12, -1 / 720, 1 / 30240, -1 / 1209600]):
        made = made + far.pow(-power - 2 * at - 1) * (rising * factor)
        rising = rising * (power + 2 * at + 1) * (power + 2 * at + 2)
    size = 1.0
    for at in range(n):
        size = size * (at + 1)
    return where(pole, math.inf, made) * (-size if n % 2 == 0 else size)


def mvlgamma(x: Tensor, p: int) -> Tensor:
    """The multivariate log-gamma function of dimension p."""
    x = floating(x)
    made = x * 0 + p * (p - 1) / 4 * math.log(math.pi)
    for at in range(p):
        made = made + lgamma(x - at / 2)
    return made


def i0(x: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 0 (Abramowitz and Stegun, 9.8.1 and 9.8.2)."""
    size = floating(x).abs()
    t = (size / 3.75).clamp(None, 1).square()
    near = t * 0.0045813
    for factor in [0.0360768, 0.2659732, 1.2067492, 3.0899424, 3.5156229]:
        near = t * (near + factor)
    u = 3.75 / size.clamp(3.75)
    far = u * 0.00392377
    for factor in [-0.01647633, 0.02635537, -0.02057706, 0.00916281, -0.00157565, 0.00225319, 0.01328592]:
        far = u * (far + factor)
    return where(size < 3.75, near + 1, (far + 0.39894228) * size.exp() / size.clamp(3.75).sqrt())


def frexp(x: Tensor) -> list[Tensor]:
    """Fractions in [0.5, 1) with the sign of x, and exponents of 2."""
    x = floating(x)
    size = x.abs()
    finite = (size > 0) & size.isfinite()
    safe = where(finite, size, 0.5)
    exponent = (safe.log() / math.log(2)).floor() + 1
    part = safe / exp2(exponent)
    up = part >= 1
    part, exponent = where(up, part * 0.5, part), where(up, exponent + 1, exponent)
    down = part < 0.5
    part, exponent = where(down, part * 2, part), where(down, exponent - 1, exponent)
    return [where(finite, part * x.sign(), x), where(finite, exponent.round(), 0).to("i64")]


def hardshrink(x: Tensor, lambd: float = 0.5) -> Tensor:
    """0 within [-lambd, lambd]."""
    return where(x.abs() > lambd, x, 0.0)


def prelu(x: Tensor, weight: Tensor) -> Tensor:
    """weight times x below 0; one number, or one a channel."""
    fitted = weight if weight.numel() == 1 else weight.reshape([-1, *([1] * max(x.ndim - 2, 0))])
    return node("PRelu", [x, fitted])


def gcd(x: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor of integers."""
    a = x.abs()
    b = other.abs()
    for _ in range(46 if x._dtype == "i32" else 92):
        done = b == 0
        a, b = where(done, a, b), where(done, 0, a.remainder(where(done, 1, b)))
    return a


def lcm(x: Tensor, other: Tensor) -> Tensor:
    """The least common multiple of integers."""
    common = gcd(x, other)
    return (x.floor_divide(where(common == 0, 1, common)) * other).abs()
