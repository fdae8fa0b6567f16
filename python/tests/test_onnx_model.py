"""ONNX models as modules: which initializers are parameters, and that they learn."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import gossamer as gs
from gossamer import nn, optim


def model_of(nodes, initializers, inputs, outputs=("y",), kinds=None):
    """kinds: what PyTorch's exporter says about initializers."""
    graph = helper.make_graph(
        [helper.make_node(op, list(given), [made], name=f"the {op}", **attributes) for op, given, made, attributes in ((*node, {})[:4] for node in nodes)],
        "small",
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in initializers.items()],
    )
    for name, kind in (kinds or {}).items():
        said = graph.value_info.add(name=name)
        said.metadata_props.add(key="pkg.torch.export.graph_signature.InputSpec.kind", value=kind)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9).SerializeToString()


W = np.float32([[1, 2], [3, 4], [5, 6]])


def tied():
    """y = ((x w' + b) * scale) w * 0.5 + offset: w is read behind Transpose and Identity, b behind Identity."""
    return model_of(
        [
            ("Identity", ["w"], "again"),
            ("Transpose", ["w"], "turned", {"perm": [1, 0]}),
            ("MatMul", ["x", "turned"], "h0"),
            ("Identity", ["b"], "bias"),
            ("Add", ["h0", "bias"], "h1"),
            ("Mul", ["h1", "scale"], "h2"),
            ("MatMul", ["h2", "again"], "h3"),
            ("Constant", [], "half", {"value_float": 0.5}),
            ("Mul", ["h3", "half"], "h4"),
            ("Add", ["h4", "offset"], "y"),
        ],
        {"w": W, "b": [1, 0, -1], "scale": 2, "offset": [[0.25, -0.25]]},
        {"x": ["n", 2]},
    )


def test_initializers_behind_identity_and_transpose_and_scalars_are_parameters(tmp_path):
    path = tmp_path / "tied.onnx"
    path.write_bytes(tied())
    model = gs.OnnxModel(path, mode="train")
    assert model.inputs == [("x", np.dtype("float32"), ("n", 2))]
    assert model.outputs == ["y"]
    assert [(name, each.shape, each.requires_grad) for name, each in model.named_parameters()] == [("w", (3, 2), True), ("b", (3,), True), ("scale", (), True), ("offset", (1, 2), True)]
    x = gs.tensor([[1.0, -1.0], [0.5, 2.0]])
    own = [nn.Parameter(each.detach()) for each in model.parameters()]
    mine, wanted = optim.Adam(model.parameters(), lr=0.1), optim.Adam(own, lr=0.1)
    for _ in range(5):
        w, b, scale, offset = own
        here = (model(x) ** 2).mean()
        there = ((((x @ w.T + b) * scale) @ w * 0.5 + offset) ** 2).mean()
        np.testing.assert_allclose(here.item(), there.item(), rtol=1e-5)
        here.backward()
        there.backward()
        for each, other in zip(model.parameters(), own, strict=True):
            np.testing.assert_allclose(each.grad.numpy(), other.grad.numpy(), rtol=1e-4, atol=1e-4)
        for optimizer in (mine, wanted):
            optimizer.step()
            optimizer.zero_grad()
    # What was learnt goes out under its name in its own layout, and in again.
    written = gs.export_onnx(model, x, input_names=["x"], dynamic_axes={0: {0: "n"}})
    onnx.checker.check_model(written, full_check=True)
    assert {each.name: tuple(each.dims) for each in onnx.load_from_string(written).graph.initializer} == {"w": (3, 2), "b": (3,), "scale": (), "offset": (1, 2)}
    again = gs.OnnxModel(written)
    assert not any(each.requires_grad for each in again.parameters())
    for name, each in model.named_parameters():
        np.testing.assert_array_equal(again.get_parameter(name).numpy(), each.numpy())
    more = gs.tensor(np.float32(np.arange(6)).reshape(3, 2))
    np.testing.assert_allclose(again(x=more).numpy(), model({"x": more}).numpy(), rtol=1e-6)


