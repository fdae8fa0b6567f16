"""Layers, losses and what holds them (PyTorch's torch.nn)."""

from . import functional, layers, recurrent, transformer
from .layers import *  # noqa: F403
from .module import Buffer, Module, ModuleDict, ModuleList, Parameter, ParameterDict, ParameterList, Sequential
from .recurrent import *  # noqa: F403
from .summary import summary
from .transformer import *  # noqa: F403

__all__ = [
    "Buffer", "Module", "ModuleDict", "ModuleList", "Parameter", "ParameterDict", "ParameterList", "Sequential", "functional", "summary", *layers.__all__, *recurrent.__all__,
    *transformer.__all__,
]  # fmt: skip
