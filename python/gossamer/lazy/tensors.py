"""Tensors: made from arrays, numbers and lists; everything else is inherited, a file for each kind of operation."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from ..element_types import DTYPES, packed
from ..error import Error
from ..model import _on_host
from . import random
from .core import Core, apply, no_grad
from .dtypes import DType, name_of
from .execution import device_number, evaluate
from .layout import flat
from .products import Products
from .recording import ANYWHERE, Value


def _uploaded(array: np.ndarray, dtype: str, device: int = ANYWHERE) -> Value:
    """A leaf of elements that must not change any more."""
    return _core.leaf(dtype, array.shape, packed(array, "Tensor", dtype), device)


def _array(data: Any, dtype: DType | None, copy: bool) -> tuple[np.ndarray, str]:
    """In row-major order, with the compiler's name of its type. Python's numbers are float32, int64, bool."""
    own = isinstance(data, np.ndarray | np.generic) or hasattr(data, "__dlpack__") or hasattr(data, "__array__")
    if not own and isinstance(data, list | tuple) and any(isinstance(each, Core) for each in data):
        data = [each.numpy() if isinstance(each, Core) else each for each in data]
        own = True
    try:
        array = _on_host(data, "f32") if own and hasattr(data, "__dlpack__") and not isinstance(data, np.generic) else np.asarray(data)
    except (TypeError, ValueError) as problem:
        raise Error(f"{problem}", "Tensor", "rows of nested lists have one length, and hold numbers") from None
    if array.dtype == object or array.dtype.kind not in "biufVE" and array.dtype not in DTYPES.values():
        raise Error(f"{type(data).__name__} of {array.dtype} are no numbers", "Tensor")
    # numpy says float64 to Python's floats.
    wanted = name_of(dtype) if dtype is not None else "f32" if not own and (array.dtype == np.float64) else name_of(array.dtype)
    made = np.ascontiguousarray(array, DTYPES[wanted]).reshape(array.shape)
    return (made.copy() if copy and own and np.may_share_memory(made, array) else made), wanted


class Tensor(Products):
    """A tensor. Operations record; what is read (numpy(), item(), tolist(), print) is computed, with what is due, in one program.

    Its elements never change: an optimizer's step, and an assignment to a part, give it other ones.
    """

    __slots__ = ()

    def __init__(self, data: Any, dtype: DType | None = None, requires_grad: bool = False, device: str | None = None) -> None:
        """data: numbers, nested lists, an array of numpy or of anything with DLPack in host memory, which is copied; as_tensor()
        does not copy. dtype: default the array's; float32, int64 or bool for Python's numbers. device: where what is made of it is
        computed, one of gossamer.HERE ("opencl"); unless told, where the tensors are with which it is used.

        Elements stay on the device that computes them, or that first used them, until they are read.
        """
        number = device_number(device)
        if isinstance(data, Core):
            made: Any = data.to(dtype) if dtype is not None else data  # type: ignore[attr-defined]
            super().__init__((made if device is None else made.detach()._on(number))._value)
        else:
            array, name = _array(data, dtype, copy=True)
            super().__init__(_uploaded(array, name, number))
        if requires_grad:
            self.requires_grad_()

    @staticmethod
    def _make(value: Value, origin: Any = None) -> Tensor:
        made = Tensor.__new__(Tensor)
        Core.__init__(made, value, origin)
        return made

    def clone(self) -> Tensor:
        """The same elements, as a tensor of its own."""
        return self._apply("Identity", [self])

    def __reduce__(self) -> Any:
        """Pickles, and copies of modules, have the elements, not the past."""
        return _restored, (type(self), self._computed(), self._dtype, self.requires_grad, None if self._value.device == ANYWHERE else self.device)

    def contiguous(self) -> Tensor:
        """Itself: all tensors are."""
        return self

    def cpu(self) -> Tensor:
        """to("cpu"), or itself where it is computed there. numpy() needs none: it reads from any device."""
        return self if self.device == "cpu" else self.to("cpu")

    # In place: the tensor gets other elements; others keep theirs.

    def copy_(self, source: Any) -> Tensor:
        """Takes another's elements, broadcast to its shape."""
        with no_grad():
            made = as_tensor(source).to(self._dtype)
            if ANYWHERE not in (self._value.device, made._value.device):
                made = made.detach()._on(self._value.device)
            self._assign((made if made.shape == self.shape else made.expand(self.shape))._value)
        return self

    def fill_(self, value: float) -> Tensor:
        """One number everywhere."""
        self._assign(_uploaded(np.full(self.shape, value, self.dtype), self._dtype, self._value.device))
        return self

    def zero_(self) -> Tensor:
        """0 everywhere."""
        return self.fill_(0)

    def uniform_(self, low: float = 0, high: float = 1) -> Tensor:
        """Drawn evenly from [low, high)."""
        self._assign(_uploaded(random.generator().uniform(low, high, self.shape).astype(self.dtype), self._dtype, self._value.device))
        return self

    def normal_(self, mean: float = 0, std: float = 1) -> Tensor:
        """Drawn from a normal distribution."""
        self._assign(_uploaded(random.generator().normal(mean, std, self.shape).astype(self.dtype), self._dtype, self._value.device))
        return self

    def _drawn_(self, numbers: np.ndarray) -> Tensor:
        self._assign(_uploaded(numbers.astype(self.dtype), self._dtype, self._value.device))
        return self

    def random_(self, low: int, high: int | None = None) -> Tensor:
        """Whole numbers in [low, high), or from 0."""
        return self._drawn_(random.generator().integers(*((0, low) if high is None else (low, high)), self.shape))

    def exponential_(self, lambd: float = 1) -> Tensor:
        """Drawn from the exponential distribution with this rate."""
        return self._drawn_(random.generator().exponential(1 / lambd, self.shape))

    def geometric_(self, p: float) -> Tensor:
        """How many tries until one of probability p succeeds."""
        return self._drawn_(random.generator().geometric(p, self.shape))

    def cauchy_(self, median: float = 0, sigma: float = 1) -> Tensor:
        """Drawn from a Cauchy distribution."""
        return self._drawn_(median + sigma * random.generator().standard_cauchy(self.shape))

    def log_normal_(self, mean: float = 1, std: float = 2) -> Tensor:
        """exp of a normal distribution."""
        return self._drawn_(random.generator().lognormal(mean, std, self.shape))

    def detach_(self) -> Tensor:
        """From here on without a past."""
        self._origin = None
        return self

    # Other tensors of its type, on its device

    def new_tensor(self, data: Any) -> Tensor:
        """Of these elements."""
        return Tensor(data, self._dtype)

    def new_full(self, size: Sequence[int], fill_value: Any) -> Tensor:
        """One value everywhere."""
        return _filled([size], fill_value, self._dtype, False, self._value.device)

    def new_zeros(self, *size: Any) -> Tensor:
        """0 everywhere."""
        return self.new_full(flat(size), 0)

    new_empty = new_zeros

    def new_ones(self, *size: Any) -> Tensor:
        """1 everywhere."""
        return self.new_full(flat(size), 1)

    # What it is

    @property
    def data(self) -> Tensor:
        """The same elements without a past."""
        return self.detach()

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.numel() * self.dtype.itemsize

    def nelement(self) -> int:
        """How many elements."""
        return self.numel()

    def ndimension(self) -> int:
        """How many axes."""
        return self.ndim

    def is_signed(self) -> bool:
        """Whether its type has negative numbers."""
        return self.dtype.kind in "ifV"

    def is_same_size(self, other: Tensor) -> bool:
        """Whether shapes are equal."""
        return self.shape == other.shape

    def is_contiguous(self) -> bool:
        """All tensors are in row-major order."""
        return True

    def is_nonzero(self) -> bool:
        """Whether the only element is not 0."""
        return bool(self.item())

    def stride(self, dim: int | None = None) -> Any:
        """Steps of row-major order, in elements."""
        steps = tuple(int(np.prod(self.shape[axis + 1 :])) for axis in range(self.ndim))
        return steps if dim is None else steps[dim]

    def storage_offset(self) -> int:
        """0: tensors share no memory."""
        return 0

    def byte(self) -> Tensor:
        """As uint8."""
        return self.to("u8")

    def char(self) -> Tensor:
        """As int8."""
        return self.to("i8")

    def short(self) -> Tensor:
        """As int16."""
        return self.to("i16")

    def allclose(self, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
        """Whether all elements are close; see isclose()."""
        return bool(self.isclose(other, rtol, atol, equal_nan).all().item())

    def equal(self, other: Tensor) -> bool:
        """Whether shapes and elements are equal."""
        return self.shape == other.shape and bool((self == other).all().item())

    def bincount(self, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
        """How often each whole number from 0 is there, with a factor each. It runs now."""
        return as_tensor(np.bincount(self.numpy(), None if weights is None else weights.detach().numpy(), minlength))

    def argwhere(self) -> Tensor:
        """nonzero()"""
        return self.nonzero()

    def unique_consecutive(self) -> Tensor:
        """Without elements that are equal to the one before. It runs now."""
        array = self.numpy().reshape(-1)
        return as_tensor(array[np.concatenate([[True], array[1:] != array[:-1]])] if array.size else array)

    # For people

    def __repr__(self) -> str:
        text = np.array2string(self._computed(), separator=", ", prefix="tensor(", threshold=1000)
        said = "" if self._dtype in ("f32", "i64", "bool") else f", dtype={self.dtype.name}"
        if self._value.device > 0:
            said += f", device='{self.device}'"
        if self.numel() == 0 and self.shape != (0,):
            said += f", shape={self.shape}"
        return f"tensor({text}{said}{', requires_grad=True' if self.requires_grad else ''})"

    def _repr_html_(self) -> str:
        """A table of a matrix's corner, with its type, shape and range."""
        array = self._computed()
        shape = " &times; ".join(map(str, self.shape)) or "a number"
        said = f"<b>Tensor</b> {shape}, {self.dtype.name}{', requires_grad' if self.requires_grad else ''}"
        if array.size and array.dtype.kind in "iuf":
            said += f"; {array.min():.6g} to {array.max():.6g}, mean {array.mean(dtype=np.float64):.6g}"
        corner = array.reshape((-1, array.shape[-1]) if array.ndim > 1 else (1, -1))[:MOST_ROWS, :MOST_COLUMNS] if array.size else array.reshape(0, 0)
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(_text(each))}</td>" for each in row) + "</tr>" for row in corner)
        cut = array.size > corner.size
        return f"{said}<table>{rows}</table>{'and more' if cut else ''}"


def _restored(kind: type[Tensor], array: np.ndarray, dtype: str, requires_grad: bool, device: str | None = None) -> Tensor:
    made = kind.__new__(kind)
    Core.__init__(made, _uploaded(array.copy(), dtype, device_number(device)))
    return made.requires_grad_(requires_grad)


MOST_ROWS, MOST_COLUMNS = 10, 10
"""Of what a notebook shows of a tensor."""
Core._make = Tensor._make  # type: ignore[method-assign]


def _text(element: Any) -> str:
    return f"{float(element):.4g}" if element.dtype.kind not in "iub" else str(element)


def tensor(data: Any, dtype: DType | None = None, requires_grad: bool = False, device: str | None = None) -> Tensor:
    """Tensor()."""
    return Tensor(data, dtype, requires_grad, device)


def as_tensor(data: Any, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """A tensor of an array's elements, without a copy where it is in row-major order, of this type and in this machine's memory: the
    array must not change any more. A tensor stays what it is."""
    if isinstance(data, Core):
        made: Any = data if dtype is None else data.to(dtype)  # type: ignore[attr-defined]
        return made if device is None else made.to(device)
    array, name = _array(data, dtype, copy=False)
    return Tensor._make(_uploaded(array, name, device_number(device)))


from_numpy = from_dlpack = as_tensor


def _filled(shape: Sequence[Any], value: Any, dtype: DType | None, requires_grad: bool, device: int) -> Tensor:
    name = name_of(dtype or "f32")
    made = Tensor._make(_uploaded(np.full(flat(shape), value, DTYPES[name]), name, device))
    return made.requires_grad_(requires_grad)


def zeros(*shape: Any, dtype: DType | None = None, requires_grad: bool = False, device: str | None = None) -> Tensor:
    """0 everywhere; float32 unless told."""
    return _filled(shape, 0, dtype, requires_grad, device_number(device))


def ones(*shape: Any, dtype: DType | None = None, requires_grad: bool = False, device: str | None = None) -> Tensor:
    """1 everywhere; float32 unless told."""
    return _filled(shape, 1, dtype, requires_grad, device_number(device))


def full(shape: Sequence[int], value: Any, dtype: DType | None = None, requires_grad: bool = False, device: str | None = None) -> Tensor:
    """One value everywhere, of its type."""
    return _filled([shape], value, dtype or type(value), requires_grad, device_number(device))


def zeros_like(like: Tensor, dtype: DType | None = None) -> Tensor:
    """0 in another one's shape and type, on its device."""
    return full_like(like, 0, dtype)


def ones_like(like: Tensor, dtype: DType | None = None) -> Tensor:
    """1 in another one's shape and type, on its device."""
    return full_like(like, 1, dtype)


def full_like(like: Tensor, value: Any, dtype: DType | None = None) -> Tensor:
    """One value in another one's shape and type, on its device."""
    return _filled([like.shape], value, dtype or like._dtype, False, like._value.device)


def arange(start: float, end: float | None = None, step: float = 1, dtype: DType | None = None) -> Tensor:
    """start, start + step, ... before end; int64 where all three are whole numbers."""
    first, last = (0, start) if end is None else (start, end)
    whole = all(isinstance(each, int) for each in (first, last, step))
    return as_tensor(np.arange(first, last, step), dtype or ("i64" if whole else "f32"))


def linspace(start: float, end: float, steps: int, dtype: DType | None = None) -> Tensor:
    """Evenly spaced, both ends included."""
    return as_tensor(np.linspace(start, end, steps), dtype or "f32")


def eye(rows: int, columns: int | None = None, dtype: DType | None = None) -> Tensor:
    """1 on the diagonal, 0 elsewhere."""
    return as_tensor(np.eye(rows, columns), dtype or "f32")


def rand(*shape: Any, dtype: DType | None = None, requires_grad: bool = False) -> Tensor:
    """Even in [0, 1). manual_seed() decides which."""
    return as_tensor(random.generator().random(flat(shape), np.float32), dtype).requires_grad_(requires_grad)


def randn(*shape: Any, dtype: DType | None = None, requires_grad: bool = False) -> Tensor:
    """Of a normal distribution."""
    return as_tensor(random.generator().standard_normal(flat(shape), np.float32), dtype).requires_grad_(requires_grad)


def randint(low: int, high: int, shape: Sequence[int], dtype: DType | None = None) -> Tensor:
    """Whole numbers in [low, high)."""
    return as_tensor(random.generator().integers(low, high, shape), dtype)


def randperm(n: int) -> Tensor:
    """0 to n - 1 in random order."""
    return as_tensor(random.generator().permutation(n))


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """One after the other along an axis."""
    if not tensors:
        raise Error("there is nothing to join", "cat")
    return tensors[0].concat(tensors[1:], dim) if len(tensors) > 1 else tensors[0]


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Joined along a new axis."""
    return cat([each.unsqueeze(dim) for each in tensors], dim if dim >= 0 or not tensors else dim + tensors[0].ndim + 1)


def where(condition: Tensor, a: Any, b: Any) -> Tensor:
    """a where the condition holds, b elsewhere."""
    condition = as_tensor(condition)
    return condition._choose(condition, condition._operand(a), condition._operand(b))


def einsum(equation: str, *operands: Tensor) -> Tensor:
    """A sum of products by an equation, as "ij,jk->ik" (ONNX's Einsum)."""
    return call("Einsum", *operands, equation=equation)


def call(op: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
    """Any operator of the catalog (docs/operators.md), as "domain::Name" or the name of one of ONNX's own.

    inputs: tensors, arrays, numbers (of the type of the first tensor), None for an optional one left out. Lists as attributes are
    tuples or lists. outputs: how many; one is given as it is. Within an operator() it is a part of that. Raises Error with the
    operator and the shapes where they don't fit.
    """
    from ..own_operator import Part, part

    if any(isinstance(each, Part) for each in inputs):
        return part(op, inputs, attributes, outputs)
    first = next((each for each in inputs if isinstance(each, Core)), None)
    operands = [
        each if each is None or isinstance(each, Core) else as_tensor(each) if first is None or not isinstance(each, bool | int | float) else Tensor._make(first._number(each, first._dtype))  # type: ignore[attr-defined]
        for each in inputs
    ]
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in attributes.items() if value is not None}
    made = apply(op, operands, given, outputs)
    return made[0] if outputs == 1 else made


def compute(*tensors: Tensor) -> None:
    """Computes all of them, in one program."""
    evaluate([each._value for each in tensors])


def grad(outputs: Tensor, inputs: Tensor | Sequence[Tensor], grad_outputs: Tensor | None = None, create_graph: bool = False) -> tuple[Tensor, ...]:
    """The gradients of a tensor with respect to others that it was computed from, which need not be leaves.

    grad_outputs: the gradient of what is computed from it. create_graph: gradients may be asked of the gradients.
    """
    if outputs._origin is None:
        raise Error("nothing that this was computed from requires a gradient", "grad")
    places = []
    for each in [inputs] if isinstance(inputs, Core) else inputs:
        if each._origin is None:
            raise Error(f"a tensor of shape {list(each.shape)} does not require a gradient", "grad")
        places.append(each._origin)
    return tuple(outputs._gradients(places, grad_outputs, create_graph))
