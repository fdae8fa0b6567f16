"""The table of the zoo: a recipe builds a module with its weights, and says what it is fed and which dimensions are open."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch


class Call(torch.nn.Module):
    """A module that is called by a function: inputs are tensors in order, outputs a tensor or a tuple of tensors."""

    def __init__(self, module: torch.nn.Module, function: Callable[..., Any]) -> None:
        super().__init__()
        self.module = module
        self.function = function
        self.eval()

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(self.module, *inputs)


@dataclass
class Model:
    """A module and its feeds, of one size or several. Names are in the order of forward's arguments."""

    module: torch.nn.Module
    feeds: Sequence[Mapping[str, torch.Tensor]]
    open: Mapping[str, Mapping[int, str]]
    outputs: Sequence[str]


@dataclass
class Recipe:
    """exporters: "legacy" (torchscript), "dynamo" or both; a model of the new exporter is called NAME_dynamo."""

    name: str
    build: Callable[[], Model]
    exporters: Sequence[str]
    opset: int

    @property
    def source(self) -> Path:
        """The file that defines the model. A change of it exports the model again."""
        return Path(inspect.getfile(self.build))


RECIPES: dict[str, Recipe] = {}


def recipe(*exporters: str, opset: int = 17) -> Callable[[Callable[[], Model]], Callable[[], Model]]:
    """Adds a function to the table under its name. The default is the legacy exporter."""

    def add(build: Callable[[], Model]) -> Callable[[], Model]:
        RECIPES[build.__name__] = Recipe(build.__name__, build, exporters or ("legacy",), opset)
        return build

    return add


def images(batch: int, height: int, width: int, *, seed: int = 0) -> torch.Tensor:
    """Normalized images of three channels."""
    return torch.randn(batch, 3, height, width, generator=torch.Generator().manual_seed(seed))


def values(*shape: int, seed: int = 0) -> torch.Tensor:
    """Normally distributed."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def tokens(batch: int, length: int, vocabulary: int, *, seed: int = 0) -> torch.Tensor:
    """Ids of a vocabulary whose first three are special."""
    return torch.randint(3, vocabulary, (batch, length), generator=torch.Generator().manual_seed(seed))


def mask(batch: int, length: int, *, padding: int = 0) -> torch.Tensor:
    """1 for tokens; the last `padding` ones of the last row are 0."""
    made = torch.ones(batch, length, dtype=torch.long)
    if padding:
        made[-1, length - padding :] = 0
    return made
