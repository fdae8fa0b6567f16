"""Operations on each element, of one tensor or of several that broadcast to each other's shapes (PyTorch's rules)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..compiler import HERE
from ..error import Error
from . import dtypes
from .core import Core, apply
from .dtypes import besides, category, is_float, name_of, promote
from .execution import elements
from .recording import ANYWHERE, Attributes, Value, constant

if TYPE_CHECKING:
    from .tensors import Tensor

Scalar = float | bool
Operand = Any
"""A tensor, a number, or an array, which becomes a tensor."""


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating)


class Elementwise(Core):
    """See the module."""

    __slots__ = ()

    def to(self, dtype: Any) -> Tensor:
        """As another type; a tensor's: that of the tensor. Floats become integers by cutting off.

        Of a device's name ("opencl"): on that device. Raises Error where a gradient would have to come back from there.
        """
        if isinstance(dtype, str) and dtype in HERE:
            return self._on(HERE.index(dtype))
        wanted = dtype._dtype if isinstance(dtype, Core) else name_of(dtype)
        return self if wanted == self._dtype else self._apply("Cast", [self], {"to": dtypes.code_of(wanted)})  # type: ignore[return-value]

    type = to

    def _on(self, device: int) -> Tensor:
        if self._value.device == device:
            return self  # type: ignore[return-value]
        if self._origin is None and (self._value.elements is not None or self._value.device != ANYWHERE):
            return self._make(_core.leaf(self._dtype, list(self.shape), elements(self._value), device))
        if self._value.device == ANYWHERE:
            return apply("Identity", [self], device=device)[0]
        raise Error(f"gradients do not go from {HERE[device]} back to {self.device}", "to", "detach() it first")

    def float(self) -> Tensor:
        """As float32."""
        return self.to("f32")

    def double(self) -> Tensor:
        """As float64."""
        return self.to("f64")

    def half(self) -> Tensor:
        """As float16."""
        return self.to("f16")

    def bfloat16(self) -> Tensor:
        """As bfloat16."""
        return self.to("bf16")

    def int(self) -> Tensor:
        """As int32."""
        return self.to("i32")

    def long(self) -> Tensor:
        """As int64."""
        return self.to("i64")

    def bool(self) -> Tensor:
        """As bool: whether elements are not 0."""
        return self.to("bool")

    def _floating(self) -> Any:
        return self if is_float(self._dtype) else self.to("f32")

    def _want_floats(self, what: str) -> None:
        if not is_float(self._dtype):
            raise Error(f"is of floats, this tensor is {self.dtype.name}", what, "convert it with float()")

    def _number(self, value: Any, dtype: str) -> Value:
        """A number as a constant of the program."""
        return constant(dtype, (), value)

    def _operand(self, other: Any) -> Any:
        if isinstance(other, Core) or _is_number(other):
            return other
        from .tensors import as_tensor

        return as_tensor(other)

    def _common(self, other: Any) -> str:
        """The type that this and the other have together."""
        if not isinstance(other, Core):
            return besides(self._dtype, other)
        a, b = self._dtype, other._dtype
        # Single numbers widen nothing of their own kind.
        if category(a) == category(b) and (self.ndim == 0) != (other.ndim == 0):
            return b if self.ndim == 0 else a
        return promote(a, b)

    def _binary(self, op: str, other: Any, dtype: str | None = None, attributes: Attributes | None = None) -> Tensor:
        other = self._operand(other)
        dtype = dtype or self._common(other)
        right = other.to(dtype) if isinstance(other, Core) else self._number(other, dtype)
        return self._apply(op, [self.to(dtype), right], attributes)

    def _summed(self, other: Any) -> str:
        """Arithmetic of booleans is that of integers."""
        dtype = self._common(other)
        return "i64" if dtype == "bool" else dtype

    def _unary(self, op: str, attributes: Attributes | None = None) -> Tensor:
        return self._apply(op, [self._floating()], attributes)

    # Arithmetic

    def add(self, other: Operand, *, alpha: Scalar = 1) -> Tensor:
        """this + alpha * other"""
        other = self._operand(other)
        other = other if alpha == 1 else other * alpha
        return self._binary("Add", other, self._summed(other))

    def sub(self, other: Operand, *, alpha: Scalar = 1) -> Tensor:
        """this - alpha * other"""
        other = self._operand(other)
        other = other if alpha == 1 else other * alpha
        return self._binary("Sub", other, self._summed(other))

    def mul(self, other: Operand) -> Tensor:
        """this * other"""
        other = self._operand(other)
        return self._binary("Mul", other, self._summed(other))

    def div(self, other: Operand, *, rounding_mode: str | None = None) -> Tensor:
        """The true quotient, of integers too; rounding_mode: "floor", "trunc"."""
        if rounding_mode == "floor":
            return self.floor_divide(other)
        other = self._operand(other)
        dtype = self._common(other)
        if rounding_mode == "trunc" and not is_float(dtype):
            return self._binary("Div", other, dtype)
        quotient = self._binary("Div", other, dtype if is_float(dtype) else "f32")
        return quotient.trunc() if rounding_mode == "trunc" else quotient

    def floor_divide(self, other: Operand) -> Tensor:
        """The quotient, rounded down."""
        other = self._operand(other)
        dtype = self._common(other)
        if is_float(dtype):
            return self.div(other).floor()
        # The quotient of what is left once the remainder, which has the divisor's sign, is taken away.
        return (self - self.remainder(other))._binary("Div", other, dtype)

    def remainder(self, other: Operand) -> Tensor:
        """Of the divisor's sign, as Python's %."""
        other = self._operand(other)
        dtype = self._common(other)
        if not is_float(dtype):
            return self._binary("Mod", other, dtype)
        fitted = self.to(dtype)
        return fitted - fitted.div(other).floor() * other

    def fmod(self, other: Operand) -> Tensor:
        """Of the dividend's sign, as in C."""
        return self._binary("Mod", other, None, {"fmod": 1})

    def pow(self, exponent: Operand) -> Tensor:
        """this to the power of `exponent`."""
        if _is_number(exponent) and exponent == 2:
            return self * self  # type: ignore[operator]
        return self._binary("Pow", exponent)

    def maximum(self, other: Operand) -> Tensor:
        """The larger one. Where both are equal each gets half of the gradient; of clamp() the bounds pass it on whole."""
        if _is_number(other) and self.requires_grad:
            return self._replaced(self < other, other)  # type: ignore[operator]
        return self._binary("Max", other)

    def minimum(self, other: Operand) -> Tensor:
        """As maximum()."""
        if _is_number(other) and self.requires_grad:
            return self._replaced(self > other, other)  # type: ignore[operator]
        return self._binary("Min", other)

    def _replaced(self, wins: Tensor, bound: Scalar) -> Tensor:
        """`bound` where it wins; where this equals it half of each, which has half the gradient."""
        both = self * 0.5 + bound * 0.5  # type: ignore[operator]
        return self._choose(wins, bound, self._choose(self == bound, both, self))

    def atan2(self, other: Tensor) -> Tensor:
        """The angle of the point (other, this). Its gradient at the origin is 0."""
        dtype = self._common(other)  # type: ignore[attr-defined]
        # Infinities become large numbers, whose quotients are not NaN.
        y, x = (each.to(dtype)._floating().clamp(-3e38, 3e38) for each in (self, other))  # type: ignore[attr-defined]
        # The smaller coordinate over the larger one: neither value nor gradient divides by 0.
        steep = y.abs() > x.abs()
        large = y._choose(steep, y, x)
        angle = (y._choose(steep, x, y) / y._choose(large == 0, math.inf, large)).atan()

        def negative(each: Tensor) -> Tensor:
            """-0 counts as negative, which its reciprocal tells."""
            return each._choose(each == 0, each._apply("Reciprocal", [each]), each) < 0

        up = y._choose(negative(y), -1.0, 1.0).to(y._dtype) * math.pi
        return y._choose(steep, up * 0.5 - angle, y._choose(negative(x), angle + up, angle))

    def _choose(self, condition: Any, a: Any, b: Any) -> Tensor:
        if isinstance(a, Core):
            dtype = a._common(b)  # type: ignore[attr-defined]
        else:
            dtype = b._common(a) if isinstance(b, Core) else besides(besides("bool", a), b)  # type: ignore[attr-defined]
        parts = [each.to(dtype) if isinstance(each, Core) else self._number(each, dtype) for each in (a, b)]  # type: ignore[attr-defined]
        return condition._apply("Where", [condition.to("bool"), *parts])

    def where(self, condition: Tensor, other: Operand) -> Tensor:
        """This where the condition holds, the other elsewhere."""
        return self._choose(condition, self, self._operand(other))

    def masked_fill(self, mask: Tensor, value: Scalar) -> Tensor:
        """`value` where the mask holds, this elsewhere."""
        return self._apply("Where", [mask.to("bool"), self._number(value, self._dtype), self])

    def clamp(self, min: Scalar | None = None, max: Scalar | None = None) -> Tensor:  # noqa: A002
        """Kept within [min, max]; None: open. The bounds themselves pass gradients on."""
        if not self.requires_grad:
            return self._clipped(min, max)
        low: Any = self if min is None else self._choose(self < min, min, self)  # type: ignore[operator]
        return low if max is None else low._choose(low > max, max, low)

    def _clipped(self, low: Scalar | None, high: Scalar | None) -> Tensor:
        return self._apply("Clip", [self, *(None if each is None else self._number(each, self._dtype) for each in (low, high))])

    # Comparisons

    def eq(self, other: Operand) -> Tensor:
        """Where elements are equal."""
        return self._binary("Equal", other)

    def ne(self, other: Operand) -> Tensor:
        """Where elements differ."""
        return self.eq(other).logical_not()

    def lt(self, other: Operand) -> Tensor:
        """this < other"""
        return self._compare("Less", other)

    def le(self, other: Operand) -> Tensor:
        """this <= other"""
        return self._compare("LessOrEqual", other)

    def gt(self, other: Operand) -> Tensor:
        """this > other"""
        return self._compare("Greater", other)

    def ge(self, other: Operand) -> Tensor:
        """this >= other"""
        return self._compare("GreaterOrEqual", other)

    def _compare(self, op: str, other: Any) -> Tensor:
        other = self._operand(other)
        return self._binary(op, other, self._summed(other))

    # Logic

    def logical_not(self) -> Tensor:
        """Whether elements are 0."""
        return self._apply("Not", [self.to("bool")])

    def logical_and(self, other: Operand) -> Tensor:
        """Where both hold."""
        return self._binary("And", other, "bool")

    def logical_or(self, other: Operand) -> Tensor:
        """Where one holds."""
        return self._binary("Or", other, "bool")

    def logical_xor(self, other: Operand) -> Tensor:
        """Where exactly one holds."""
        return self._binary("Xor", other, "bool")

    def bitwise_and(self, other: Operand) -> Tensor:
        """this & other"""
        return self.logical_and(other) if self._dtype == "bool" else self._binary("BitwiseAnd", other)

    def bitwise_or(self, other: Operand) -> Tensor:
        """this | other"""
        return self.logical_or(other) if self._dtype == "bool" else self._binary("BitwiseOr", other)

    def bitwise_xor(self, other: Operand) -> Tensor:
        """this ^ other"""
        return self.logical_xor(other) if self._dtype == "bool" else self._binary("BitwiseXor", other)

    def bitwise_not(self) -> Tensor:
        """~this"""
        return self.logical_not() if self._dtype == "bool" else self._apply("BitwiseNot", [self])

    def bitwise_left_shift(self, other: Operand) -> Tensor:
        """this << other, of unsigned integers."""
        return self._shift(other, "LEFT")

    def bitwise_right_shift(self, other: Operand) -> Tensor:
        """this >> other, of unsigned integers."""
        return self._shift(other, "RIGHT")

    def _shift(self, other: Any, direction: str) -> Tensor:
        return self._binary("BitShift", other, None, {"direction": direction})

    def isnan(self) -> Tensor:
        """Where elements are NaN."""
        return self._unary("IsNaN")

    def isinf(self) -> Tensor:
        """Where elements are infinite."""
        return self._unary("IsInf")

    def isfinite(self) -> Tensor:
        """Where elements are numbers."""
        return self.isnan().logical_or(self.isinf()).logical_not()

    # Functions

    def exp(self) -> Tensor:
        """e to the power of each element."""
        return self._unary("Exp")

    def log(self) -> Tensor:
        """The natural logarithm."""
        return self._unary("Log")

    def log2(self) -> Tensor:
        """The logarithm to base 2."""
        return self.log() * math.log2(math.e)

    def log10(self) -> Tensor:
        """The logarithm to base 10."""
        return self.log() * math.log10(math.e)

    def log1p(self) -> Tensor:
        """The logarithm of 1 + x, accurate near 0."""
        x = self._floating()
        near = x.abs() < 0.5
        small = x._choose(near, x, 0.0)
        return x._choose(near, (small / (small + 2)).atanh() * 2, (x._choose(near, 0.0, x) + 1).log())

    def expm1(self) -> Tensor:
        """exp(x) - 1, accurate near 0."""
        x = self._floating()
        near = x.abs() < 1
        t = (x._choose(near, x, 0.0) * 0.5).tanh()
        return x._choose(near, t * 2 / (1 - t), x._choose(near, 0.0, x).exp() - 1)

    def sqrt(self) -> Tensor:
        """The square root."""
        return self._unary("Sqrt")

    def rsqrt(self) -> Tensor:
        """1 over the square root."""
        return self.sqrt().reciprocal()

    def square(self) -> Tensor:
        """x * x"""
        return self * self  # type: ignore[operator]

    def reciprocal(self) -> Tensor:
        """1 / x"""
        return self._unary("Reciprocal")

    def sin(self) -> Tensor:
        """Of radians."""
        return self._unary("Sin")

    def cos(self) -> Tensor:
        """Of radians."""
        return self._unary("Cos")

    def tan(self) -> Tensor:
        """Of radians."""
        return self._unary("Tan")

    def asin(self) -> Tensor:
        """In radians."""
        return self._unary("Asin")

    def acos(self) -> Tensor:
        """In radians."""
        return self._unary("Acos")

    def atan(self) -> Tensor:
        """In radians."""
        return self._unary("Atan")

    def sinh(self) -> Tensor:
        """The hyperbolic sine."""
        return self._unary("Sinh")

    def cosh(self) -> Tensor:
        """The hyperbolic cosine."""
        return self._unary("Cosh")

    def tanh(self) -> Tensor:
        """The hyperbolic tangent."""
        return self._unary("Tanh")

    def asinh(self) -> Tensor:
        """The inverse of sinh()."""
        return self._unary("Asinh")

    def acosh(self) -> Tensor:
        """The inverse of cosh()."""
        return self._unary("Acosh")

    def atanh(self) -> Tensor:
        """The inverse of tanh()."""
        return self._unary("Atanh")

    def erf(self) -> Tensor:
        """The error function."""
        return self._unary("Erf")

    def abs(self) -> Tensor:
        """The absolute value."""
        return self._apply("Abs", [self])

    def neg(self) -> Tensor:
        """-x"""
        return self._apply("Neg", [self])

    def sign(self) -> Tensor:
        """-1, 0 or 1."""
        return self._apply("Sign", [self])

    def floor(self) -> Tensor:
        """Rounded down; integers stay."""
        return self._rounded("Floor")

    def ceil(self) -> Tensor:
        """Rounded up; integers stay."""
        return self._rounded("Ceil")

    def round(self) -> Tensor:
        """To the nearest integer, halves to even."""
        return self._rounded("Round")

    def _rounded(self, op: str) -> Tensor:
        return self._apply(op, [self]) if is_float(self._dtype) else self  # type: ignore[return-value]

    def trunc(self) -> Tensor:
        """Towards zero."""
        return self.sign() * self.abs().floor() if is_float(self._dtype) else self  # type: ignore[return-value]

    def relu(self) -> Tensor:
        """max(x, 0)"""
        return self._apply("Relu", [self])

    def sigmoid(self) -> Tensor:
        """1 / (1 + exp(-x))"""
        return self._unary("Sigmoid")

    # Python's operators

    __add__ = __radd__ = add
    __sub__ = sub
    __mul__ = __rmul__ = mul
    __truediv__ = div
    __floordiv__ = floor_divide
    __mod__ = remainder
    __pow__ = pow
    __neg__ = neg
    __abs__ = abs
    __lt__ = lt
    __le__ = le
    __gt__ = gt
    __ge__ = ge
    __and__ = __rand__ = bitwise_and
    __or__ = __ror__ = bitwise_or
    __xor__ = __rxor__ = bitwise_xor
    __invert__ = bitwise_not
    __lshift__ = bitwise_left_shift
    __rshift__ = bitwise_right_shift
    __hash__ = object.__hash__  # by identity, as equality is of the elements
    # numpy leaves operators to this class.
    __array_priority__ = 1000

    def _reflected(self, other: Any, dtype: str) -> Any:
        other = self._operand(other)
        if isinstance(other, Core):
            return other
        from .tensors import Tensor

        return Tensor._make(self._number(other, dtype))

    def __eq__(self, other: Any) -> Any:
        return NotImplemented if other is None or isinstance(other, str) else self.eq(other)

    def __ne__(self, other: Any) -> Any:
        return NotImplemented if other is None or isinstance(other, str) else self.ne(other)

    def __rsub__(self, other: Operand) -> Tensor:
        return self._reflected(other, self._summed(self._operand(other))).sub(self)

    def __rtruediv__(self, other: Operand) -> Tensor:
        dtype = self._common(self._operand(other))
        return self._reflected(other, dtype if is_float(dtype) else "f32").div(self)

    def __rfloordiv__(self, other: Operand) -> Tensor:
        return self._reflected(other, self._summed(self._operand(other))).floor_divide(self)

    def __rmod__(self, other: Operand) -> Tensor:
        return self._reflected(other, self._summed(self._operand(other))).remainder(self)

    def __rpow__(self, other: Operand) -> Tensor:
        return self._reflected(other, self._common(self._operand(other)))._binary("Pow", self)
