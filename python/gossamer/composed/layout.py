"""Functions that move elements, as compositions; web/tensor/src/composed/layout.ts is written from this file."""

from __future__ import annotations

from .prelude import *  # noqa: F403
from .shared import rows_of


def unbind(x: Tensor, dim: int = 0) -> list[Tensor]:
    """All places of an axis, each without it."""
    at = axis_of(x, dim, "unbind")
    return [part.squeeze(at) for part in x.split(1, at)]


def swapaxes(x: Tensor, axis0: int, axis1: int) -> Tensor:
    """Two axes exchanged."""
    return x.transpose(axis0, axis1)


def movedim(x: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Axes at other places; the others keep their order."""
    first = [axis_of(x, axis, "movedim") for axis in ([source] if is_number(source) else source)]
    last = [axis_of(x, axis, "movedim") for axis in ([destination] if is_number(destination) else destination)]
    if len(first) != len(last):
        raise Error(f"{len(first)} axes are moved to {len(last)} places", "movedim")
    rest = [axis for axis in range(x.ndim) if axis not in first]
    order = []
    for axis in range(x.ndim):
        order = [*order, first[last.index(axis)] if axis in last else rest[len([each for each in range(axis) if each not in last])]]
    return x.permute(order)


def adjoint(x: Tensor) -> Tensor:
    """Transposed matrices."""
    return x.transpose(-2, -1)


def ravel(x: Tensor) -> Tensor:
    """All elements along one axis."""
    return x.reshape([-1])


def reshape_as(x: Tensor, other: Tensor) -> Tensor:
    """The same elements in another one's shape."""
    return x.reshape(other.shape)


def expand_as(x: Tensor, other: Tensor) -> Tensor:
    """Broadcast to another one's shape."""
    return x.expand(other.shape)


def type_as(x: Tensor, other: Tensor) -> Tensor:
    """As another one's type."""
    return x.to(other._dtype)


def unflatten(x: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """With one axis as several."""
    at = axis_of(x, dim, "unflatten")
    rest = math.prod([extent for extent in sizes if extent != -1])
    whole = [x.shape[at] // rest if extent == -1 else extent for extent in sizes]
    if math.prod(whole) != x.shape[at]:
        raise Error(f"sizes [{', '.join([str(each) for each in sizes])}] do not multiply to the {x.shape[at]} of axis {at}", "unflatten")
    return x.reshape([*x.shape[:at], *whole, *x.shape[at + 1 :]])


def diag(x: Tensor, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix; of a vector the matrix with this diagonal."""
    return x.diagonal(diagonal) if x.ndim == 2 else diag_embed(x, diagonal)


def diag_embed(x: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the last axis as their diagonal."""
    size = x.shape[-1] + abs(offset)
    row = iota(x, size).reshape([size, 1])
    on = iota(x, size).reshape([1, size]) == row + offset
    before = [0, 0] if offset < 0 else [offset, 0]
    wide = padded(x, before) if offset >= 0 else padded(x, [0, -offset])
    made = where(on, wide.unsqueeze(-2), 0)
    return movedim(made.to(x._dtype), [-2, -1], [dim1, dim2])


def diff(x: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
    """Differences of neighbours along an axis, n times."""
    at = axis_of(x, dim, "diff")
    parts = [x]
    if prepend is not None:
        parts = [prepend, *parts]
    if append is not None:
        parts = [*parts, append]
    made = cat(parts, at) if len(parts) > 1 else x
    for _ in range(n):
        extent = made.shape[at]
        if extent == 0:
            return made
        made = made.narrow(at, 1, extent - 1) - made.narrow(at, 0, extent - 1)
    return made


def tensor_split(x: Tensor, indices_or_sections: int | Sequence[int], dim: int = 0) -> list[Tensor]:
    """So many parts along an axis, the first ones perhaps larger; or parts between places."""
    at = axis_of(x, dim, "tensor_split")
    extent = x.shape[at]
    if is_number(indices_or_sections):
        n = indices_or_sections
        if n <= 0:
            raise Error(f"{n} sections; 1 or more are allowed", "tensor_split")
        return x.split([extent // n + (1 if part < extent % n else 0) for part in range(n)], at)
    ends = [min(max(place + extent if place < 0 else place, 0), extent) for place in indices_or_sections]
    ends = [*ends, extent]
    return [x.narrow(at, begin, max(end - begin, 0)) for begin, end in zip([0, *ends[:-1]], ends)]


def split_with_sizes(x: Tensor, split_sizes: Sequence[int], dim: int = 0) -> list[Tensor]:
    """Parts of the given sizes along an axis."""
    return x.split(split_sizes, dim)


def fliplr(x: Tensor) -> Tensor:
    """In the opposite order along axis 1."""
    return x.flip([1])


def flipud(x: Tensor) -> Tensor:
    """In the opposite order along axis 0."""
    return x.flip([0])


def repeat_interleave(x: Tensor, repeats: int | Sequence[int], dim: int | None = None) -> Tensor:
    """Repeats each element, along an axis or of all elements in a row."""
    flat = x.reshape([-1]) if dim is None else x
    at = 0 if dim is None else axis_of(x, dim, "repeat_interleave")
    extent = flat.shape[at]
    counts = [repeats] * extent if is_number(repeats) else list(repeats)
    if len(counts) == 1:
        counts = counts * extent
    if len(counts) != extent:
        raise Error(f"{len(counts)} repeats for the {extent} of axis {at}", "repeat_interleave")
    places = [place for place in range(extent) for _ in range(counts[place])]
    return flat.index_select(at, constant(x, places, [len(places)], "i64"))


def take_along_dim(x: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Elements along an axis at places, which broadcast; of all without an axis."""
    if dim is None:
        return x.reshape([-1]).gather(0, indices.reshape([-1]))
    at = axis_of(x, dim, "take_along_dim")
    shape = broadcast_shapes([1 if axis == at else extent for axis, extent in enumerate(x.shape)], [1 if axis == at else extent for axis, extent in enumerate(indices.shape)])
    own = x.expand([x.shape[at] if axis == at else extent for axis, extent in enumerate(shape)])
    return own.gather(at, indices.expand([indices.shape[at] if axis == at else extent for axis, extent in enumerate(shape)]))


def unfold(x: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows along an axis, `step` apart, as a new last axis."""
    at = axis_of(x, dimension, "unfold")
    extent = x.shape[at]
    if size > extent:
        raise Error(f"size is {size}; at most the {extent} of axis {at} is allowed", "unfold")
    count = (extent - size) // step + 1
    places = [begin * step + each for begin in range(count) for each in range(size)]
    made = node("Gather", [x, constant(x, places, [count, size], "i64")], {"axis": at})
    return movedim(made, at + 1, -1)


def index_add(x: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Number = 1) -> Tensor:
    """Slices added at places along an axis."""
    return x.scatter_add(dim, rows_of(x, dim, index, source), source if alpha == 1 else source * alpha)


def scatter_reduce(x: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool = True) -> Tensor:
    """`src` joined with elements at places along an axis; reduce: sum, prod, mean, amax, amin."""
    at = axis_of(x, dim, "scatter_reduce")
    names = ["sum", "prod", "mean", "amax", "amin"]
    if reduce not in names:
        raise Error(f"reduce is {reduce}; {', '.join(names)} are allowed", "scatter_reduce")
    start = x
    whole = src
    for axis in range(x.ndim):
        whole = whole.narrow(axis, 0, index.shape[axis])
    touched = (x * 0).detach().to("i32").scatter(at, index, (whole * 0).detach().to("i32") + 1) > 0
    if not include_self:
        start = where(touched, 1 if reduce == "prod" else 0, x).to(x._dtype)
        if reduce in ["amax", "amin"]:
            start = x.detach().scatter(at, index, whole.detach())
            start = where(touched, start, x)
    kind = {"sum": "add", "prod": "mul", "mean": "add", "amax": "max", "amin": "min"}[reduce]
    made = node("ScatterElements", [start, wide(index), whole.to(x._dtype)], {"axis": at, "reduction": kind})
    if reduce != "mean":
        return made
    ones = (whole * 0).detach() + 1
    count = (x * 0).detach().scatter_add(at, index, ones) + (1 if include_self else 0)
    count = where(count < 1, 1, count)
    return made / count if is_float(x) else made.floor_divide(count)


def t(x: Tensor) -> Tensor:
    """The transposed matrix."""
    return x if x.ndim < 2 else x.transpose(0, 1)


def inner(x: Tensor, other: Tensor) -> Tensor:
    """Sums of products over the last axes."""
    if x.ndim == 0 or other.ndim == 0:
        return x * other
    n = x.shape[-1]
    made = x.reshape([-1, n]).matmul(other.reshape([-1, n]).transpose(0, 1))
    return made.reshape([*x.shape[:-1], *other.shape[:-1]])


def cdist(x: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """p-norms of the differences of all pairs of rows."""
    return (x.unsqueeze(-2) - other.unsqueeze(-3)).norm(p, -1)


def bernoulli(x: Tensor, p: float | None = None) -> Tensor:
    """1 with the probability that x, or p, says, else 0."""
    return (uniform(x, x.shape) < (x.detach() if p is None else p)).to(x._dtype)


def multinomial(x: Tensor, num_samples: int, replacement: bool = False) -> Tensor:
    """Places drawn with the weights of the last axis."""
    weights = x.detach()
    if not replacement:
        if num_samples > x.shape[-1]:
            raise Error(f"{num_samples} samples without replacement; at most {x.shape[-1]} are allowed", "multinomial")
        # The largest of weighted exponential races (Gumbel's trick).
        keys = weights.log() - (-(uniform(x, x.shape) + 2**-25).log()).log()
        return keys.topk(num_samples, -1).indices
    total = weights.cumsum(-1)
    drawn = uniform(x, [*x.shape[:-1], num_samples]) * total.narrow(-1, x.shape[-1] - 1, 1)
    return (total.unsqueeze(-2) <= drawn.unsqueeze(-1)).to("i64").sum(-1).to("i64")


ALIASES = {"swapdims": "swapaxes", "moveaxis": "movedim", "view_as": "reshape_as", "broadcast_to": "expand", "unsafe_split": "split", "unsafe_split_with_sizes": "split_with_sizes", "unsafe_chunk": "chunk"}
