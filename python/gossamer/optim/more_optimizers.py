"""More optimizers: variants of Adam, and others that keep a running measure of gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..error import Error
from ..lazy.core import enable_grad, no_grad
from ..lazy.tensors import Tensor, as_tensor
from .optimizers import Adam, Optimizer, State, _decayed

Groups = dict[str, Any]
Fed = dict[str, Tensor]


class Adagrad(Optimizer):
    """Duchi, Hazan and Singer: adaptive subgradient methods."""

    _states = ("sum",)

    def __init__(self, params: Iterable[Any], lr: float = 1e-2, lr_decay: float = 0.0, weight_decay: float = 0.0, initial_accumulator_value: float = 0.0, eps: float = 1e-10) -> None:
        super().__init__(params, lr=lr, lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value, eps=eps)

    def _numbers(self, group: Groups, steps: int) -> dict[str, float]:
        # The accumulator begins as 0, to which its first value is added.
        return {"lr": group["lr"] / (1 + (steps - 1) * group["lr_decay"]), "first": group["initial_accumulator_value"] if steps == 1 else 0.0}

    def _update(self, value: Tensor, grad: Tensor, state: State, group: Groups, fed: Fed) -> tuple[Tensor, State]:
        grad = _decayed(grad, value, group)
        total = state["sum"] + fed["first"] + grad * grad
        return value - grad / (total.sqrt() + group["eps"]) * fed["lr"], {"sum": total}


class _Decoupling(Optimizer):
    """Weight decay goes by the gradient, or apart from it."""

    _states = ("exp_avg", "exp_avg_sq")

    def _begun(self, value: Tensor, grad: Tensor, group: Groups, fed: Fed) -> tuple[Tensor, Tensor]:
        if group["decoupled_weight_decay"]:
            return (value * fed["kept"] if group["weight_decay"] else value), grad
        return value, _decayed(grad, value, group)


class NAdam(_Decoupling):
    """Adam with Nesterov's momentum (Dozat)."""

    def __init__(self, params: Iterable[Any], lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.0, momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False) -> None:
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay, decoupled_weight_decay=decoupled_weight_decay)

    def _numbers(self, group: Groups, steps: int) -> dict[str, float]:
        first, second = group["betas"]
        momenta = [first * (1 - 0.5 * 0.96 ** (step * group["momentum_decay"])) for step in range(1, steps + 2)]
        product = math.prod(momenta[:-1])
        lr = group["lr"]
        own, mean = lr * (1 - momenta[-2]) / (1 - product), lr * momenta[-1] / (1 - product * momenta[-1])
        return {"root": (1 - second**steps) ** -0.5, "own": own, "mean": mean, "kept": 1 - lr * group["weight_decay"]}

    def _update(self, value: Tensor, grad: Tensor, state: State, group: Groups, fed: Fed) -> tuple[Tensor, State]:
        value, grad = self._begun(value, grad, group, fed)
        first, second = group["betas"]
        mean = state["exp_avg"] * first + grad * (1 - first)
        square = state["exp_avg_sq"] * second + grad * grad * (1 - second)
        step = (grad * fed["own"] + mean * fed["mean"]) / (square.sqrt() * fed["root"] + group["eps"])
        return value - step, {"exp_avg": mean, "exp_avg_sq": square}


