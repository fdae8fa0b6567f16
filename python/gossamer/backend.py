"""ONNX's backend interface: what `onnx.backend.test` and tools that take any backend call."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep, Device, DeviceType, namedtupledict

from .compiler import Package, compile
from .error import Error


def _is_nothing(value: Any) -> bool:
    """An optional that holds nothing: None, or numpy's array of it."""
    return value is None or (isinstance(value, np.ndarray) and value.dtype == object and value.shape == () and value[()] is None)


def _lengths(graph: onnx.GraphProto, named: dict[str, Any]) -> dict[str, int]:
    """Of inputs that are sequences or optionals, as these values have them."""
    found = {}
    for port in graph.input:
        value = named.get(port.name)
        kind = port.type.WhichOneof("value")
        if kind == "optional_type" and _is_nothing(value):
            found[port.name] = -1
        elif isinstance(value, (list, tuple)):
            found[port.name] = len(value)
    return found


def _tensors(named: dict[str, Any]) -> dict[str, np.ndarray]:
    """By the names that the compiler has: elements of a sequence are NAME.0, NAME.1, ..."""
    found = {}
    for name, value in named.items():
        if isinstance(value, (list, tuple)):
            found.update({f"{name}.{at}": np.asarray(each) for at, each in enumerate(value)})
        elif not _is_nothing(value):
            found[name] = np.asarray(value)
    return found


MOST_ELEMENTS = 1024  # of a tensor that a model may have to know: an axis, a shape, pads


def _values(inputs: dict[str, Any], first: bool, floats: bool) -> dict[str, Any]:
    """Small inputs: of integers, of the first input too or not, of floats behind the first too or not."""
    known = {}
    for at, (name, value) in enumerate(inputs.items()):
        if isinstance(value, (list, tuple)) or _is_nothing(value):
            continue
        array = np.asarray(value)
        if array.size > MOST_ELEMENTS or array.dtype.kind not in "iubf":
            continue
        whole = array.dtype.kind in "iub"
        if (whole and (at > 0 or first)) or (not whole and floats and at > 0):
            known[name] = value
    return known


def _asks_for_values(problem: Error) -> bool:
    return "known when compiling" in problem.message


class GossamerRep(BackendRep):
    """A model that is ready to run, or that is compiled by what its first run is given.

    ONNX lets inputs of a model say what Gossamer wants known when compiling: lengths of sequences and shapes of their
    elements, extents of 0, and, where an operator asks for it, axes, shapes and the like. Of these last the first that
    suffices: the values of small inputs of integers behind the first one, of the first too, of floats behind it too,
    all shapes, both.
    """

    def __init__(self, model: onnx.ModelProto, package: Package | None, inputs: list[str], outputs: list[str]) -> None:
        self._model = model
        self._package = package
        self._inputs = inputs
        self._outputs = outputs

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """inputs: by name, or in the model's order."""
        named = dict(inputs) if isinstance(inputs, dict) else dict(zip(self._inputs, inputs, strict=False))
        package = self._package
        if package is None or any(array.size == 0 for array in _tensors(named).values()):
            package = self._compiled_for(named)
        taken = {value.name for value in package.model.values}
        made = package.run({name: None if _is_nothing(value) else value for name, value in named.items() if name in taken})
        return namedtupledict("Outputs", self._outputs)(*(made[name] for name in self._outputs))

    def _compiled_for(self, named: dict[str, Any]) -> Package:
        lengths = _lengths(self._model.graph, named)
        tensors = {name: array.shape for name, array in _tensors(named).items()}
        shapes = {name: shape for name, shape in tensors.items() if 0 in shape or name not in named}
        whole = _values(named, first=True, floats=False)
        ways: list[dict[str, Any]] = [
            {"shapes": shapes},
            {"shapes": shapes, "values": _values(named, first=False, floats=False)},
            {"shapes": shapes, "values": whole},
            {"shapes": shapes, "values": _values(named, first=True, floats=True)},
            {"shapes": tensors},
            {"shapes": tensors, "values": whole},
        ]
        for at, way in enumerate(ways):
            known = way.get("values", {})
            left = {name: shape for name, shape in way["shapes"].items() if name not in known}
            try:
                return compile(self._model, lengths=lengths, shapes=left, values=known)
            except Error as problem:
                if at == len(ways) - 1 or not _asks_for_values(problem):
                    raise
        raise AssertionError("the last way returns or raises")


class GossamerBackend(Backend):
    """On this machine's CPU."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> GossamerRep:
        """Compiles it. Raises gossamer.Error for what the compiler cannot compile."""
        stored = {each.name for each in model.graph.initializer}
        inputs = [port.name for port in model.graph.input if port.name not in stored]
        outputs = [port.name for port in model.graph.output]
        late = any(port.type.WhichOneof("value") in ("sequence_type", "optional_type") for port in model.graph.input)
        package = None
        if not late:
            try:
                package = compile(model)
            except Error as problem:
                if not _asks_for_values(problem):
                    raise
        return GossamerRep(model, package, inputs, outputs)

    @classmethod
    def run_node(cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any) -> Any:
        """One node, on inputs in its order."""
        named = [name for name in node.input if name]
        values = dict(zip(named, (np.asarray(each) for each in inputs), strict=True))
        ports = [onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(each.dtype), each.shape) for name, each in values.items()]
        outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = onnx.helper.make_graph([node], "node", ports, outputs)
        opsets = [onnx.helper.make_opsetid(node.domain, kwargs.get("opset_version", onnx.defs.onnx_opset_version()))]
        return cls.prepare(onnx.helper.make_model(graph, opset_imports=opsets)).run(values)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return Device(device).type == DeviceType.CPU


prepare = GossamerBackend.prepare
run_node = GossamerBackend.run_node
run_model = GossamerBackend.run_model
supports_device = GossamerBackend.supports_device
is_compatible = GossamerBackend.is_compatible
