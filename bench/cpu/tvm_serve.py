"""Compiles an ONNX model with Apache TVM and runs it on commands from stdin (serve_loop.py):

  tvm_serve.py MODEL THREADS NAME=SHAPE=FILE...   (f32, or i64 where the model says so)

TVM's own pipeline for this processor, without tuning: that takes hours a model.
"""

import os
import sys

model_file, threads, *inputs = sys.argv[1:]
os.environ["TVM_NUM_THREADS"] = threads

import onnx  # noqa: E402  (reads the environment)
import tvm  # noqa: E402
from serve_loop import read_inputs, serve  # noqa: E402
from tvm import relax  # noqa: E402
from tvm.relax.frontend.onnx import from_onnx  # noqa: E402


def compile_model():
    """The compiled module's main function."""
    module = from_onnx(onnx.load(model_file), keep_params_in_input=False)
    target = tvm.target.Target.from_device(tvm.cpu())
    with target:
        module = relax.get_pipeline("zero")(module)
    return relax.VirtualMachine(tvm.compile(module, target=target), tvm.cpu())["main"]


ports = onnx.load(model_file, load_external_data=False).graph.input
types = {each.name: onnx.helper.tensor_dtype_to_np_dtype(each.type.tensor_type.elem_type) for each in ports}
main = compile_model()
feeds = [tvm.runtime.tensor(values) for values in read_inputs(inputs, types).values()]


def run():
    result = main(*feeds)
    return [each.numpy() for each in ([result] if hasattr(result, "numpy") else result)]


serve(f"tvm {tvm.__version__}", run)
