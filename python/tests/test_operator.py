"""Operators of one's own: in models for every target, and of tensors."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import gossamer as gs


@gs.operator("com.example::SquaredSwish")
def squared_swish(x, *, alpha=1.0):
    """x squared, times the sigmoid of alpha x."""
    return x * x * (alpha * x).sigmoid()


@gs.operator("com.example::Moments")
def moments(x, weight, *, axis=-1):
    """Shares of what is along an axis, and of its squares."""
    shares = gs.call("Softmax", weight, axis=axis)
    first, second = gs.call("Split", gs.call("Concat", shares * x, shares * x**2, axis=axis), axis=axis, num_outputs=2, outputs=2)
    return first, second


X = np.array([[1.0, -2.0, 3.0], [0.5, 0.0, -1.0]], np.float32)


def model(name, inputs, outputs, dtype=TensorProto.FLOAT, **attributes):
    node = helper.make_node(name, inputs, outputs, domain="com.example", **attributes)
    around = helper.make_node("Neg", [outputs[0]], ["z"])
    ports = [helper.make_tensor_value_info(each, dtype, ["n", 3]) for each in inputs]
    ends = [helper.make_tensor_value_info(each, dtype, ["n", 3]) for each in ["z", *outputs[1:]]]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    return helper.make_model(helper.make_graph([node, around], "own", ports, ends), opset_imports=opsets, ir_version=9)


def swish(x, alpha):
    return x * x / (1 + np.exp(-alpha * x))


@pytest.mark.parametrize(("attributes", "alpha"), [({}, 1.0), ({"alpha": 0.5}, 0.5)])
def test_in_models(tmp_path, attributes, alpha):
    made = gs.compile(model("SquaredSwish", ["x"], ["y"], **attributes), operators=[squared_swish])
    np.testing.assert_allclose(made.run(X)["z"], -swish(X, alpha), rtol=1e-5)
    path = tmp_path / "own.onnx"
    onnx.save(model("SquaredSwish", ["x"], ["y"], **attributes), path)
    np.testing.assert_array_equal(gs.compile(path, operators=[squared_swish]).run(X)["z"], made.run(X)["z"])
    assert len(made.report()["kernels"]) == 1  # fused with what is around it


def test_numbers_take_the_type_of_the_tensor():
    made = gs.compile(model("SquaredSwish", ["x"], ["y"], TensorProto.DOUBLE), operators=[squared_swish]).run(X.astype(np.float64))["z"]
    np.testing.assert_allclose(made, -swish(X.astype(np.float64), 1.0), rtol=1e-12)


def test_for_every_target():
    for target in gs.TARGETS:
        assert "manifest.json" in gs.compile(model("SquaredSwish", ["x"], ["y"]), target=target, operators=[squared_swish]).files


def test_several_inputs_and_outputs():
    weight = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]], np.float32)
    shares = np.exp(weight) / np.exp(weight).sum(1, keepdims=True)
    made = gs.compile(model("Moments", ["x", "weight"], ["a", "b"]), operators=[moments]).run({"x": X, "weight": weight})
    np.testing.assert_allclose(made["z"], -shares * X, rtol=1e-5)
    np.testing.assert_allclose(made["b"], shares * X**2, rtol=1e-5)
    first, second = moments(X, weight)
    np.testing.assert_allclose(first.numpy(), shares * X, rtol=1e-5)
    np.testing.assert_allclose(second.numpy(), shares * X**2, rtol=1e-5)


def test_of_tensors_with_a_gradient():
    x = gs.tensor(X, requires_grad=True)
    made = squared_swish(x, alpha=2.0)
    np.testing.assert_allclose(made.numpy(), swish(X, 2.0), rtol=1e-5)
    made.sum().backward()
    half = 1 / (1 + np.exp(-2 * X))
    np.testing.assert_allclose(x.grad.numpy(), 2 * X * half + X * X * 2 * half * (1 - half), rtol=1e-5, atol=1e-6)
    written = gs.export_onnx(squared_swish, gs.zeros(2, 3))
    np.testing.assert_allclose(gs.compile(written).run(X)["y0"], swish(X, 1.0), rtol=1e-5)


def test_one_within_another():
    @gs.operator("com.example::Twice")
    def twice(x):
        return squared_swish(squared_swish(x), alpha=0.5)

    made = gs.compile(model("Twice", ["x"], ["y"]), operators=[twice]).run(X)["z"]
    np.testing.assert_allclose(made, -swish(swish(X, 1.0), 0.5), rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("NoDomain", lambda x: x, "needs a domain"),
        ("a::B", lambda x: 3, "not iterable"),
        ("a::B", lambda x: [3], "other things than tensors"),
        ("a::B", lambda x, y=2: x, "parameter y is neither"),
        ("a::B", lambda x: x.frobnicate(), "have no frobnicate"),
        ("a::B", lambda x: x + gs.ones(1), "mixes a definition's tensors"),
        ("a::B", lambda x, *, mode="a": x + mode, "attribute mode is not a number"),
        ("a::B", lambda x, *, mode=object(): x, "is no attribute"),
    ],
)
def test_definitions_that_are_none(name, body, said):
    with pytest.raises(gs.Error, match=said):
        gs.operator(name)(body)


def test_errors_of_a_part_name_the_operator():
    @gs.operator("com.example::Bad")
    def bad(x):
        return gs.call("Frobnicate", x)

    with pytest.raises(gs.Error, match="Frobnicate.*Bad/v0"):
        gs.compile(model("Bad", ["x"], ["y"]), operators=[bad])
    with pytest.raises(gs.Error, match="Frobnicate"):
        bad(X)
    with pytest.raises(gs.Error, match="SquaredSwish"):
        gs.compile(model("SquaredSwish", ["x"], ["y"]))
