"""Writes cases.jsonl and steps.jsonl: calls with what PyTorch gives for them, values and gradients. Tests in Node.js (web/tensor/tests/pytorch.test.ts)
and Python (python/tests/test_pytorch.py) make the same calls; they need no PyTorch. After a change here:

    PYTHON_WITH_TORCH tests/pytorch/write.py
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import torch
from functions import CASES
from steps import MATRICES, OPTIMIZERS, SCHEDULES, SEVERAL
from torch import nn
from torch.nn import functional as F

HERE = Path(__file__).parent


def elements(count: int, seed: int, low: float, high: float) -> list[float]:
    """Numbers of a seed, the same in all languages: a hash of the place, even in [low, high)."""
    return [low + (high - low) * (((at * 2654435761 + seed * 40503 + 12345) ^ (((at + 1) * (seed + 1) * 2246822519) & 0xFFFFFFFF)) % 2**32) / 2**32 for at in range(count)]


def tensor(spec: dict[str, Any]) -> torch.Tensor:
    """{"t": shape, "seed", "range", "dtype"} or {"values": nested, "dtype"}."""
    dtype = {"f32": torch.float32, "f64": torch.float64, "i64": torch.int64, "bool": torch.bool}[spec.get("dtype", "f32")]
    if "values" in spec:
        made = torch.tensor(given(spec["values"]), dtype=dtype)
    else:
        low, high = spec.get("range", (-2, 2))
        numbers = torch.tensor(elements(math.prod(spec["t"]), spec["seed"], low, high), dtype=torch.float64)
        made = (numbers.floor() if dtype in (torch.int64, torch.bool) else numbers).to(dtype).reshape(spec["t"])
    return made.requires_grad_() if made.is_floating_point() and spec.get("grad", True) else made


def given(value: Any) -> Any:
    """Values of JSON, with NaN and infinities as texts."""
    if isinstance(value, list):
        return [given(each) for each in value]
    return float(value) if value in ("NaN", "Infinity", "-Infinity") else value


def is_spec(value: Any) -> bool:
    return isinstance(value, dict) and ("t" in value or "values" in value)


def made_of(value: Any, made: list[torch.Tensor]) -> Any:
    """An argument, its tensors noted."""
    if is_spec(value):
        made.append(tensor(value))
        return made[-1]
    if isinstance(value, list):
        return [made_of(each, made) for each in value]
    return value


def flat(out: Any) -> list[torch.Tensor]:
    if isinstance(out, torch.Tensor):
        return [out]
    return [each for part in out for each in flat(part)] if isinstance(out, tuple | list) else []


def text(number: float) -> Any:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return int(number) if number == int(number) and abs(number) < 2**53 else float(f"{number:.7g}")


def numbers(made: torch.Tensor) -> list[Any]:
    return [text(float(each)) for each in made.detach().reshape(-1).to(torch.float64)]


def weights(out: torch.Tensor) -> torch.Tensor:
    """What outputs are multiplied with before they are summed up."""
    return torch.tensor([((at * 7) % 11 - 5) / 5 for at in range(out.numel())], dtype=out.dtype).reshape(out.shape)


def called(case: dict[str, Any], inputs: list[Any], options: dict[str, Any]) -> Any:
    kind, name = case["call"].split(".")
    if kind == "F":
        return getattr(F, name)(*inputs, **options)
    if kind == "nn":
        module = getattr(nn, name)(*case.get("make", []), **case.get("options", {}))
        for at, (key, each) in enumerate(module.state_dict().items()):
            if each.is_floating_point():
                low, high = (0.5, 1.5) if key.endswith("running_var") else (-0.8, 0.8)
                each.copy_(torch.tensor(elements(each.numel(), 100 + at, low, high)).reshape(each.shape))
        case["state"] = [[key, list(each.shape), 100 + at] for at, (key, each) in enumerate(module.state_dict().items()) if each.is_floating_point()]
        if not case.get("training", False):
            module.eval()
        return module(*inputs)
    if kind == "linalg":
        return getattr(torch.linalg, name)(*inputs, **options)
    if hasattr(torch.Tensor, name):
        return getattr(inputs[0], name)(*inputs[1:], **options)
    return getattr(torch, name)(*inputs, **options)


def completed(case: dict[str, Any]) -> dict[str, Any]:
    """The case with what PyTorch gives for it."""
    case = dict(case)
    tensors: list[torch.Tensor] = []
    inputs = [made_of(each, tensors) for each in case["args"]]
    options = {name: made_of(each, tensors) for name, each in case.get("options", {}).items()}
    if case["call"].startswith("nn."):
        options = {}
    out = flat(called(case, inputs, options))[: case.get("only")]
    case["out"] = [{"shape": list(each.shape), "values": numbers(each)} for each in out]
    if case.get("grad", True):
        loss = sum(((each * weights(each)).sum() for each in out if each.requires_grad), torch.zeros(()))
        if loss.requires_grad:
            loss.backward()
            case["grads"] = [numbers(each.grad) if each.grad is not None else None for each in tensors]
    return case


def optimized(name: str, options: dict[str, Any]) -> list[Any]:
    """Parameters after five steps with gradients of a rule; of LBFGS after two steps on a loss."""
    parameter = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
    optimizer = getattr(torch.optim, name)([parameter], **options)
    for step in range(2 if name == "LBFGS" else 5):
        if name == "LBFGS":

            def closure() -> torch.Tensor:
                optimizer.zero_grad()
                loss = ((parameter * torch.tensor([1.0, 2.0, 3.0]) - 1) ** 4 + parameter**2).sum() / 4
                loss.backward()
                return loss

            optimizer.step(closure)
        else:
            parameter.grad = torch.tensor([0.3, -0.1 * (step + 1), 0.7 - 0.5 * step])
            optimizer.step()
    return numbers(parameter)


def of_matrix(name: str, options: dict[str, Any]) -> list[Any]:
    """A matrix after four steps with gradients of a rule."""
    parameter = torch.tensor(elements(6, 7, -1, 1)).reshape(3, 2).requires_grad_()
    optimizer = getattr(torch.optim, name)([parameter], **options)
    for step in range(4):
        parameter.grad = torch.tensor(elements(6, 20 + step, -1, 1)).reshape(3, 2)
        optimizer.step()
    return numbers(parameter)


def scheduled(make: Any) -> list[list[Any]]:
    """The rate and the momentum before each of twelve steps."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.4, momentum=0.9)
    schedule = make(optimizer)
    made = []
    for step in range(12):
        made.append([text(optimizer.param_groups[0]["lr"]), text(optimizer.param_groups[0]["momentum"])])
        optimizer.step()
        if step < 11:
            schedule.step()
    return made