class RAdam(_Decoupling):
    """Adam whose rate is rectified while its variance is not known (Liu and others)."""

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.0, decoupled_weight_decay: bool = False) -> None:
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, decoupled_weight_decay=decoupled_weight_decay)

    def _numbers(self, group: Groups, steps: int) -> dict[str, float]:
        first, second = group["betas"]
        most = 2 / (1 - second) - 1
        rho = most - 2 * steps * second**steps / (1 - second**steps)
        size = group["lr"] / (1 - first**steps)
        rect = math.sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho)) if rho > 5 else 0.0
        # One of the two is 0, so that all steps are one program.
        return {"plain": 0.0 if rho > 5 else size, "adaptive": size * rect * math.sqrt(1 - second**steps), "kept": 1 - group["lr"] * group["weight_decay"]}

    def _update(self, value: Tensor, grad: Tensor, state: State, group: Groups, fed: Fed) -> tuple[Tensor, State]:
        value, grad = self._begun(value, grad, group, fed)
        first, second = group["betas"]
        mean = state["exp_avg"] * first + grad * (1 - first)
        square = state["exp_avg_sq"] * second + grad * grad * (1 - second)
        step = mean * fed["plain"] + mean * fed["adaptive"] / (square.sqrt() + group["eps"])
        return value - step, {"exp_avg": mean, "exp_avg_sq": square}


class Adamax(Optimizer):
    """Adam with the largest gradient so far (Kingma and Ba)."""

    _states = ("exp_avg", "exp_inf")

    def __init__(self, params: Iterable[Any], lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.0) -> None:
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    def _numbers(self, group: Groups, steps: int) -> dict[str, float]:
        return {"size": group["lr"] / (1 - group["betas"][0] ** steps)}

    def _update(self, value: Tensor, grad: Tensor, state: State, group: Groups, fed: Fed) -> tuple[Tensor, State]:
        grad = _decayed(grad, value, group)
        first, second = group["betas"]
        mean = state["exp_avg"] * first + grad * (1 - first)
        most = (state["exp_inf"] * second).maximum(grad.abs() + group["eps"])
        return value - mean * fed["size"] / most, {"exp_avg": mean, "exp_inf": most}


class Adadelta(Optimizer):
    """Zeiler: ADADELTA, arXiv 1212.5701."""

    _states = ("square_avg", "acc_delta")

    def __init__(self, params: Iterable[Any], lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0.0) -> None:
        super().__init__(params, lr=lr, rho=rho, eps=eps, weight_decay=weight_decay)

    def _update(self, value: Tensor, grad: Tensor, state: State, group: Groups, fed: Fed) -> tuple[Tensor, State]:
        grad = _decayed(grad, value, group)
        rho, eps = group["rho"], group["eps"]
        square = state["square_avg"] * rho + grad * grad * (1 - rho)
        delta = (state["acc_delta"] + eps).sqrt() / (square + eps).sqrt() * grad
        return value - delta * fed["lr"], {"square_avg": square, "acc_delta": state["acc_delta"] * rho + delta * delta * (1 - rho)}


class ASGD(Optimizer):
    """Averaged gradient descent (Polyak and Juditsky): the mean is the state "ax"."""

    _states = ("ax",)

    def __init__(self, params: Iterable[Any], lr: float = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6, weight_decay: float = 0.0) -> None:
        super().__init__(params, lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay)

    def _numbers(self, group: Groups, steps: int) -> dict[str, float]:
        eta = group["lr"] / (1 + group["lambd"] * group["lr"] * (steps - 1)) ** group["alpha"]
        return {"eta": eta, "kept": 1 - group["lambd"] * eta, "mu": 1 / max(1, steps - 1 - group["t0"])}

    def _update(self, value: Tensor, grad: Tensor, state: State, group: Groups, fed: Fed) -> tuple[Tensor, State]:
        after = value * fed["kept"] - _decayed(grad, value, group) * fed["eta"]
        return after, {"ax": state["ax"] + (after - state["ax"]) * fed["mu"]}


