"""Learning rates that change from step to step, and gradients that are kept small."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..error import Error
from ..lazy.core import no_grad
from ..lazy.tensors import Tensor, stack

Factor = Callable[[int, float, int], float]
"""What a group's first rate is multiplied with after so many steps: of the steps, the rate and the group's place."""


class LRScheduler:
    """By factors of the first rates. Several of one optimizer multiply each other, unless they are absolute."""

    def __init__(self, optimizer: Any, factor: Factor, absolute: bool = False) -> None:
        self.optimizer, self._factor, self._absolute = optimizer, factor, absolute
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = -1
        self.step()

    def step(self) -> None:
        """One on."""
        self.last_epoch += 1
        for at, group in enumerate(self.optimizer.param_groups):
            base = group["initial_lr"]
            now = self._factor(self.last_epoch, base, at)
            before = self._factor(self.last_epoch - 1, base, at) if self.last_epoch > 0 else 1.0
            if self._absolute or before == 0:
                group["lr"] = base * now
            elif now != before:
                group["lr"] = group["lr"] / before * now

    def seek(self, epoch: int) -> None:
        """As after so many steps of this schedule alone."""
        self.last_epoch = epoch
        for at, group in enumerate(self.optimizer.param_groups):
            group["lr"] = group["initial_lr"] * self._factor(epoch, group["initial_lr"], at)

    def get_last_lr(self) -> list[float]:
        """The rates of the groups."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """How far it has come."""
        return {"last_epoch": self.last_epoch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The rates of groups are the optimizer's."""
        self.last_epoch = state["last_epoch"]


def _each(given: Any) -> Callable[[int, int], float]:
    """A function of the epoch for all groups, or one each."""
    return lambda epoch, at: given(epoch) if callable(given) else given[at](epoch)


class LambdaLR(LRScheduler):
    """By a function of the epoch, or one for each group."""

    def __init__(self, optimizer: Any, lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]]) -> None:
        factor = _each(lr_lambda)
        super().__init__(optimizer, lambda epoch, _, at: factor(epoch, at), True)


class MultiplicativeLR(LRScheduler):
    """Times a function of the epoch, in each."""

    def __init__(self, optimizer: Any, lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]]) -> None:
        factor = _each(lr_lambda)
        super().__init__(optimizer, lambda epoch, _, at: math.prod(factor(step, at) for step in range(1, epoch + 1)))


