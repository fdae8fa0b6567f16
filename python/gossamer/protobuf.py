"""Protobuf's wire form, as much as an ONNX function needs."""

from __future__ import annotations

import struct
from collections.abc import Iterable

Field = tuple[int, int | float | str | bytes]
"""A field's number and value: whole numbers are varints, floats have four bytes."""


def _varint(value: int) -> bytes:
    rest = value & (1 << 64) - 1
    made = bytearray()
    while rest > 127:
        made.append(rest & 127 | 128)
        rest >>= 7
    made.append(rest)
    return bytes(made)


def encode(fields: Iterable[Field]) -> bytes:
    """A message of these fields, in this order."""
    made = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            made += _varint(number << 3) + _varint(value)
        elif isinstance(value, float):
            made += _varint(number << 3 | 5) + struct.pack("<f", value)
        else:
            content = value.encode() if isinstance(value, str) else value
            made += _varint(number << 3 | 2) + _varint(len(content)) + content
    return bytes(made)
