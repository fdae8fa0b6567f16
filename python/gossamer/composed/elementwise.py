"""Functions of each element, as compositions; web/tensor/src/composed/elementwise.ts is written from this file."""

from __future__ import annotations

from .prelude import *  # noqa: F403


def addcmul(x: Tensor, a: Tensor, b: Tensor, value: Number = 1) -> Tensor:
    """x + value * a * b"""
    return x + a * b * value


def addcdiv(x: Tensor, a: Tensor, b: Tensor, value: Number = 1) -> Tensor:
    """x + value * a / b"""
    return x + a / b * value


def lerp(x: Tensor, end: Tensor, weight: Tensor | float) -> Tensor:
    """x + weight * (end - x)"""
    return x + (end - x) * weight


def clamp_min(x: Tensor, min: Tensor | float) -> Tensor:
    """At least `min`. Where both are equal the gradient goes on to x."""
    return where(x < min, min, x)


def clamp_max(x: Tensor, max: Tensor | float) -> Tensor:
    """At most `max`. Where both are equal the gradient goes on to x."""
    return where(x > max, max, x)


def positive(x: Tensor) -> Tensor:
    """Itself."""
    return x


def exp2(x: Tensor) -> Tensor:
    """2 to the power of x."""
    return (floating(x) * math.log(2)).exp()


def frac(x: Tensor) -> Tensor:
    """What is behind the point, with the sign of x."""
    return x - x.trunc().detach()


def hypot(x: Tensor, other: Tensor) -> Tensor:
    """sqrt(x^2 + other^2), without overflow."""
    a = floating(x).abs()
    b = floating(other).abs()
    large = a.maximum(b).detach()
    safe = where((large == 0) | large.isinf(), 1.0, large)
    length = ((a / safe).square() + (b / safe).square()).sqrt() * safe
    return where(large.isinf(), large, length)


def logaddexp(x: Tensor, other: Tensor) -> Tensor:
    """log(exp(x) + exp(other)), without overflow."""
    large = where(x > other, x, other)
    still = where(large.isinf(), 0.0, large.detach())
    return ((x - still).exp() + (other - still).exp()).log() + still


def logit(x: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)), of x within [eps, 1 - eps]."""
    x = floating(x)
    kept = x if eps is None else x.clamp(eps, 1 - eps)
    return (kept / (1 - kept)).log()


def xlogy(x: Tensor, other: Tensor | float) -> Tensor:
    """x * log(other), 0 where x is 0."""
    if not is_tensor(other):
        return x * math.log(other)
    made = where(x == 0, 0.0, x * where(x == 0, 1.0, floating(other)).log())
    return where(other.isnan(), math.nan, made)


def nan_to_num(x: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """Other numbers for NaN and infinities: the largest ones of its type unless told."""
    if not is_float(x):
        return x
    most = 65504.0 if x._dtype == "f16" else 3.4028234663852886e38 if x._dtype == "f32" else 1.7976931348623157e308
    finite = where(x.isnan(), nan, x)
    below = where(x == math.inf, most if posinf is None else posinf, finite)
    return where(x == -math.inf, -most if neginf is None else neginf, below)


def isclose(x: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Where |x - other| <= atol + rtol * |other|."""
    a = floating(x)
    b = floating(other)
    close = (a == b) | (((a - b).abs() <= b.abs() * rtol + atol) & b.isfinite())
    return close | (a.isnan() & b.isnan()) if equal_nan else close


def isposinf(x: Tensor) -> Tensor:
    """Where elements are infinite."""
    return floating(x) == math.inf


def isneginf(x: Tensor) -> Tensor:
    """Where elements are minus infinity."""
    return floating(x) == -math.inf


ALIASES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "clip": "clamp", "divide": "div", "true_divide": "div", "fix": "trunc", "greater": "gt", "greater_equal": "ge", "less": "lt",
    "less_equal": "le", "not_equal": "ne", "multiply": "mul", "subtract": "sub", "negative": "neg", "conj": "positive", "conj_physical": "positive",
    "resolve_conj": "positive", "resolve_neg": "positive", "real": "positive",
}  # fmt: skip
