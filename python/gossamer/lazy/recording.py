"""What is recorded: values of the process's recorder, small constants, and nodes, with errors at the call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from ..element_types import DTYPES
from ..error import Error

Value = _core.Value
Attributes = dict[str, Any]
"""Of a node: int, float, str, and tuples of them."""

_MOST_CONSTANTS = 1024
_constants: dict[Any, Value] = {}
_operations: dict[Any, int] = {}


def constant(dtype: str, shape: Sequence[int], data: Any) -> Value:
    """Elements that are part of the program: other ones make another program."""
    bytes_ = np.asarray(data, DTYPES[dtype]).tobytes()
    key = (dtype, tuple(shape), bytes_)
    known = _constants.get(key)
    if known is None:
        if len(_constants) >= _MOST_CONSTANTS:
            _constants.clear()
        known = _constants[key] = _core.constant(dtype, list(shape), bytes_)
    return known


def integers(listed: Sequence[int]) -> Value:
    """A list of whole numbers, as ONNX wants axes and shapes."""
    return constant("i64", (len(listed),), listed)


def shape_text(shape: Sequence[int]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def described(value: Value | None) -> str:
    return "nothing" if value is None else f"{DTYPES[value.dtype].name}{shape_text(value.shape)}"


ANYWHERE = -1
"""The device of values that are computed where those are with which they are used."""


def record(op: str, inputs: Sequence[Value | None], attributes: Attributes | None = None, outputs: int = 1, device: int = ANYWHERE) -> list[Value]:
    """One node; `device`: of inputs that are anywhere. Raises Error with the operator and the types and shapes of its inputs."""
    key = (op, *attributes.items()) if attributes else op
    # 1 and 1.0 are equal, and attributes of other kinds.
    kinds = tuple(type(each) for each in attributes.values()) if attributes else None
    operation = _operations.get((key, kinds))
    try:
        if operation is None:
            operation = _operations[key, kinds] = _core.operation(op, attributes or {})
        return _core.record(operation, inputs, outputs, device)
    except Error as problem:
        raise Error(problem.message, f"{op}({', '.join(map(described, inputs))})", problem.hint) from None


def stopped(value: Value) -> Value:
    """The same elements, where gradients stop."""
    if value.stopped is None:
        (value.stopped,) = record("ai.gossamer::StopGradient", [value])
    return value.stopped
