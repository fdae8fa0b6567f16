"""A model on this machine."""

from __future__ import annotations

import html
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from . import _core
from .element_types import dtype_of, packed, spelled
from .error import Error
from .generate import Generation, GenerationBatch, GenerationCache, Generations, options_of, prompt_of
from .libraries import name_libraries
from .state import State, StatePairs


@dataclass(frozen=True)
class Port:
    """An input or an output. shape: None where an extent depends on the inputs. dtype: numpy's name, or "str"."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}[{', '.join('?' if each is None else str(each) for each in self.shape)}]"


@dataclass(frozen=True)
class Value:
    """What run() is given under one name: a tensor, a sequence, or an optional; of ports from `first` on, `count` of them."""

    name: str
    kind: str  # "tensor", "sequence" or "optional"
    first: int
    count: int


def _values(ports: Sequence[Port], groups: Sequence[tuple[str, bool, int, int]]) -> list[Value]:
    grouped = {first + at for _, _, first, count in groups for at in range(count)}
    alone = [Value(port.name, "tensor", at, 1) for at, port in enumerate(ports) if at not in grouped]
    parts = [Value(name, "sequence" if many else "optional", first, count) for name, many, first, count in groups]
    return sorted(alone + parts, key=lambda value: value.first)


def _on_host(value: Any, dtype: str) -> np.ndarray:
    """Without a copy where it is in this machine's memory; numbers and lists take the input's type."""
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__dlpack__"):
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError) as problem:
            detached = getattr(value, "detach", None)  # torch's, where a gradient is wanted
            if detached is None or not getattr(value, "requires_grad", False):
                raise Error(f"cannot be read through DLPack: {problem}", hint="pass one in host memory") from problem
            return np.from_dlpack(detached())
    return np.asarray(value, dtype=dtype_of(dtype))


class Model:
    """A package on this machine's devices. run() may be called from several threads: as many at the same time as it was loaded with
    `parallel`, each in memory of its own, and the others wait for their turn."""

    def __init__(self, loaded: _core.Loaded, another: Callable[[], _core.Loaded] | None = None, parallel: int = 1) -> None:
        self._loaded = loaded
        self._another = another
        self._left = parallel - 1  # to be loaded when they are needed
        self._free = [loaded]
        self._waiting = threading.Condition()
        (inputs, self._input_groups), (outputs, self._output_groups) = loaded.inputs, loaded.outputs
        self._types = [name for _, name, _ in inputs]
        self._inputs = [self._port(*each) for each in inputs]
        self.has_open_inputs = any(None in port.shape for port in self._inputs)
        self._defaults = {name: value for name, _, _ in inputs if (value := loaded.default_of(name)) is not None}
        self._outputs = [self._port(*each) for each in outputs]
        ports, _ = loaded.state
        self._state = State(loaded, {each[0]: self._port(*each) for each in ports}, {each[0]: each[1] for each in ports}, self._feed, self._array)

    @staticmethod
    def _port(name: str, dtype: str, shape: list[int]) -> Port:
        return Port(name, spelled(dtype), tuple(None if each < 0 else each for each in shape))

    @property
    def name(self) -> str:
        """As the model's file calls it."""
        return self._loaded.name

    @property
    def inputs(self) -> list[Port]:
        """Tensors that run() takes; an element of a sequence is one."""
        return list(self._inputs)

    @property
    def outputs(self) -> list[Port]:
        """Tensors that run() gives; an element of a sequence is one."""
        return list(self._outputs)

    @property
    def values(self) -> list[Value]:
        """What run() takes, by name: tensors, sequences and optionals."""
        return _values(self._inputs, self._input_groups)

    @property
    def state(self) -> State:
        """What the model keeps from run to run, where it was loaded with `state`: {name of the input: array}."""
        return self._state

    def run(self, feeds: Mapping[str, Any] | Any) -> dict[str, Any]:
        """Computes every output by name, as numpy arrays.

        feeds: by input name, or the only input's value: arrays of numpy, or of anything with DLPack in host memory
        (neither is copied), numbers and lists. A sequence is a list of arrays, an optional that holds nothing None;
        strings are arrays or lists of str or bytes. Raises Error for an input that is missing, unknown, or of another
        type or shape. An input with a default may be left out.
        """
        tensors = self._feeds(feeds)
        with self._one() as one:
            made = one.run(tensors)
        arrays = [self._array(*each) for each in made]
        given: dict[str, Any] = {}
        for value in _values(self._outputs, self._output_groups):
            parts = arrays[value.first : value.first + value.count]
            given[value.name] = parts if value.kind == "sequence" else parts[0] if parts else None
        return given

    __call__ = run

    @overload
    def generate(self, prompt: Iterable[int], **options: Any) -> Generation: ...

    @overload
    def generate(self, prompt: Sequence[Sequence[int]], **options: Any) -> Generations: ...

    def generate(
        self,
        prompt: Iterable[int] | Sequence[Sequence[int]],
        *,
        max_tokens: int | None = None,
        stop_tokens: Sequence[int] = (),
        temperature: float = 0,
        top_k: int | None = None,
        top_p: float = 1,
        min_p: float = 0,
        repetition_penalty: float = 1,
        presence_penalty: float = 0,
        frequency_penalty: float = 0,
        logit_bias: Mapping[int, float] | None = None,
        seed: int | None = None,
        ahead: int | None = None,
        prompt_chunk: int = 1024,
        top_logprobs: int = 0,
        prompt_lookup_num_tokens: int = 0,
        cache: GenerationCache | None = None,
        feeds: Mapping[str, Any] | None = None,
    ) -> Generation | Generations:
        """The tokens that follow a prompt, as an iterator of int. Tokens are chosen on the device.

        For a list of prompts, a step gives a list with a token for each prompt: Generations. Prompts have any lengths, and each text is that of its
        prompt alone. ahead, prompt_lookup_num_tokens and cache are for one prompt.

        The model is one that was compiled with generate=True and state=True; its state begins empty. prompt: tokens, integers.
        max_tokens: None goes on until a stop token, or the end of the context. stop_tokens: they end the text and are not given.
        temperature: 0 takes the likeliest token, otherwise logits are divided by it. top_k, top_p, min_p: filters of draws, in this
        order. repetition_penalty: for tokens of the prompt and of the text; presence_penalty, frequency_penalty: for tokens of the text,
        once, and for each time. logit_bias: what is added to the logits of tokens, after penalties: -100 excludes a token of most models, 100 leaves
        no other. seed: one seed gives one text on a target; None: another one in each call. ahead: runs that a GPU is sent
        before the first of them is read; None: by how long a run takes. prompt_chunk: a longer prompt is fed in runs of this many tokens,
        which bounds the memory that it takes. top_logprobs: the number of likeliest tokens in Generation.top. prompt_lookup_num_tokens: guesses at most this
        number of tokens by what followed the same tokens before, and checks them in one run, which is faster where text repeats, for greedy text of packages
        compiled with speculate=True. cache: goes on from the state of an earlier text; what the prompt shares with the cache's tokens is not computed again. feeds: values of inputs
        other than tokens, mask, positions and state, the same in each run.
        Raises Error for a package that does not choose tokens, an empty prompt, a token outside of the vocabulary, an option out of its
        range, a cache of another model, and while another generation of this model or of its cache has not ended.
        """
        given = {name: value for name, value in locals().items() if name not in ("self", "prompt", "cache", "feeds")}
        types = dict(zip((port.name for port in self._inputs), self._types, strict=True))
        tensors = {name: self._feed(value, types.get(name, "f32"), f'input "{name}"') for name, value in (feeds or {}).items()}
        prompt = list(prompt)
        if prompt and all(isinstance(each, Sequence) or hasattr(each, "__len__") for each in prompt):
            if cache is not None or prompt_lookup_num_tokens:
                raise Error("cache and prompt_lookup_num_tokens are for one prompt", "generate()", "leave them out, or generate one text after the other")
            batch = GenerationBatch(self._loaded.generate_batch(max(1, min(len(prompt), 32)), 1024, tensors))
            return Generations(batch, [prompt_of(each) for each in prompt], given)
        return Generation(self._loaded.generate(prompt_of(prompt), options_of(given), tensors, cache._native if cache is not None else None))

    def generate_batch(self, *, places: int = 32, prompt_chunk: int = 64, feeds: Mapping[str, Any] | None = None) -> GenerationBatch:
        """Texts that join and leave while others are generated, each with settings of its own: GenerationBatch.add().

        places: texts that runs compute together, at most. prompt_chunk: tokens of prompts that are fed between two tokens of other texts. feeds: as of
        generate(). Raises Error as generate() does for the model.
        """
        types = dict(zip((port.name for port in self._inputs), self._types, strict=True))
        tensors = {name: self._feed(value, types.get(name, "f32"), f'input "{name}"') for name, value in (feeds or {}).items()}
        return GenerationBatch(self._loaded.generate_batch(places, prompt_chunk, tensors))

    def profile(self, feeds: Mapping[str, Any] | Any, runs: int = 10) -> _core.Profile:
        """Where the time of a run goes: print it for a table; .trace() for ui.perfetto.dev. Raises Error as run()."""
        tensors = self._feeds(feeds)
        with self._one() as one:
            return one.profile(tensors, runs)

    def report(self) -> dict[str, Any]:
        """Device, times in ms, memory in bytes, and the kernels of the last run."""
        return self._loaded.report()

    @contextmanager
    def _one(self) -> Iterator[_core.Loaded]:
        """One that nobody else runs. That which ran last is the first to be taken, and the one that report() is of."""
        one = None
        with self._waiting:
            while not self._free and self._left == 0:
                self._waiting.wait()
            if self._free:
                one = self._free.pop()
            else:
                self._left -= 1
        try:
            if one is None:
                assert self._another is not None
                one = self._another()
            self._loaded = one
            yield one
        finally:
            with self._waiting:
                if one is None:
                    self._left += 1
                else:
                    self._free.append(one)
                self._waiting.notify()

    def _feeds(self, feeds: Mapping[str, Any] | Any) -> list[tuple[str, list[int], Any]]:
        values = self.values
        if not isinstance(feeds, Mapping):
            if len(values) != 1:
                raise Error(f"the model has {len(values)} inputs", hint=f"pass them by name: {', '.join(v.name for v in values)}")
            feeds = {values[0].name: feeds}
        for name in feeds:
            if not any(value.name == name for value in values):
                raise Error("is no input of the model", f'input "{name}"', f"its inputs are {', '.join(v.name for v in values)}; one with a default is compiled in, unless keep_inputs of compile() names it")
        made: list[tuple[str, list[int], Any]] = []
        for value in values:
            where = f'input "{value.name}"'
            if value.name not in feeds:
                if value.kind == "optional" and value.count == 0:
                    continue
                if value.name in self._defaults:
                    made.append(self._defaults[value.name])
                    continue
                wanted = ", ".join(str(port) for port in self._inputs[value.first : value.first + value.count])
                raise Error("is not given", where, f"pass {wanted}")
            given = feeds[value.name]
            parts = [given] if value.kind == "tensor" else [] if given is None else list(given) if value.kind == "sequence" else [given]
            if len(parts) != value.count:
                raise Error(f"takes {value.count} tensors, {len(parts)} are given", where, "compile with lengths={...}")
            for at, part in enumerate(parts):
                made.append(self._feed(part, self._types[value.first + at], where))
        return made

    @staticmethod
    def _feed(value: Any, dtype: str, where: str) -> tuple[str, list[int], Any]:
        if dtype == "string":
            return packed(np.asarray(value), where, dtype)
        try:
            array = _on_host(value, dtype)
        except Error as problem:
            raise Error(problem.message, where, problem.hint) from problem.__cause__
        except (TypeError, ValueError) as problem:
            raise Error(f"is no array of {spelled(dtype)}: {problem}", where) from problem
        return packed(array, where, dtype)

    @staticmethod
    def _array(dtype: str, shape: list[int], data: Any) -> np.ndarray:
        if dtype == "string":
            array = np.empty(len(data), dtype=object)
            array[:] = [each.decode("utf-8", "surrogateescape") for each in data]
            return array.reshape(shape)
        return np.asarray(data).view(dtype_of(dtype)).reshape(shape)

    def __repr__(self) -> str:
        takes, gives = ("; ".join(map(str, ports)) for ports in (self._inputs, self._outputs))
        return f"<gossamer.Model {self.name or '(no name)'} ({takes}) -> ({gives})>"

    def _repr_html_(self) -> str:
        report = self.report()
        rows = "".join(
            f"<tr><td>{way}</td><td><b>{html.escape(port.name)}</b></td><td>{html.escape(str(port).split(': ', 1)[1])}</td></tr>"
            for way, ports in (("in", self._inputs), ("out", self._outputs))
            for port in ports
        )
        said = f"{report['weight_bytes'] / 2**20:.1f} MiB of weights, {report['memory_bytes'] / 2**20:.1f} MiB in all"
        return f"<b>{html.escape(self.name)}</b> on {html.escape(report['device'])}; {said}<table>{rows}</table>"


