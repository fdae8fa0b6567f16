"""Runs an ONNX model with ONNX Runtime on commands from stdin, as cpu/serve.cc does:

  onnxruntime_serve.py MODEL THREADS NAME=SHAPE=FILE...
  "run N"      N runs; prints {"wall": [ms...], "cpu": [ms...]}
  "save STEM"  writes the outputs of the latest run, raw, to STEM0, STEM1, ...; prints {"types": ["f32", ...]}
"""

import json
import sys
import time

import numpy as np
import onnxruntime

TYPES = {"tensor(float)": "float32", "tensor(int64)": "int64", "tensor(int32)": "int32", "tensor(int8)": "int8", "tensor(uint8)": "uint8", "tensor(bool)": "bool"}
NAMES = {"float32": "f32", "int64": "i64", "int32": "i32", "int8": "i8", "uint8": "u8", "bool": "bool"}


def tell(what):
    print(json.dumps(what), flush=True)


def read_inputs(session, inputs):
    types = {port.name: TYPES[port.type] for port in session.get_inputs()}
    feeds = {}
    for text in inputs:
        name, shape, path = text.split("=", 2)
        feeds[name] = np.fromfile(path, types[name]).reshape([int(extent) for extent in shape.split("x") if extent])
    return feeds


model, threads, *inputs = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(threads)
options.inter_op_num_threads = 1
options.log_severity_level = 4
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
feeds = read_inputs(session, inputs)
outputs = []
tell({"device": f"onnxruntime {onnxruntime.__version__}"})
for line in sys.stdin:
    command, argument = line.strip().split(" ", 1)
    if command == "run":
        wall, cpu = [], []
        for _ in range(int(argument)):
            began, used = time.perf_counter(), time.process_time()
            outputs = session.run(None, feeds)
            wall.append(1e3 * (time.perf_counter() - began))
            cpu.append(1e3 * (time.process_time() - used))
        tell({"wall": wall, "cpu": cpu})
    elif command == "save":
        for at, each in enumerate(outputs):
            np.ascontiguousarray(each).tofile(f"{argument}{at}")
        tell({"types": [NAMES[str(each.dtype)] for each in outputs]})
