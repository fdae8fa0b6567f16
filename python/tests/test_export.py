"""Dimensions of exported models: computed by ONNX's own reference at sizes that were not traced."""

import math

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import gossamer as gs
from gossamer import nn, optim
from gossamer.nn import functional as F

BN = {0: {0: "b", 1: "n"}}
SIZES = [(2, 5), (1, 1), (3, 11), (4, 2)]


def floats(*shape):
    return np.random.default_rng(sum(shape) + len(shape)).standard_normal(shape).astype(np.float32)


def numbers(*shape):
    return np.random.default_rng(sum(shape)).integers(0, 11, shape)


def check(function, make, sizes, dynamic, tolerance=1e-4):
    """The model, which gives what the function gives at all sizes; it is traced with the first."""
    written = gs.export_onnx(function, [gs.as_tensor(each) for each in make(*sizes[0])], dynamic_axes=dynamic)
    onnx.checker.check_model(written, full_check=True)
    if isinstance(function, nn.Module):
        function.eval()
    reference = ReferenceEvaluator(onnx.load_from_string(written))
    package = gs.compile(written)
    for size in sizes:
        given = make(*size)
        wanted = function(*map(gs.as_tensor, given))
        wanted = wanted if isinstance(wanted, (list, tuple)) else [wanted]
        feeds = {f"x{at}": each for at, each in enumerate(given)}
        there, here = reference.run(None, feeds), package.run(feeds)
        for at, each in enumerate(wanted):
            np.testing.assert_allclose(there[at], each.numpy(), rtol=tolerance, atol=tolerance, err_msg=f"{size}, output {at}")
            np.testing.assert_allclose(here[f"y{at}"], each.numpy(), rtol=tolerance, atol=tolerance, err_msg=f"{size}, output {at} here")
    return onnx.load_from_string(written).graph


def dims_of(port):
    return [each.dim_param or each.dim_value for each in port.type.tensor_type.shape.dim]


class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.position = nn.Embedding(11, 8), nn.Embedding(64, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.lstm = nn.LSTM(8, 4, batch_first=True)

    def forward(self, ids):
        count = ids.shape[1]
        x = self.embed(ids) + self.position(gs.arange(count))
        later = gs.ones(count, count).tril() == 0
        first = gs.full((1, ids.shape[0], 4), 0.5)
        return self.lstm(self.layer(x, src_mask=later), (first, first))[0]


def test_positions_masks_and_first_states_follow_from_dimensions():
    graph = check(Positions(), lambda b, n: [numbers(b, n)], [*SIZES, (2, 40)], BN)
    assert dims_of(graph.input[0]) == ["b", "n"]
    assert dims_of(graph.output[0]) == ["b", "n", 4]
    assert {each.name for each in graph.initializer} >= {"embed.weight", "position.weight", "lstm.weight_ih_l0"}
    assert not any(each.name.startswith("w") for each in graph.initializer)


def test_patches_of_images_and_of_images_of_other_sizes():
    class Patches(nn.Module):
        def __init__(self):
            super().__init__()
            self.patch = nn.Conv2d(3, 8, 4, stride=4)
            self.token = nn.Parameter(floats(1, 1, 8))

        def forward(self, x):
            y = self.patch(x)
            b, c, h, w = y.shape
            y = y.reshape(b, c, h * w).transpose(1, 2)
            return gs.cat([self.token.expand(b, 1, 8), y], 1)

    def images(b, h, w):
        return [floats(b, 3, h, w)]

    dims = {0: {0: "b", 2: "h", 3: "w"}}
    graph = check(Patches(), images, [(1, 16, 24), (2, 8, 8), (3, 18, 21)], dims)
    assert dims_of(graph.output[0]) == ["b", "y0_1", 8]
    pooled = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.BatchNorm2d(4), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    check(pooled, images, [(1, 16, 20), (2, 9, 33), (5, 7, 8)], dims)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x / x.shape[1] + math.sqrt(x.shape[0]) - 1 / math.sqrt(x.shape[1]),
        lambda x: x @ (gs.eye(x.shape[1]) * 0.5) + gs.arange(x.shape[1] - 1, -1, -1),
        lambda x: x + gs.linspace(-1, 1, x.shape[1]),
        lambda x: x.unsqueeze(1) * x.unsqueeze(2) + gs.full((x.shape[1], x.shape[1]), float(x.shape[0])),
        lambda x: gs.arange(x.numel()).reshape(*x.shape) * x.reshape(x.numel()).reshape(*x.shape),
        lambda x: gs.where(gs.arange(x.shape[1]) < x.shape[1] // 2, x, -x),
        lambda x: gs.cat([x, gs.zeros(x.shape[0], 3)], 1)[:, -x.shape[1] :],
        lambda x: (x.std(1, correction=0), x.mean(), x[:, -1], x.softmax(1)),
    ],
)
def test_numbers_and_elements_follow_from_dimensions(function):
    check(function, lambda b, n: [floats(b, n)], [(2, 5), (3, 4), (7, 2)], BN)


def test_two_inputs_share_dimensions_that_are_named_alike():
    dims = {"x0": {0: "b", 1: "n"}, 1: {0: "b", -2: "m"}}
    graph = check(nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=True), lambda b, n, m: [floats(b, n, 8), floats(b, m, 8)], [(2, 6, 3), (3, 5, 7), (1, 1, 1)], dims)
    assert [dims_of(each) for each in graph.input] == [["b", "n", 8], ["b", "m", 8]]


