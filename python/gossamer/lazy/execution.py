"""When what is recorded runs: what is read is computed, with all that is due, in one program.

Due are new values of parameters, optimizers' states and running statistics: nobody may ever read them, but the next step is
computed from them. So a training step is one program, whatever of it is read.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
import weakref
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from .. import _core
from ..compiler import HERE
from ..error import Error
from ..libraries import name_library
from .recording import ANYWHERE, Value

MOST_PROGRAMS = 64
"""Programs that stay ready; the one that was not used longest goes first."""


class Variable(Protocol):
    """What has a value that updates replace."""

    _value: Value


@dataclass
class ProgramProfile:
    """What a program did. runs: launches of it; before: runs in which the one of dimensions stood in for it; compile_ms: None
    while it is not wanted yet."""

    program: int
    device: str = "cpu"
    general: bool = False
    runs: int = 0
    before: int = 0
    compile_ms: float | None = None


class _Engine:
    """Programs of a device by number, compiled when they are first wanted."""

    threads = 0
    specialize_after = 8

    def __init__(self, target: str) -> None:
        self.target = target
        self.profiles: dict[int, ProgramProfile] = {}
        self._place = _core.Place(target)
        self._models: OrderedDict[int, _core.Program] = OrderedDict()
        self._before: Counter[int] = Counter()
        self._beside: dict[int, threading.Thread] = {}
        self._made: dict[int, _core.Program] = {}
        self._unfit: set[int] = set()
        self._lock = threading.Lock()  # of what is here
        self._compiling: dict[int, threading.Lock] = {}  # a lock a program, so that it is compiled once

    def profile(self, program: int) -> ProgramProfile:
        return self.profiles.setdefault(program, ProgramProfile(program, self.target))

    def choose(self, program: int, general: int) -> _core.Program:
        """The program, or the general one while it is not there. Others go on while one compiles."""
        with self._lock:
            own = general < 0 or self.specialize_after == 0 or program in self._models or general in self._unfit
            own = own or self._taken_over(program)
            counts = self.profile(program)
            if own:
                counts.runs += 1
            else:
                counts.before += 1
                self.profile(general).general = True
        if own:
            return self._ready(program)
        try:
            ready = self._ready(general)
        except Error:
            self._unfit.add(general)
            return self.choose(program, general)
        self.profile(general).runs += 1
        return ready

    def _taken_over(self, program: int) -> bool:
        """Counts a run that the general one is to stand in for; whether the program's own is there instead."""
        self._before[program] += 1
        if self._before[program] == self.specialize_after:
            self._compile_beside(program)
        if self._before[program] < 2 * self.specialize_after or program not in self._beside:
            return False
        # Counted, so that what a run gives does not hang on how long compiling took.
        self._beside.pop(program).join()
        if program not in self._made:
            return False
        self._keep(program, self._made.pop(program))
        return True

    def _compile_beside(self, program: int) -> None:
        onnx = _core.model(program)

        def make() -> None:
            try:
                self._made[program] = self._compile(program, onnx)
            except Error:
                pass  # the general one goes on

        thread = self._beside[program] = threading.Thread(target=make, name=f"gossamer program {program}")
        thread.start()

    def _ready(self, program: int) -> _core.Program:
        with self._lock:
            mine = self._compiling.setdefault(program, threading.Lock())
        with mine:
            with self._lock:
                known = self._models.get(program)
                if known is not None:
                    self._models.move_to_end(program)
                    return known
            made = self._compile(program, _core.model(program))
            with self._lock:
                self._keep(program, made)
            return made

    def _keep(self, program: int, loaded: _core.Program) -> None:
        self._models[program] = loaded
        if len(self._models) > MOST_PROGRAMS:
            self._models.popitem(last=False)

    def _compile(self, program: int, onnx: bytes) -> _core.Program:
        begin = time.perf_counter()
        options = _core.CompileOptions()
        options.target = self.target
        if self.target in ("webgpu", "webgl"):
            options.side = "cpu"
        if self.target == "opengl":
            options.limits = _core.opengl_limits()
        name_library(self.target)
        package = _core.compile_bytes(onnx, options)
        with tempfile.TemporaryDirectory(prefix="gossamer-") as folder:
            place = os.path.join(folder, "package")
            package.write(place)
            loaded = _core.Program.load(self._place, place, self.threads)  # it maps files, which stay when their names go
        self.profile(program).compile_ms = (time.perf_counter() - begin) * 1e3
        return loaded


_engines = [_Engine(target) for target in HERE]
_default = HERE.index("cpu")

_generation = 0  # steps of optimizers so far
_due_since = 0
_due: dict[int, weakref.ref[Any]] = {}
_carried: list[weakref.ref[Variable]] = []  # what programs may keep between steps, as states and running means
_roots: list[weakref.ref[Value]] = []  # what backward() was called of, since the last program
_passed: list[weakref.ref[Value]] = []  # computed, with a history that is kept for gradients that nobody has read yet


def _alive(refs: Iterable[weakref.ref[Any]]) -> list[Any]:
    return [each for each in (ref() for ref in refs) if each is not None]