class Rprop(Optimizer):
    """Riedmiller and Braun: each element has its own step, which grows while its gradient keeps its sign."""

    _states = ("prev", "step_size")

    def __init__(self, params: Iterable[Any], lr: float = 1e-2, etas: tuple[float, float] = (0.5, 1.2), step_sizes: tuple[float, float] = (1e-6, 50.0)) -> None:
        super().__init__(params, lr=lr, etas=etas, step_sizes=step_sizes)

    def _numbers(self, group: Groups, steps: int) -> dict[str, float]:
        # Step sizes begin as 0, to which the rate is added.
        return {"first": group["lr"] if steps == 1 else 0.0}

    def _update(self, value: Tensor, grad: Tensor, state: State, group: Groups, fed: Fed) -> tuple[Tensor, State]:
        less, more = group["etas"]
        sign = (grad * state["prev"]).sign()
        size = ((state["step_size"] + fed["first"]) * (1 + sign.relu() * (more - 1) + (-sign).relu() * (less - 1))).clamp(*group["step_sizes"])
        # Where the sign has changed, this step is left out.
        kept = grad * (1 - (-sign).relu())
        return value - kept.sign() * size, {"prev": kept, "step_size": size}


class SparseAdam(Adam):
    """Adam that leaves elements alone whose gradient is 0, as those of rows of an embedding that no place named."""

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8) -> None:
        super().__init__(params, lr, betas, eps)

    def _update(self, value: Tensor, grad: Tensor, state: State, group: Groups, fed: Fed) -> tuple[Tensor, State]:
        after, moments = super()._update(value, grad, state, group, fed)
        moves = grad != 0
        return after.where(moves, value), {name: each.where(moves, state[name]) for name, each in moments.items()}


class Adafactor(Optimizer):
    """Shazeer and Stern, arXiv 1804.04235: of matrices, means of rows and columns stand for all squares."""

    _states = ("row_var", "col_var", "variance")

    def __init__(self, params: Iterable[Any], lr: float = 1e-2, beta2_decay: float = -0.8, eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0) -> None:
        super().__init__(params, lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay)

    def _fresh(self, parameter: Tensor, name: str) -> Tensor:
        shape = list(parameter.shape)
        if name == "variance":
            shape = shape if len(shape) < 2 else []
        elif len(shape) > 1:
            shape[-1 if name == "row_var" else -2] = 1
        else:
            shape = []
        return parameter.new_zeros(shape)

    def _numbers(self, group: Groups, steps: int) -> dict[str, float]:
        return {"fresh": steps ** group["beta2_decay"], "rho": min(group["lr"], steps**-0.5), "kept": 1 - group["lr"] * group["weight_decay"]}

    def _update(self, value: Tensor, grad: Tensor, state: State, group: Groups, fed: Fed) -> tuple[Tensor, State]:
        small, least = group["eps"]
        tiny = 2.0**-23 if small is None else small
        square = grad * grad

        def toward(name: str, now: Tensor) -> Tensor:
            return state[name] + (now - state[name]) * fed["fresh"]

        after = dict(state)
        if grad.ndim > 1:
            after["row_var"], after["col_var"] = toward("row_var", square.mean(-1, True)), toward("col_var", square.mean(-2, True))
            estimate = after["row_var"] @ after["col_var"] / after["row_var"].mean(-2, True).clamp(tiny)
        else:
            estimate = after["variance"] = toward("variance", square)
        by = grad / estimate.clamp(tiny * tiny).sqrt()
        size = value.square().mean().sqrt().clamp(least) * fed["rho"] / (by.square().mean().sqrt() / group["d"]).clamp(1.0)
        return (value * fed["kept"] if group["weight_decay"] else value) - by * size, after


