"""The table of checkpoints, and what all of them share."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
import torch
import transformers as hf

CHECKPOINTS: dict[str, Callable[[Path], None]] = {}


def checkpoint(write: Callable[[Path], None]) -> Callable[[Path], None]:
    """Adds a function that writes a checkpoint's folder, under its name."""
    CHECKPOINTS[write.__name__] = write
    return write


Dims = Mapping[str, Mapping[int, str]]


def exported(call: torch.nn.Module, feeds: Mapping[str, torch.Tensor], outputs: Sequence[str], dims: Dims, *, opset: int = 17) -> onnx.ModelProto:
    """An ONNX model with open dimensions, by the exporter that Optimum uses."""
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        file = Path(folder) / "model.onnx"
        axes = {name: dict(each) for name, each in dims.items()}
        torch.onnx.export(call, tuple(feeds.values()), file, dynamo=False, input_names=list(feeds), output_names=list(outputs), dynamic_axes=axes, opset_version=opset)
        return onnx.load(file)


def write_json(file: Path, content: Any) -> None:
    file.write_text(json.dumps(content, indent=1) + "\n")


def write_config(folder: Path, config: hf.PretrainedConfig, architecture: str, **settings: Any) -> None:
    write_json(folder / "config.json", {**config.to_dict(), "architectures": [architecture], **settings})


def labels(*names: str) -> dict[str, Any]:
    return {"num_labels": len(names), "id2label": dict(enumerate(names)), "label2id": {name: at for at, name in enumerate(names)}}
