"""A model as a table."""

from __future__ import annotations

from typing import Any

from ..lazy.core import Core, no_grad
from .module import Module


def _shapes(made: Any) -> str:
    if isinstance(made, Core):
        return str(list(made.shape))
    return ", ".join(filter(None, map(_shapes, made))) if isinstance(made, tuple | list) else ""


def summary(module: Module, *inputs: Any) -> str:
    """A line a module: name, class, the shape of its output where inputs are given, and its own parameters. Nothing is computed."""
    every = list(module.named_modules())
    shapes: dict[int, str] = {}
    modes = [each.training for _, each in every]
    hooks = []
    if inputs:
        hooks = [each.register_forward_hook(lambda own, _, output: shapes.__setitem__(id(own), _shapes(output))) for _, each in every]
        try:
            with no_grad():
                module.eval()(*inputs)
        finally:
            for (_, each), mode in zip(every, modes, strict=True):
                each.training = mode
            for hook in hooks:
                hook.remove()
    rows = [("name", "module", "output", "parameters")]
    seen: set[int] = set()
    for name, each in every:
        own = [parameter for parameter in each._own_parameters() if id(parameter) not in seen]
        seen |= {id(parameter) for parameter in own}
        rows.append((name or "(model)", type(each).__name__, shapes.get(id(each), ""), str(sum(parameter.numel() for parameter in own)) if own else ""))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = ["  ".join([*(row[column].ljust(widths[column]) for column in range(3)), row[3]]).rstrip() for row in rows]
    counts = [(parameter.numel(), parameter.requires_grad) for parameter in module.parameters()]
    learn = sum(count for count, learns in counts if learns)
    return "\n".join([*lines, f"{sum(count for count, _ in counts)} parameters, {learn} of them learn; {sum(each.numel() for each in module.buffers())} numbers in buffers"])
