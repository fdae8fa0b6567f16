"""Writes names.json: the public names of PyTorch's namespaces, which docs/pytorch.md lists. Needs PyTorch:

    PYTHON_WITH_TORCH tests/pytorch/names.py
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.optim import lr_scheduler

HELPERS = {"assert_int_or_pair", "boolean_dispatch", "handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "importlib", "grad", "sym_int"}


def public(of: object) -> list[str]:
    return [name for name in dir(of) if not name.startswith("_")]


def functions() -> list[str]:
    """Of nn.functional: what is a function, and is not a helper."""
    return [name for name in public(F) if name.islower() and name not in HELPERS and callable(getattr(F, name)) and not inspect.isclass(getattr(F, name)) and not inspect.ismodule(getattr(F, name))]


def classes(of: object, base: type) -> list[str]:
    return [name for name in public(of) if inspect.isclass(getattr(of, name)) and issubclass(getattr(of, name), base)]


NAMES = {
    "Tensor": public(torch.Tensor),
    "nn": sorted({*classes(nn, nn.Module), "Parameter", "Buffer"}),
    "nn.Module": public(nn.Module),
    "nn.functional": functions(),
    "optim": classes(optim, optim.Optimizer),
    "optim.lr_scheduler": sorted({*classes(lr_scheduler, lr_scheduler.LRScheduler), "ReduceLROnPlateau"}),
}
(Path(__file__).parent / "names.json").write_text(json.dumps({"version": torch.__version__.split("+")[0], **NAMES}, indent=1) + "\n")
print({space: len(names) for space, names in NAMES.items()})
