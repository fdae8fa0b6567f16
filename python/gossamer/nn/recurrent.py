"""Recurrent layers (ONNX's operators of the same names) and cells, with PyTorch's parameters and names."""

from __future__ import annotations

import math
from typing import Any

from ..error import Error
from ..lazy.core import apply
from ..lazy.tensors import Tensor, cat, stack, zeros
from . import functional as F  # noqa: N812
from .layers import _uniform
from .module import Module


class _Recurrent(Module):
    """What recurrent layers share."""

    op = "RNN"
    order: tuple[int, ...] = (0,)
    """ONNX's order of gates, in places of PyTorch's."""

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.num_layers, self.bias = input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional = batch_first, dropout, bidirectional
        bound = 1 / math.sqrt(hidden_size)
        rows = len(self.order) * hidden_size
        for layer in range(num_layers):
            for suffix in self._suffixes(layer):
                setattr(self, f"weight_ih{suffix}", _uniform((rows, input_size if layer == 0 else hidden_size * self._directions), bound))
                setattr(self, f"weight_hh{suffix}", _uniform((rows, hidden_size), bound))
                if bias:
                    setattr(self, f"bias_ih{suffix}", _uniform((rows,), bound))
                    setattr(self, f"bias_hh{suffix}", _uniform((rows,), bound))

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _suffixes(self, layer: int) -> list[str]:
        return [f"_l{layer}", f"_l{layer}_reverse"][: self._directions]

    def _gates(self, name: str, layer: int) -> Tensor:
        """One of a layer's parameters for all directions, its gates in ONNX's order."""
        made = []
        for suffix in self._suffixes(layer):
            gates = getattr(self, f"{name}{suffix}").split(self.hidden_size, 0)
            made.append(cat([gates[gate] for gate in self.order]))
        return stack(made)

    def _attributes(self) -> dict[str, Any]:
        return {}

    def _run(self, x: Tensor, states: list[Tensor | None]) -> tuple[Tensor, list[Tensor]]:
        if x.ndim == 2:
            output, last = self._run(x.unsqueeze(0 if self.batch_first else 1), [each if each is None else each.unsqueeze(1) for each in states])
            return output.squeeze(0 if self.batch_first else 1), [each.squeeze(1) for each in last]
        if x.ndim != 3 or x.shape[2] != self.input_size:
            raise Error(f"shape {list(x.shape)}; three axes are expected, the last of {self.input_size}", type(self).__name__)
        value = x.transpose(0, 1) if self.batch_first else x
        length, batch = value.shape[:2]
        finals: list[list[Tensor]] = [[] for _ in states]
        for layer in range(self.num_layers):
            before = [None if each is None else each.narrow(0, layer * self._directions, self._directions) for each in states]
            biases = cat([self._gates("bias_ih", layer), self._gates("bias_hh", layer)], 1) if self.bias else None
            inputs = [value, self._gates("weight_ih", layer), self._gates("weight_hh", layer), biases, None, *before]
            attributes = {"hidden_size": self.hidden_size, "direction": "bidirectional" if self.bidirectional else "forward", **self._attributes()}
            made, *last = apply(self.op, inputs, attributes, 1 + len(states))
            for at, state in enumerate(last):
                finals[at].append(state)
            value = made.transpose(1, 2).reshape(length, batch, self._directions * self.hidden_size)
            if layer < self.num_layers - 1:
                value = F.dropout(value, self.dropout, self.training)
        return (value.transpose(0, 1) if self.batch_first else value), [cat(each) for each in finals]

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}, num_layers={self.num_layers}"


class LSTM(_Recurrent):
    """Long short-term memory."""

    op = "LSTM"
    order = (0, 3, 1, 2)

    def forward(self, x: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        output, (hidden, cell) = self._run(x, list(hx) if hx else [None, None])
        return output, (hidden, cell)


class GRU(_Recurrent):
    """Gated recurrent units."""

    op = "GRU"
    order = (1, 0, 2)

    def _attributes(self) -> dict[str, Any]:
        return {"linear_before_reset": 1}

    def forward(self, x: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        output, (hidden,) = self._run(x, [hx])
        return output, hidden


class RNN(_Recurrent):
    """With tanh or relu."""

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", *given: Any, **options: Any) -> None:
        super().__init__(input_size, hidden_size, num_layers, *given, **options)
        if nonlinearity not in ("tanh", "relu"):
            raise Error(f"nonlinearity is {nonlinearity!r}; tanh and relu are allowed", "RNN")
        self.nonlinearity = nonlinearity

    def _attributes(self) -> dict[str, Any]:
        return {"activations": ("Relu",) * self._directions} if self.nonlinearity == "relu" else {}

    def forward(self, x: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        output, (hidden,) = self._run(x, [hx])
        return output, hidden


class _Cell(Module):
    """What cells share."""

    gates = 1

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        super().__init__()
        bound = 1 / math.sqrt(hidden_size)
        self.input_size, self.hidden_size = input_size, hidden_size
        self.weight_ih = _uniform((self.gates * hidden_size, input_size), bound)
        self.weight_hh = _uniform((self.gates * hidden_size, hidden_size), bound)
        self.bias_ih = _uniform((self.gates * hidden_size,), bound) if bias else None
        self.bias_hh = _uniform((self.gates * hidden_size,), bound) if bias else None

    def _parts(self, x: Tensor, state: Tensor) -> tuple[Any, Any]:
        return x._linear(self.weight_ih, self.bias_ih).chunk(self.gates, -1), state._linear(self.weight_hh, self.bias_hh).chunk(self.gates, -1)

    def _start(self, x: Tensor, state: Tensor | None) -> Tensor:
        if x.ndim not in (1, 2) or x.shape[-1] != self.input_size:
            raise Error(f"shape {list(x.shape)}; [batch, {self.input_size}] or [{self.input_size}] is expected", type(self).__name__)
        return zeros(*x.shape[:-1], self.hidden_size, dtype=x._dtype) if state is None else state

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}"


class LSTMCell(_Cell):
    """One step of LSTM."""

    gates = 4

    def forward(self, x: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        hidden, cell = (self._start(x, each) for each in (hx or (None, None)))
        own, past = self._parts(x, hidden)
        into, forget, candidate, output = (a + b for a, b in zip(own, past, strict=True))
        cell = forget.sigmoid() * cell + into.sigmoid() * candidate.tanh()
        return output.sigmoid() * cell.tanh(), cell


class GRUCell(_Cell):
    """One step of GRU."""

    gates = 3

    def forward(self, x: Tensor, hx: Tensor | None = None) -> Tensor:
        hidden = self._start(x, hx)
        (r1, z1, n1), (r2, z2, n2) = self._parts(x, hidden)
        fresh = (n1 + (r1 + r2).sigmoid() * n2).tanh()
        return fresh + (z1 + z2).sigmoid() * (hidden - fresh)


class RNNCell(_Cell):
    """One step of RNN."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh") -> None:
        super().__init__(input_size, hidden_size, bias)
        if nonlinearity not in ("tanh", "relu"):
            raise Error(f"nonlinearity is {nonlinearity!r}; tanh and relu are allowed", "RNNCell")
        self.nonlinearity = nonlinearity

    def forward(self, x: Tensor, hx: Tensor | None = None) -> Tensor:
        (own,), (past,) = self._parts(x, self._start(x, hx))
        return (own + past).tanh() if self.nonlinearity == "tanh" else (own + past).relu()


RNNBase, RNNCellBase = _Recurrent, _Cell

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]
