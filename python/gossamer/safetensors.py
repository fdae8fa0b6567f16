"""States as files in the safetensors format, which PyTorch's and the web's libraries read."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from .element_types import DTYPES
from .error import Error
from .lazy.tensors import Tensor, as_tensor

_NAMES = {"f64": "F64", "f32": "F32", "f16": "F16", "bf16": "BF16", "i64": "I64", "i32": "I32", "i16": "I16", "i8": "I8", "u64": "U64", "u32": "U32", "u16": "U16", "u8": "U8", "bool": "BOOL"}
_TYPES = {theirs: ours for ours, theirs in _NAMES.items()}


def save_file(tensors: Mapping[str, Tensor | Any], path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None) -> None:
    """Writes tensors, or arrays, by name; whatever was there is there until all is written."""
    given = {name: as_tensor(value) for name, value in tensors.items()}
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    at = 0
    for name, tensor in given.items():
        size = tensor._computed().nbytes
        header[name] = {"dtype": _NAMES[tensor._dtype], "shape": list(tensor.shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    part = f"{os.fspath(path)}.part"
    with open(part, "wb") as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for tensor in given.values():
            file.write(tensor._computed().tobytes())
    os.replace(part, path)


def load_file(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Tensors by name. Raises Error for a file that is missing, cut off or of another format."""
    where = os.fspath(path)
    try:
        data = np.fromfile(path, np.uint8)
    except OSError as problem:
        raise Error(str(problem.strerror), where) from None
    try:
        (length,) = struct.unpack("<Q", data[:8].tobytes())
        header = json.loads(data[8 : 8 + length].tobytes())
        body = data[8 + length :]
        made = {}
        for name, each in header.items():
            if name == "__metadata__":
                continue
            first, end = each["data_offsets"]
            dtype = DTYPES[_TYPES[each["dtype"]]]
            if end > body.size or first > end:
                raise Error("is cut off", where)
            made[name] = as_tensor(body[first:end].copy().view(dtype).reshape(each["shape"]), _TYPES[each["dtype"]])
        return made
    except (struct.error, ValueError, KeyError, TypeError, AttributeError):
        raise Error("is no safetensors file", where) from None