class Muon(Optimizer):
    """Jordan: momentum whose singular values are brought near 1 (Newton and Schulz); of matrices. PyTorch does this in 16 bits."""

    _states = ("momentum_buffer",)

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95, nesterov: bool = True, ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7, ns_steps: int = 5, adjust_lr_fn: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(params, lr=lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov, ns_coefficients=ns_coefficients, eps=eps, ns_steps=ns_steps, adjust_lr_fn=adjust_lr_fn)

    def _check(self, group: Groups) -> None:
        for each in group["params"]:
            if each.ndim != 2:
                raise Error(f"a parameter of {each.ndim} axes", "Muon", "it is for matrices")

    def _numbers(self, group: Groups, steps: int) -> dict[str, float]:
        return {"lr": group["lr"], "kept": 1 - group["lr"] * group["weight_decay"]}

    def _update(self, value: Tensor, grad: Tensor, state: State, group: Groups, fed: Fed) -> tuple[Tensor, State]:
        momentum = group["momentum"]
        a, b, c = group["ns_coefficients"]
        buffer = state["momentum_buffer"] * momentum + grad * (1 - momentum)
        x: Any = grad * (1 - momentum) + buffer * momentum if group["nesterov"] else buffer
        rows, columns = value.shape
        x = x.mT if rows > columns else x
        x = x / x.square().sum().sqrt().clamp(group["eps"])
        for _ in range(group["ns_steps"]):
            gram = x @ x.mT
            x = x * a + (gram * b + gram @ gram * c) @ x
        x = x.mT if rows > columns else x
        factor = 0.2 * math.sqrt(max(rows, columns)) if group["adjust_lr_fn"] == "match_rms_adamw" else math.sqrt(max(1, rows / columns))
        return value * fed["kept"] - x * (fed["lr"] * factor), {"momentum_buffer": buffer}


