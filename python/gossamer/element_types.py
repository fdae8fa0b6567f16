"""Element types: the compiler's names, and numpy's types for them.

Types that numpy lacks are ml_dtypes' where that is installed, else the bits: uint16 for bf16, uint8 for
types of eight bits and less. i4 and i2 are int8, u4 and u2 uint8 without ml_dtypes; one element a byte.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .error import Error

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

_NUMPY = {
    "f32": "float32",
    "f16": "float16",
    "f64": "float64",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "bool": "bool",
}
_ML_DTYPES = {
    "bf16": "bfloat16",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e4m3fnuz": "float8_e4m3fnuz",
    "f8e5m2": "float8_e5m2",
    "f8e5m2fnuz": "float8_e5m2fnuz",
    "f8e8m0": "float8_e8m0fnu",
    "f4e2m1": "float4_e2m1fn",
    "f6e2m3": "float6_e2m3fn",
    "f6e3m2": "float6_e3m2fn",
    "i4": "int4",
    "u4": "uint4",
    "i2": "int2",
    "u2": "uint2",
}
_BITS = {"bf16": "uint16", "i4": "int8", "i2": "int8"}


def _dtypes() -> dict[str, np.dtype]:
    found = {name: np.dtype(each) for name, each in _NUMPY.items()}
    for name, each in _ML_DTYPES.items():
        known = getattr(ml_dtypes, each, None)
        found[name] = np.dtype(known if known is not None else _BITS.get(name, "uint8"))
    return found


DTYPES: dict[str, np.dtype] = _dtypes()
"""By the compiler's name; strings have none: they are arrays of str objects."""


def dtype_of(name: str) -> np.dtype:
    """numpy's type for elements of this name; object for "string"."""
    return np.dtype(object) if name == "string" else DTYPES[name]


def _name_of(array: np.ndarray, where: str) -> str:
    if array.dtype.kind in "OUS":
        return "string"
    native = array.dtype.newbyteorder("=")
    # Of types that share numpy's (bits of small ones) the first, which numpy itself has.
    for name, each in DTYPES.items():
        if each == native:
            return name
    raise Error(f"there is no element type for numpy's {array.dtype}", where)


def packed(array: np.ndarray, where: str, name: str | None = None) -> tuple[str, list[int], Any]:
    """(element type, shape, bytes or list of bytes) as the native module takes tensors; name: the type, where it is known.

    Raises Error, which says where, for arrays of a type that is none, or another than name.
    """
    dtype = name or _name_of(array, where)
    if dtype == "string":
        if array.dtype.kind not in "OUS":
            raise Error(f"takes str, not {array.dtype.name}", where)
        texts = [each if isinstance(each, bytes) else str(each).encode() for each in array.ravel().tolist()]
        return dtype, list(array.shape), texts
    wanted = DTYPES[dtype]
    if array.dtype != wanted:
        if array.dtype.newbyteorder("=") != wanted:
            raise Error(f"takes {wanted.name}, not {array.dtype.name}", where, f'array.astype("{wanted.name}")')
        array = array.astype(wanted)
    return dtype, list(array.shape), np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def spelled(name: str) -> str:
    """As a user of numpy calls it: "float32", "str"."""
    return "str" if name == "string" else DTYPES[name].name
