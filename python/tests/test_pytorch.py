"""Calls of PyTorch with what it gives for them, values and gradients: tests/pytorch/cases.jsonl, written by tests/pytorch/write.py."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gossamer as gs
from gossamer import nn, optim
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


STEPS = [json.loads(line) for line in (FILE.parent / "steps.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("case", [case for case in STEPS if "optimizer" in case], ids=lambda case: case["optimizer"])
def test_optimizers_go_where_pytorchs_go(case):
    w = gs.tensor([1.0, -2.0, 0.5], requires_grad=True)
    optimizer = getattr(optim, case["optimizer"])([w], **case["options"])

    def closure():
        optimizer.zero_grad()
        loss = ((w * gs.tensor([1.0, 2.0, 3.0]) - 1) ** 4 + w.square()).sum() / 4
        loss.backward()
        return loss

    for step in range(2 if case["optimizer"] == "LBFGS" else 5):
        if case["optimizer"] == "LBFGS":
            optimizer.step(closure)
        else:
            w.grad = gs.tensor([0.3, -0.1 * (step + 1), 0.7 - 0.5 * step])
            optimizer.step()
    np.testing.assert_allclose(w.detach().numpy(), case["after"], rtol=2e-4 if case["optimizer"] == "LBFGS" else 1e-5, atol=1e-6)


@pytest.mark.parametrize("case", [case for case in STEPS if "matrix" in case], ids=lambda case: case["matrix"])
def test_optimizers_of_matrices_go_where_pytorchs_go(case):
    w = gs.tensor(np.asarray(elements(6, 7, -1, 1), np.float32).reshape(3, 2)).requires_grad_()
    optimizer = getattr(optim, case["matrix"])([w], **case["options"])
    for step in range(4):
        w.grad = gs.tensor(np.asarray(elements(6, 20 + step, -1, 1), np.float32).reshape(3, 2))
        optimizer.step()
    # PyTorch's Muon computes in bfloat16.
    np.testing.assert_allclose(w.detach().numpy().reshape(-1), case["after"], rtol=1e-5, atol=2e-2 if case["matrix"] == "Muon" else 1e-5)


@pytest.mark.parametrize("case", [case for case in STEPS if "schedule" in case], ids=lambda case: case["schedule"])
def test_schedules_go_where_pytorchs_go(case):
    optimizer = optim.SGD([gs.zeros(1, requires_grad=True)], lr=0.4, momentum=0.9)
    kind = getattr(optim, case["schedule"])
    if "parts" in case:
        several = [getattr(optim, name)(optimizer, *args, **options) for name, args, options in case["parts"]]
        schedule = kind(optimizer, several, case["milestones"]) if case["milestones"] else kind(several)
    else:
        schedule = kind(optimizer, *case["args"], **case["options"])
    for step, (lr, momentum) in enumerate(case["rates"]):
        group = optimizer.param_groups[0]
        assert group["lr"] == pytest.approx(lr, abs=1e-6), step
        assert group["momentum"] == pytest.approx(momentum, abs=1e-6), step
        if step < 11:
            schedule.step()


def test_typescript_is_written_from_these_functions():
    done = subprocess.run([sys.executable, Path(__file__).parents[2] / "tools/composed/write.py", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_of_names_is_current():
    done = subprocess.run([sys.executable, Path(__file__).parents[2] / "tests/pytorch/page.py", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
