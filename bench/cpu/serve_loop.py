"""Runs a model on commands from stdin, as cpu/serve.cc does:

  "run N"      N runs; prints {"wall": [ms...], "cpu": [ms...]}
  "save STEM"  writes the outputs of the latest run, raw, to STEM0, STEM1, ...; prints {"types": ["f32", ...]}
"""

import json
import sys
import time

import numpy as np

NAMES = {"float32": "f32", "float16": "f16", "int64": "i64", "int32": "i32", "int8": "i8", "uint8": "u8", "bool": "bool"}


def tell(what):
    print(json.dumps(what), flush=True)


def read_inputs(texts, types):
    """Arrays by name: NAME=SHAPE=FILE each, of the element types by name."""
    feeds = {}
    for text in texts:
        name, shape, path = text.split("=", 2)
        feeds[name] = np.fromfile(path, types[name]).reshape([int(extent) for extent in shape.split("x") if extent])
    return feeds


def serve(device, run):
    """`run()` gives the outputs as arrays."""
    outputs = []
    tell({"device": device})
    for line in sys.stdin:
        command, argument = line.strip().split(" ", 1)
        if command == "run":
            wall, cpu = [], []
            for _ in range(int(argument)):
                began, used = time.perf_counter(), time.process_time()
                outputs = run()
                wall.append(1e3 * (time.perf_counter() - began))
                cpu.append(1e3 * (time.process_time() - used))
            tell({"wall": wall, "cpu": cpu})
        elif command == "save":
            for at, each in enumerate(outputs):
                np.ascontiguousarray(each).tofile(f"{argument}{at}")
            tell({"types": [NAMES[str(each.dtype)] for each in outputs]})
