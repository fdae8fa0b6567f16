"""Models compiled by their feeds: those that ask for them, as an output's rank, an axis or a shape is what only a run knows; and those of
open dimensions whose feeds often have the same shapes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .error import Error

if TYPE_CHECKING:
    from .model import Model

MOST_ELEMENTS = 1024  # of a tensor that a model may have to know: an axis, a shape, pads
MOST_COUNTED = 4  # shapes whose runs are counted: a cache that grows has other ones in each run
MOST_BYTES = 256 * 2**20  # of the weights that each model of its own would hold once more
MOST_MODELS = 16  # that are kept for one package; the one unused for longest goes first


def asks_for_feeds(problem: Error) -> bool:
    """The compiler, or a run, must know more of the feeds."""
    return "known when compiling" in problem.message


@dataclass
class Known:
    """What a compilation knows of the feeds: arguments of compile()."""

    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    lengths: dict[str, int] = field(default_factory=dict)  # of sequences

    @property
    def key(self) -> tuple[Any, ...]:
        values = ((name, value.dtype.str, value.shape, value.tobytes()) for name, value in self.constants.items())
        return tuple(self.shapes.items()), tuple(values), self.kept, tuple(self.lengths.items())


def _is_sequence(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(hasattr(each, "shape") for each in value)


def _parts(feeds: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """By the names that the compiler has: elements of a sequence are NAME.0, NAME.1, ..."""
    for name, value in feeds.items():
        if _is_sequence(value):
            yield from ((f"{name}.{at}", each) for at, each in enumerate(value))
        elif value is not None:
            yield name, value


def _tensors(feeds: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {name: np.asarray(each) for name, each in _parts(feeds)}


def ways(feeds: Mapping[str, Any]) -> Iterator[Known]:
    """From little to all that feeds say, the lengths of sequences always: which extents are 1; the values of small integer and boolean
    inputs after the first, of the first too, of small floats after the first too; all shapes; shapes and the values of integers."""
    tensors = _tensors(feeds)
    small = {name: each for name, each in tensors.items() if name in feeds and each.size <= MOST_ELEMENTS}
    whole = {name: each for name, each in small.items() if each.dtype.kind in "iub"}
    later = list(tensors)[1:]
    numbers = {name: each for name, each in small.items() if each.dtype.kind == "f" and name in later}
    shapes = {name: each.shape for name, each in tensors.items()}
    lengths = {name: len(value) for name, value in feeds.items() if _is_sequence(value)}
    yield Known({name: tuple(1 if extent == 1 else -1 for extent in shape) for name, shape in shapes.items()}, lengths=lengths)
    yield Known(constants={name: each for name, each in whole.items() if name in later}, lengths=lengths)
    yield Known(constants=whole, lengths=lengths)
    yield Known(constants={**whole, **numbers}, lengths=lengths)
    yield Known(shapes, lengths=lengths)
    yield Known({name: shape for name, shape in shapes.items() if name not in whole}, whole, lengths=lengths)


class Specialized:
    """Models of one package, by what their compilation knew. compiled: loads the model that is compiled with that. First it knows
    which extents are 1, so that one model serves every run of the same ranks where that is enough."""

    def __init__(self, compiled: Callable[[Known], Model]) -> None:
        self._compiled = compiled
        self._models: OrderedDict[tuple[Any, ...], Model] = OrderedDict()
        self._first = 0  # of the ways: those before it were not enough

    def overridden(self, names: list[str], problem: Error) -> Model:
        """The model that takes these inputs, which have a default. problem: raised again where they have none."""
        known = Known(kept=tuple(sorted(names)))
        model = self._models.get(known.key)
        if model is None:
            try:
                model = self._compiled(known)
            except Error as again:
                raise (problem if "names no input" in again.message else again) from None
            self._models[known.key] = model
        return model

    def run(self, feeds: Mapping[str, Any], problem: Error) -> dict[str, Any]:
        """Outputs by name. problem: what asked for the feeds, raised again where they do not help."""
        for at, known in enumerate(ways(feeds)):
            if at < self._first:
                continue
            try:
                model = self._models.pop(known.key, None) or self._compiled(known)
                made = model.run({name: value for name, value in feeds.items() if name not in known.constants})
            except Error as again:
                if not asks_for_feeds(again):
                    raise
                problem = again
                continue
            self._first = at
            self._models[known.key] = model
            if len(self._models) > MOST_MODELS:
                self._models.popitem(last=False)
            return made
        raise problem


class Repeated:
    """Models for shapes that are used often: the `after`-th run with the same shapes compiles a model for them in the background. Later runs
    use it as soon as it is ready. compiled: loads the model that is compiled with that; after: 0 for never."""

    def __init__(self, compiled: Callable[[Known], Model], after: int) -> None:
        self._compiled = compiled
        self._after = after
        self._runs: OrderedDict[tuple[Any, ...], int] = OrderedDict()
        self._models: dict[tuple[Any, ...], Model] = {}
        self._lock = threading.Lock()
        self.compiling: threading.Thread | None = None  # the latest

    def model_for(self, general: Model, feeds: Mapping[str, Any] | Any) -> Model | None:
        """None: the general model runs these feeds."""
        if self._after <= 0 or not general.has_open_inputs:
            return None
        named = feeds if isinstance(feeds, Mapping) else {general.values[0].name: feeds}
        shapes = {name: tuple(each.shape) if hasattr(each, "shape") else np.shape(each) for name, each in _parts(named)}
        key = tuple(sorted(shapes.items()))
        with self._lock:
            if key in self._models:
                return self._models[key]
            self._runs[key] = self._runs.pop(key, 0) + 1
            if len(self._runs) > MOST_COUNTED:
                self._runs.popitem(last=False)
            wanted = self._runs[key] == self._after and len(self._models) < MOST_MODELS
        if wanted and general.report()["weight_bytes"] <= MOST_BYTES:
            self.compiling = threading.Thread(target=self._make, args=(key, Known(shapes)), name="gossamer compiles for shapes that are used often")
            self.compiling.start()
        return None

    def _make(self, key: tuple[Any, ...], known: Known) -> None:
        try:
            made = self._compiled(known)
        except Error:
            return  # the general one goes on
        with self._lock:
            self._models[key] = made

    @property
    def shapes(self) -> list[dict[str, tuple[int, ...]]]:
        """Those that have a model of their own."""
        with self._lock:
            return [dict(key) for key in self._models]
