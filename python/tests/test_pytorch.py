"""Calls of PyTorch with what it gives for them, values and gradients: tests/pytorch/cases.jsonl, written by tests/pytorch/write.py."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gossamer as gs
from gossamer import nn
from gossamer.nn import functional as F

FILE = Path(__file__).parents[2] / "tests/pytorch/cases.jsonl"
CASES = [json.loads(line) for line in FILE.read_text().splitlines()]


def elements(count, seed, low, high):
    """As in write.py."""
    return [low + (high - low) * (((at * 2654435761 + seed * 40503 + 12345) ^ (((at + 1) * (seed + 1) * 2246822519) & 0xFFFFFFFF)) % 2**32) / 2**32 for at in range(count)]


def given(value):
    if isinstance(value, list):
        return [given(each) for each in value]
    return float(value) if isinstance(value, str) else value


def tensor(spec):
    dtype = {"f32": np.float32, "i64": np.int64, "bool": np.bool_}[spec.get("dtype", "f32")]
    if "values" in spec:
        made = gs.tensor(np.asarray(given(spec["values"]), dtype))
    else:
        numbers = np.asarray(elements(math.prod(spec["t"]), spec["seed"], *spec.get("range", (-2, 2))))
        made = gs.tensor((numbers if dtype == np.float32 else np.floor(numbers)).astype(dtype).reshape(spec["t"]))
    return made.requires_grad_() if dtype == np.float32 and spec.get("grad", True) else made


def argument(value, made):
    if isinstance(value, dict):
        made.append(tensor(value))
        return made[-1]
    return [argument(each, made) for each in value] if isinstance(value, list) else value


def flat(out):
    if isinstance(out, gs.Tensor):
        return [out]
    return [each for part in out for each in flat(part)] if isinstance(out, tuple | list) else []


def weights(out):
    return gs.tensor(np.asarray([((at * 7) % 11 - 5) / 5 for at in range(out.numel())], np.float32).reshape(out.shape))


def called(case, inputs, options):
    kind, name = case["call"].split(".")
    if kind == "F":
        return getattr(F, name)(*inputs, **options)
    if kind == "nn":
        module = getattr(nn, name)(*case.get("make", []), **case.get("options", {}))
        assert sorted(module.state_dict()) == sorted(key for key, _, _ in case["state"])
        module.load_state_dict({key: np.asarray(elements(math.prod(shape), seed, *((0.5, 1.5) if key.endswith("running_var") else (-0.8, 0.8))), np.float32).reshape(shape) for key, shape, seed in case["state"]})
        return module.train(case.get("training", False))(*inputs)
    return getattr(inputs[0], name)(*inputs[1:], **options)


def close(found, wanted, what):
    found = np.asarray(found, np.float64).reshape(-1)
    wanted = np.asarray(given(wanted), np.float64)
    finite = np.abs(wanted[np.isfinite(wanted)])
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5 + 2e-6 * (finite.max() if finite.size else 0), err_msg=what)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["call"])
def test_it_gives_what_pytorch_gives(case):
    made = []
    inputs = [argument(each, made) for each in case["args"]]
    options = {} if case["call"].startswith("nn.") else {name: argument(each, made) for name, each in case.get("options", {}).items()}
    out = flat(called(case, inputs, options))[: case.get("only")]
    assert [list(each.shape) for each in out] == [each["shape"] for each in case["out"]]
    if "grads" in case:
        total = None
        for each in out:
            if each.requires_grad:
                part = (each * weights(each)).sum()
                total = part if total is None else total + part
        total.backward()
    for each, wanted in zip(out, case["out"], strict=True):
        close(each.numpy(), wanted["values"], "value")
    for each, wanted in zip(made, case.get("grads", []), strict=False):
        if wanted is not None and (each.grad is not None or any(wanted)):
            close(each.grad.numpy(), wanted, "gradient")


def test_typescript_is_written_from_these_functions():
    done = subprocess.run([sys.executable, Path(__file__).parents[2] / "tools/composed/write.py", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
