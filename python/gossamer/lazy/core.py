"""A tensor: a value that is recorded and computed when it is read; and how gradients find their leaves."""

from __future__ import annotations

import contextvars
import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ContextDecorator
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .. import _core
from ..compiler import HERE
from ..element_types import DTYPES
from ..error import Error
from . import dtypes
from .execution import carries, default_device, differentiated, elements, evaluate, flush_older, looks, replace
from .recording import ANYWHERE, Attributes, Value, described, record, shape_text, stopped

if TYPE_CHECKING:
    from .tensors import Tensor

_serial = itertools.count()


LEARNT: weakref.WeakValueDictionary[int, Value] = weakref.WeakValueDictionary()
"""By their ids, values of tensors that gradients were asked for."""


class Origin:
    """Where a tensor comes from, as far as gradients care."""

    __slots__ = ("owner", "parents", "serial", "value")

    def __init__(self, parents: Sequence[Origin], value: Value, owner: Core | None = None) -> None:
        self.parents = parents
        self.value = value
        self.owner: Callable[[], Core | None] | None = weakref.ref(owner) if owner is not None else None
        self.serial = next(_serial)
        value.past = True
        if not parents:
            LEARNT[value.id] = value

    def owned(self, keeps: bool) -> list[Origin]:
        """All places above this one, itself included, that have an owner; each once, in the order in which they were made."""
        seen = {id(self)}
        found, rest = [], [self]
        while rest:
            at = rest.pop()
            if at.value.cut:
                raise Error(f"a tensor of shape {shape_text(at.value.shape)} was read after backward() had gone through it", "backward", "go once, for the sum, or read it before")
            if at.parents and not keeps:
                at.value.passed = True
            if at.owner is not None and at.owner() is not None:
                found.append(at)
            for parent in at.parents:
                if id(parent) not in seen:
                    seen.add(id(parent))
                    rest.append(parent)
        return sorted(found, key=lambda origin: origin.serial)


_traced: contextvars.ContextVar[bool] = contextvars.ContextVar("gossamer.gradients", default=True)


class _Mode:
    """Of this thread, and of this task of asyncio."""

    @property
    def gradients(self) -> bool:
        return _traced.get()

    @gradients.setter
    def gradients(self, on: bool) -> None:
        _traced.set(on)


mode = _Mode()


class _Gradients(ContextDecorator):
    _on: bool

    def __init__(self, on: bool | None = None) -> None:
        if on is not None:
            self._on = on
        self._before: list[bool] = []

    def _recreate_cm(self) -> _Gradients:
        return type(self)()  # a decorated function may run in several threads

    def __enter__(self) -> None:
        self._before.append(mode.gradients)
        mode.gradients = self._on

    def __exit__(self, *_: object) -> None:
        mode.gradients = self._before.pop()


class no_grad(_Gradients):  # noqa: N801: PyTorch's name
    """Within it nothing is traced for gradients; also a decorator."""

    def __init__(self) -> None:
        super().__init__(False)


class enable_grad(_Gradients):  # noqa: N801
    """Within it gradients are traced again."""

    def __init__(self) -> None:
        super().__init__(True)


def is_grad_enabled() -> bool:
    """Whether operations are traced for gradients here."""
    return mode.gradients


DEEPEST = 1024
"""Once this many operations without gradients are recorded, they are computed: the memory of loops that read nothing stays bounded."""


