"""compile() of PyTorch's modules: by PyTorch where it is installed, and in any case with a stand-in for its exporter."""

import sys
import types

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

import gossamer


class Doubled:
    """What the stand-in's export() returns: twice its input, by a weight in another file."""

    def __init__(self, extent):
        self.extent = extent

    def save(self, path, external_data):
        ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [self.extent, 512]) for name in ("x", "y")]
        weight = numpy_helper.from_array(np.full(512, 2, np.float32), "w")
        graph = helper.make_graph([helper.make_node("Mul", ["x", "w"], ["y"])], "doubled", ports[:1], ports[1:], [weight])
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path, save_as_external_data=external_data, location="doubled.data", size_threshold=0)


@pytest.fixture
def stand_in(monkeypatch):
    torch = types.ModuleType("torch")
    torch.nn = types.SimpleNamespace(Module=type("Module", (), {}))
    torch.calls = []

    def export(module, arguments, *, kwargs, dynamic_shapes, dynamo, verbose):
        torch.calls.append((arguments, kwargs, dynamic_shapes, [part.training for part in module.modules()]))
        if torch.problem:
            raise torch.problem
        return Doubled("n" if dynamic_shapes else 3)

    torch.problem = None
    torch.onnx = types.SimpleNamespace(export=export, OnnxExporterError=type("OnnxExporterError", (RuntimeError,), {}))
    monkeypatch.setitem(sys.modules, "torch", torch)

    class Part(torch.nn.Module):
        training = True

        def modules(self):
            return [self, *getattr(self, "parts", [])]

        def eval(self):
            for part in self.modules():
                part.training = False

    module, frozen = Part(), Part()
    frozen.training = False
    module.parts = [frozen]
    return torch, module


def test_examples_are_the_second_argument_or_named(stand_in):
    torch, module = stand_in
    x = np.arange(3 * 512, dtype=np.float32).reshape(3, 512)
    for package in (gossamer.compile(module, (x,)), gossamer.compile(module, x), gossamer.compile(module, [x], target="cpu"), gossamer.compile(module, example_inputs={"x": x})):
        np.testing.assert_array_equal(package.run({"x": x})["y"], 2 * x)
    assert [len(arguments) for arguments, *_ in torch.calls] == [1, 1, 1, 0]
    assert list(torch.calls[3][1]) == ["x"]
    assert gossamer.compile(module, (x,), target="wasm").target == "wasm"


def test_modes_are_those_from_before(stand_in):
    torch, module = stand_in
    gossamer.compile(module, (np.zeros((3, 512), np.float32),))
    assert torch.calls[0][3] == [False, False]
    assert [part.training for part in module.modules()] == [True, False]


def test_open_dimensions_are_compiled_again_for_shapes_that_return(stand_in):
    _, module = stand_in
    package = gossamer.compile(module, (np.zeros((3, 512), np.float32),), dynamic_shapes={"x": {0: "n"}}, specialize_after=1)
    for rows in (2, 5, 5, 5, 5):
        np.testing.assert_array_equal(package.run(np.ones((rows, 512), np.float32))["y"], np.full((rows, 512), 2, np.float32))


def test_errors_say_what_to_do(stand_in):
    torch, module = stand_in
    with pytest.raises(gossamer.Error, match=r"needs example inputs .*compile\(module, \(x,\)\)"):
        gossamer.compile(module)
    with pytest.raises(gossamer.Error, match="example inputs are of a torch.nn.Module"):
        gossamer.compile(b"", (np.zeros(3),))
    with pytest.raises(gossamer.Error, match="not a model"):
        gossamer.compile(3)
    torch.problem = ImportError("No module named 'onnxscript'")
    with pytest.raises(gossamer.Error, match="pip install onnx onnxscript"):
        gossamer.compile(module, (1,))
    torch.problem = torch.onnx.OnnxExporterError("\x1b[96mno way\x1b[0m out")
    with pytest.raises(gossamer.Error, match="cannot export this module: no way out"):
        gossamer.compile(module, (1,))
    assert [part.training for part in module.modules()] == [True, False]


def test_modules_of_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("onnxscript", reason="PyTorch's exporter needs onnxscript")
    module = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(), torch.nn.ReLU(), torch.nn.Linear(16, 3))
    x = torch.randn(4, 8)
    (y,) = gossamer.compile(module, (x,)).run(x).values()
    assert module.training
    np.testing.assert_allclose(y, module.eval()(x).detach().numpy(), atol=1e-5)
