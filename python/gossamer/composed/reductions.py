"""Functions along axes, as compositions; web/tensor/src/composed/reductions.ts is written from this file."""

from __future__ import annotations

from .prelude import *  # noqa: F403


def aminmax(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Extremes:
    """The smallest and the largest elements."""
    return Extremes(x.amin(dim, keepdim), x.amax(dim, keepdim))


def count_nonzero(x: Tensor, dim: Axes = None) -> Tensor:
    """How many elements are not 0."""
    return (x != 0).sum(dim)


def nansum(x: Tensor, dim: Axes = None, keepdim: bool = False) -> Tensor:
    """The sum of what is not NaN."""
    return where(x.isnan(), 0.0, x).sum(dim, keepdim) if is_float(x) else x.sum(dim, keepdim)


def kthvalue(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Ordered:
    """The k-th smallest element along an axis, and where it is."""
    at = axis_of(x, dim, "kthvalue")
    extent = 1 if x.ndim == 0 else x.shape[at]
    if not 1 <= k <= extent:
        raise Error(f"k is {k}; 1 to {extent} are allowed on axis {at}", "kthvalue")
    if x.ndim == 0:
        return Ordered(x, (x * 0).to("i64"))
    found = x.topk(k, at, False)
    values = found.values.narrow(at, k - 1, 1)
    indices = found.indices.narrow(at, k - 1, 1)
    return Ordered(values, indices) if keepdim else Ordered(values.squeeze(at), indices.squeeze(at))


def median(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor | Ordered:
    """The lower one of the middle elements, NaN where there is one; along an axis with where it is."""
    if dim is None:
        if x.numel() == 0:
            return x.sum() / 0
        flat = x.reshape([-1])
        middle = kthvalue(flat, (x.numel() + 1) // 2).values
        return where(x.isnan().any(), math.nan, middle) if is_float(x) else middle
    at = axis_of(x, dim, "median")
    extent = 1 if x.ndim == 0 else x.shape[at]
    if extent == 0:
        raise Error(f"axis {at} is empty; it must have an element", "median")
    found = kthvalue(x, (extent + 1) // 2, at, keepdim)
    if not is_float(x) or x.ndim == 0:
        return found
    bad = x.isnan()
    some = bad.any(at, keepdim)
    return Ordered(where(some, math.nan, found.values), where(some, bad.to("i32").argmax(at, keepdim).to(found.indices._dtype), found.indices))


def _running(x: Tensor, dim: int, sign: int) -> Ordered:
    at = axis_of(x, dim, "cummax")
    if x.ndim == 0:
        return Ordered(x, (x * 0).to("i64"))
    extent = x.shape[at]
    values = x
    indices = iota(x, extent).reshape([extent if axis == at else 1 for axis in range(x.ndim)]).expand(x.shape)
    step = 1
    while step < extent:
        before = values.narrow(at, 0, extent - step)
        places = indices.narrow(at, 0, extent - step)
        rest = values.narrow(at, step, extent - step)
        own = indices.narrow(at, step, extent - step)
        wins = before > rest if sign > 0 else before < rest
        if is_float(x):
            wins = (wins | before.isnan()) & rest.isnan().logical_not()
        values = cat([values.narrow(at, 0, step), where(wins, before, rest)], at)
        indices = cat([indices.narrow(at, 0, step), where(wins, places, own)], at)
        step = step * 2
    return Ordered(values, indices)


def cummax(x: Tensor, dim: int) -> Ordered:
    """The largest of all elements up to each place, and where it is."""
    return _running(x, dim, 1)


def cummin(x: Tensor, dim: int) -> Ordered:
    """The smallest of all elements up to each place, and where it is."""
    return _running(x, dim, -1)
