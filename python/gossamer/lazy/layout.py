"""Operations that move elements: other shapes, parts, joined parts, elements at indices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..error import Error
from . import dtypes
from .core import Core, apply
from .recording import constant, integers, shape_text
from .reductions import Reductions

if TYPE_CHECKING:
    from .tensors import Tensor

_END = 2**62


def flat(extents: Sequence[Any]) -> list[int]:
    """Numbers, or one list of them."""
    if len(extents) == 1 and not isinstance(extents[0], int | np.integer):
        extents = extents[0]
    return [int(each) for each in extents]


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that all broadcast to. Raises Error where there is none."""
    try:
        return np.broadcast_shapes(*map(tuple, shapes))
    except ValueError:
        raise Error(f"shapes {' and '.join(map(shape_text, shapes))} do not fit", "broadcast") from None


class Layout(Reductions):
    """See the module."""

    __slots__ = ()

    def reshape(self, *shape: Any) -> Tensor:
        """The same elements in another shape; one extent may be -1."""
        wanted = flat(shape)
        rest = math.prod(extent for extent in wanted if extent != -1)
        made = [(self.numel() // rest if rest else 0) if extent == -1 else extent for extent in wanted]
        if wanted.count(-1) > 1 or math.prod(made) != self.numel() or any(extent < 0 for extent in made):
            raise Error(f"{self.numel()} elements do not make the shape {shape_text(wanted)}", "reshape")
        if tuple(made) == self.shape:
            return self  # type: ignore[return-value]
        return self._apply("Reshape", [self, integers(made)], {"allowzero": 1})

    view = reshape

    def permute(self, *dims: Any) -> Tensor:
        """Axes in another order."""
        axes = [self._axis(axis, "permute") for axis in flat(dims)]
        if sorted(axes) != list(range(self.ndim)):
            raise Error(f"{shape_text(axes)} is no order of {self.ndim} axes", "permute")
        return self._apply("Transpose", [self], {"perm": tuple(axes)})

    def transpose(self, dim0: int, dim1: int) -> Tensor:
        """Two axes exchanged."""
        order = list(range(self.ndim))
        a, b = self._axis(dim0, "transpose"), self._axis(dim1, "transpose")
        if self.ndim:
            order[a], order[b] = order[b], order[a]
        return self.permute(order)

    @property
    def T(self) -> Tensor:  # noqa: N802
        """Axes in the opposite order."""
        return self.permute(list(range(self.ndim))[::-1])

    @property
    def mT(self) -> Tensor:  # noqa: N802
        """Transposed matrices."""
        return self.transpose(-2, -1)

    mH = mT  # noqa: N815

    @property
    def H(self) -> Tensor:  # noqa: N802
        """The transposed matrix."""
        return self.T

    def squeeze(self, dim: int | Sequence[int] | None = None) -> Tensor:
        """Without axes of extent 1: the given ones, or all."""
        given = range(self.ndim) if dim is None else self._axes(dim, "squeeze")
        return self.reshape([extent for axis, extent in enumerate(self.shape) if extent != 1 or axis not in given])

    def unsqueeze(self, dim: int) -> Tensor:
        """With an axis of extent 1 more, at this place."""
        at = self._axis(dim, "unsqueeze", self.ndim + 1)
        return self.reshape([*self.shape[:at], 1, *self.shape[at:]])

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        """With axes from one to another as one."""
        if self.ndim == 0:
            return self.reshape(1)
        first, last = self._axis(start_dim, "flatten"), self._axis(end_dim, "flatten")
        return self.reshape([*self.shape[:first], math.prod(self.shape[first : last + 1]), *self.shape[last + 1 :]])

    def expand(self, *shape: Any) -> Tensor:
        """Broadcast to a shape; -1 keeps an extent."""
        wanted = flat(shape)
        new = len(wanted) - self.ndim
        whole = [self.shape[axis - new] if extent == -1 and axis >= new else extent for axis, extent in enumerate(wanted)]
        if new < 0 or broadcast_shapes(self.shape, whole) != tuple(whole):
            raise Error(f"shape {shape_text(self.shape)} does not broadcast to {shape_text(wanted)}", "expand")
        return self._apply("Expand", [self, integers(whole)])

    broadcast_to = expand

    def expand_as(self, other: Tensor) -> Tensor:
        """Broadcast to another one's shape."""
        return self.expand(other.shape)

    def repeat(self, *times: Any) -> Tensor:
        """This so many times along each axis."""
        counts = flat(times)
        if len(counts) < self.ndim:
            raise Error(f"{len(counts)} numbers for {self.ndim} axes", "repeat")
        fitted = self.reshape([1] * (len(counts) - self.ndim) + list(self.shape))
        return fitted._apply("Tile", [fitted, integers(counts)])

    def tile(self, *times: Any) -> Tensor:
        """This so many times along the last axes."""
        counts = flat(times)
        return self.repeat([1] * (self.ndim - len(counts)) + counts)

    def split(self, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
        """Parts of a size along an axis, or of the given sizes."""
        axis = self._axis(dim, "split")
        extent = self.shape[axis]
        sizes = [min(split_size, extent - at) for at in range(0, extent, split_size)] if isinstance(split_size, int) else list(split_size)
        return tuple(apply("Split", [self, integers(sizes)], {"axis": axis}, len(sizes)))

    def chunk(self, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
        """So many parts along an axis, the last ones perhaps smaller."""
        axis = self._axis(dim, "chunk")
        size = max(-(-self.shape[axis] // chunks), 1)
        if -(-self.shape[axis] // size) != chunks or chunks < 2:
            return self.split(size, axis)
        return tuple(apply("Split", [self], {"axis": axis, "num_outputs": chunks}, chunks))

    def _slice(self, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Sequence[int] | None = None) -> Tensor:
        return self._apply("Slice", [self, *map(integers, (starts, ends, axes, steps or [1] * len(starts)))])

    def narrow(self, dim: int, start: int, length: int) -> Tensor:
        """`length` places of an axis."""
        axis = self._axis(dim, "narrow")
        if not 0 <= start <= start + length <= self.shape[axis]:
            raise Error(f"{start} to {start + length} of {self.shape[axis]}", "narrow")
        return self._slice([start], [start + length], [axis])

    def select(self, dim: int, index: int) -> Tensor:
        """One place of an axis, which goes."""
        axis = self._axis(dim, "select")
        return self[(slice(None),) * axis + (index,)]

    def __getitem__(self, index: Any) -> Tensor:
        """Places, slices, None, ..., and places or masks as tensors, arrays and lists, as numpy has them."""
        parts = index if isinstance(index, tuple) else (index,)
        parts = tuple(_Part.of(each) for each in parts)
        if any(isinstance(each, Core | np.ndarray) for each in parts):
            return self._picked(parts)
        return self._basic(parts)

    def _spread(self, parts: tuple[Any, ...]) -> tuple[Any, ...]:
        """With slices for what ... stands for, and for axes that are not named."""
        named = sum(_Part.axes(each) for each in parts)
        if named > self.ndim:
            raise IndexError(f"{named} indices for a tensor of shape {shape_text(self.shape)}")
        gap = (slice(None),) * (self.ndim - named)
        dots = [at for at, each in enumerate(parts) if each is Ellipsis]
        if len(dots) > 1:
            raise IndexError("an index has one ... at most")
        return (*parts[: dots[0]], *gap, *parts[dots[0] + 1 :]) if dots else (*parts, *gap)

    def _basic(self, parts: tuple[Any, ...]) -> Tensor:
        starts, ends, axes, steps = [], [], [], []
        shape: list[int] = []
        axis = 0
        for each in self._spread(parts):
            if each is None:
                shape.append(1)
                continue
            extent = self.shape[axis]
            if isinstance(each, slice):
                start, stop, step = each.indices(extent)
                count = len(range(start, stop, step))
                if count != extent or step != 1:
                    starts.append(start)
                    ends.append(stop if stop >= 0 else -_END)
                    axes.append(axis)
                    steps.append(step)
                shape.append(count)
            else:
                if not -extent <= each < extent:
                    raise IndexError(f"place {each} of {extent} on axis {axis}")  # ends loops over a tensor, too
                place = each % extent
                starts.append(place)
                ends.append(place + 1)
                axes.append(axis)
                steps.append(1)
            axis += 1
        cut: Any = self._slice(starts, ends, axes, steps) if axes else self
        return cut.reshape(shape)

    def _picked(self, parts: tuple[Any, ...]) -> Tensor:
        """Places as tensors: all others first, then these, together."""
        whole = self._spread(parts)
        plain = tuple(each if each is None or isinstance(each, slice | int) else (slice(None),) * _Part.axes(each) for each in whole)
        cut = self._basic(tuple(one for each in plain for one in (each if isinstance(each, tuple) else (each,))))
        places: list[tuple[int, Any]] = []
        axis = 0
        for each in whole:
            if isinstance(each, int):
                continue
            if not isinstance(each, Core | np.ndarray):
                axis += 1
                continue
            for found in _Part.places(each):
                places.append((axis, found))
                axis += 1
        if len(places) == 1:
            at, only = places[0]
            return cut._apply("Gather", [cut, _places(only, cut.shape[at])], {"axis": at})
        shape = broadcast_shapes(*(each.shape for _, each in places))
        first = [at for at, _ in places]
        rest = [at for at in range(cut.ndim) if at not in first]
        front = cut.permute(first + rest)
        columns = [_places(each, cut.shape[at]).expand(shape).unsqueeze(-1) for at, each in places]
        found = front._apply("GatherND", [front, columns[0].concat(columns[1:], -1)], {"batch_dims": 0})
        if first != list(range(first[0], first[0] + len(first))):
            return found
        # Where they stand side by side, what they found stands there.
        new = len(shape)
        return found.permute([*range(new, new + first[0]), *range(new), *range(new + first[0], found.ndim)])

    def __setitem__(self, index: Any, value: Any) -> None:
        """Gives this other elements, of which those at the index are `value`; other tensors keep theirs."""
        from .tensors import as_tensor

        if self.requires_grad and self.is_leaf:
            raise Error("this is a leaf that requires a gradient", "assignment", "assign within no_grad() to a detach()ed one")
        parts = index if isinstance(index, tuple) else (index,)
        known = tuple(each.numpy() if isinstance(each, Core) else each for each in parts)
        try:
            at = np.arange(self.numel()).reshape(self.shape)[known]
        except IndexError as problem:
            raise IndexError(f"{problem}; the tensor has shape {shape_text(self.shape)}") from None
        new = as_tensor(value).to(self._dtype).expand(at.shape).reshape(-1)
        all_ = self.reshape(-1)
        made = all_._apply("ScatterElements", [all_, as_tensor(at.reshape(-1)), new], {"axis": 0, "reduction": "none"}).reshape(self.shape)
        self._value, self._origin = made._value, made._origin

    def index_select(self, dim: int, index: Tensor) -> Tensor:
        """Slices along an axis at places (ONNX's Gather)."""
        axis = self._axis(dim, "index_select")
        _check_places("index_select", index, self.shape[axis] if self.ndim else 1, axis)
        return self._apply("Gather", [self, _whole(index)], {"axis": axis})

    def take(self, index: Tensor) -> Tensor:
        """Elements at places among all; negative ones count from the end."""
        _check_places("take", index, self.numel(), 0, True)
        return self.reshape(-1)._apply("Gather", [self.reshape(-1), _whole(index)], {"axis": 0})

    def gather(self, dim: int, index: Tensor) -> Tensor:
        """Elements along an axis at places, one for each of `index`."""
        axis = self._axis(dim, "gather")
        _check_places("gather", index, self.shape[axis] if self.ndim else 1, axis)
        return self._apply("GatherElements", [self, _whole(index)], {"axis": axis})

    def scatter(self, dim: int, index: Tensor, src: Tensor) -> Tensor:
        """`src` written at places along an axis."""
        return self._scatter(dim, index, src, "none")

    def scatter_add(self, dim: int, index: Tensor, src: Tensor) -> Tensor:
        """`src` added at places along an axis."""
        return self._scatter(dim, index, src, "add")

    def _scatter(self, dim: int, index: Tensor, src: Tensor, reduction: str) -> Tensor:
        axis = self._axis(dim, "scatter")
        _check_places("scatter", index, self.shape[axis] if self.ndim else 1, axis)
        return self._apply("ScatterElements", [self, _whole(index), src.to(self._dtype)], {"axis": axis, "reduction": reduction})

    def nonzero(self) -> Tensor:
        """Where elements are not 0, in order: [how many, axes]; int64. It runs now."""
        from .tensors import as_tensor

        return as_tensor(np.argwhere(self.numpy()))

    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements where the mask holds, in order. The mask is computed now; gradients flow through the elements."""
        shape = broadcast_shapes(self.shape, mask.shape)
        return self.expand(shape)[mask.expand(shape)]

    def unique(self) -> Tensor:
        """Its different elements, sorted. It runs now."""
        from .tensors import as_tensor

        return as_tensor(np.unique(self.numpy()))

    def concat(self, others: Sequence[Tensor], dim: int = 0) -> Tensor:
        """This and the others, one after the other along an axis."""
        parts: list[Any] = [self, *others]
        dtype = self._dtype
        for part in parts:
            dtype = dtypes.promote(dtype, part._dtype)
        return self._apply("Concat", [part.to(dtype) for part in parts], {"axis": self._axis(dim, "cat")})

    def flip(self, *dims: Any) -> Tensor:
        """In the opposite order along axes."""
        axes = [self._axis(axis, "flip") for axis in flat(dims)]
        return self._slice([_END] * len(axes), [-_END] * len(axes), axes, [-1] * len(axes))

    def roll(self, shifts: int, dims: int = 0) -> Tensor:
        """Elements moved along an axis; those that leave come in again at the other end."""
        axis = self._axis(dims, "roll")
        extent = self.shape[axis]
        cut = -shifts % extent if extent else 0
        if cut == 0:
            return self  # type: ignore[return-value]
        return self._slice([cut], [_END], [axis]).concat([self._slice([0], [cut], [axis])], axis)

    def pad(self, pads: Sequence[int], mode: str = "constant", value: float = 0) -> Tensor:
        """More elements at both ends, as nn.functional.pad: the last axis first, [before, after] of each."""
        begins, ends = [0] * self.ndim, [0] * self.ndim
        if len(pads) % 2 or len(pads) > 2 * self.ndim:
            raise Error(f"{len(pads)} numbers for {self.ndim} axes, two each", "pad")
        for at in range(0, len(pads), 2):
            begins[-1 - at // 2], ends[-1 - at // 2] = pads[at], pads[at + 1]
        name = {"replicate": "edge", "circular": "wrap"}.get(mode, mode)
        for axis, (extent, before, after) in enumerate(zip(self.shape, begins, ends, strict=True)):
            most = {"reflect": extent - 1, "wrap": extent}.get(name, 0 if name == "edge" and extent == 0 else math.inf)
            if max(before, after) > most:
                raise Error(f"{before} and {after} around the {extent} of axis {axis}; mode {mode!r} allows at most {most}", "pad")
            if extent + before + after < 0:
                raise Error(f"{before} and {after} around the {extent} of axis {axis} leave less than nothing", "pad")
        inputs: list[Any] = [self, integers(begins + ends)]
        if name == "constant":
            inputs.append(self._number(value, self._dtype))
        return self._apply("Pad", inputs, {"mode": name})

    def triu(self, diagonal: int = 0) -> Tensor:
        """The upper triangle of matrices, 0 below."""
        return self._triangle(diagonal, 1)

    def tril(self, diagonal: int = 0) -> Tensor:
        """The lower triangle of matrices, 0 above."""
        return self._triangle(diagonal, 0)

    def _triangle(self, diagonal: int, upper: int) -> Tensor:
        return self._apply("Trilu", [self, constant("i64", (), diagonal)], {"upper": upper})

    def diagonal(self, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
        """The elements [i, i + offset] of two axes, as the last axis."""
        axes = [self._axis(dim, "diagonal") for dim in (dim1, dim2)]
        moved = self.permute([*(axis for axis in range(self.ndim) if axis not in axes), *axes])
        rows, columns = moved.shape[-2:]
        begin = max(-offset, 0)
        places = [row * columns + row + offset for row in range(begin, rows) if row + offset < columns]
        flat = moved.flatten(-2)
        return flat._apply("Gather", [flat, integers(places)], {"axis": flat.ndim - 1})

    def trace(self) -> Tensor:
        """The sum of the diagonal."""
        return self.diagonal().sum()


def known(tensor: Any) -> np.ndarray | None:
    """Elements that are in this machine's memory now, and need no run."""
    made = tensor._value.elements
    return None if made is None or isinstance(made, _core.Stored) else tensor._computed()


def _check_places(what: str, index: Any, extent: int, axis: int, negative: bool = False) -> None:
    """Raises Error, as PyTorch does, for places out of range that are known now; those that are computed must be in range."""
    found = known(index)
    least = -extent if negative else 0
    if found is not None and found.size and not (least <= found.min() and found.max() < extent):
        bad = found[(found < least) | (found >= extent)].flat[0]
        raise Error(f"place {bad} on axis {axis}; {f'{least} to {extent - 1} are allowed' if extent else 'the axis is empty'}", what)


def _whole(index: Any) -> Any:
    return index if index._dtype in ("i32", "i64") else index.to("i64")


def _places(index: Any, extent: int) -> Any:
    """Places as a tensor; those of the caller are checked."""
    from .tensors import as_tensor

    if isinstance(index, Core):
        _check_places("index", index, extent, 0, True)
        return _whole(index)
    if index.size and not (-extent <= index.min() and index.max() < extent):
        raise IndexError(f"places {index.min()} to {index.max()} of {extent}")
    return as_tensor(index.astype(np.int64))


class _Part:
    """What stands in brackets, an axis or several each."""

    @staticmethod
    def of(each: Any) -> Any:
        if each is None or each is Ellipsis or isinstance(each, slice | Core):
            return each
        if isinstance(each, bool | np.bool_):
            return np.asarray(each)
        if isinstance(each, int | np.integer):
            return int(each)
        array = np.asarray(each)
        if array.dtype.kind not in "iub" and array.size:
            raise TypeError(f"a tensor has no places {each!r}")
        return array if array.size else array.astype(np.int64)

    @staticmethod
    def _is_mask(each: Any) -> bool:
        return isinstance(each, Core) and each._dtype == "bool" or isinstance(each, np.ndarray) and each.dtype == np.bool_

    @staticmethod
    def axes(each: Any) -> int:
        """How many axes it is of."""
        return each.ndim if _Part._is_mask(each) else 0 if each is None or each is Ellipsis else 1

    @staticmethod
    def places(each: Any) -> list[Any]:
        """An axis each."""
        return list(np.nonzero(np.asarray(each))) if _Part._is_mask(each) else [each]