def evaluate(asked: Sequence[Value]) -> None:
    """Computes these and what is due; what has been computed stays. Raises Error where it cannot be compiled."""
    global _passed
    due = [variable._value for variable in _alive(_due.values())]
    _due.clear()
    carried = [tensor._value for tensor in _alive(_carried)]
    _carried.clear()
    wanted = {value.id: value for value in (*asked, *due, *carried) if value.elements is None}
    if not wanted:
        return
    for device in dict.fromkeys(_place(value) for value in wanted.values()):
        values = [value for value in wanted.values() if _place(value) == device]
        for value, elements in zip(values, _run(values, device), strict=True):
            _core.settle(value, elements, value.tracked)
            if value.passed:
                _passed.append(weakref.ref(value))
    _passed = [ref for ref in _passed if (value := ref()) is not None and not _core.forget(value)]


def _place(value: Value) -> int:
    return _default if value.device == ANYWHERE else value.device


def default_device() -> int:
    """The number of the device of what no device was named for."""
    return _default


def set_default_device(device: str) -> None:
    """Where tensors are computed that no device was named for: "cpu" at first, or another one of gossamer.HERE. Raises Error for a
    name that is none."""
    global _default
    _default = device_number(device)


def device_number(device: str | None) -> int:
    """Of a name; None: anywhere. Raises Error for a name that is none."""
    if device is None:
        return ANYWHERE
    if device not in HERE:
        raise Error(f'there is no device "{device}"', "device", f"one of {', '.join(HERE)}")
    return HERE.index(device)


def _run(values: Sequence[Value], device: int) -> list[Any]:
    """Their elements, from one program. They stay on the device, as do those that it was fed from the host."""
    program, general, feeds, ids = _core.plan(values)
    if any(feed is None for feed in feeds):
        raise Error("a tensor without elements cannot be computed with", "gossamer", "what a function is traced with has none")
    outputs, kept = _engines[device].choose(program, general).run(feeds)
    for fed, stored in zip(ids, kept, strict=True):
        if stored is not None:
            _core.keep(fed, stored)
    return outputs


def elements(value: Value) -> Any:
    """(element type, shape, bytes), computed if need be."""
    if value.elements is None:
        evaluate([value])
    return on_host(value.elements)


def on_host(made: Any) -> Any:
    """(element type, shape, bytes) of a value's elements, which may be on a device."""
    return made.read() if isinstance(made, _core.Stored) else made


def synchronize() -> None:
    """Computes what is due."""
    _flush()


def _flush() -> None:
    # Losses that somebody still holds: computed later they would keep the parameters of their steps.
    kept = [value for value in _alive(_roots) if value.elements is None]
    _roots.clear()
    evaluate(kept if _due else [])


def flush_older(but: Value | None = None) -> None:
    """Computes what is due from before the latest step, so that each step is a program of its own. `but`: a value of this step."""
    if not _looks and _due and _due_since < _generation:
        _carried[:] = [ref for ref in _carried if (tensor := ref()) is not None and tensor._value is not but]
        _flush()


_looks = False


def looks() -> bool:
    """Whether what is recorded is only looked at."""
    return _looks


@contextmanager
def apart() -> Iterator[None]:
    """Within it nothing is computed or becomes due: what is recorded is only looked at."""
    global _looks
    before, due, roots = list(_carried), dict(_due), list(_roots)
    _looks = True
    try:
        yield
    finally:
        _looks = False
        _carried[:] = before
        _roots[:] = roots
        _due.clear()
        _due.update(due)


def differentiated(value: Value) -> None:
    """backward() goes through it."""
    _roots.append(weakref.ref(value))
    if len(_roots) > 64:
        _roots[:] = [ref for ref in _roots if (kept := ref()) is not None and kept.elements is None]


def carries(tensor: Variable) -> None:
    """It is computed with what is read or due next, while what it is computed from is there, if somebody holds it by then."""
    _carried.append(weakref.ref(tensor))
    if len(_carried) > 4096:
        _carried[:] = [ref for ref in _carried if ref() is not None]


def replace(variable: Variable) -> None:
    """Its value is new, and due."""
    global _due_since
    _due.pop(id(variable), None)
    if variable._value.elements is not None:
        return
    if not _due:
        _due_since = _generation
    _due[id(variable)] = weakref.ref(variable)


def stepped() -> None:
    """A step of an optimizer is recorded."""
    global _generation
    _generation += 1


def set_num_threads(count: int) -> None:
    """How many threads compute, in programs that are compiled from here on; 0: one a core."""
    _Engine.threads = count


def set_specialize_after(runs: int) -> int:
    """Returns what it was before. Where a program comes again with other extents, one whose extents are dimensions stands in;
    after so many runs with the same ones (8) a program of these alone is compiled beside it, and after as many again takes over.
    0: programs of their own at once."""
    before = _Engine.specialize_after
    _Engine.specialize_after = runs
    return before


def profile() -> list[ProgramProfile]:
    """What programs of tensors did, device by device, in the order in which they were first wanted."""
    return [each for engine in _engines for each in engine.profiles.values()]
