"""Compiles an ONNX model with Apache TVM and runs it on commands from stdin, as cpu/serve.cc does:

  tvm_serve.py MODEL THREADS NAME=SHAPE=FILE...   (f32, or i64 where the model says so)
  "run N"      N runs; prints {"wall": [ms...], "cpu": [ms...]}
  "save STEM"  writes the outputs of the latest run, raw, to STEM0, STEM1, ...; prints {"types": ["f32", ...]}

TVM's own pipeline for this processor, without tuning: that takes hours a model.
"""

import json
import os
import sys
import time

model_file, threads, *inputs = sys.argv[1:]
os.environ["TVM_NUM_THREADS"] = threads

import numpy as np  # noqa: E402  (reads the environment)
import onnx  # noqa: E402
import tvm  # noqa: E402
from tvm import relax  # noqa: E402
from tvm.relax.frontend.onnx import from_onnx  # noqa: E402

NAMES = {"float32": "f32", "int64": "i64", "int32": "i32", "int8": "i8", "uint8": "u8", "bool": "bool"}


def tell(what):
    print(json.dumps(what), flush=True)


def compile_model():
    """The compiled module's main function."""
    module = from_onnx(onnx.load(model_file), keep_params_in_input=False)
    target = tvm.target.Target.from_device(tvm.cpu())
    with target:
        module = relax.get_pipeline("zero")(module)
    return relax.VirtualMachine(tvm.compile(module, target=target), tvm.cpu())["main"]


def read_inputs():
    types = {each.name: onnx.helper.tensor_dtype_to_np_dtype(each.type.tensor_type.elem_type) for each in onnx.load(model_file, load_external_data=False).graph.input}
    feeds = []
    for text in inputs:
        name, shape, path = text.split("=", 2)
        values = np.fromfile(path, types[name]).reshape([int(extent) for extent in shape.split("x") if extent])
        feeds.append(tvm.runtime.tensor(values))
    return feeds


main = compile_model()
feeds = read_inputs()
outputs = []
tell({"device": f"tvm {tvm.__version__}"})
for line in sys.stdin:
    command, argument = line.strip().split(" ", 1)
    if command == "run":
        wall, cpu = [], []
        for _ in range(int(argument)):
            began, used = time.perf_counter(), time.process_time()
            result = main(*feeds)
            outputs = [each.numpy() for each in ([result] if hasattr(result, "numpy") else result)]
            wall.append(1e3 * (time.perf_counter() - began))
            cpu.append(1e3 * (time.process_time() - used))
        tell({"wall": wall, "cpu": cpu})
    elif command == "save":
        for at, each in enumerate(outputs):
            each.tofile(f"{argument}{at}")
        tell({"types": [NAMES[str(each.dtype)] for each in outputs]})
