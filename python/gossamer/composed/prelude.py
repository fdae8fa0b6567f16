"""What composed functions are written with. web/tensor/src/composed/prelude.ts has the same names, in JavaScript's spelling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..error import Error
from ..lazy import dtypes
from ..lazy.core import Core, apply, mode
from ..lazy.layout import broadcast_shapes, known
from ..lazy.random import generator
from ..lazy.recording import constant as _constant
from ..lazy.recording import integers
from ..lazy.reductions import Ordered
from ..lazy.tensors import Tensor, cat, stack, where

PerAxis = int | Sequence[int]
"""A number for all axes of the plane, or one each."""
Axes = int | Sequence[int] | None
"""One axis, some, or all of them; counted from the end where negative."""
Number = int | float | bool
Distance = Callable[[Tensor, Tensor], Tensor]
"""How far the rows of two tensors are from each other."""


class Extremes(NamedTuple):
    """The smallest and the largest elements."""

    min: Tensor
    max: Tensor


def is_tensor(value: Any) -> bool:
    return isinstance(value, Core)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def is_float(x: Tensor) -> bool:
    return dtypes.is_float(x._dtype)


def floating(x: Tensor) -> Tensor:
    """Itself if it is of floats, else as f32."""
    return x._floating()


def axis_of(x: Tensor, dim: int, what: str) -> int:
    """Counted from the front. Raises Error for one that is not there."""
    return x._axis(dim, what)


def axes_of(x: Tensor, dim: Axes, what: str) -> list[int]:
    """All of them unless told."""
    return x._axes(dim, what)


def node(op: str, inputs: Sequence[Any], attributes: dict[str, Any] | None = None) -> Tensor:
    """One operator of the catalog with one output."""
    return nodes(op, inputs, attributes or {}, 1)[0]


def nodes(op: str, inputs: Sequence[Any], attributes: dict[str, Any], outputs: int) -> list[Tensor]:
    """One operator with several outputs."""
    return apply(op, inputs, {name: tuple(value) if isinstance(value, list) else value for name, value in attributes.items()}, outputs)


def scalar(value: Number, dtype: str = "i64") -> Any:
    """A number as an operand that is part of the program."""
    return _constant(dtype, (), value)


def constant(x: Tensor, values: Sequence[Number], shape: Sequence[int], dtype: str) -> Tensor:
    """Elements that are part of the program, where x is."""
    return Core._make(_constant(dtype, shape, np.asarray(values).reshape(tuple(shape))))


def iota(x: Tensor, count: int) -> Tensor:
    """0 to count - 1, i64, where x is."""
    return apply("Range", [scalar(0), scalar(count), scalar(1)])[0]


def wide(x: Tensor) -> Tensor:
    """As i64, which some operators want of places."""
    return x.to("i64")


def padded(x: Tensor, pads: Sequence[int], mode: str = "constant", value: float = 0) -> Tensor:
    """The last axis first, [before, after] of each."""
    return x.pad(pads, mode, value)


def spread(given: PerAxis, rank: int) -> list[int]:
    """One number an axis."""
    return [given] * rank if is_number(given) else list(given)  # type: ignore[arg-type,list-item]


def floats(given: Any, rank: int) -> list[float]:
    """One number an axis."""
    return [given] * rank if is_number(given) else list(given)


def check_classes(target: Tensor, classes: int, ignored: int, what: str) -> None:
    """Raises Error for a target that is known now and does not name a class."""
    found = known(target)
    if found is None:
        return
    bad = found[((found < 0) | (found >= classes)) & (found != ignored)]
    if bad.size:
        raise Error(f"the target {bad[0]} is no class; 0 to {classes - 1} are allowed", what)


def become(x: Tensor, made: Tensor, name: str) -> Tensor:
    """In place: x with the elements, and the past, of what was computed from it."""
    if mode.gradients and x.requires_grad and x.is_leaf:
        raise Error("this is a leaf that requires a gradient", name, "do it within no_grad()")
    if made._dtype != x._dtype:
        if dtypes.category(made._dtype) > dtypes.category(x._dtype):
            raise Error(f"{x.dtype.name} cannot become {made.dtype.name}", name, "convert it first")
        made = made.to(x._dtype)
    moves = name in ("squeeze_", "unsqueeze_", "t_", "transpose_", "swapaxes_", "swapdims_")
    if made.shape != x.shape and not moves:
        raise Error(f"shape {list(x.shape)} cannot become {list(made.shape)}", name)
    if moves or (made._origin is not None and mode.gradients):
        x._value, x._origin = made._value, made._origin
    else:
        x._assign(made._value)
    return x


def draw(count: int) -> list[float]:
    """Numbers of this process, even in [0, 1)."""
    return generator().random(count).tolist()


def random_bits(x: Tensor, shape: Sequence[int]) -> Tensor:
    """32 bits of each place of a shape, other ones in each call."""
    from ..nn.functional import _random_bits

    return _random_bits(shape)


def uniform(x: Tensor, shape: Sequence[int]) -> Tensor:
    """Even in [0, 1) from 24 bits, f32, where x is; other numbers in each call, as part of the program."""
    return (random_bits(x, shape) >> 8).float() * 2**-24


__all__ = [
    "Axes", "Distance", "Error", "Extremes", "Number", "Ordered", "PerAxis", "Sequence", "Tensor", "axes_of", "axis_of", "become", "broadcast_shapes", "cat", "check_classes", "constant", "draw", "floating", "floats",
    "integers", "iota", "is_float", "is_number", "is_tensor", "math", "node", "nodes", "padded", "random_bits", "scalar", "spread", "stack", "uniform", "where", "wide",
]  # fmt: skip