def test_it_is_a_module_among_others():
    net = nn.Sequential(gs.OnnxModel(tied(), mode="train"), nn.Linear(2, 1))
    assert [name for name, _ in net.named_parameters()] == ["0.w", "0.b", "0.scale", "0.offset", "1.weight", "1.bias"]
    state = net.state_dict()
    state["0.scale"] = gs.tensor(np.float32(0))
    net.load_state_dict(state)
    np.testing.assert_array_equal(net[0](gs.ones(2, 2)).numpy(), np.float32([[0.25, -0.25]] * 2))
    net.eval()
    assert not net[0].training


def test_normalizations_that_were_equal_when_exported_learn_on_their_own():
    names = ["bn.weight", "bn.bias", "bn.mean", "bn.var"]
    model = gs.OnnxModel(
        model_of(
            [
                ("Identity", ["ones"], "bn.weight"),
                ("Identity", ["zeros"], "bn.bias"),
                ("Identity", ["ones"], "bn.var"),
                ("Mul", ["x", "ones"], "h0"),
                ("Add", ["h0", "zeros"], "h1"),
                ("BatchNormalization", ["h1", *names[:2], "zeros", "bn.var"], "y"),
            ],
            {"ones": np.ones(2), "zeros": np.zeros(2)},
            {"x": ["n", 2]},
        ),
        mode="train",
    )
    assert sorted(name for name, _ in model.named_parameters()) == ["bn.bias", "bn.weight", "ones", "zeros"]
    x = np.float32([[1, 2], [3, -4]])
    np.testing.assert_allclose(model(x).numpy(), x, rtol=1e-4)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    (model(x) ** 2).sum().backward()
    optimizer.step()
    ones, zeros, weight, bias = (model.get_parameter(name).numpy() for name in ("ones", "zeros", "bn.weight", "bn.bias"))
    assert not np.allclose(ones, 1)
    # Mean and variance are as they were.
    np.testing.assert_allclose(model(x).numpy(), (x * ones + zeros) / np.sqrt(1 + 1e-5) * weight + bias, rtol=1e-5)


def test_an_exporter_that_says_which_initializers_are_parameters_is_believed():
    nodes = [("Add", ["x", "table"], "h0"), ("Mul", ["h0", "lifted"], "h1"), ("Max", ["h1", "floor"], "y")]
    given = {"table": [1, 2], "lifted": 0.5, "floor": [-1, -1]}
    model = gs.OnnxModel(model_of(nodes, given, {"x": [2]}, kinds={"table": "BUFFER", "floor": "PARAMETER"}), mode="train")
    assert [name for name, _ in model.named_parameters()] == ["floor"]
    y = model([1.0, -9.0])
    assert y.tolist() == [1, -1]
    y.sum().backward()
    assert model.get_parameter("floor").grad.tolist() == [0, 1]


def test_what_is_no_parameter_of_an_exported_module_is_none_of_the_model():
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.gain = nn.Parameter(np.float32(1.5))
            self.layer = nn.Linear(2, 2)
            self.register_buffer("table", gs.tensor([0.5, -0.5]))

        def forward(self, x):
            return self.layer((x + self.table) * 0.5) * self.gain + gs.full((2,), 0.125)

    module = Mixed()
    x = gs.tensor([[1.0, 2.0]])
    model = gs.OnnxModel(gs.export_onnx(module, x))
    assert sorted(name for name, _ in model.named_parameters()) == ["gain", "layer.bias", "layer.weight"]
    np.testing.assert_allclose(model(x).numpy(), module(x).numpy(), rtol=1e-6)
    # Of a function: tensors that gradients were asked for.
    learnt, fixed = gs.tensor([2.0, 3.0], requires_grad=True), gs.tensor([5.0, 7.0])
    model = gs.OnnxModel(gs.export_onnx(lambda x: x * learnt + fixed, x))
    assert [each.tolist() for each in model.parameters()] == [[2, 3]]
    assert model(x).tolist() == [[7, 13]]


def test_it_says_what_does_not_fit():
    with pytest.raises(gs.Error, match="it takes 1 tensors: x"):
        gs.OnnxModel(tied())(gs.ones(1, 2), gs.ones(1, 2))
    with pytest.raises(gs.Error, match="MatMul"):
        gs.OnnxModel(tied())(gs.ones(1, 3))
    with pytest.raises(gs.Error, match="no mode 'learn'"):
        gs.OnnxModel(tied(), mode="learn")
    with pytest.raises(gs.Error):
        gs.OnnxModel(b"text")
