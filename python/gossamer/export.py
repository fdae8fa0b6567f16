"""Functions and modules of tensors as ONNX models, and so as packages for every target."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _core
from .error import Error
from .lazy.core import LEARNT, no_grad
from .lazy.execution import on_host, synchronize
from .lazy.recording import Value
from .lazy.tensors import Tensor, as_tensor
from .nn.module import Module, tensors_of


def _others(specs: Sequence[tuple[str, Sequence[int]]], dynamic: Mapping[int, Mapping[int, str]]) -> list[tuple[str, list[int]]]:
    """With other extents where there are dimensions, one a name."""
    symbols = sorted({symbol for axes in dynamic.values() for symbol in axes.values()})
    used = {extent for _, shape in specs for extent in shape}
    free = (extent for extent in itertools.count(2) if extent not in used)
    chosen = dict(zip(symbols, free, strict=False))
    return [(dtype, [chosen[dynamic[at][axis]] if axis in dynamic.get(at, {}) else extent for axis, extent in enumerate(shape)]) for at, (dtype, shape) in enumerate(specs)]


def _traced(function: Callable[..., Any], shapes: Sequence[tuple[str, Sequence[int]]]) -> tuple[list[Value], list[Tensor]]:
    places = [_core.leaf(dtype, list(shape), None) for dtype, shape in shapes]
    with no_grad():
        return places, tensors_of(function(*map(Tensor._make, places)))


def export_onnx(
    function: Module | Callable[..., Any],
    inputs: Sequence[Any] | Any,
    *,
    name: str = "module",
    input_names: Sequence[str] = (),
    output_names: Sequence[str] = (),
    dynamic_axes: Mapping[int, Mapping[int, str]] | None = None,
) -> bytes:
    """A module, as it is for inference, or a function of tensors as an ONNX model, whose weights are its parameters and all other tensors
    that it is computed from.

    inputs: tensors or arrays of the types and shapes that it takes; their elements play no part. input_names: default "x0", "x1", ...;
    output_names: "y0", ... . dynamic_axes: by the place of an input, axes that are dimensions of these names; what it computes is
    traced a second time with another extent there. Raises Error for what gives other things than tensors, and for extents that
    cannot be dimensions.
    """
    synchronize()
    given = [as_tensor(each) for each in ([inputs] if isinstance(inputs, Tensor) or hasattr(inputs, "dtype") else inputs)]
    specs = [(each._dtype, each.shape) for each in given]
    dynamic = dynamic_axes or {}
    modules = list(function.modules()) if isinstance(function, Module) else []
    before = [module.training for module in modules]
    for module in modules:
        module.training = False
    try:
        places, made = _traced(function, specs)
        program, general, feeds, ids = _core.plan([each._value for each in made])
        shapes: list[list[int | str]] = [list(each.shape) for each in made]
        if dynamic:
            first = made
            places, made = _traced(function, _others(specs, dynamic))
            _, general, feeds, ids = _core.plan([each._value for each in made])
            if general < 0:
                raise Error("what it computes hangs on these extents in other ways than shapes do", "dynamic_axes", "export it without them, once for each extent")
            program = general
            symbols = {pair: symbol for at, axes in dynamic.items() for axis, symbol in axes.items() for pair in [(specs[at][1][axis], places[at].shape[axis])]}
            shapes = [
                [a if a == b else symbols.get((a, b), f"y{at}_{axis}") for axis, (a, b) in enumerate(zip(each.shape, other.shape, strict=True))]
                for at, (each, other) in enumerate(zip(first, made, strict=True))
            ]
    finally:
        for module, training in zip(modules, before, strict=True):
            module.training = training
    at_place = {value.id: (input_names[at] if at < len(input_names) else f"x{at}") for at, value in enumerate(places)}
    weights = {tensor._value.id: label for module in modules[:1] for label, tensor in module._state()}
    labels = [at_place.get(each) or weights.get(each, f"w{at}") for at, each in enumerate(ids)]
    stored = [None if each in at_place else on_host(feed)[2].tobytes() for each, feed in zip(ids, feeds, strict=True)]
    outputs = [output_names[at] if at < len(output_names) else f"y{at}" for at in range(len(made))]
    where = {value.id: at for at, value in enumerate(places)}
    axes = [(at, axis, symbol) for at, each in enumerate(ids) for axis, symbol in dynamic.get(where.get(each, -1), {}).items()]
    parameters = {parameter._value.id for module in modules[:1] for parameter in module.parameters()}
    learnt = [each in parameters or each in LEARNT for each in ids]
    return _core.model(program, name, labels, outputs, stored, axes, shapes, learnt)
