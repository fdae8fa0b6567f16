"""Functions and modules of tensors as ONNX models, and so as packages for every target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from . import _core
from .error import Error
from .lazy.core import LEARNT, enable_grad, no_grad
from .lazy.execution import apart, on_host, synchronize
from .lazy.recording import Value, shape_text
from .lazy.tensors import Tensor, as_tensor
from .nn.module import Module, tensors_of

DynamicAxes = Mapping[int | str, Mapping[int, str] | Sequence[int]]

Specs = Sequence[tuple[str, Sequence[int]]]


class _Dim:
    """Extents of inputs that are one dimension."""

    def __init__(self, name: str, extent: int) -> None:
        self.name, self.extent = name, extent
        self.places: list[tuple[int, int]] = []


def _dims(dynamic: DynamicAxes, specs: Specs, inputs: Sequence[str], outputs: Sequence[str]) -> list[_Dim]:
    """Each once, though several axes have its name."""

    def refuse(what: str) -> Error:
        return Error(what, "dynamic_axes", "{input: {axis: name}}, where an input is its name or its place")

    made: dict[str, _Dim] = {}
    for which, axes in dynamic.items():
        if which in outputs:
            continue  # their shapes follow
        if which not in inputs and (not isinstance(which, int) or not 0 <= which < len(inputs)):
            raise refuse(f"there is no input {which!r}; there are {', '.join(inputs)}")
        port = which if isinstance(which, int) else inputs.index(which)
        shape = specs[port][1]
        named = axes if isinstance(axes, Mapping) else {axis: f"{inputs[port]}_{axis}" for axis in axes}
        for axis, name in named.items():
            if not -len(shape) <= axis < len(shape):
                raise refuse(f"input {inputs[port]!r} of shape {shape_text(shape)} has no axis {axis}")
            place = axis % len(shape)
            dim = made.setdefault(name, _Dim(name, shape[place]))
            if dim.extent != shape[place]:
                raise refuse(f"{name!r} is {dim.extent} and {shape[place]}")
            dim.places.append((port, place))
    return list(made.values())


def _choices(dims: Sequence[_Dim]) -> Iterator[list[list[int]]]:
    """Extents to trace with, a list a dimension: other ones for each of them, far apart, so that what follows from them is seen. A
    function may take multiples only, or none larger than it was given."""
    given = [max(dim.extent, 2) for dim in dims]
    yield [[each, (2 + at) * each, (3 + 2 * at) * each + 1] for at, each in enumerate(given)]
    yield [[each, (2 + at) * each, (3 + 2 * at) * each] for at, each in enumerate(given)]
    if all(each - 2 * at > 4 for at, each in enumerate(given)):
        yield [[each, each - 1 - at, each - 2 - 2 * at] for at, each in enumerate(given)]
    yield [[each, each + 1 + at, each + 3 + 2 * at] for at, each in enumerate(given)]


class _Trace:
    """What a function computes of tensors of these shapes."""

    def __init__(self, function: Callable[..., Any], specs: Specs, learnt: Sequence[Tensor] = ()) -> None:
        """learnt: what gradients of the first output are computed by, too."""
        self.places: list[Value] = [_core.leaf(dtype, list(shape), None) for dtype, shape in specs]
        with enable_grad() if learnt else no_grad(), apart():
            self.made = tensors_of(function(*map(Tensor._make, self.places)))
            if learnt:
                loss = self.made[0]
                if loss.numel() != 1 or not loss.is_floating_point():
                    raise Error(f"the first output has shape {shape_text(loss.shape)}; a loss is one number", "gradients")
                self.made += map(Tensor._make, _core.gradient(loss._value, [each._value for each in learnt], None))
        self.program, _, self.feeds, self.ids = _core.plan([each._value for each in self.made])


def _traces(function: Callable[..., Any], specs: Specs, dims: Sequence[_Dim], learnt: Sequence[Tensor]) -> tuple[list[_Trace], list[list[int]]]:
    """One trace without dimensions; else three, each with the extents of the dimensions."""
    if not dims:
        return [_Trace(function, specs, learnt)], []
    problem: Exception | None = None
    for extents in _choices(dims):
        try:
            traces = []
            for at in range(3):
                shapes = [list(shape) for _, shape in specs]
                for dim, chosen in zip(dims, extents, strict=True):
                    for port, axis in dim.places:
                        shapes[port][axis] = chosen[at]
                traces.append(_Trace(function, [(dtype, shape) for (dtype, _), shape in zip(specs, shapes, strict=True)], learnt))
            return traces, extents
        except Exception as error:  # noqa: BLE001: whatever a function says of extents that it does not take
            error.add_note(f"dynamic_axes: inputs of shapes {', '.join(map(shape_text, shapes))}")
            problem = problem or error
    assert problem is not None
    raise problem


def export_onnx(
    function: Module | Callable[..., Any],
    inputs: Sequence[Any] | Any,
    *,
    name: str = "module",
    input_names: Sequence[str] = (),
    output_names: Sequence[str] = (),
    dynamic_axes: DynamicAxes | None = None,
    training: bool = False,
    gradients: bool = False,
) -> bytes:
    """A module, as it is for inference, or a function of tensors as an ONNX model, whose weights are its parameters and all other tensors
    that it is computed from. The model says which of them are parameters: those of the module, and tensors that require gradients.

    inputs: tensors or arrays of the types and shapes that it takes; their elements play no part. input_names: default "x0", "x1", ...;
    output_names: "y0", ... . dynamic_axes: by the name or place of an input, axes that are dimensions of these names. The function is
    traced three times, with other extents there; what differs is computed from the dimensions: shapes, numbers, and tensors that the
    function makes by zeros(), ones(), full(), arange(), linspace() or eye(). training: a module as it is for training: dropout drops,
    other elements in each run, and normalisations take statistics of the batch. gradients: the same, and the gradients of the first
    output, a loss, by all parameters that require them are outputs, too: "weight.grad" (ai.onnx.preview.training's Gradient).
    Parameters are inputs then, whose defaults they are (compile(keep_inputs=...)). Raises Error for what gives other things than tensors,
    and, with the operator or the shape, for what follows from a dimension in another way.
    """
    synchronize()
    given = [as_tensor(each) for each in ([inputs] if isinstance(inputs, Tensor) or hasattr(inputs, "dtype") else inputs)]
    specs = [(each._dtype, each.shape) for each in given]
    names = [input_names[at] if at < len(input_names) else f"x{at}" for at in range(len(given))]
    dims = _dims(dynamic_axes or {}, specs, names, output_names)
    modules = list(function.modules()) if isinstance(function, Module) else []
    before = [module.training for module in modules]
    named = [(label, each) for module in modules[:1] for label, each in module.named_parameters() if each.requires_grad] if gradients else []
    if gradients and not named:
        raise Error("it has no parameters that require gradients", "gradients")
    state = [(tensor, tensor._value, tensor._origin) for module in modules[:1] for tensor in (*module.parameters(), *module.buffers())]
    for module in modules:
        module.training = training or gradients
    try:
        traces, extents = _traces(function, specs, dims, [each for _, each in named])
    finally:
        for module, was in zip(modules, before, strict=True):
            module.training = was
        for tensor, value, origin in state:
            tensor._value, tensor._origin = value, origin
    first = traces[0]
    if any(len(trace.ids) != len(first.ids) or len(trace.made) != len(first.made) for trace in traces):
        raise Error("what is computed depends on the extents in other ways than shapes do", "dynamic_axes", "export it without dynamic axes, once for each extent")
    weights = {tensor._value.id: label for module in modules[:1] for label, tensor in module._state()}
    learnt = {parameter._value.id for module in modules[:1] for parameter in module.parameters()}
    at_place = {value.id: at for at, value in enumerate(first.places)}
    feeds = []
    for at, each in enumerate(first.ids):
        elements = [] if each in at_place else [on_host(trace.feeds[at])[2].tobytes() for trace in (traces[:1] if all(trace.ids[at] == each for trace in traces) else traces)]
        feeds.append((weights.get(each, f"w{at}"), each in learnt or each in LEARNT, elements))
    ports = [(label, dtype, list(shape), first.ids.index(value.id) if value.id in first.ids else -1) for label, (dtype, shape), value in zip(names, specs, first.places, strict=True)]
    count = len(first.made) - len(named)
    outputs = [output_names[at] if at < len(output_names) else f"y{at}" for at in range(count)] + [f"{label}.grad" for label, _ in named]
    return _core.traced(name, [trace.program for trace in traces], ports, feeds, outputs, [(dim.name, dim.places, chosen) for dim, chosen in zip(dims, extents, strict=True)], gradients)