def test_inputs_are_in_the_order_of_the_call_and_stay():
    graph = onnx.load_from_string(gs.export_onnx(lambda a, b, c: c + a, [gs.ones(2)] * 3, input_names=["a", "b", "c"], dynamic_axes={"a": [0], "c": {0: "a_0"}})).graph
    assert [each.name for each in graph.input] == ["a", "b", "c"]
    assert [dims_of(each) for each in graph.input] == [["a_0"], [2], ["a_0"]]


def test_nested_outputs_are_all_outputs():
    graph = check(lambda x: (x * 2, [x + 1, x - 1][0]), lambda b, n: [floats(b, n)], SIZES, BN)
    assert len(graph.output) == 2
    written = gs.export_onnx(nn.LSTM(4, 6), gs.zeros(5, 2, 4), dynamic_axes={0: {0: "n", 1: "b"}}, output_names=["y", "h", "c"])
    assert [each.name for each in onnx.load_from_string(written).graph.output] == ["y", "h", "c"]


@pytest.mark.parametrize(
    ("function", "dynamic", "what"),
    [
        (lambda x: x * 2 if x.shape[0] > 5 else x, BN, "depends on the extents"),
        (lambda x: x + gs.randn(x.shape[1]), BN, r"a tensor of shape \[5\]"),
        (lambda x: x * 2, {"y": [0]}, "no input 'y'; there are x0"),
        (lambda x: x * 2, {0: [2]}, "has no axis 2"),
        (lambda x: x * 2, {0: {0: "n", 1: "n"}}, "'n' is 2 and 5"),
        (lambda x: x + gs.ones(5), BN, r"\[5\]"),
    ],
)
def test_it_says_what_cannot_be_a_dimension(function, dynamic, what):
    with pytest.raises(gs.Error, match=what):
        gs.export_onnx(function, gs.ones(2, 5), dynamic_axes=dynamic)
    # And leaves nothing behind.
    assert gs.ones(3).sum().item() == 3


class Loss(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x, classes):
        return F.cross_entropy(self.net(x), classes)


def test_a_loss_and_its_gradients_are_a_training_graph():
    module = Loss(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 5))).eval()
    x, classes = floats(4, 3), np.int64([0, 3, 1, 4])
    before = {name: each.numpy() for name, each in module.state_dict().items()}
    written = gs.export_onnx(module, [gs.as_tensor(x), gs.as_tensor(classes)], input_names=["x", "classes"], output_names=["loss"], gradients=True, dynamic_axes={"x": {0: "n"}, "classes": {0: "n"}})
    onnx.checker.check_model(written)
    assert not module.training
    for name, each in module.state_dict().items():
        np.testing.assert_array_equal(each.numpy(), before[name])
    graph = onnx.load_from_string(written).graph
    names = [name for name, _ in module.named_parameters()]
    assert [each.name for each in graph.input] == ["x", "classes", *names]
    assert [each.name for each in graph.output] == ["loss", *(f"{name}.grad" for name in names)]
    package = gs.compile(written, keep_inputs=names)
    module.train()
    for rows in (4, 7):
        x, classes = floats(rows, 3), np.arange(rows) % 5
        for _ in range(2):
            loss = module(gs.as_tensor(x), gs.as_tensor(classes))
            for each in module.parameters():
                each.grad = None
            loss.backward()
            made = package.run({"x": x, "classes": classes, **{name: each.detach().numpy() for name, each in module.named_parameters()}})
            np.testing.assert_allclose(made["loss"], loss.item(), rtol=1e-4)
            for name, each in module.named_parameters():
                np.testing.assert_allclose(made[f"{name}.grad"], each.grad.numpy(), rtol=1e-4, atol=1e-5)
            optim.SGD(module.parameters(), lr=0.1).step()


def test_dropout_draws_in_each_run_of_what_is_exported_for_training():
    module = nn.Dropout(0.25)
    written = gs.export_onnx(module, gs.ones(64), training=True)
    assert [each.op_type for each in onnx.load_from_string(written).graph.node if each.op_type != "Constant"] == ["Dropout"]
    made = gs.compile(written).run({"x0": np.ones(64, np.float32)})["y0"]
    assert set(np.round(made * 3).tolist()) == {0, 4}
    np.testing.assert_array_equal(gs.compile(gs.export_onnx(module, gs.ones(64))).run({"x0": np.ones(64, np.float32)})["y0"], 1)
    with pytest.raises(gs.Error, match="no parameters"):
        gs.export_onnx(module, gs.ones(64), gradients=True)
    with pytest.raises(gs.Error, match="a loss is one number"):
        gs.export_onnx(nn.Linear(2, 2), gs.ones(1, 2), gradients=True)


def test_a_module_that_is_deeper_than_what_is_recorded_at_once_is_exported():
    def deep(x):
        y = x
        for _ in range(1100):
            y = y.tanh() + x
        return y

    assert len(onnx.load_from_string(gs.export_onnx(deep, gs.ones(3), dynamic_axes={0: [0]})).graph.node) == 2200
