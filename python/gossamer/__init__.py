"""Gossamer: ONNX models as small, fast packages for the web and for this machine, and lazy tensors with gradients.

>>> import gossamer
>>> model = gossamer.compile("resnet18.onnx")            # for this machine's CPU
>>> scores = model.run({"data": image})["logits"]        # numpy in, numpy out
>>> gossamer.compile("resnet18.onnx", target="opengl").run({"data": image})   # on its GPU
>>> gossamer.compile("resnet18.onnx", target="webgpu").write("site/resnet18")

>>> x = gossamer.tensor([1.0, 2.0, 3.0], requires_grad=True)
>>> (x * x).sum().backward()                             # recorded; what is read is computed, as one program
>>> x.grad
tensor([2., 4., 6.])

Errors are gossamer.Error: one line that says where, what, and what to do.
"""

from . import lazy, llm, nn, optim, rpc, safetensors
from ._version import version as __version__
from .compiler import HERE, TARGETS, Package, compile
from .error import Error
from .export import export_onnx
from .generate import BatchToken, Generation, GenerationBatch, GenerationCache, Generations
from .lazy import *  # noqa: F403
from .model import Model, Port, load
from .onnx_model import OnnxModel
from .own_operator import Operator, operator
from .state import State

__all__ = ["HERE", "TARGETS", "BatchToken", "Error", "Generation", "GenerationBatch", "GenerationCache", "Generations", "Model", "OnnxModel", "Operator", "Package", "Port", "State", "__version__", "compile", "export_onnx", "llm", "load", "nn", "operator", "optim", "rpc", "safetensors", *lazy.__all__]
