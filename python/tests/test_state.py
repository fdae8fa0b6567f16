"""What a model keeps from run to run."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import gossamer
from models import driver_needed, model_of


def grower():
    """past [1, 2, p, 3] and rows behind it, along rows the sum of all; total + x, of one shape."""
    nodes = [
        helper.make_node("Concat", ["past", "rows"], ["present"], axis=2),
        helper.make_node("ReduceSum", ["present", "axes"], ["sums"], keepdims=0),
        helper.make_node("Add", ["total", "x"], ["sum"]),
    ]
    f32 = TensorProto.FLOAT
    inputs = [("past", f32, [1, 2, "p", 3]), ("rows", f32, [1, 2, "n", 3]), ("total", f32, [2]), ("x", f32, [2])]
    outputs = [("present", f32, [1, 2, "q", 3]), ("sums", f32, [1, 2, 3]), ("sum", f32, [2])]
    return model_of(nodes, inputs, outputs, [("axes", np.array([2]))])


PAIRS = {"past": "present", "total": "sum"}
X = np.array([1, 2], np.float32)


def rows(count, seed):
    return np.random.default_rng(seed).integers(-4, 5, (1, 2, count, 3)).astype(np.float32)


@pytest.mark.parametrize("target", gossamer.HERE)
def test_rows_stay_where_the_model_is(target):
    model = gossamer.compile(grower(), target, state=PAIRS, state_rows=8)
    with driver_needed():
        assert len(model.state) == 2
    assert [port.name for port in model.model.inputs] == ["rows", "x"]
    assert [port.name for port in model.model.outputs] == ["sums"]
    assert sorted(model.state) == ["past", "total"]
    assert model.state["past"] is None
    assert model.state.capacity("past") == 0
    past = np.zeros((1, 2, 0, 3), np.float32)
    for turn, count in enumerate([2, 1, 30, 1]):
        new = rows(count, turn)
        past = np.concatenate([past, new], axis=2)
        made = model.run({"rows": new, "x": X})
        assert set(made) == {"sums"}
        np.testing.assert_array_equal(made["sums"], past.sum(axis=2))
        np.testing.assert_array_equal(model.state["past"], past)
        np.testing.assert_array_equal(model.state["total"], (turn + 1) * X)
        if target == "webgl":  # whose textures are written whole
            assert model.state.capacity("past") == 0
        else:
            assert model.state.capacity("past") >= past.shape[2]
    assert model.state.capacity("total") == 0


def test_a_sequence_is_continued_elsewhere():
    one, other = (gossamer.compile(grower(), state=PAIRS) for _ in range(2))
    one.run({"rows": rows(5, 0), "x": X})
    for name in one.state:
        other.state[name] = one.state[name]
    want = one.run({"rows": rows(2, 1), "x": X})["sums"]
    np.testing.assert_array_equal(other.run({"rows": rows(2, 1), "x": X})["sums"], want)
    other.state.reset()
    assert other.state["past"] is None
    np.testing.assert_array_equal(other.run({"rows": rows(2, 1), "x": X})["sums"], rows(2, 1).sum(axis=2))
    assert "past" in repr(other.state)


def test_what_fails_leaves_it_as_it_was(tmp_path):
    gossamer.compile(grower(), state=True).write(tmp_path / "package")
    model = gossamer.load(tmp_path / "package", state=True)
    assert list(model.state) == ["past"]  # by name
    feeds = {"rows": rows(3, 0), "x": X, "total": X}
    model.run(feeds)
    before = model.state["past"]
    with pytest.raises(gossamer.Error, match="rows"):
        model.run({**feeds, "rows": np.zeros((1, 3, 1, 3), np.float32)})
    with pytest.raises(gossamer.Error, match='input "past"'):
        model.run({**feeds, "past": before})
    np.testing.assert_array_equal(model.state["past"], before)
    with pytest.raises(gossamer.Error, match='state "past"'):
        model.state["past"] = before[..., :2]
    with pytest.raises(gossamer.Error, match='state "past"'):
        model.state["past"] = before.astype(np.float64)
    for name in ("present", "rows"):
        with pytest.raises(gossamer.Error, match="no state"):
            model.state[name]
        with pytest.raises(gossamer.Error, match="no state"):
            model.state.capacity(name)
    np.testing.assert_array_equal(model.state["past"], before)


def test_state_that_the_model_does_not_have():
    with pytest.raises(gossamer.Error, match="no input"):
        gossamer.compile(grower(), state={"yesterday": "present"}).model
    with pytest.raises(gossamer.Error, match="no output"):
        gossamer.compile(grower(), state={"past": "tomorrow"}).model
    with pytest.raises(gossamer.Error, match="parallel"):
        gossamer.compile(grower(), state=True, parallel=2)
    model = gossamer.compile(grower()).model
    assert len(model.state) == 0
    with pytest.raises(gossamer.Error, match="without"):
        model.state["past"]
