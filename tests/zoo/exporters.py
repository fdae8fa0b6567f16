"""Writes a model to a folder: model.onnx, and test_data_set_0, 1, ... with the outputs that ONNX Runtime computes."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import numpy_helper
from recipes import Model


def _open_dimensions(model: Model) -> tuple[object, ...] | None:
    """dynamic_shapes of the new exporter: an entry for each argument of forward, a tuple of them for *inputs."""
    shapes = [dict(model.open[name]) if model.open.get(name) else None for name in model.feeds[0]]
    if not any(shapes):
        return None
    kinds = [each.kind for each in inspect.signature(model.module.forward).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        plain = kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return (*shapes[:plain], tuple(shapes[plain:]))
    return tuple(shapes)


def _traced(model: Model, exporter: str) -> Mapping[str, torch.Tensor]:
    """The feeds that the exporter sees. The legacy exporter gets the first ones. The new exporter fixes an open dimension that
    is 1, so it gets feeds in which none is."""
    if exporter == "legacy":
        return model.feeds[0]
    return max(model.feeds, key=lambda feeds: min(feeds[name].shape[axis] for name, axes in model.open.items() for axis in axes))


def export(model: Model, exporter: str, opset: int, file: Path) -> None:
    """Writes the model with open dimensions, as users export it. Raises the exporter's exceptions."""
    inputs = tuple(_traced(model, exporter).values())
    names = list(model.feeds[0])
    axes = {name: dict(each) for name, each in model.open.items() if each}
    with torch.no_grad():
        if exporter == "legacy":
            torch.onnx.export(
                model.module, inputs, file, dynamo=False, input_names=names, output_names=list(model.outputs), dynamic_axes=axes or None, opset_version=opset
            )
            return
        torch.onnx.export(
            model.module, inputs, file, dynamo=True, input_names=names, output_names=list(model.outputs), dynamic_shapes=_open_dimensions(model), verbose=False
        )


def session_of(file: Path) -> onnxruntime.InferenceSession:
    """ONNX Runtime on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])


def _save(folder: Path, kind: str, at: int, name: str, array: np.ndarray) -> None:
    onnx.save_tensor(numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name), folder / f"{kind}_{at}.pb")


def _weak(outputs: Mapping[str, np.ndarray]) -> str:
    """Why these outputs cannot detect a wrong result, or an empty string."""
    for name, array in outputs.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            return f"{name} has elements that are not finite"
        if array.size == 0:
            return f"{name} has no elements"
        if array.dtype.kind == "f" and array.size > 1 and array.std() < 1e-6:
            return f"{name} is constant"
    return ""


def write_sets(folder: Path, feeds: list[dict[str, np.ndarray]]) -> None:
    """test_data_set_0, 1, ...: inputs in the order of the model's ports, and outputs. Raises ValueError for outputs that
    cannot detect a wrong result, and the exceptions of ONNX Runtime."""
    session = session_of(folder / "model.onnx")
    for at, given in enumerate(feeds):
        to = folder / f"test_data_set_{at}"
        to.mkdir()
        ports = [port.name for port in session.get_inputs()]
        outputs = dict(zip([port.name for port in session.get_outputs()], session.run(None, {name: given[name] for name in ports}), strict=True))
        if weak := _weak(outputs):
            raise ValueError(f"test data set {at}: {weak}")
        for kind, arrays in (("input", {name: given[name] for name in ports}), ("output", outputs)):
            for place, (name, array) in enumerate(arrays.items()):
                _save(to, kind, place, name, np.asarray(array))


def write_case(folder: Path, model: Model, exporter: str, opset: int) -> None:
    """Replaces the folder by the model and its test data. Removes it and raises if something is refused."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        export(model, exporter, opset, folder / "model.onnx")
        write_sets(folder, [{name: each.detach().numpy() for name, each in feeds.items()} for feeds in model.feeds])
    except Exception:
        shutil.rmtree(folder)
        raise
