"""Operations along axes: sums, extremes, order, running values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..error import Error
from .core import apply
from .dtypes import is_float
from .elementwise import Elementwise
from .recording import constant, integers, shape_text

if TYPE_CHECKING:
    from .tensors import Tensor

Axes = int | Sequence[int] | None
"""One axis, some, or all of them; counted from the end where negative."""


class Ordered(NamedTuple):
    """Elements, and where they are along the axis (int64)."""

    values: Tensor
    indices: Tensor


class Reductions(Elementwise):
    """See the module."""

    __slots__ = ()

    def _axes(self, dim: Axes, what: str) -> list[int]:
        listed = [] if dim is None else [dim] if isinstance(dim, int) else list(dim)
        return [self._axis(axis, what) for axis in listed] if listed else list(range(self.ndim))

    def _count(self, dim: Axes, what: str) -> int:
        return math.prod(self.shape[axis] for axis in self._axes(dim, what)) if self.ndim else 1

    def _reduce(self, op: str, dim: Axes, keepdim: bool) -> Tensor:
        axes = None if dim is None or self.ndim == 0 else integers(self._axes(dim, op))
        return self._apply(op, [self] if axes is None else [self, axes], {"keepdims": int(keepdim)})

    def _want_elements(self, what: str, dim: Axes) -> None:
        if not self.numel():
            for axis in self._axes(dim, what):
                if not self.shape[axis]:
                    raise Error(f"axis {axis} of shape {shape_text(self.shape)} is empty; it must have an element", what)

    def _summable(self, dtype: Any = None) -> Any:
        """Sums and products of bool and of integers are int64."""
        if dtype is not None:
            return self.to(dtype)
        return self if is_float(self._dtype) or self._dtype == "u64" else self.to("i64")

    def sum(self, dim: Axes = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
        """The sum, of all or along axes; of integers int64."""
        return self._summable(dtype)._reduce("ReduceSum", dim, keepdim)

    def prod(self, dim: Axes = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
        """The product, of all or along axes; of integers int64."""
        return self._summable(dtype)._reduce("ReduceProd", dim, keepdim)

    def mean(self, dim: Axes = None, keepdim: bool = False) -> Tensor:
        """Raises Error for integers."""
        self._want_floats("mean")
        return self._reduce("ReduceMean", dim, keepdim)

    def amax(self, dim: Axes = None, keepdim: bool = False) -> Tensor:
        """The largest elements."""
        self._want_elements("amax", dim)
        return self._reduce("ReduceMax", dim, keepdim)

    def amin(self, dim: Axes = None, keepdim: bool = False) -> Tensor:
        """The smallest elements."""
        self._want_elements("amin", dim)
        return self._reduce("ReduceMin", dim, keepdim)

    def max(self, dim: Any = None, keepdim: bool = False) -> Any:
        """The largest element; along an axis with where they are; of another tensor's and this one's."""
        if isinstance(dim, Elementwise):
            return self.maximum(dim)
        return self.amax() if dim is None else Ordered(self.amax(dim, keepdim), self.argmax(dim, keepdim))

    def min(self, dim: Any = None, keepdim: bool = False) -> Any:
        """As max()."""
        if isinstance(dim, Elementwise):
            return self.minimum(dim)
        return self.amin() if dim is None else Ordered(self.amin(dim, keepdim), self.argmin(dim, keepdim))

    def any(self, dim: Axes = None, keepdim: bool = False) -> Tensor:
        """Whether one holds."""
        return self.to("bool")._reduce("ReduceMax", dim, keepdim)

    def all(self, dim: Axes = None, keepdim: bool = False) -> Tensor:
        """Whether all hold."""
        return self.to("bool")._reduce("ReduceMin", dim, keepdim)

    def logsumexp(self, dim: Axes = None, keepdim: bool = False) -> Tensor:
        """log(sum(exp(x))), without overflow."""
        return self._floating()._reduce("ReduceLogSumExp", dim, keepdim)

    def var(self, dim: Axes = None, *, correction: int = 1, keepdim: bool = False) -> Tensor:
        """The mean square deviation, over n - correction."""
        self._want_floats("var")
        count = self._count(dim, "var")
        squares = (self - self.mean(dim, True)).square()
        return squares.sum(dim, keepdim) / max(count - correction, 0)

    def std(self, dim: Axes = None, *, correction: int = 1, keepdim: bool = False) -> Tensor:
        """The root of var(). Its gradient where all elements are one is 0."""
        self._want_floats("std")
        count = self._count(dim, "std")
        return (self - self.mean(dim, True)).norm(2, dim, keepdim) / max(count - correction, 0) ** 0.5

    def norm(self, p: float = 2, dim: Axes = None, keepdim: bool = False) -> Tensor:
        """The p-norm; inf and -inf: the largest and smallest absolute value; 0: how many elements are not 0."""
        x = self._floating()
        if p in (1, 2):
            return x._reduce(f"ReduceL{int(p)}", dim, keepdim)
        if p == math.inf:
            return x.abs().amax(dim, keepdim)
        if p == -math.inf:
            return x.abs().amin(dim, keepdim)
        if p == 0:
            return (x != 0).to(x._dtype).sum(dim, keepdim)

        # A power of 0 may have an infinite slope: gradients there are 0.
        def power(of: Tensor, to: float) -> Tensor:
            return of._choose(of == 0, 0.0**to if to > 0 else math.inf, of._choose(of == 0, 1.0, of).pow(to))

        return power(power(x.abs(), float(p)).sum(dim, keepdim), 1 / p)

    def argmax(self, dim: int | None = None, keepdim: bool = False) -> Tensor:
        """Where the largest element lies along an axis, the first one of equals, or among all; int64."""
        return self._argument("ArgMax", dim, keepdim)

    def argmin(self, dim: int | None = None, keepdim: bool = False) -> Tensor:
        """As argmax(), of the smallest."""
        return self._argument("ArgMin", dim, keepdim)

    def _argument(self, op: str, dim: int | None, keepdim: bool) -> Tensor:
        x = self.reshape(-1) if dim is None else self  # type: ignore[attr-defined]
        axis = 0 if dim is None else self._axis(dim, op)
        self._want_elements(op.lower(), dim)
        return x._apply(op, [x], {"axis": axis, "keepdims": int(keepdim and dim is not None)})

    def softmax(self, dim: int = -1) -> Tensor:
        """exp(x) over its sum along an axis."""
        return self._unary("Softmax", {"axis": self._axis(dim, "softmax")})

    def log_softmax(self, dim: int = -1) -> Tensor:
        """log(softmax(x)), without overflow."""
        return self._unary("LogSoftmax", {"axis": self._axis(dim, "log_softmax")})

    def cumsum(self, dim: int) -> Tensor:
        """Sums of all up to each place of an axis."""
        x = self._summable()
        return x._apply("CumSum", [x, constant("i64", (), self._axis(dim, "cumsum"))])

    def cumprod(self, dim: int) -> Tensor:
        """Products of all up to each place of an axis."""
        x = self._summable()
        return x._apply("CumProd", [x, constant("i64", (), self._axis(dim, "cumprod"))])

    def topk(self, k: int, dim: int = -1, largest: bool = True) -> Ordered:
        """The k largest (or smallest) elements along an axis, in order, and where they are."""
        axis = self._axis(dim, "topk")
        extent = self.shape[axis] if self.ndim else 1
        if not 0 <= k <= extent:
            raise Error(f"{k} of {extent} elements", "topk")
        return Ordered(*apply("TopK", [self, integers([k])], {"axis": axis, "largest": int(largest), "sorted": 1}, 2))

    def sort(self, dim: int = -1, descending: bool = False) -> Ordered:
        """In order along an axis, and where they were."""
        return self.topk(self.shape[self._axis(dim, "sort")], dim, descending)

    def argsort(self, dim: int = -1, descending: bool = False) -> Tensor:
        """Where the elements in order are."""
        return self.sort(dim, descending).indices