def checked(parallel: int, state: StatePairs) -> int:
    """Raises Error for what is no number of runs."""
    if parallel < 1:
        raise Error(f"{parallel} runs at the same time", "parallel", "1 or more")
    if parallel > 1 and state:
        raise Error("runs that follow one another are not at the same time", "parallel", "1 with state")
    return parallel


def loaded(folder: str, threads: int, state: StatePairs, state_rows: int) -> _core.Loaded:
    pairs = {} if isinstance(state, bool) else dict(state)
    return _core.Loaded.load(folder, threads, pairs, state is True, state_rows)


def load(folder: str | os.PathLike[str], threads: int = 0, parallel: int = 1, *, state: StatePairs = False, state_rows: int = 0) -> Model:
    """Loads a package that `gossamer compile --emit package` or Package.write() wrote, for this machine's CPU, one of its GPUs, or wasm.

    threads: of a run; 0 takes one a core. parallel: how many runs there may be at the same time; each has `threads` and memory of its own,
    from when it is first needed. state: {input: output}, inputs that are what the output was in the run before; True pairs each past...
    with its present... . Neither is given to or by run(): model.state has them. state_rows: how many rows they have room for at once, where
    the package was compiled to write them in place (compile(state=...)). Raises Error for a folder that holds no package, one of another
    version or target, damaged files, and state that the model does not have.
    """
    if not isinstance(folder, (str, os.PathLike)):
        raise Error(f"a {type(folder).__name__} is not the folder of a package", hint="pass its path; compile() gives a Package, which runs itself")
    place = os.fspath(folder)
    name_libraries()
    checked(parallel, state)
    return Model(loaded(place, threads, state, state_rows), lambda: loaded(place, threads, state, state_rows), parallel)
