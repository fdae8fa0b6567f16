"""The forms in which Transformers.js finds a model: fp32, fp16, 8-bit integers, 4-bit blocks, and 4-bit blocks with fp16."""

from __future__ import annotations

import tempfile
from pathlib import Path

import onnx
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
from onnxruntime.transformers.float16 import convert_float_to_float16


def _fp16(model: onnx.ModelProto, halves: str = "") -> onnx.ModelProto:
    """Inputs and outputs stay fp32, as in the exports that Transformers.js publishes, and so do nodes whose names do not begin
    with `halves`. Constants become initializers first: the converter keeps those in fp32 that only Resize and the like read."""
    for node in [node for node in model.graph.node if node.op_type == "Constant" and node.attribute[0].name == "value"]:
        tensor = node.attribute[0].t
        tensor.name = node.output[0]
        model.graph.initializer.append(tensor)
        model.graph.node.remove(node)
    kept = [node.name for node in model.graph.node if not node.name.startswith(halves)]
    return convert_float_to_float16(model, keep_io_types=True, disable_shape_infer=True, node_block_list=kept)


def _q8(model: onnx.ModelProto) -> onnx.ModelProto:
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "source.onnx", Path(folder) / "made.onnx"
        onnx.save(model, source)
        convolutions = any(node.op_type == "Conv" for node in model.graph.node)
        quantize_dynamic(source, made, weight_type=QuantType.QUInt8 if convolutions else QuantType.QInt8, extra_options={"EnableSubgraph": True})
        return onnx.load(made)


def _q4(model: onnx.ModelProto) -> onnx.ModelProto:
    quantizer = MatMulNBitsQuantizer(model, block_size=32, is_symmetric=True)
    quantizer.process()
    return quantizer.model.model


def _copy(model: onnx.ModelProto) -> onnx.ModelProto:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    return made


def write_forms(model: onnx.ModelProto, folder: Path, name: str, halves: str = "") -> None:
    """Writes NAME.onnx, NAME_fp16.onnx and so on. halves: how the names of nodes begin that may compute in fp16. Raises the
    converters' exceptions."""
    folder.mkdir(parents=True, exist_ok=True)
    forms = {
        "": model,
        "_fp16": _fp16(_copy(model), halves),
        "_quantized": _q8(_copy(model)),
        "_q4": _q4(_copy(model)),
        "_q4f16": _fp16(_q4(_copy(model)), halves),
    }
    for suffix, made in forms.items():
        onnx.save(made, folder / f"{name}{suffix}.onnx")
