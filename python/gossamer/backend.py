"""ONNX's backend interface: what `onnx.backend.test` and tools that take any backend call."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep, Device, DeviceType, namedtupledict

from .compiler import Package, compile


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


def _elements(named: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Shapes of the elements of sequences, by the names that the compiler has: NAME.0, NAME.1, ..."""
    sequences = ((name, value) for name, value in named.items() if isinstance(value, (list, tuple)))
    return {f"{name}.{at}": np.shape(each) for name, value in sequences for at, each in enumerate(value)}


class GossamerRep(BackendRep):
    """A model that is ready to run; one that takes sequences or optionals is compiled by the lengths in its feeds."""

    def __init__(self, model: onnx.ModelProto, package: Package | None, inputs: list[str], outputs: list[str]) -> None:
        self._model = model
        self._package = package
        self._inputs = inputs
        self._outputs = outputs

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """inputs: by name, or in the model's order."""
        given = dict(inputs) if isinstance(inputs, dict) else dict(zip(self._inputs, inputs, strict=False))
        named = {name: None if _is_nothing(value) else value for name, value in given.items()}
        package = self._package or compile(self._model, lengths=_lengths(self._model.graph, named), shapes=_elements(named))
        made = package.run(named)
        return namedtupledict("Outputs", self._outputs)(*(made[name] for name in self._outputs))


class GossamerBackend(Backend):
    """On this machine's CPU."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> GossamerRep:
        """Compiles it. Raises gossamer.Error for what the compiler cannot compile."""
        stored = {each.name for each in model.graph.initializer}
        inputs = [port.name for port in model.graph.input if port.name not in stored]
        outputs = [port.name for port in model.graph.output]
        late = any(port.type.WhichOneof("value") in ("sequence_type", "optional_type") for port in model.graph.input)
        return GossamerRep(model, None if late else compile(model), inputs, outputs)

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
