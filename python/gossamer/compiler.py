"""From ONNX to packages."""

from __future__ import annotations

import html
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from . import _core
from .element_types import packed
from .error import Error
from .from_torch import ExportedModule, is_module
from .generate import Generation, GenerationBatch, Generations
from .model import Model, checked, loaded
from .libraries import name_library
from .page import page_files
from .specialize import Known, Repeated, Specialized, asks_for_feeds
from .state import State, StatePairs

if TYPE_CHECKING:
    from .own_operator import Operator

TARGETS = ("cpu", "opencl", "opengl", "wasm", "webgpu", "webgl")
"""What compile() makes packages for; those of PAGES run in a page or in Node.js, too."""

HERE = ("cpu", "opencl", "opengl", "webgpu", "webgl", "wasm")
"""This machine's CPU, and its GPU through the driver that is installed (or a driver in software); none needs a window. webgpu goes
through wgpu-native or Dawn: pip install wgpu has the first of them, GOSSAMER_WEBGPU_LIBRARY names another. wasm goes through wasmtime,
an engine without JavaScript: pip install wasmtime, or GOSSAMER_WASMTIME_LIBRARY."""

PAGES = ("wasm", "webgpu", "webgl")
"""What runs in a page."""


class Package:
    """A compiled model: the files of a package by name; docs/specs/package.md says what they hold.

    A model whose ranks or axes only the feeds decide (an If with branches of different rank, Squeeze without axes) has no files where
    one package cannot serve all feeds: run() compiles it by the feeds, once for each kind of them.
    """

    def __init__(
        self,
        made: Callable[[], _core.Package],
        target: str,
        threads: int,
        parallel: int = 1,
        here: Callable[[], _core.Package] | None = None,
        state: StatePairs = False,
        state_rows: int = 0,
        specialized: Callable[[Known], Package] | None = None,
        specialize_after: int = 0,
    ) -> None:
        self._refusal: Error | None = None
        self._specialized = Specialized(lambda known: specialized(known).model) if specialized else None
        self._repeated = Repeated(lambda known: specialized(known).model, specialize_after) if specialized else None
        try:
            self._package: _core.Package | None = made()
        except Error as problem:
            if not specialized or not asks_for_feeds(problem):
                raise
            self._refusal = problem
        self._here = here
        self._threads = threads
        self._parallel = checked(parallel, state)
        self._state_pairs = state
        self._state_rows = state_rows
        self._model: Model | None = None
        self.target = target

    @property
    def _made(self) -> _core.Package:
        if self._refusal:
            raise self._refusal
        assert self._package is not None
        return self._package

    @property
    def files(self) -> dict[str, bytes]:
        """Contents by name. Raises Error, as sizes, write and model do, where the model has to be compiled by its feeds."""
        return self._made.files()

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes of each file."""
        return self._made.sizes()

    def write(self, folder: str | os.PathLike[str], *, page: bool = False, labels: Sequence[str] = ()) -> None:
        """Writes a folder, which is then either the whole new package or what was there before.

        page: of a target of the web, with a page that runs it, for any web server; labels: names of classes that it shows. Raises
        Error for a folder that is neither empty nor a package.
        """
        if not page:
            self._made.write(os.fspath(folder))
            return
        if self.target not in PAGES:
            raise Error(f"a package for {self.target} has no page", hint='compile(..., target="webgpu"), "webgl" or "wasm"')
        name = json.loads(self.files["manifest.json"])["name"]
        self._made.with_files(page_files(name, labels)).write(os.fspath(folder))

    @property
    def model(self) -> Model:
        """Loaded here, once. Raises Error where no driver or engine for its target is installed.

        One for webgpu or webgl whose page would compute a part in WebAssembly is compiled once more, with machine code in its place.
        """
        if self._model is None:
            name_library(self.target)
            beside = bool({"side.wasm", "plan.wasm"} & self.sizes.keys())
            self._made_here = self._here() if self._here and beside else self._made
            self._model = Model(self._load(), self._load, self._parallel)
        return self._model

    def _load(self) -> _core.Loaded:
        with tempfile.TemporaryDirectory(prefix="gossamer-") as folder:
            place = os.path.join(folder, "package")
            self._made_here.write(place)
            return loaded(place, self._threads, self._state_pairs, self._state_rows)  # it maps files, which stay when their names go

    @property
    def state(self) -> State:
        """See Model.state."""
        return self.model.state

    def run(self, feeds: Mapping[str, Any] | Any) -> dict[str, Any]:
        """See Model.run. Shapes that are used often get a model of their own: see compile(), specialize_after."""
        try:
            special = self._repeated.model_for(self.model, feeds) if self._repeated else None
            return (special or self.model).run(feeds)
        except Error as problem:
            if self._specialized and isinstance(feeds, Mapping) and self._refusal is None:
                # What is no input of the model may be one with a default, which is compiled in.
                unknown = [name for name in feeds if not any(value.name == name for value in self.model.values)]
                if unknown:
                    return self._specialized.overridden(unknown, problem).run(feeds)
            if not self._specialized or not asks_for_feeds(problem):
                raise
            named = feeds if isinstance(feeds, Mapping) else self._refusal is None and {self.model.values[0].name: feeds}
            if not named:
                raise Error("the feeds have no names", hint="pass them by name: run({name: value})") from problem
            return self._specialized.run(named, problem)

    __call__ = run

    @overload
    def generate(self, prompt: Iterable[int], **options: Any) -> Generation: ...

    @overload
    def generate(self, prompt: Sequence[Sequence[int]], **options: Any) -> Generations: ...

    def generate(self, prompt: Any, **options: Any) -> Generation | Generations:
        """See Model.generate."""
        return self.model.generate(prompt, **options)

    def generate_batch(self, **options: Any) -> GenerationBatch:
        """See Model.generate_batch."""
        return self.model.generate_batch(**options)

    def report(self) -> dict[str, Any]:
        """See Model.report. "specialized": shapes of feeds that have a model of their own."""
        return {**self.model.report(), "specialized": self._repeated.shapes if self._repeated else []}

    def profile(self, feeds: Mapping[str, Any] | Any, runs: int = 10) -> _core.Profile:
        """See Model.profile."""
        return self.model.profile(feeds, runs)

    def __repr__(self) -> str:
        if self._refusal:
            return f"<gossamer.Package for {self.target}, compiled by its feeds>"
        files = ", ".join(f"{name} {size / 1024:.1f} KiB" for name, size in self.sizes.items())
        return f"<gossamer.Package for {self.target}: {files}>"

    def _repr_html_(self) -> str:
        if self._refusal:
            return html.escape(repr(self))
        rows = "".join(f"<tr><td>{html.escape(name)}</td><td>{size / 1024:.1f} KiB</td></tr>" for name, size in self.sizes.items())
        model = self.model._repr_html_() if self.target not in PAGES else ""
        return f"package for <b>{self.target}</b><table>{rows}</table>{model}"


def compile(  # noqa: A001: the word of the field
    model: str | os.PathLike[str] | bytes | Any,
    target_or_example_inputs: Any = None,
    /,
    *,
    target: str = "cpu",
    example_inputs: Any = None,
    dynamic_shapes: Any = None,
    name: str = "",
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    lengths: Mapping[str, int] | None = None,
    keep_inputs: Sequence[str] = (),
    constants: Mapping[str, Any] | None = None,
    threads: int = 0,
    parallel: int = 1,
    cpu: str = "native",
    relaxed_simd: bool = True,
    winograd: bool = True,
    f16: bool = False,
    limits: str = "",
    adapters: str = "any",
    device_class: str = "",
    dtype: str | None = None,
    state: StatePairs = False,
    state_rows: int = 0,
    generate: bool = False,
    speculate: bool = False,
    shard_bytes: int = 64_000_000,
    operators: Sequence[Operator] = (),
    specialize_after: int = 8,
) -> Package:
    """Compiles a model for a target: compile("model.onnx", "webgpu"), compile(module, (x,), target="webgpu").

    model: a path (weights in other files are found beside it), the bytes of one, or an onnx.ModelProto. A language model in a GGUF
    file, too: its path or its bytes; and the path of a language model's folder with config.json and safetensors files. Or a torch.nn.Module,
    which PyTorch's exporter makes an ONNX model of, as in eval(). target: one of TARGETS; it may be the second argument. example_inputs: of a module, a tensor,
    a tuple of the arguments of forward() or a dict of them by name; they may be the second argument. dynamic_shapes: of a module, its open dimensions, as
    torch.export.export has them; without any, shapes are those of the examples.
    name: of the model; "" takes the file's. shapes: fixed shapes of inputs, -1 leaves an extent open; dims: values of
    named dimensions; lengths: of sequences, -1 leaves an optional input out; keep_inputs: inputs
    with a default (an initializer) that stay inputs, which run() may leave out, other defaults are compiled in; constants: values of inputs, which become constants
    and leave the package's inputs (axes, shapes and the like, where an operator has to know them). threads: when it runs here; 0: one a
    core. parallel: so many runs of one model at the same time, each with memory of its own. cpu: LLVM's name of the processor.
    winograd: False computes no convolution by Winograd's algorithm, which rounds otherwise and takes more memory; relaxed_simd: of wasm; f16, adapters ("any", "hardware", "software"): of webgpu; limits: of webgpu and webgl, "mobile" keeps to
    a phone's; device_class: whose records kernels take where the compiler comes with some ("nvidia", "swiftshader", "llvmpipe", "pocl", "v8",
    "wasmtime", "avx512", "avx2"; "none": nobody's), "" that of the target, of cpu or of this machine's GPU; dtype: of safetensors files, how matrices are stored: "q4" (None), in 4 bits with a scale for each
    32 numbers, "q8", "fp16", or "fp32", as they are in the files; state: {input: output}, caches of keys and values that a run continues, True for each past... with its present...: rows are
    written where the input lies (not on webgl), and where it runs here the model keeps them from run to run (Model.state); state_rows:
    how many rows they have room for at once; generate: of language models, with state, stages that choose the next token on the device, for
    Model.generate() and that of pages, and `logits` of the last token alone; speculate: such runs can check several guessed tokens (prompt_lookup_num_tokens); shard_bytes: weights of more bytes than this lie in several files; operators: of one's own, which the model's nodes call by domain and name (gossamer.operator);
    specialize_after: so many runs of a model of open dimensions with the same shapes compile it for them in the background; later runs use
    that, unless it would hold another copy of more than 256 MB of weights (Package.report lists such shapes); 0: never.
    Raises Error for what the compiler cannot compile, with the node and what to do. Other threads run meanwhile, and
    Ctrl+C ends the wait.
    """
    given = {**locals(), "state": bool(state)}
    if isinstance(target_or_example_inputs, str):
        target = target_or_example_inputs
    elif target_or_example_inputs is not None:
        example_inputs = target_or_example_inputs
    exported = None
    if is_module(model):
        exported = ExportedModule(model, example_inputs, dynamic_shapes)
        model = exported.path
    elif example_inputs is not None or dynamic_shapes is not None:
        raise Error("example inputs are of a torch.nn.Module", hint="leave them out, or pass the module in place of its file")
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    if not isinstance(model, (bytes, bytearray, memoryview, str, os.PathLike)):
        raise Error(
            f"a {type(model).__name__} is not a model",
            hint="pass the path of an ONNX or GGUF file, its bytes, an onnx.ModelProto or a torch.nn.Module",
        )

    def options_with(known: Known) -> _core.CompileOptions:
        options = _core.CompileOptions()
        for option in _core.COMPILE_OPTIONS:
            setattr(options, option, given[option])
        options.target = target
        options.device_class = device_class
        options.dtype = dtype or ""
        options.shapes = {key: list(shape) for key, shape in {**known.shapes, **(shapes or {})}.items()}
        options.dims = dict(dims or {})
        options.lengths = {**known.lengths, **(lengths or {})}
        options.keep_inputs = [*keep_inputs, *known.kept]
        for key, value in {**known.constants, **(constants or {})}.items():
            options.add_constant(key, *packed(np.asarray(value), f'input "{key}"'))
        options.functions = b"".join(each.model_field for each in operators)
        return options

    def made(known: Known, side: str = "") -> _core.Package:
        options = options_with(known)
        if side:
            options.side = side
        if isinstance(model, (bytes, bytearray, memoryview)):
            return _core.compile_bytes(bytes(model), options)
        return _core.compile_path(exported.path if exported else os.fspath(model), options)  # whose files stay as long as this can be called

    def package(known: Known) -> Package:
        here = (lambda: made(known, "cpu")) if target in ("webgpu", "webgl") else None
        again = specialize_after if known == Known() else 0
        return Package(lambda: made(known), target, threads, parallel, here, state, state_rows, None if state else package, again)

    return package(Known())