class StepLR(LRScheduler):
    """Times gamma every step_size steps."""

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1) -> None:
        super().__init__(optimizer, lambda epoch, *_: gamma ** (epoch // step_size))


class MultiStepLR(LRScheduler):
    """Times gamma at each milestone."""

    def __init__(self, optimizer: Any, milestones: Sequence[int], gamma: float = 0.1) -> None:
        super().__init__(optimizer, lambda epoch, *_: gamma ** sum(each <= epoch for each in milestones))


class ConstantLR(LRScheduler):
    """Times a factor for the first total_iters steps."""

    def __init__(self, optimizer: Any, factor: float = 1 / 3, total_iters: int = 5) -> None:
        super().__init__(optimizer, lambda epoch, *_: factor if epoch < total_iters else 1.0)


class LinearLR(LRScheduler):
    """From start_factor to end_factor in total_iters steps, evenly."""

    def __init__(self, optimizer: Any, start_factor: float = 1 / 3, end_factor: float = 1.0, total_iters: int = 5) -> None:
        super().__init__(optimizer, lambda epoch, *_: start_factor + (end_factor - start_factor) * min(epoch, total_iters) / total_iters)


class ExponentialLR(LRScheduler):
    """Times gamma every step."""

    def __init__(self, optimizer: Any, gamma: float) -> None:
        super().__init__(optimizer, lambda epoch, *_: gamma**epoch)


class PolynomialLR(LRScheduler):
    """Down to 0 in total_iters steps, along a power."""

    def __init__(self, optimizer: Any, total_iters: int = 5, power: float = 1.0) -> None:
        super().__init__(optimizer, lambda epoch, *_: (1 - min(epoch, total_iters) / total_iters) ** power)


def _cosine(first: float, last: float, share: float) -> float:
    return last + (first - last) * (1 + math.cos(math.pi * share)) / 2


def _straight(first: float, last: float, share: float) -> float:
    return first + (last - first) * share


class CosineAnnealingLR(LRScheduler):
    """Half a cosine, down to eta_min after T_max steps."""

    def __init__(self, optimizer: Any, T_max: int, eta_min: float = 0.0) -> None:  # noqa: N803: PyTorch's name
        super().__init__(optimizer, lambda epoch, base, _: _cosine(base, eta_min, epoch / T_max) / base)


class CosineAnnealingWarmRestarts(LRScheduler):
    """The same again and again; each time takes T_mult times as long as the one before."""

    def __init__(self, optimizer: Any, T_0: int, T_mult: int = 1, eta_min: float = 0.0) -> None:  # noqa: N803
        def factor(epoch: int, base: float, _: int) -> float:
            length = T_0
            while epoch >= length:
                epoch -= length
                length *= T_mult
            return _cosine(base, eta_min, epoch / length) / base

        super().__init__(optimizer, factor, True)


class _CyclingLR(LRScheduler):
    """A schedule of rates and, where it is wanted, of momenta."""

    def __init__(self, optimizer: Any, factor: Factor, cycles: bool, momentum: Callable[[int], float]) -> None:
        if cycles and not all("momentum" in group or "betas" in group for group in optimizer.param_groups):
            raise Error("the optimizer has neither momentum nor betas", type(self).__name__, "pass cycle_momentum=False")
        self._cycles, self._momentum = cycles, momentum
        super().__init__(optimizer, factor, True)

    def step(self) -> None:
        super().step()
        if self._cycles:
            for group in self.optimizer.param_groups:
                group["cycles_momentum"] = True  # it is fed
                momentum = self._momentum(self.last_epoch)
                if "betas" in group:
                    group["betas"] = (momentum, group["betas"][1])
                else:
                    group["momentum"] = momentum


class OneCycleLR(_CyclingLR):
    """Up to max_lr in a share of the steps, then down; momenta the other way (Smith and Topin)."""

    def __init__(
        self, optimizer: Any, max_lr: float, total_steps: int | None = None, epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3, anneal_strategy: str = "cos",
        cycle_momentum: bool = True, base_momentum: float = 0.85, max_momentum: float = 0.95, div_factor: float = 25.0, final_div_factor: float = 1e4, three_phase: bool = False,
    ) -> None:  # fmt: skip
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise Error("it needs total_steps, or epochs and steps_per_epoch", "OneCycleLR")
        steps = total_steps if total_steps is not None else (epochs or 0) * (steps_per_epoch or 0)
        if anneal_strategy not in ("cos", "linear"):
            raise Error(f"anneal_strategy is {anneal_strategy!r}; cos and linear are allowed", "OneCycleLR")
        low = max_lr / div_factor
        last, peak = low / final_div_factor, pct_start * steps - 1
        up = (peak, (low, max_lr), (max_momentum, base_momentum))
        if three_phase:
            phases = [up, (2 * pct_start * steps - 2, (max_lr, low), (base_momentum, max_momentum)), (steps - 1, (low, last), (max_momentum, max_momentum))]
        else:
            phases = [up, (steps - 1, (max_lr, last), (base_momentum, max_momentum))]
        between = _cosine if anneal_strategy == "cos" else _straight

        def at(epoch: int, of: int) -> float:
            if epoch > steps:
                raise Error(f"step {epoch} of {steps}", "OneCycleLR")
            begin = 0.0
            for end, *ends in phases:
                if epoch <= end or end == steps - 1:
                    return between(*ends[of], (epoch - begin) / (end - begin))
                begin = end
            raise AssertionError

        super().__init__(optimizer, lambda epoch, base, _: at(epoch, 0) / base, cycle_momentum, lambda epoch: at(epoch, 1))


class CyclicLR(_CyclingLR):
    """Up and down between two rates, evenly; momenta the other way (Smith)."""

    def __init__(
        self, optimizer: Any, base_lr: float, max_lr: float, step_size_up: int = 2000, step_size_down: int | None = None, mode: str = "triangular", gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None, scale_mode: str = "cycle", cycle_momentum: bool = True, base_momentum: float = 0.8, max_momentum: float = 0.9,
    ) -> None:  # fmt: skip
        length = step_size_up + (step_size_up if step_size_down is None else step_size_down)

        def scale(cycle: int, epoch: int) -> float:
            if scale_fn is not None:
                return scale_fn(cycle if scale_mode == "cycle" else epoch)
            return 1.0 if mode == "triangular" else 2.0 ** (1 - cycle) if mode == "triangular2" else gamma**epoch

        def height(epoch: int) -> float:
            cycle = 1 + epoch // length
            x = 1 + epoch / length - cycle
            share = step_size_up / length
            return scale(cycle, epoch) * (x / share if x <= share else (x - 1) / (share - 1))

        for group in optimizer.param_groups:
            group["initial_lr"] = group["lr"] = base_lr
        super().__init__(optimizer, lambda epoch, *_: (base_lr + (max_lr - base_lr) * height(epoch)) / base_lr, cycle_momentum, lambda epoch: max_momentum - (max_momentum - base_momentum) * height(epoch))


class SequentialLR:
    """One schedule after the other, from each milestone on the next."""

    def __init__(self, optimizer: Any, schedulers: Sequence[LRScheduler], milestones: Sequence[int]) -> None:
        if len(schedulers) != len(milestones) + 1:
            raise Error(f"{len(schedulers)} schedules with {len(milestones)} milestones; one less is expected", "SequentialLR")
        self._schedulers, self._milestones = schedulers, milestones
        for each in schedulers:
            each.last_epoch = 0
        schedulers[0].seek(0)
        self.last_epoch = 0

    def step(self) -> None:
        """One on."""
        self.last_epoch += 1
        at = sum(each <= self.last_epoch for each in self._milestones)
        if at and self._milestones[at - 1] == self.last_epoch:
            self._schedulers[at].seek(0)
        else:
            self._schedulers[at].step()

    def get_last_lr(self) -> list[float]:
        """The rates of the groups."""
        return self._schedulers[0].get_last_lr()


class ChainedScheduler:
    """Several schedules of one optimizer, whose factors multiply."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Any = None) -> None:
        if not schedulers:
            raise Error("there are no schedules", "ChainedScheduler")
        self._schedulers = schedulers

    def step(self) -> None:
        """One on."""
        for each in self._schedulers:
            each.step()

    def get_last_lr(self) -> list[float]:
        """The rates of the groups."""
        return self._schedulers[0].get_last_lr()


class ReduceLROnPlateau:
    """Times a factor where what is watched has not become better for more than `patience` steps."""

    def __init__(
        self, optimizer: Any, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0, min_lr: float = 0.0, eps: float = 1e-8
    ) -> None:
        if not factor < 1:
            raise Error(f"a factor of {factor} does not reduce", "ReduceLROnPlateau")
        self.optimizer, self.mode, self.factor, self.patience, self.threshold, self.threshold_mode = optimizer, mode, factor, patience, threshold, threshold_mode
        self.cooldown, self.min_lr, self.eps = cooldown, min_lr, eps
        self.best, self.num_bad_epochs, self._resting = (math.inf if mode == "min" else -math.inf), 0, 0

    def _better(self, watched: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        bound = self.best * (1 + sign * self.threshold) if self.threshold_mode == "rel" else self.best + sign * self.threshold
        return watched < bound if self.mode == "min" else watched > bound

    def step(self, metrics: Any) -> None:
        """After an epoch with this value of what is watched."""
        watched = float(metrics)
        if self._better(watched):
            self.best, self.num_bad_epochs = watched, 0
        else:
            self.num_bad_epochs += 1
        if self._resting:
            self._resting, self.num_bad_epochs = self._resting - 1, 0
        if self.num_bad_epochs > self.patience:
            self._resting, self.num_bad_epochs = self.cooldown, 0
            for group in self.optimizer.param_groups:
                lr = max(group["lr"] * self.factor, self.min_lr)
                if group["lr"] - lr > self.eps:
                    group["lr"] = lr

    def get_last_lr(self) -> list[float]:
        """The rates of the groups."""
        return [group["lr"] for group in self.optimizer.param_groups]


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
