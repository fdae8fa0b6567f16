"""Runs an ONNX model with ONNX Runtime on commands from stdin (serve_loop.py):

  onnxruntime_serve.py MODEL THREADS NAME=SHAPE=FILE...
"""

import sys

import onnxruntime
from serve_loop import read_inputs, serve

TYPES = {
    "tensor(float)": "float32", "tensor(float16)": "float16", "tensor(int64)": "int64", "tensor(int32)": "int32",
    "tensor(int8)": "int8", "tensor(uint8)": "uint8", "tensor(bool)": "bool",
}

model, threads, *inputs = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(threads)
options.inter_op_num_threads = 1
options.log_severity_level = 4
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
feeds = read_inputs(inputs, {port.name: TYPES[port.type] for port in session.get_inputs()})
serve(f"onnxruntime {onnxruntime.__version__}", lambda: session.run(None, feeds))
