"""Small models that several tests compile, and how much of the interpreter some work leaves to other threads."""

import contextlib
import threading
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import gossamer

WEIGHT = np.arange(12, dtype=np.float32).reshape(3, 4) / 10


@contextlib.contextmanager
def driver_needed():
    """Skips the test where what runs within needs a driver that this machine lacks."""
    try:
        yield
    except gossamer.Error as problem:
        if "install" not in str(problem):
            raise
        pytest.skip(f"this machine has no driver: {problem}")


def model_of(nodes, inputs, outputs, initializers=()):
    def ports(listed):
        return [helper.make_tensor_value_info(*each) for each in listed]

    graph = helper.make_graph(nodes, "model", ports(inputs), ports(outputs), [onnx.numpy_helper.from_array(array, name) for name, array in initializers])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def dense():
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Relu", ["y"], ["z"])]
    return model_of(nodes, [("x", TensorProto.FLOAT, ["rows", 3])], [("z", TensorProto.FLOAT, ["rows", 4])], [("w", WEIGHT)])


X = np.array([[1, -2, 3], [0, 1, 0]], dtype=np.float32)


def deep(layers):
    nodes, weights = [], []
    for at in range(layers):
        weights.append((f"w{at}", np.full((3 + at, 4 + at), 0.1, np.float32)))
        nodes.append(helper.make_node("MatMul", [f"x{at}" if at else "x", f"w{at}"], [f"x{at + 1}"]))
    return model_of(nodes, [("x", TensorProto.FLOAT, ["rows", 3])], [(f"x{layers}", TensorProto.FLOAT, ["rows", 3 + layers])], weights)


def turns_left_by(work):
    """How often a thread that sleeps a millisecond at a time wakes during `work`, by how often it does during a sleep of the same length.

    About 1 if the work releases the interpreter, nearly 0 if it holds it.
    """
    turns = 0
    ended = threading.Event()

    def count():
        nonlocal turns
        while not ended.is_set():
            turns += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    begin, first = time.perf_counter(), turns
    work()
    took, middle = time.perf_counter() - begin, turns
    time.sleep(took)
    last = turns
    ended.set()
    thread.join()
    return (middle - first) / max(1, last - middle)