def schedule_of(name: str, args: list[Any], options: dict[str, Any]) -> Any:
    return lambda optimizer: getattr(torch.optim.lr_scheduler, name)(optimizer, *args, **options)


def several_of(name: str, parts: list[Any], milestones: list[int]) -> Any:
    def make(optimizer: torch.optim.Optimizer) -> Any:
        made = [schedule_of(*part)(optimizer) for part in parts]
        kind = getattr(torch.optim.lr_scheduler, name)
        return kind(optimizer, made, milestones) if milestones else kind(made)

    return make


def write_steps() -> int:
    lines: list[dict[str, Any]] = [{"optimizer": name, "options": options, "after": optimized(name, options)} for name, options in OPTIMIZERS]
    lines += [{"matrix": name, "options": options, "after": of_matrix(name, options)} for name, options in MATRICES]
    lines += [{"schedule": name, "args": args, "options": options, "rates": scheduled(schedule_of(name, args, options))} for name, args, options in SCHEDULES]
    lines += [{"schedule": name, "parts": parts, "milestones": milestones, "rates": scheduled(several_of(name, parts, milestones))} for name, parts, milestones in SEVERAL]
    (HERE / "steps.jsonl").write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return len(lines)


def main() -> None:
    lines = []
    for case in CASES:
        try:
            lines.append(json.dumps(completed(case), separators=(",", ":")))
        except Exception as problem:
            raise RuntimeError(f"{case}") from problem
    (HERE / "cases.jsonl").write_text("\n".join(lines) + "\n")
    print(f"{write_steps()} optimizers and schedules, {len(lines)} cases by PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
