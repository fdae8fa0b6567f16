"""An ONNX model as a module, to be trained further."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from . import _core
from .element_types import DTYPES
from .error import Error
from .lazy.core import applied
from .lazy.recording import Value
from .lazy.tensors import Tensor, as_tensor
from .nn.module import Buffer, Module, Parameter


class OnnxModel(Module):
    """An ONNX model as a module. Its parameters are the initializers that the model's exporter meant to be learnt, by their names.

    - Where PyTorch's exporter (torch.export) or export_onnx() says which ones are parameters, these are.
    - Otherwise they are the floats, scalars too, that only operators with weights read, directly or behind Identity, Transpose,
      Reshape and the like. A batch normalization's mean and variance are buffers.
    - Constant nodes are not learnt. Two readers of an initializer share one parameter, which keeps the initializer's layout.
    - Equal initializers that PyTorch's exporter merged through Identity are parameters of their own again where all their elements
      are one number, such as the ones and zeros of normalizations.
    """

    def __init__(self, onnx: bytes | str | PathLike[str], *, mode: Literal["train", "inference"] = "inference") -> None:
        """onnx: a model, or its file. mode: "train" asks gradients for its parameters. Raises Error for what is not a model of
        tensors of numbers."""
        super().__init__()
        if mode not in ("train", "inference"):
            raise Error(f"there is no mode {mode!r}: there are 'train' and 'inference'", "OnnxModel")
        read = _core.Imported.read(onnx if isinstance(onnx, bytes) else Path(onnx).read_bytes())
        self._imported = read
        self._leaves: dict[str, Tensor] = {}
        for name, dtype, shape, learnt, data in read.leaves:
            array = np.frombuffer(data, DTYPES[dtype]).reshape(shape)
            self._leaves[name] = Parameter(array, mode == "train") if learnt else Buffer(array)
        self.training = mode == "train"

    def _own(self) -> Iterable[tuple[str, Any]]:
        return [*self._leaves.items(), *((name, value) for name, value in vars(self).items() if isinstance(value, Tensor))]

    @property
    def inputs(self) -> list[tuple[str, np.dtype, tuple[int | str, ...]]]:
        """Names, types and shapes; dynamic dimensions are names."""
        return [(name, DTYPES[dtype], shape) for name, dtype, shape in self._imported.inputs]

    @property
    def outputs(self) -> list[str]:
        """Names."""
        return self._imported.outputs

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Tensors in the order of its inputs, or by their names, or a dict of these. One output as it is, several as a tuple. Raises
        Error where inputs do not fit, with the node."""
        names = [name for name, _, _ in self._imported.inputs]
        if len(inputs) == 1 and isinstance(inputs[0], dict):
            inputs, named = (), {**inputs[0], **named}
        rest = names[len(inputs) :]
        if len(inputs) > len(names) or set(named) != set(rest):
            raise Error(f"it takes {len(names)} tensors: {', '.join(names)}", "OnnxModel")
        given = [as_tensor(each) for each in (*inputs, *(named[name] for name in rest))]
        count = len(given)

        def record(values: list[Value | None]) -> list[Value]:
            return self._imported.record(values[:count], values[count:])

        made = applied([*given, *self._leaves.values()], record)
        return made[0] if len(made) == 1 else tuple(made)
