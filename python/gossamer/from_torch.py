"""PyTorch modules as ONNX files, by PyTorch's own exporter."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from .error import Error


def is_module(model: Any) -> bool:
    """Whether it is a torch.nn.Module. PyTorch is not imported: who has a module has imported it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


class ExportedModule:
    """A module's ONNX file, with its weights in a file next to it; both are removed with this object."""

    def __init__(self, module: Any, example_inputs: Any, dynamic_shapes: Any = None) -> None:
        """example_inputs: a tensor, a sequence of positional arguments of `forward`, or a mapping of keyword arguments.

        dynamic_shapes: as torch.export.export has them; without any, extents are those of the examples. The module is exported as
        in eval(), and is in its own mode afterwards. Raises Error without examples or onnxscript, and for what PyTorch cannot export.
        """
        import torch

        if example_inputs is None:
            raise Error("a torch.nn.Module needs example inputs", hint="gossamer.compile(module, (x,)): a tensor for each argument of forward()")
        keywords = dict(example_inputs) if isinstance(example_inputs, Mapping) else {}
        if keywords:
            arguments: tuple[Any, ...] = ()
        else:
            arguments = tuple(example_inputs) if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
        self._folder = tempfile.TemporaryDirectory(prefix="gossamer-")
        self.path = os.path.join(self._folder.name, f"{type(module).__name__}.onnx")
        modes = {part: part.training for part in module.modules()}
        module.eval()
        try:
            program = torch.onnx.export(module, arguments, kwargs=keywords, dynamic_shapes=dynamic_shapes, dynamo=True, verbose=False)
            program.save(self.path, external_data=True)
        except ImportError as problem:
            raise Error(f"PyTorch's exporter needs a package that is not installed: {problem}", hint="pip install onnx onnxscript") from problem
        except torch.onnx.OnnxExporterError as problem:
            message = re.sub("\\x1b\\[[0-9;]*m", "", str(problem))  # its colours
            raise Error(f"PyTorch cannot export this module: {message}", hint="its message says where; torch.onnx.export(..., report=True) writes more") from problem
        finally:
            for part, training in modes.items():
                part.training = training
