"""Learning rates that change from step to step, and gradients that are kept small."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from ..error import Error
from ..lazy.core import no_grad
from ..lazy.tensors import Tensor, stack
from .optimizers import Optimizer


class LambdaLR:
    """The first rate times a function of how many steps there were."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[int], float]) -> None:
        self._optimizer, self._factor = optimizer, lr_lambda
        self._first = [group["lr"] for group in optimizer.param_groups]
        self.last_epoch = -1
        self.step()

    def step(self) -> None:
        """One on."""
        self.last_epoch += 1
        for group, first in zip(self._optimizer.param_groups, self._first, strict=True):
            group["lr"] = first * self._factor(self.last_epoch)

    def get_last_lr(self) -> list[float]:
        """The rates of the groups."""
        return [group["lr"] for group in self._optimizer.param_groups]


class StepLR(LambdaLR):
    """Times gamma every step_size steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None:
        super().__init__(optimizer, lambda at: gamma ** (at // step_size))


class ExponentialLR(LambdaLR):
    """Times gamma every step."""

    def __init__(self, optimizer: Optimizer, gamma: float) -> None:
        super().__init__(optimizer, lambda at: gamma**at)


class CosineAnnealingLR(LambdaLR):
    """Half a cosine, down to eta_min after T_max steps."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0) -> None:  # noqa: N803: PyTorch's name
        first = optimizer.param_groups[0]["lr"]
        least = eta_min / first
        super().__init__(optimizer, lambda at: least + (1 - least) * (1 + math.cos(math.pi * at / T_max)) / 2)


def _graded(parameters: Iterable[Tensor]) -> list[Tensor]:
    return [each for each in parameters if each.grad is not None]


def clip_grad_norm_(parameters: Iterable[Tensor], max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Scales all gradients so that the norm of them together is at most max_norm; returns what it was."""
    graded = _graded(parameters)
    if not graded:
        raise Error("no parameter has a gradient", "clip_grad_norm_")
    with no_grad():
        total = stack([each.grad.norm(norm_type) for each in graded]).norm(norm_type)
        factor = ((total + 1e-6).reciprocal() * max_norm).clamp(None, 1)
        for each in graded:
            each.grad = each.grad * factor
    return total


def clip_grad_value_(parameters: Iterable[Tensor], clip_value: float) -> None:
    """Cuts each element of all gradients off at +-clip_value."""
    with no_grad():
        for each in _graded(parameters):
            each.grad = each.grad.clamp(-clip_value, clip_value)
