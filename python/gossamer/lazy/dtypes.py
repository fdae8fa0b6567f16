"""Element types of tensors, and which one an operation on two of them has (PyTorch's type promotion)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..element_types import DTYPES
from ..error import Error

FLOATS = ("f64", "f32", "f16", "bf16")
INTEGERS = ("i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8")
DType = Any
"""What names an element type: numpy's types and their names, the compiler's ("f32"), PyTorch's types, bool, int, float."""

_CODES = {"f32": 1, "u8": 2, "i8": 3, "u16": 4, "i16": 5, "i32": 6, "i64": 7, "bool": 9, "f16": 10, "f64": 11, "u32": 12, "u64": 13, "bf16": 16}
_PYTHON = {bool: "bool", int: "i64", float: "f32"}
_PYTORCH = {"float": "f32", "double": "f64", "half": "f16", "long": "i64", "int": "i32", "short": "i16", "bfloat16": "bf16"}
_NAMES = {DTYPES[name]: name for name in (*FLOATS[:3], *INTEGERS, "bool")}
if DTYPES["bf16"] != np.dtype("uint16"):
    _NAMES[DTYPES["bf16"]] = "bf16"


def code_of(name: str) -> int:
    """ONNX's TensorProto.DataType, as Cast's `to` has it."""
    return _CODES[name]


def name_of(dtype: DType) -> str:
    """The compiler's name. Raises Error for what is no type of tensors."""
    if isinstance(dtype, str) and dtype in _CODES:
        return dtype
    if isinstance(dtype, type) and dtype in _PYTHON:
        return _PYTHON[dtype]
    text = str(dtype).removeprefix("torch.")
    if text in _PYTORCH:
        return _PYTORCH[text]
    try:
        return _NAMES[np.dtype(text if str(dtype) != text else dtype).newbyteorder("=")]
    except (TypeError, KeyError):
        raise Error(f"{dtype!r} is no element type of tensors", hint=f"there are {', '.join(_CODES)}") from None


def is_float(name: str) -> bool:
    return name in FLOATS


def _bits(name: str) -> int:
    return 1 if name == "bool" else int(name.lstrip("bfiu"))


def category(name: str) -> int:
    """bool below integers below floats."""
    return 0 if name == "bool" else 2 if is_float(name) else 1


def promote(a: str, b: str) -> str:
    """The type that holds both. A signed and an unsigned integer give a signed one that holds them, at most i64."""
    if a == b:
        return a
    if category(a) != category(b):
        return a if category(a) > category(b) else b
    if {a, b} == {"f16", "bf16"}:
        return "f32"
    narrow, wide = (a, b) if _bits(a) < _bits(b) else (b, a)
    if is_float(a) or (a[0] == "u") == (b[0] == "u") or (wide[0] == "i" and _bits(wide) > _bits(narrow)):
        return wide
    return next((each for each in ("i16", "i32", "i64") if _bits(each) > _bits(wide)), "i64")


def besides(dtype: str, scalar: complex | bool) -> str:
    """The type of a plain number beside a tensor of `dtype`: it never widens within its kind."""
    if isinstance(scalar, bool | np.bool_):
        return dtype
    if isinstance(scalar, float | np.floating):
        return dtype if is_float(dtype) else "f32"
    return "i64" if dtype == "bool" else dtype
