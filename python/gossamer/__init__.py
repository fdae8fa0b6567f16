"""Gossamer: ONNX models as small, fast packages for the web and for this machine.

>>> import gossamer
>>> model = gossamer.compile("resnet18.onnx")            # for this machine's CPU
>>> scores = model.run({"data": image})["logits"]        # numpy in, numpy out
>>> gossamer.compile("resnet18.onnx", target="webgpu").write("site/resnet18")

Errors are gossamer.Error: one line that says where, what, and what to do.
"""

from ._version import version as __version__
from .compiler import TARGETS, Package, compile
from .error import Error
from .model import Model, Port, load

__all__ = ["TARGETS", "Error", "Model", "Package", "Port", "__version__", "compile", "load"]
