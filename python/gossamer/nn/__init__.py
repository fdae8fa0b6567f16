"""Layers, losses and what holds them (PyTorch's torch.nn)."""

from . import functional
from .layers import *  # noqa: F403
from .layers import __all__ as _layers
from .module import Buffer, Module, ModuleList, Parameter, Sequential

__all__ = ["Buffer", "Module", "ModuleList", "Parameter", "Sequential", "functional", *_layers]
