"""Reads MNIST's idx files (http://yann.lecun.com/exdb/mnist/, section "file formats")."""

import gzip
import pathlib

import numpy as np


def read_idx(path):
    """The array of one gzipped idx file of unsigned bytes; ValueError if it is not one."""
    with gzip.open(path, "rb") as file:
        raw = file.read()
    if len(raw) < 4 or raw[:3] != b"\x00\x00\x08":
        raise ValueError(f"{path} is not an idx file of unsigned bytes")
    rank = raw[3]
    shape = tuple(np.frombuffer(raw, ">i4", rank, 4))
    if len(raw) != 4 + 4 * rank + int(np.prod(shape)):
        raise ValueError(f"{path} is cut short: it should hold {shape}")
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * rank).reshape(shape)


def read_split(folder, split):
    """(images [N,28,28] uint8, labels [N] uint8) of the split `train10k` or `t10k`."""
    folder = pathlib.Path(folder)
    images = read_idx(folder / f"{split}-images-idx3-ubyte.gz")
    labels = read_idx(folder / f"{split}-labels-idx1-ubyte.gz")
    return images, labels
