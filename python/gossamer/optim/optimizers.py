"""Optimizers. What changes from step to step is fed, so that all steps are one program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..error import Error
from ..lazy.core import enable_grad, no_grad
from ..lazy.execution import flush_older, stepped
from ..lazy.tensors import Tensor, as_tensor, zeros_like

State = dict[str, Tensor]


class Optimizer:
    """Gives parameters new values by their gradients. `param_groups` are dicts of "params" and options, which may be changed between
    steps; params: tensors, or such dicts."""

    _states: tuple[str, ...] = ()

    def __init__(self, params: Iterable[Any], **defaults: Any) -> None:
        given = list(params)
        groups = given if given and isinstance(given[0], Mapping) else [{"params": given}]
        self.param_groups = [{**defaults, **group, "params": list(group["params"])} for group in groups]
        self._kept: dict[int, State] = {}
        self._steps: dict[int, int] = {}
        every = [each for group in self.param_groups for each in group["params"]]
        if not every:
            raise Error("there are no parameters", type(self).__name__)
        if len({id(each) for each in every}) != len(every):
            raise Error("a parameter is given twice", type(self).__name__)
        if not all(each.is_leaf for each in every):
            raise Error("a parameter was computed; it must be a leaf", type(self).__name__)
        for group in self.param_groups:
            if not group["lr"] >= 0:
                raise Error(f"a learning rate of {group['lr']}", type(self).__name__)
            self._check(group)

    def _check(self, group: dict[str, Any]) -> None:
        """Raises Error for options that don't go together."""

    def _names(self, group: dict[str, Any]) -> tuple[str, ...]:
        """Of what is kept of a parameter."""
        return self._states

    def _fresh(self, parameter: Tensor, name: str) -> Tensor:
        """What is kept of a parameter under a name, at first."""
        return zeros_like(parameter)

    def _numbers(self, group: dict[str, Any], steps: int) -> dict[str, float]:
        """What is fed to the step of this number, from 1."""
        return {"lr": group["lr"]}

    def _update(self, value: Tensor, grad: Tensor, state: State, group: dict[str, Any], fed: dict[str, Tensor]) -> tuple[Tensor, State]:
        """The values after a step."""
        raise NotImplementedError

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Gives each parameter that has a gradient its next value. closure: computes the loss and its gradients before; it is returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        flush_older()
        with no_grad():
            for group in self.param_groups:
                fed: dict[tuple[str, int], dict[str, Tensor]] = {}
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        self._step(parameter, group, fed)
        stepped()
        return loss

    def _step(self, parameter: Tensor, group: dict[str, Any], fed: dict[tuple[str, int], dict[str, Tensor]]) -> None:
        key = id(parameter)
        names = self._names(group)
        if key not in self._kept:
            self._kept[key] = {name: self._fresh(parameter, name) for name in names}
        steps = self._steps[key] = self._steps.get(key, 0) + 1
        numbers = fed.get((parameter._dtype, steps))
        if numbers is None:
            made = self._numbers(group, steps).items()
            numbers = fed[parameter._dtype, steps] = {name: as_tensor(np.asarray(number, parameter.dtype)) for name, number in made}
        state = self._kept[key]
        value, after = self._update(parameter.detach(), parameter.grad, state, group, numbers)
        for name in names:
            state[name]._assign(after[name]._value)
        parameter._assign(value._value)

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """One more group; options that it does not have are the first group's."""
        usual = {name: value for name, value in self.param_groups[0].items() if name not in ("params", "initial_lr", "cycles_momentum")}
        self.param_groups.append({**usual, **param_group, "params": list(param_group["params"])})

    def zero_grad(self) -> None:
        """Forgets all gradients."""
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    def state_dict(self) -> dict[str, Any]:
        """What it keeps, by the place of the parameter, with the options of groups."""
        every = [each for group in self.param_groups for each in group["params"]]
        kept = {at: {"step": self._steps[id(each)], **{name: tensor.detach() for name, tensor in self._kept[id(each)].items()}} for at, each in enumerate(every) if id(each) in self._kept}
        return {"state": kept, "param_groups": [{key: value for key, value in group.items() if key != "params"} for group in self.param_groups]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Raises Error where names or shapes are not this optimizer's."""
        if len(state["param_groups"]) != len(self.param_groups):
            raise Error(f"the state is of {len(state['param_groups'])} groups, there are {len(self.param_groups)}", "load_state_dict")
        every = [(group, each) for group in self.param_groups for each in group["params"]]
        for at, kept in state["state"].items():
            group, parameter = every[int(at)]
            lacking = [name for name in (*self._names(group), "step") if name not in kept]
            if lacking:
                raise Error(f"the state of parameter {at} lacks {', '.join(lacking)}", "load_state_dict")
            self._steps[id(parameter)] = int(kept["step"])
            self._kept[id(parameter)] = {name: self._fresh(parameter, name).copy_(kept[name]) for name in self._names(group)}
        for group, given in zip(self.param_groups, state["param_groups"], strict=True):
            group.update(given)


def _decayed(grad: Tensor, value: Tensor, group: dict[str, Any]) -> Tensor:
    return grad + value * group["weight_decay"] if group["weight_decay"] else grad


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum."""

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, momentum: float = 0.0, dampening: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False) -> None:
        super().__init__(params, lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov)

    def _check(self, group: dict[str, Any]) -> None:
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise Error("Nesterov needs momentum and no dampening", "SGD")

    def _names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] else ()

    def _numbers(self, group: dict[str, Any], steps: int) -> dict[str, float]:
        # The first gradient is the buffer as it is.
        fed = {"lr": group["lr"]}
        if group["dampening"]:
            fed["share"] = 1.0 if steps == 1 else 1 - group["dampening"]
        if group.get("cycles_momentum"):
            fed["momentum"] = group["momentum"]
        return fed

    def _update(self, value: Tensor, grad: Tensor, state: State, group: dict[str, Any], fed: dict[str, Tensor]) -> tuple[Tensor, State]:
        grad = _decayed(grad, value, group)
        if not group["momentum"]:
            return value - grad * fed["lr"], {}
        momentum: Any = fed.get("momentum", group["momentum"])
        buffer = state["momentum_buffer"] * momentum + (grad * fed["share"] if "share" in fed else grad)
        by = grad + buffer * momentum if group["nesterov"] else buffer
        return value - by * fed["lr"], {"momentum_buffer": buffer}


class Adam(Optimizer):
    """Kingma and Ba: Adam, arXiv 1412.6980."""

    _states = ("exp_avg", "exp_avg_sq")
    _decoupled = False

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.0) -> None:
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    def _numbers(self, group: dict[str, Any], steps: int) -> dict[str, float]:
        first, second = group["betas"]
        cycled = {"first": first, "fresh": 1 - first} if group.get("cycles_momentum") else {}
        return {**cycled, "rate": group["lr"] / (1 - first**steps), "root": (1 - second**steps) ** -0.5, "kept": 1 - group["lr"] * group["weight_decay"]}

    def _update(self, value: Tensor, grad: Tensor, state: State, group: dict[str, Any], fed: dict[str, Tensor]) -> tuple[Tensor, State]:
        if not self._decoupled:
            grad = _decayed(grad, value, group)
        elif group["weight_decay"]:
            value = value * fed["kept"]
        first, second = group["betas"]
        mean = state["exp_avg"] * fed.get("first", first) + grad * fed.get("fresh", 1 - first)
        square = state["exp_avg_sq"] * second + grad * grad * (1 - second)
        return value - mean * fed["rate"] / (square.sqrt() * fed["root"] + group["eps"]), {"exp_avg": mean, "exp_avg_sq": square}


class AdamW(Adam):
    """Adam with the decay taken off the parameter (Loshchilov and Hutter, arXiv 1711.05101)."""

    _decoupled = True

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2) -> None:
        super().__init__(params, lr, betas, eps, weight_decay)


class RMSprop(Optimizer):
    """Tieleman and Hinton's lecture 6.5, with momentum."""

    def __init__(self, params: Iterable[Any], lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0.0, momentum: float = 0.0, centered: bool = False) -> None:
        super().__init__(params, lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum, centered=centered)

    def _names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("square_avg", *(("grad_avg",) if group["centered"] else ()), *(("momentum_buffer",) if group["momentum"] else ()))

    def _update(self, value: Tensor, grad: Tensor, state: State, group: dict[str, Any], fed: dict[str, Tensor]) -> tuple[Tensor, State]:
        grad = _decayed(grad, value, group)
        alpha = group["alpha"]
        after = {"square_avg": state["square_avg"] * alpha + grad * grad * (1 - alpha)}
        spread = after["square_avg"]
        if group["centered"]:
            after["grad_avg"] = state["grad_avg"] * alpha + grad * (1 - alpha)
            spread = spread - after["grad_avg"] * after["grad_avg"]
        by = grad / (spread.sqrt() + group["eps"])
        if group["momentum"]:
            by = after["momentum_buffer"] = state["momentum_buffer"] * group["momentum"] + by
        return value - by * fed["lr"], after