class Core:
    """What all operations stand on."""

    __slots__ = ("__weakref__", "_depth", "_grad", "_origin", "_retains", "_value")

    def __init__(self, value: Value, origin: Origin | None = None) -> None:
        self._value = value
        self._origin = origin
        self._depth = 0  # how many operations it is from what was computed, without gradients
        self._grad: Any = None
        self._retains = False

    @staticmethod
    def _make(value: Value, origin: Origin | None = None) -> Tensor:
        raise NotImplementedError  # tensors.py

    @property
    def _dtype(self) -> str:
        return self._value.dtype

    @property
    def dtype(self) -> np.dtype:
        """numpy's type of the elements; bfloat16 is ml_dtypes'."""
        return DTYPES[self._value.dtype]

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        return self._value.shape

    @property
    def ndim(self) -> int:
        """How many axes."""
        return len(self._value.shape)

    def dim(self) -> int:
        """How many axes."""
        return self.ndim

    @property
    def device(self) -> str:
        """Where it is computed: what was named for it, or for what it is computed from; else set_default_device()'s."""
        return HERE[default_device() if self._value.device == ANYWHERE else self._value.device]

    def size(self, dim: int | None = None) -> Any:
        """The shape, or one extent."""
        return self.shape if dim is None else self.shape[self._axis(dim, "size")]

    def numel(self) -> int:
        """How many elements."""
        count = 1
        for extent in self._value.shape:
            count *= extent
        return count

    def is_floating_point(self) -> bool:
        """Whether its elements are floats."""
        return dtypes.is_float(self._dtype)

    def _axis(self, axis: int, what: str, rank: int | None = None) -> int:
        """Counted from the front. Raises Error for one that is not there."""
        rank = self.ndim if rank is None else rank
        if not -max(rank, 1) <= axis < max(rank, 1):
            raise Error(f"axis {axis} of a tensor of shape {shape_text(self.shape)}", what)
        return int(axis) + max(rank, 1) if axis < 0 else int(axis)

    # Gradients

    @property
    def requires_grad(self) -> bool:
        """Whether gradients are computed for it, or flow through it."""
        return self._origin is not None

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self.requires_grad_(wanted)

    def requires_grad_(self, wanted: bool = True) -> Self:
        """Raises Error for types that have no gradient, and for what was computed."""
        if wanted == self.requires_grad:
            return self
        if not self.is_leaf:
            raise Error("this was computed", "requires_grad", "detach() it")
        if wanted and not self.is_floating_point():
            raise Error(f"gradients are of floats, this tensor is {self.dtype.name}", "requires_grad", "convert it with float()")
        self._origin = Origin((), self._value, self) if wanted else None
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether it was not computed, as far as gradients care."""
        return self._origin is None or not self._origin.parents

    @property
    def grad(self) -> Any:
        """The gradient that backward() has summed up; None before."""
        return self._grad

    @grad.setter
    def grad(self, grad: Tensor | None) -> None:
        if grad is not None and grad.shape != self.shape:
            raise Error(f"of shape {shape_text(grad.shape)} for a tensor of shape {shape_text(self.shape)}", "grad")
        self._grad = grad

    def retain_grad(self) -> None:
        """Keeps the gradient of what was computed, too."""
        if self._origin is None:
            raise Error("no gradient flows through this tensor", "retain_grad")
        self._retains = True
        self._origin.owner = weakref.ref(self)

    def detach(self) -> Tensor:
        """The same elements without a past: gradients stop here."""
        made = self._make(self._value)
        if self._value.past:
            carries(made)
        return made

    def backward(self, gradient: Tensor | None = None, retain_graph: bool = False) -> None:
        """Sums the gradients of this with respect to the leaves that require them up in their `grad`; lazily, nothing runs.

        gradient: that of what is computed from this, in its shape. retain_graph: backward() may go through this again, though
        it is read before. Raises Error where there is no gradient, where `gradient` is needed, and where a step has replaced a
        parameter since.
        """
        if self._origin is None:
            raise Error("nothing that this was computed from requires a gradient", "backward")
        flush_older()
        owners = [(place, owner) for place in self._origin.owned(retain_graph) if (owner := place.owner()) is not None and (owner.is_leaf or owner._retains)]
        differentiated(self._value)
        for (_, owner), made in zip(owners, self._gradients([place for place, _ in owners], gradient), strict=True):
            before = owner._grad
            owner._grad = made if before is None else self._make(record("Add", [before._value, made._value])[0])

    def _gradients(self, places: Sequence[Origin], gradient: Tensor | None, create_graph: bool = False) -> list[Tensor]:
        if gradient is None and self.numel() != 1:
            raise Error(f"of a tensor of shape {shape_text(self.shape)} it needs the gradient", "backward", "only a single number does without")
        if gradient is not None and gradient.shape != self.shape:
            raise Error(f"the gradient has shape {shape_text(gradient.shape)}, the tensor {shape_text(self.shape)}", "backward")
        for place in places:
            owner = place.owner() if place.owner is not None else None
            if owner is not None and owner.is_leaf and owner._value is not place.value:
                raise Error(f"a parameter of shape {shape_text(owner.shape)} was replaced since this was computed from it", "backward")
        seed = None if gradient is None else gradient.to(self._dtype)._value
        try:
            values = _core.gradient(self._value, [place.value for place in places], seed)
        except Error as problem:
            raise Error(problem.message, f"backward of {described(self._value)}", problem.hint) from None
        parents = () if not create_graph else tuple(each for each in (*places, self._origin, gradient and gradient._origin) if each is not None)
        made = []
        for value in values:
            value.tracked = create_graph
            made.append(self._make(value, Origin(parents, value) if create_graph else None))
        return made

    # Elements

    def _computed(self) -> np.ndarray:
        dtype, _, data = elements(self._value)
        return np.asarray(data).view(DTYPES[dtype]).reshape(self._value.shape)

    def numpy(self) -> np.ndarray:
        """The elements, without a copy: not to be written to. Runs what they are computed from."""
        array = self._computed().view()
        array.flags.writeable = False
        return array

    def item(self) -> Any:
        """The only element. Raises Error where there are others."""
        if self.numel() != 1:
            raise Error(f"a tensor of shape {shape_text(self.shape)} has not one element", "item")
        return self._computed().item()

    def tolist(self) -> Any:
        """Nested lists of Python's numbers."""
        return self._computed().tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy() if dtype is None else self.numpy().astype(dtype, copy=False)
        return array.copy() if copy else array

    def __dlpack__(self, **options: Any) -> Any:
        """A copy: whoever takes it may write to it."""
        options.pop("copy", None)
        return self._computed().copy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __bool__(self) -> bool:
        if self.numel() != 1:
            raise Error(f"a tensor of shape {shape_text(self.shape)} is neither true nor false", "bool", "use any() or all()")
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if dtypes.is_float(self._dtype):
            raise TypeError(f"a tensor of {self.dtype.name} is no index")
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("a tensor of no axes has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[at] for at in range(len(self)))  # type: ignore[index]

    # Recording

    def _apply(self, op: str, inputs: Sequence[Core | Value | None], attributes: Attributes | None = None) -> Tensor:
        return apply(op, inputs, attributes, 1)[0]

    def _assign(self, value: Value) -> None:
        """Takes another value of its type and shape, which is computed with what is read next."""
        flush_older(value)
        if value.dtype != self._value.dtype or value.shape != self._value.shape:
            raise Error(f"{described(self._value)} cannot become {described(value)}", "assign")
        self._value = value
        if self._origin is not None:
            self._origin = Origin((), value, self)
        replace(self)


def apply(op: str, inputs: Sequence[Core | Value | None], attributes: Attributes | None = None, outputs: int = 1, device: int = ANYWHERE) -> list[Tensor]:
    """Any operator of the catalog, as "domain::Name" or the name of one of ONNX's own, on tensors, constants and nothing.

    Raises Error with the operator and the shapes where they don't fit.
    """
    return applied(inputs, lambda values: record(op, values, attributes, outputs, device))


def applied(inputs: Sequence[Core | Value | None], recorded: Callable[[list[Value | None]], list[Value]]) -> list[Tensor]:
    """What is recorded of these, with what gradients need to know."""
    values: list[Value | None] = []
    parents: list[Origin] | None = None
    past = False
    depth = 0
    for each in inputs:
        if not isinstance(each, Core):
            values.append(each)
            continue
        value = each._value
        values.append(value)
        past = past or value.past
        depth = max(depth, each._depth)
        if each._origin is not None and mode.gradients:
            parents = [each._origin] if parents is None else [*parents, each._origin]
    if parents and past:
        for at, each in enumerate(inputs):
            if isinstance(each, Core) and each._origin is None and each._value.past and dtypes.is_float(each._value.dtype):
                values[at] = stopped(each._value)
    made = []
    for value in recorded(values):
        value.past = past
        if parents is not None and dtypes.is_float(value.dtype):
            value.tracked = True
            made.append(Core._make(value, Origin(parents, value)))
        else:
            made.append(Core._make(value))
            made[-1]._depth = depth + 1
            if past:
                carries(made[-1])
    if depth >= DEEPEST and not looks():
        evaluate([each._value for each in made])
        for each in made:
            each._depth = 0
    return made