class LBFGS:
    """Limited-memory BFGS (Nocedal and Wright, Numerical Optimization, 7.2 and 3.5), with PyTorch's options and rules for stopping."""

    def __init__(
        self, params: Iterable[Any], lr: float = 1.0, max_iter: int = 20, max_eval: int | None = None, tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:  # fmt: skip
        self._params = list(params)
        if not self._params:
            raise Error("there are no parameters", "LBFGS")
        if line_search_fn not in (None, "strong_wolfe"):
            raise Error(f"line_search_fn is {line_search_fn!r}; strong_wolfe is allowed", "LBFGS")
        self.param_groups = [{
            "params": self._params, "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval, "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change, "history_size": history_size, "line_search_fn": line_search_fn,
        }]  # fmt: skip
        self._history: list[tuple[np.ndarray, np.ndarray, float]] = []
        self._scale, self._length = 1.0, 0.0
        self._direction = self._before = np.zeros(0)

    def zero_grad(self) -> None:
        """Forgets all gradients."""
        for each in self._params:
            each.grad = None

    def _flat(self, grads: bool) -> np.ndarray:
        parts = [np.zeros(each.numel()) if grads and each.grad is None else (each.grad if grads else each.detach()).numpy().reshape(-1) for each in self._params]
        return np.concatenate(parts).astype(np.float64)

    def _assign(self, values: np.ndarray) -> None:
        at = 0
        with no_grad():
            for each in self._params:
                each.copy_(as_tensor(values[at : at + each.numel()].reshape(each.shape).astype(each.dtype)))
                at += each.numel()

    def step(self, closure: Callable[[], Tensor]) -> Tensor:
        """Steps until one of the rules for stopping holds. `closure` forgets the gradients, computes the loss, calls backward() and
        returns the loss."""
        group = self.param_groups[0]

        def evaluate() -> tuple[Tensor, float, np.ndarray]:
            with enable_grad():
                loss = closure()
            return loss, float(loss.item()), self._flat(True)

        first, f, g = evaluate()
        if np.abs(g).max() <= group["tolerance_grad"]:
            return first
        evaluations = 1
        for iteration in range(1, group["max_iter"] + 1):
            begins = not self._before.size
            if not begins:
                self._learn(g)
            self._direction = d = self._turned(g)
            self._before, before = g, f
            self._length = min(1.0, 1 / np.abs(g).sum()) * group["lr"] if begins else group["lr"]
            slope = float(g @ d)
            if slope > -group["tolerance_change"]:
                break
            start = self._flat(False)

            def at(t: float, start: np.ndarray = start, d: np.ndarray = d) -> _Point:
                self._assign(start + t * d)
                _, f, g = evaluate()
                return _Point(t, f, g, float(g @ d))

            if group["line_search_fn"]:
                point, more = _line_search(_Point(0, f, g, slope), self._length, np.abs(d).max(), group["tolerance_change"], at)
                f, g, self._length = point.f, point.g, point.t
                self._assign(start + point.t * d)
                evaluations += more
            elif iteration < group["max_iter"]:
                point = at(self._length)
                f, g = point.f, point.g
                evaluations += 1
            else:
                self._assign(start + self._length * d)
            if evaluations >= group["max_eval"] or np.abs(g).max() <= group["tolerance_grad"]:
                break
            if np.abs(d * self._length).max() <= group["tolerance_change"] or abs(f - before) < group["tolerance_change"]:
                break
        return first

    def _learn(self, g: np.ndarray) -> None:
        """What the last step tells of the curvature."""
        y, s = g - self._before, self._direction * self._length
        product = float(y @ s)
        if product > 1e-10:
            if len(self._history) == self.param_groups[0]["history_size"]:
                self._history.pop(0)
            self._history.append((y, s, 1 / product))
            self._scale = product / float(y @ y)

    def _turned(self, g: np.ndarray) -> np.ndarray:
        """Minus the gradient times the inverse of the Hessian, as far as it is known."""
        q = -g
        shares = []
        for y, s, ro in reversed(self._history):
            shares.append(float(s @ q) * ro)
            q = q - shares[-1] * y
        r = q * self._scale
        for (y, s, ro), share in zip(self._history, reversed(shares), strict=True):
            r = r + s * (share - float(y @ r) * ro)
        return r


class _Point:
    """A step along the direction: the loss there, its gradient and the slope along the direction."""

    def __init__(self, t: float, f: float, g: np.ndarray, slope: float) -> None:
        self.t, self.f, self.g, self.slope = t, f, g, slope


def _cubic_minimum(a: _Point, b: _Point, low: float, high: float) -> float:
    """Where the cubic through two points with their slopes is least, within bounds."""
    d1 = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if square < 0:
        return (low + high) / 2
    left, right = (a, b) if a.t <= b.t else (b, a)
    d2 = math.sqrt(square)
    place = right.t - (right.t - left.t) * ((right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2))
    return min(max(place, low), high)


def _line_search(start: _Point, first: float, size: float, tolerance: float, at: Callable[[float], _Point]) -> tuple[_Point, int]:
    """A step with the strong Wolfe conditions, and how often the loss was computed."""
    c1, c2, most = 1e-4, 0.9, 25

    def too_high(point: _Point) -> bool:
        return point.f > start.f + c1 * point.t * start.slope

    def is_flat(point: _Point) -> bool:
        return abs(point.slope) <= -c2 * start.slope

    before, now, count, rounds = start, at(first), 1, 0
    ends = None
    while rounds < most:
        if too_high(now) or (rounds > 1 and now.f >= before.f) or (not is_flat(now) and now.slope >= 0):
            ends = [before, now]
            break
        if is_flat(now):
            return now, count
        following = _cubic_minimum(before, now, now.t + 0.01 * (now.t - before.t), now.t * 10)
        before, now = now, at(following)
        count += 1
        rounds += 1
    ends = ends or [start, now]
    stuck = False
    low = 0 if ends[0].f <= ends[1].f else 1
    while rounds < most:
        left, right = sorted(point.t for point in ends)
        if (right - left) * size < tolerance:
            break
        t = _cubic_minimum(ends[0], ends[1], left, right)
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            if stuck or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        point = at(t)
        count += 1
        rounds += 1
        if too_high(point) or point.f >= ends[low].f:
            ends[1 - low] = point
            low = 0 if ends[0].f <= ends[1].f else 1
            continue
        done = is_flat(point)
        if not done and point.slope * (ends[1 - low].t - ends[low].t) >= 0:
            ends[1 - low] = ends[low]
        ends[low] = point
        if done:
            break
    return ends[low], count
