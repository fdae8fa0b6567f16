"""Models whose ranks only the feeds decide."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import gossamer


def model_of(nodes, inputs):
    ports = [helper.make_tensor_value_info(name, dtype, shape) for name, dtype, shape in inputs]
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    return helper.make_model(helper.make_graph(nodes, "g", ports, [result]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def squeeze():
    return model_of([helper.make_node("Squeeze", ["x"], ["y"])], [("x", TensorProto.FLOAT, ["b", "n", "k"])])


def squeeze_if_one():
    """torch.squeeze(x, 1) as its exporter writes it: an If whose branches differ in rank."""
    branch = lambda op, extra: helper.make_graph([helper.make_node(op, ["x", *extra], ["t"])], op, [], [helper.make_tensor_value_info("t", TensorProto.FLOAT, None)])
    constant = lambda name, value: helper.make_node("Constant", [], [name], value=helper.make_tensor(name, TensorProto.INT64, [1], [value]))
    nodes = [
        constant("one", 1),
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "one"], ["n"]),
        helper.make_node("Equal", ["n", "one"], ["c"]),
        helper.make_node("If", ["c"], ["y"], then_branch=branch("Squeeze", ["one"]), else_branch=branch("Identity", [])),
    ]
    return model_of(nodes, [("x", TensorProto.FLOAT, ["b", "n"])])


def test_ranks_follow_the_feeds():
    package = gossamer.compile(squeeze())
    for shape in [(2, 3, 4), (1, 3, 4), (2, 1, 4), (5, 1, 6), (1, 1, 4), (2, 3, 1), (1, 1, 1), (3, 2, 5), (0, 1, 4)]:
        x = np.random.default_rng(1).random(shape, dtype=np.float32)
        np.testing.assert_array_equal(package.run({"x": x})["y"], x.squeeze())
        np.testing.assert_array_equal(package.run(x)["y"], x.squeeze())


def test_one_model_serves_the_runs_of_the_same_ranks():
    package = gossamer.compile(squeeze())
    compiled = []
    loaded = package._specialized._compiled
    package._specialized._compiled = lambda known: compiled.append(known) or loaded(known)
    for batch in range(2, 8):
        assert package.run({"x": np.ones((batch, 1, 4), np.float32)})["y"].shape == (batch, 4)
    assert len(compiled) == 1


def test_branches_of_different_rank():
    package = gossamer.compile(squeeze_if_one())
    for shape in [(5, 1), (5, 3), (1, 1), (1, 2)]:
        x = np.random.default_rng(2).random(shape, dtype=np.float32)
        np.testing.assert_array_equal(package.run({"x": x})["y"], x[:, 0] if shape[1] == 1 else x)


def test_such_a_model_has_no_files_and_says_why(tmp_path):
    package = gossamer.compile(squeeze_if_one())
    assert "compiled by its feeds" in repr(package)
    for ask in (lambda: package.files, lambda: package.sizes, lambda: package.model, lambda: package.write(tmp_path / "p")):
        with pytest.raises(gossamer.Error, match="known when compiling"):
            ask()
    with pytest.raises(gossamer.Error, match="by name"):
        package.run(np.ones((5, 1), np.float32))


def test_an_axis_of_the_run():
    nodes = [helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)]
    package = gossamer.compile(model_of(nodes, [("x", TensorProto.FLOAT, ["a", "b"]), ("axes", TensorProto.INT64, [1])]))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for axis in (0, 1, 0):
        np.testing.assert_array_equal(package.run({"x": x, "axes": np.array([axis])})["y"], x.sum(axis))
    with pytest.raises(gossamer.Error):
        package.run({"x": x, "axes": np.array([2])})


def test_other_mistakes_stay_what_they_are():
    package = gossamer.compile(squeeze())
    with pytest.raises(gossamer.Error, match="is no input of the model"):
        package.run({"y": np.ones((2, 1, 4), np.float32)})
    with pytest.raises(gossamer.Error):
        package.run({"x": np.ones((2, 4), np.float32)})


def scores():
    nodes = [helper.make_node("MatMul", ["x", "x"], ["p"]), helper.make_node("Softmax", ["p"], ["y"])]
    return model_of(nodes, [("x", TensorProto.FLOAT, ["b", "n", "n"])])


def test_shapes_that_come_again_get_a_model_of_their_own():
    package = gossamer.compile(scores(), specialize_after=3)
    x = np.random.default_rng(3).random((2, 5, 5), dtype=np.float32)
    wanted = package.run({"x": x})["y"]
    assert package.report()["specialized"] == []
    package.run(x)
    package.run({"x": x[:1]})
    assert package._repeated.compiling is None
    package.run({"x": x})
    package._repeated.compiling.join()
    assert package.report()["specialized"] == [{"x": (2, 5, 5)}]
    own = package._repeated.model_for(package.model, x)
    assert own.inputs[0].shape == (2, 5, 5)
    np.testing.assert_allclose(package.run({"x": x})["y"], wanted, rtol=1e-6)
    np.testing.assert_allclose(package.run({"x": x[1:]})["y"], wanted[1:], rtol=1e-6)


def test_no_model_of_its_own_where_none_is_wanted():
    for package, extent in ((gossamer.compile(scores(), specialize_after=0), 4), (gossamer.compile(scores(), shapes={"x": [1, 4, 4]}, specialize_after=1), 4)):
        for _ in range(3):
            package.run({"x": np.ones((1, extent, extent), np.float32)})
        assert package._repeated.compiling is None
    growing = gossamer.compile(scores(), specialize_after=2)
    for extent in range(2, 9):
        growing.run({"x": np.ones((1, extent, extent), np.float32)})
    assert growing._repeated.compiling is None
