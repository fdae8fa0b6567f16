"""Rarer functions along axes, as compositions; web/tensor/src/composed/statistics.ts is written from this file."""

from __future__ import annotations

from .layout import movedim
from .reductions import cummax, nansum
from .prelude import *  # noqa: F403
from .shared import nan_last


def nanmean(x: Tensor, dim: Axes = None, keepdim: bool = False) -> Tensor:
    """The mean of what is not NaN."""
    return nansum(x, dim, keepdim) / x.isnan().logical_not().to(x._dtype).sum(dim, keepdim)


def nanmedian(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor | Ordered:
    """The lower one of the middle elements of what is not NaN; along an axis with where it is."""
    flat = x.reshape([-1]) if dim is None else x
    at = 0 if dim is None else axis_of(x, dim, "nanmedian")
    ordered = nan_last(flat).sort(at)
    count = flat.isnan().logical_not().to("i64").sum(at, True)
    place = where(count > 0, (count - 1).floor_divide(2), 0)
    values = where(count > 0, ordered.values.gather(at, place), math.nan)
    if dim is None:
        return values.squeeze(0)
    indices = ordered.indices.gather(at, place)
    return Ordered(values, indices) if keepdim else Ordered(values.squeeze(at), indices.squeeze(at))


def quantile(x: Tensor, q: Tensor | float | Sequence[float], dim: int | None = None, keepdim: bool = False, interpolation: str = "linear") -> Tensor:
    """Elements at shares q of the order, along an axis or of all. interpolation: linear, lower, higher, midpoint, nearest."""
    return where(x.isnan().any(dim, keepdim), math.nan, nanquantile(x, q, dim, keepdim, interpolation))


def nanquantile(x: Tensor, q: Tensor | float | Sequence[float], dim: int | None = None, keepdim: bool = False, interpolation: str = "linear") -> Tensor:
    """quantile() of what is not NaN."""
    if interpolation not in ["linear", "lower", "higher", "midpoint", "nearest"]:
        raise Error(f"interpolation is {interpolation}; linear, lower, higher, midpoint and nearest are allowed", "quantile")
    if x.numel() == 0:
        raise Error("the tensor is empty; it must have an element", "quantile")
    if not is_tensor(q):
        for each in floats(q, 1):
            if not 0 <= each <= 1:
                raise Error(f"q is {each}; 0 to 1 are allowed", "quantile")
    single = q.ndim == 0 if is_tensor(q) else is_number(q)
    shares = q.reshape([-1]).to(x._dtype) if is_tensor(q) else constant(x, floats(q, 1), [len(floats(q, 1))], x._dtype)
    at = 0 if dim is None else axis_of(x, dim, "quantile")
    flat = x.reshape([-1]) if dim is None else x
    rows = where(flat.isnan(), math.inf, flat).transpose(at, -1)
    ordered = rows.sort(-1).values
    place = (flat.isnan().logical_not().to(x._dtype).transpose(at, -1).sum(-1, True) - 1).clamp(0) * shares
    low = place.round() if interpolation == "nearest" else place.ceil() if interpolation == "higher" else place.floor()
    made = ordered.gather(-1, low.detach().to("i64"))
    if interpolation in ["linear", "midpoint"]:
        high = place.ceil()
        last = ordered.gather(-1, high.detach().to("i64"))
        part = place - low if interpolation == "linear" else where(high == low, 0.0, 0.5).to(x._dtype)
        made = where(made == last, made, made + (last - made) * part)
    made = movedim(made.transpose(at, -1), at, 0)
    if keepdim:
        made = made.reshape([-1, *([1] * x.ndim)]) if dim is None else made.unsqueeze(at + 1)
    return made.squeeze(0) if single else made


def mode(x: Tensor, dim: int = -1, keepdim: bool = False) -> Ordered:
    """The most frequent element along an axis, the smallest one of equals, and where it is last."""
    at = axis_of(x, dim, "mode")
    rows = x.transpose(at, -1)
    extent = rows.shape[-1]
    same = rows.unsqueeze(-1) == rows.unsqueeze(-2)
    counts = same.to("i32").sum(-1)
    frequent = counts == counts.amax(-1, True)
    big = where(frequent, rows, rows.amax(-1, True))
    values = big.amin(-1, True)
    indices = where(rows == values, iota(x, extent), -1).amax(-1, True)
    values = values.transpose(at, -1)
    indices = indices.transpose(at, -1)
    return Ordered(values, indices) if keepdim else Ordered(values.squeeze(at), indices.squeeze(at))


def logcumsumexp(x: Tensor, dim: int) -> Tensor:
    """log of cumsum() of exp(x), without overflow."""
    if x.ndim == 0:
        return x
    at = axis_of(x, dim, "logcumsumexp")
    # Relative to the largest up to each place, so that small beginnings are not lost.
    still = cummax(x.detach(), at).values.clamp(-3e38, 3e38)
    rows = (x.transpose(at, -1).unsqueeze(-2) - still.transpose(at, -1).unsqueeze(-1)).clamp(None, 0)
    return rows.exp().tril().sum(-1).log().transpose(at, -1) + still


def dist(x: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of the difference."""
    return (x - other).norm(p)


def renorm(x: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Parts along an axis scaled so that the p-norm of each is at most maxnorm."""
    at = axis_of(x, dim, "renorm")
    size = x.norm(p, [axis for axis in range(x.ndim) if axis != at], True)
    return x * where(size > maxnorm, maxnorm / (size + 1e-7), 1.0)


def sum_to_size(x: Tensor, *size: int) -> Tensor:
    """Summed to a shape that broadcasts to x's."""
    new = x.ndim - len(size)
    axes = [axis for axis in range(x.ndim) if axis < new or (size[axis - new] == 1 and x.shape[axis] != 1)]
    return (x.sum(axes, True) if len(axes) > 0 else x).reshape(list(size))


def cov(x: Tensor, correction: int = 1) -> Tensor:
    """Covariances of rows, whose columns are observations."""
    rows = x.reshape([1, -1]) if x.ndim < 2 else x
    middle = rows - rows.mean(1, True)
    made = middle.matmul(middle.transpose(0, 1)) / max(rows.shape[1] - correction, 0)
    return made if x.ndim > 1 else made.reshape([])


def corrcoef(x: Tensor) -> Tensor:
    """Correlations of rows, whose columns are observations."""
    if x.ndim < 2:
        return cov(x) / cov(x)
    c = cov(x)
    deviation = c.diagonal().sqrt()
    return (c / deviation.unsqueeze(1) / deviation.unsqueeze(0)).clamp(-1, 1)


def histc(x: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements are in each of `bins` equal parts of [min, max]; both 0: of the elements' own range."""
    flat = x.reshape([-1]).detach()
    low = flat.amin() if min == 0 and max == 0 else flat.amin() * 0 + min
    high = flat.amax() if min == 0 and max == 0 else flat.amax() * 0 + max
    low, high = where(low == high, low - 1, low), where(low == high, high + 1, high)
    place = ((flat - low) / (high - low) * bins).floor().clamp(None, bins - 1)
    inside = (flat >= low) & (flat <= high)
    hot = (place.unsqueeze(1).to("i64") == iota(x, bins)) & inside.unsqueeze(1)
    return hot.to(x._dtype).sum(0)


def histogram(x: Tensor, bins: int | Tensor = 100, range: Sequence[float] | None = None, weight: Tensor | None = None, density: bool = False) -> list[Tensor]:
    """How many elements, or how much of their weights, is between edges, and the edges: the given ones, or `bins` + 1 even ones over the
    range, by default the elements' own. The last part has its end, too. density: divided by the sum and the widths."""
    flat = x.reshape([-1]).detach()
    if is_tensor(bins):
        edges = bins.detach()
    else:
        low = flat.amin() if range is None else flat.amin() * 0 + range[0]
        high = flat.amax() if range is None else flat.amax() * 0 + range[1]
        low, high = where(low == high, low - 1, low), where(low == high, high + 1, high)
        place = iota(x, bins + 1)
        edges = where(place == bins, high, low + (high - low) * place.to(x._dtype) / bins)
    count = edges.shape[0] - 1
    begins, ends = edges.narrow(0, 0, count), edges.narrow(0, 1, count)
    each = flat.unsqueeze(1)
    last = (each == ends) & (iota(x, count) == count - 1)
    hot = (((each >= begins) & (each < ends)) | last).to(x._dtype)
    if weight is not None:
        hot = hot * weight.reshape([-1, 1]).detach()
    made = hot.sum(0)
    return [made / made.sum() / (ends - begins) if density else made, edges]
