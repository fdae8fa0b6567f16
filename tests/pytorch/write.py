"""Writes cases.jsonl: calls with what PyTorch gives for them, values and gradients. Tests in Node.js (web/tensor/tests/pytorch.test.ts)
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


def main() -> None:
    lines = []
    for case in CASES:
        try:
            lines.append(json.dumps(completed(case), separators=(",", ":")))
        except Exception as problem:
            raise RuntimeError(f"{case}") from problem
    (HERE / "cases.jsonl").write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} cases by PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
