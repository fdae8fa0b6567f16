"""Rarer functions that move elements, as compositions; web/tensor/src/composed/arrange.ts is written from this file."""

from __future__ import annotations

from .layout import diag_embed, movedim, scatter_reduce, tensor_split
from .prelude import *  # noqa: F403
from .shared import rows_of


def diagflat(x: Tensor, offset: int = 0) -> Tensor:
    """The matrix with all elements as its diagonal."""
    return diag_embed(x.reshape([-1]), offset)


def hsplit(x: Tensor, indices_or_sections: int | Sequence[int]) -> list[Tensor]:
    """Parts along axis 1, or along the only one."""
    return tensor_split(x, indices_or_sections, 0 if x.ndim == 1 else 1)


def vsplit(x: Tensor, indices_or_sections: int | Sequence[int]) -> list[Tensor]:
    """Parts along axis 0."""
    return tensor_split(x, indices_or_sections, 0)


def dsplit(x: Tensor, indices_or_sections: int | Sequence[int]) -> list[Tensor]:
    """Parts along axis 2."""
    return tensor_split(x, indices_or_sections, 2)


def rot90(x: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """A plane turned k times by a quarter, from the first axis to the second."""
    turns = k % 4
    if turns == 0:
        return x
    if turns == 2:
        return x.flip(list(dims))
    return x.flip([dims[1]]).transpose(dims[0], dims[1]) if turns == 1 else x.transpose(dims[0], dims[1]).flip([dims[1]])


def as_strided(x: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int = 0) -> Tensor:
    """Elements at steps of memory in row-major order; a copy."""
    places = [storage_offset]
    for extent, step in zip(size, stride):
        places = [place + each * step for place in places for each in range(extent)]
    return x.reshape([-1]).index_select(0, constant(x, places, [len(places)], "i64")).reshape(list(size))


def index_copy(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Slices written at places along an axis."""
    return x.scatter(dim, rows_of(x, dim, index, source), source)


def index_fill(x: Tensor, dim: int, index: Tensor, value: Number) -> Tensor:
    """A number at places along an axis."""
    at = axis_of(x, dim, "index_fill")
    shape = [index.numel() if axis == at else extent for axis, extent in enumerate(x.shape)]
    filled = (x.index_select(at, index.reshape([-1])) * 0 + value).to(x._dtype).detach()
    return x.scatter(at, index.reshape([-1 if axis == at else 1 for axis in range(x.ndim)]).expand(shape), filled)


def as_strided_scatter(x: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int = 0) -> Tensor:
    """With elements at steps of memory in row-major order replaced."""
    places = [storage_offset]
    for extent, step in zip(size, stride):
        places = [place + each * step for place in places for each in range(extent)]
    return x.reshape([-1]).scatter(0, constant(x, places, [len(places)], "i64"), src.reshape([-1])).reshape(x.shape)


def index_reduce(x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool = True) -> Tensor:
    """Slices joined with those at places along an axis; reduce: prod, mean, amax, amin."""
    return scatter_reduce(x, dim, rows_of(x, dim, index, source), source, reduce, include_self)


def select_scatter(x: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """With one place of an axis replaced."""
    at = axis_of(x, dim, "select_scatter")
    return slice_scatter(x, src.unsqueeze(at), at, index % x.shape[at], index % x.shape[at] + 1)


def slice_scatter(x: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """With every step-th place of an axis from start to end replaced."""
    at = axis_of(x, dim, "slice_scatter")
    extent = x.shape[at]
    first = 0 if start is None else max(start + extent, 0) if start < 0 else min(start, extent)
    last = extent if end is None else max(end + extent, 0) if end < 0 else min(end, extent)
    places = list(range(first, last, step))
    shape = [len(places) if axis == at else 1 for axis in range(x.ndim)]
    return x.scatter(at, constant(x, places, shape, "i64").expand(src.shape), src)


def diagonal_scatter(x: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """With the diagonal of two axes replaced."""
    a = axis_of(x, dim1, "diagonal_scatter")
    b = axis_of(x, dim2, "diagonal_scatter")
    moved = movedim(x, [a, b], [-2, -1])
    rows, columns = moved.shape[-2:]
    length = src.shape[-1]
    begin = max(-offset, 0)
    places = [(begin + at) * columns + begin + at + offset for at in range(length)]
    flat = moved.reshape([*moved.shape[:-2], rows * columns])
    index = constant(x, places, [length], "i64").expand(src.shape)
    return movedim(flat.scatter(-1, index, src).reshape(moved.shape), [-2, -1], [a, b])


def masked_scatter(x: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Elements of the source, in order, where the mask holds."""
    here = mask.expand(x.shape).reshape([-1])
    place = (here.to("i64").cumsum(0) - 1).clamp(0, source.numel() - 1)
    return where(here, source.reshape([-1]).index_select(0, place), x.reshape([-1])).reshape(x.shape)


def put(x: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """`source` at places among all elements."""
    flat = x.reshape([-1])
    places = index.reshape([-1])
    return (flat.scatter_add(0, places, source.reshape([-1])) if accumulate else flat.scatter(0, places, source.reshape([-1]))).reshape(x.shape)


def index_put(x: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
    """Values at places, an axis each from the first on; they broadcast."""
    shape = broadcast_shapes(*[each.shape for each in indices])
    columns = [wide(where(each < 0, each + x.shape[at], each)).expand(shape).unsqueeze(-1) for at, each in enumerate(indices)]
    new = values.to(x._dtype).expand([*shape, *x.shape[len(indices) :]])
    return node("ScatterND", [x, cat(columns, -1) if len(columns) > 1 else columns[0], new], {"reduction": "add" if accumulate else "none"})


def kron(x: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product."""
    rank = max(x.ndim, other.ndim)
    a = [*[1] * (rank - x.ndim), *x.shape]
    b = [*[1] * (rank - other.ndim), *other.shape]
    wide = x.reshape([extent if even == 0 else 1 for extent in a for even in range(2)]) * other.reshape([1 if even == 0 else extent for extent in b for even in range(2)])
    return wide.reshape([first * second for first, second in zip(a, b)])


def nonzero_static(x: Tensor, size: int | None = None, fill_value: int = -1) -> Tensor:
    """The places of the first `size` elements that are not 0, in order: [size, axes]; rows that are left over are the fill value."""
    if size is None:
        raise Error("it needs a size", "nonzero_static")
    flat = (x != 0).reshape([-1])
    count = flat.shape[0]
    order = where(flat, iota(x, count), count).sort(0).values
    rows = cat([order, iota(x, size) * 0 + count], 0).narrow(0, 0, size)
    if x.ndim == 0:
        return rows.reshape([size, 1]).narrow(1, 0, 0)
    columns = []
    step = count
    for extent in x.shape:
        step = step // max(extent, 1)
        columns = [*columns, rows.floor_divide(max(step, 1)).remainder(max(extent, 1))]
    return where((rows < count).unsqueeze(1), stack(columns, 1), fill_value)


def msort(x: Tensor) -> Tensor:
    """In order along axis 0."""
    return x.sort(0).values


def narrow_copy(x: Tensor, dim: int, start: int, length: int) -> Tensor:
    """narrow()"""
    return x.narrow(dim, start, length)


def fill_diagonal(x: Tensor, fill_value: float) -> Tensor:
    """A number on the diagonal of a matrix."""
    rows, columns = x.shape
    on = iota(x, rows).reshape([rows, 1]) == iota(x, columns).reshape([1, columns])
    return where(on, fill_value, x).to(x._dtype)


def addr(x: Tensor, vec1: Tensor, vec2: Tensor, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """beta * x + alpha * (the outer product of two vectors)"""
    return x * beta + vec1.unsqueeze(1) * vec2.unsqueeze(0) * alpha


def ger(x: Tensor, vec2: Tensor) -> Tensor:
    """The products of all pairs of elements of two vectors."""
    return x.unsqueeze(1) * vec2.unsqueeze(0)


def vdot(x: Tensor, other: Tensor) -> Tensor:
    """The sum of products."""
    return (x * other).sum()


def addmv(x: Tensor, mat: Tensor, vec: Tensor, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """beta * x + alpha * (mat times vec)"""
    return x * beta + mat.matmul(vec) * alpha


def baddbmm(x: Tensor, batch1: Tensor, batch2: Tensor, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """beta * x + alpha * (products of matrices)"""
    return x * beta + batch1.matmul(batch2) * alpha


def addbmm(x: Tensor, batch1: Tensor, batch2: Tensor, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """beta * x + alpha * (the sum of products of matrices)"""
    return x * beta + batch1.matmul(batch2).sum(0) * alpha


def cross(x: Tensor, other: Tensor, dim: int = -1) -> Tensor:
    """The cross product of vectors of three along an axis."""
    at = axis_of(x, dim, "cross")
    if x.shape[at] != 3:
        raise Error(f"axis {at} has {x.shape[at]} places; 3 are expected", "cross")
    return x.roll(-1, at) * other.roll(-2, at) - x.roll(-2, at) * other.roll(-1, at)
