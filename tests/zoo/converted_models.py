"""Models of the zoo in other types, f16 and integers of eight bits, as users convert an export with ONNX Runtime's tools."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from exporters import write_sets
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from onnxruntime.transformers.float16 import convert_float_to_float16


class _Feeds(CalibrationDataReader):
    """The feeds of a model's test data sets."""

    def __init__(self, feeds: list[dict[str, np.ndarray]]) -> None:
        self.rest = iter(feeds)

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self.rest, None)


def dynamic(source: Path, target: Path, _feeds: list[dict[str, np.ndarray]]) -> None:
    """Products alone; activations are quantised by their range in each run."""
    quantize_dynamic(source, target)


def dynamic_unsigned(source: Path, target: Path, _feeds: list[dict[str, np.ndarray]]) -> None:
    """As Transformers.js's q8: unsigned weights, which have zero points, and embeddings too."""
    quantize_dynamic(source, target, weight_type=QuantType.QUInt8, op_types_to_quantize=["MatMul", "Gemm", "Gather"])


def static(source: Path, target: Path, feeds: list[dict[str, np.ndarray]]) -> None:
    """QDQ, with the ranges that activations have in the test data."""
    prepared = target.with_name("prepared.onnx")
    quant_pre_process(source, prepared, skip_symbolic_shape=True)
    types = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
    quantize_static(prepared, target, _Feeds(feeds), quant_format=QuantFormat.QDQ, **types)
    prepared.unlink()


def half(source: Path, target: Path, _feeds: list[dict[str, np.ndarray]]) -> None:
    """Weights, activations, inputs and outputs in f16."""
    onnx.save(convert_float_to_float16(onnx.load(source)), target)


@dataclass
class Converted:
    """`of`: the model of the zoo that it is made of."""

    of: str
    convert: Callable[[Path, Path, list[dict[str, np.ndarray]]], None]


CONVERTED = {
    "vit_small_int8": Converted("vit_small", dynamic),
    "dinov2_int8": Converted("dinov2", dynamic),
    "minilm_int8": Converted("minilm", dynamic),
    "whisper_decoder_int8": Converted("whisper_decoder", dynamic_unsigned),
    "yolo_int8": Converted("yolo", static),
    "mobilenetv4_small_int8": Converted("mobilenetv4_small", static),
    "vit_small_f16": Converted("vit_small", half),
    "minilm_f16": Converted("minilm", half),
    "mobilenetv3_small_f16": Converted("mobilenetv3_small", half),
}


def _inputs_of(data: Path) -> dict[str, np.ndarray]:
    files = sorted(data.glob("input_*.pb"), key=lambda file: int(file.stem.removeprefix("input_")))
    tensors = [onnx.load_tensor(file) for file in files]
    return {each.name: numpy_helper.to_array(each) for each in tensors}


def _types_of(file: Path) -> dict[str, np.dtype]:
    """Of the model's inputs."""
    return {each.name: onnx.helper.tensor_dtype_to_np_dtype(each.type.tensor_type.elem_type) for each in onnx.load(file, load_external_data=False).graph.input}


def write_converted(folder: Path, made: Converted) -> None:
    """Replaces the folder by the model and its test data, whose inputs are those of the model that it is made of. Removes it
    and raises if something is refused."""
    shutil.rmtree(folder, ignore_errors=True)
    source = folder.with_name(made.of)
    feeds = [_inputs_of(data) for data in sorted(source.glob("test_data_set_*"))]
    if not feeds:
        raise ValueError(f"there is no {made.of} that it could be made of")
    folder.mkdir(parents=True)
    try:
        made.convert(source / "model.onnx", folder / "model.onnx", feeds)
        types = _types_of(folder / "model.onnx")
        write_sets(folder, [{name: each.astype(types[name]) for name, each in given.items()} for given in feeds])
    except Exception:
        shutil.rmtree(folder)
        raise
