"""Modules, losses, optimizers and exports. Expected numbers are PyTorch's formulas, written in numpy or worked out by hand."""

import copy
import json
import math
import pickle
import subprocess
import sys

import numpy as np
import onnx
import pytest

import gossamer as gs
from gossamer import nn, optim
from gossamer.nn import functional as F

RNG = np.random.default_rng(3)


def numbers(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def differences(compute, x, epsilon=1e-3):
    """The gradient of a function to a number, by differences in float64."""
    made = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        moved = [x.astype(np.float64), x.astype(np.float64)]
        moved[0][place] += epsilon
        moved[1][place] -= epsilon
        made[place] = (compute(gs.as_tensor(moved[0])).item() - compute(gs.as_tensor(moved[1])).item()) / (2 * epsilon)
    return made


SOFT = np.log(np.exp([1.0, 2.0, 3.0]).sum())  # of the logits 1, 2, 3


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (lambda: F.mse_loss(gs.tensor([1.0, 4.0]), gs.tensor([2.0, 2.0])), 2.5),
        (lambda: F.l1_loss(gs.tensor([1.0, 4.0]), gs.tensor([2.0, 2.0]), "sum"), 3.0),
        (lambda: F.huber_loss(gs.tensor([0.5, 4.0]), gs.tensor([0.0, 1.0])), (0.125 + 2.5) / 2),
        (lambda: F.smooth_l1_loss(gs.tensor([0.5, 4.0]), gs.tensor([0.0, 1.0]), beta=2.0), (0.0625 + 2) / 2),
        (lambda: F.binary_cross_entropy(gs.tensor([0.5, 0.0]), gs.tensor([1.0, 0.0])), np.log(2) / 2),
        (lambda: F.binary_cross_entropy_with_logits(gs.tensor([0.0, 100.0]), gs.tensor([1.0, 0.0])), (np.log(2) + 100) / 2),
        (lambda: F.cross_entropy(gs.tensor([[1.0, 2.0, 3.0]]), gs.tensor([1])), SOFT - 2),
        (lambda: F.cross_entropy(gs.tensor([1.0, 2.0, 3.0]), gs.tensor(2)), SOFT - 3),
        (lambda: F.cross_entropy(gs.tensor([[1.0, 2.0, 3.0]] * 2), gs.tensor([0, -100])), SOFT - 1),
        (lambda: F.cross_entropy(gs.tensor([[1.0, 2.0, 3.0]] * 2), gs.tensor([0, 2]), weight=gs.tensor([1.0, 1.0, 3.0])), ((SOFT - 1) + 3 * (SOFT - 3)) / 4),
        (lambda: F.cross_entropy(gs.tensor([[1.0, 2.0, 3.0]]), gs.tensor([[0.5, 0.5, 0.0]])), SOFT - 1.5),
        (lambda: F.cross_entropy(gs.tensor([[1.0, 2.0, 3.0]]), gs.tensor([2]), label_smoothing=0.3), SOFT - (0.1 + 0.2 + 0.8 * 3)),
        (lambda: F.kl_div(gs.tensor([[0.5, 0.5]]).log(), gs.tensor([[1.0, 0.0]]), "batchmean"), np.log(2)),
        (lambda: F.softplus(gs.tensor(0.0)), np.log(2)),
        (lambda: F.gelu(gs.tensor(1.0)), 0.8413447),
        (lambda: F.gelu(gs.tensor(1.0), "tanh"), 0.8411920),
        (lambda: F.silu(gs.tensor(1.0)), 0.7310586),
        (lambda: F.mish(gs.tensor(1.0)), 0.8650984),
        (lambda: F.hardswish(gs.tensor(1.0)), 2 / 3),
        (lambda: F.elu(gs.tensor(-1.0)), np.exp(-1) - 1),
        (lambda: F.leaky_relu(gs.tensor(-1.0)), -0.01),
        (lambda: F.logsigmoid(gs.tensor(0.0)), -np.log(2)),
        (lambda: F.normalize(gs.tensor([[3.0, 4.0]]))[0, 1], 0.8),
        (lambda: F.cosine_similarity(gs.tensor([[3.0, 4.0]]), gs.tensor([[4.0, 3.0]]))[0], 0.96),
        (lambda: F.interpolate(gs.arange(4).float().reshape(1, 1, 2, 2), scale_factor=2)[0, 0, 3, 1], 2.0),
        (lambda: F.interpolate(gs.arange(4).float().reshape(1, 1, 2, 2), 3, mode="bilinear", align_corners=True)[0, 0, 1, 1], 1.5),
        (lambda: F.avg_pool2d(gs.ones(1, 1, 2, 2), 2, padding=1)[0, 0, 0, 0], 0.25),
        (lambda: F.adaptive_avg_pool2d(gs.arange(16).float().reshape(1, 1, 4, 4), 2)[0, 0, 1, 0], 10.5),
        (lambda: F.adaptive_avg_pool2d(gs.arange(16).float().reshape(1, 4, 4), 3)[0, 1, 2], 8.5),
        (lambda: F.adaptive_max_pool2d(gs.arange(16).float().reshape(1, 4, 4), 3)[0, 1, 2], 11.0),
        (lambda: F.interpolate(gs.arange(5).float().reshape(1, 1, 5), 2, mode="area")[0, 0, 1], 3.0),
        (lambda: F.interpolate(gs.arange(5).float().reshape(1, 1, 5), 3, mode="nearest-exact")[0, 0, 2], 4.0),
        (lambda: F.interpolate(gs.arange(5).float().reshape(1, 1, 5), scale_factor=1.5, mode="linear")[0, 0, 2], 7 / 6),
        (lambda: F.interpolate(gs.arange(4).float().reshape(1, 1, 4), 1, mode="linear")[0, 0, 0], 1.5),
        (lambda: F.max_pool2d(gs.arange(16).float().reshape(1, 4, 4), 3, 1)[0, 1, 1], 15.0),
        (lambda: F.one_hot(gs.tensor([2, 0]), 3)[0].argmax(), 2),
    ],
)
def test_functions_by_hand(made, wanted):
    assert made().item() == pytest.approx(wanted, rel=2e-6)


def test_losses_of_what_is_no_class_are_nan():
    each = F.cross_entropy(gs.tensor([[1.0, 2.0, 3.0]] * 4), gs.tensor([0, 3, -1, -100]) + 0, reduction="none")  # computed: not known at the call
    np.testing.assert_allclose(each.numpy(), [SOFT - 1, np.nan, np.nan, 0], rtol=2e-6)
    x, labels = gs.tensor([[1.0, 2.0, 3.0]] * 2), gs.tensor([0, 3]) + 0
    assert np.isnan(F.cross_entropy(x, labels).item())
    assert np.isnan(F.cross_entropy(x, labels, label_smoothing=0.3).item())


def test_convolutions():
    x, w, b = numbers(2, 4, 7, 6), numbers(6, 2, 3, 2), numbers(6)
    made = F.conv2d(gs.as_tensor(x), gs.as_tensor(w), gs.as_tensor(b), stride=(2, 1), padding=1, dilation=(1, 2), groups=2).numpy()
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    wanted = np.zeros(made.shape)
    for n, c, i, j in np.ndindex(made.shape):
        g = c // 3
        window = padded[n, 2 * g : 2 * g + 2, 2 * i : 2 * i + 3, j : j + 3 : 2]
        wanted[n, c, i, j] = (window * w[c]).sum() + b[c]
    np.testing.assert_allclose(made, wanted, rtol=1e-4, atol=1e-5)
    assert F.conv2d(gs.as_tensor(x), gs.as_tensor(numbers(1, 4, 3, 2)), padding="same").shape == (2, 1, 7, 6)
    assert nn.ConvTranspose2d(4, 5, 3, stride=2, padding=1, output_padding=1)(gs.as_tensor(x)).shape == (2, 5, 14, 12)
    assert nn.Conv1d(4, 2, 3)(gs.ones(4, 9)).shape == (2, 7)


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: (F.layer_norm(x, (4,)) * gs.tensor([1.0, 2.0, 3.0, 4.0], dtype="f64")).sum(),
        lambda x: (F.softmax(x, 0) * x).sum(),
        lambda x: F.cross_entropy(x, gs.tensor([0, 3, 1])),
        lambda x: F.conv2d(x.reshape(1, 1, 3, 4), x[:2, :2].reshape(1, 1, 2, 2), padding=1).square().sum(),
        lambda x: F.max_pool2d(x.reshape(1, 3, 4), 2, 1).square().sum(),
        lambda x: F.scaled_dot_product_attention(x, x * 2, x.sin(), is_causal=True).square().sum(),
        lambda x: (F.group_norm(x.reshape(1, 4, 3), 2) ** 3).sum(),
        lambda x: (x[[0, 2, 0]] * x.flip(0)).cumsum(1)[:, 1:].square().sum(),
        lambda x: (x.std(1) + x.norm(3, 1) + x.logsumexp(1)).sum(),
        lambda x: x.sort(1).values[:, 0].sum() + x.clamp(-0.5, 0.5).sum(),
    ],
)
def test_gradients_are_those_of_differences(compute):
    x = np.random.default_rng(5).standard_normal((3, 4))
    at = gs.as_tensor(x).requires_grad_()
    compute(at).backward()
    np.testing.assert_allclose(at.grad.numpy(), differences(compute, x), rtol=1e-4, atol=1e-5)


def test_batch_norm_learns_its_statistics():
    layer = nn.BatchNorm2d(3)
    x = numbers(4, 3, 2, 2) * 2 + 1
    made = layer(gs.as_tensor(x)).numpy()
    mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
    wanted = (x - mean.reshape(1, 3, 1, 1)) / np.sqrt(variance.reshape(1, 3, 1, 1) + 1e-5)
    np.testing.assert_allclose(made, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(layer.running_mean.numpy(), 0.1 * mean, rtol=1e-5)
    np.testing.assert_allclose(layer.running_var.numpy(), 0.9 + 0.1 * variance * 16 / 15, rtol=1e-5)
    layer.eval()
    again = layer(gs.as_tensor(x)).numpy()
    np.testing.assert_allclose(again, (x - 0.1 * mean.reshape(1, 3, 1, 1)) / np.sqrt(0.9 + 0.1 * variance * 16 / 15 + 1e-5).reshape(1, 3, 1, 1), rtol=1e-4, atol=1e-5)


def test_dropout_drops_a_share_anew_in_one_program():
    gs.manual_seed(1)
    x = gs.ones(10000)
    layer = nn.Dropout(0.25)
    first, second = layer(x).numpy(), layer(x).numpy()
    assert set(np.unique(first)) == {0, np.float32(4 / 3)}
    assert 0.24 < (first == 0).mean() < 0.26
    assert 0.3 < (first != second).mean() < 0.45
    assert layer.eval()(x) is x


def test_embedding_and_attention():
    table = nn.Embedding(5, 3, padding_idx=0)
    rows = table(gs.tensor([[1, 0], [4, 1]]))
    np.testing.assert_array_equal(rows.numpy(), table.weight.numpy()[[[1, 0], [4, 1]]])
    rows.sum().backward()
    assert table.weight.grad.tolist() == [[0] * 3, [2] * 3, [0] * 3, [0] * 3, [1] * 3]
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    x = gs.as_tensor(numbers(2, 5, 8))
    whole, weights = attention(x, x, x, is_causal=True)
    assert weights.shape == (2, 5, 5)
    part, _ = attention(x[:, :3], x[:, :3], x[:, :3], is_causal=True)
    np.testing.assert_allclose(whole[:, :3].numpy(), part.numpy(), rtol=1e-4, atol=1e-5)


class Reference:
    """One step after the other in float64, as PyTorch's documentation writes them."""

    @staticmethod
    def sgd(v, g, s, t):
        g = g + 0.1 * v
        s["b"] = g if t == 1 else 0.9 * s["b"] + 0.5 * g
        return v - 0.01 * s["b"]

    @staticmethod
    def nesterov(v, g, s, t):
        s["b"] = 0.9 * s.get("b", 0) + g
        return v - 0.01 * (g + 0.9 * s["b"])

    @staticmethod
    def adam(v, g, s, t, decoupled=0.0):
        v = v * (1 - 0.02 * decoupled)
        s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
        s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
        return v - 0.02 * (s["m"] / (1 - 0.9**t)) / (np.sqrt(s["v"] / (1 - 0.999**t)) + 1e-8)

    @staticmethod
    def adamw(v, g, s, t):
        return Reference.adam(v, g, s, t, 0.3)

    @staticmethod
    def rmsprop(v, g, s, t):
        s["v"] = 0.9 * s.get("v", 0) + 0.1 * g * g
        s["g"] = 0.9 * s.get("g", 0) + 0.1 * g
        s["b"] = 0.5 * s.get("b", 0) + g / (np.sqrt(s["v"] - s["g"] ** 2) + 1e-8)
        return v - 0.01 * s["b"]


@pytest.mark.parametrize(
    ("make", "reference"),
    [
        (lambda p: optim.SGD(p, 0.01, momentum=0.9, dampening=0.5, weight_decay=0.1), Reference.sgd),
        (lambda p: optim.SGD(p, 0.01, momentum=0.9, nesterov=True), Reference.nesterov),
        (lambda p: optim.Adam(p, 0.02), Reference.adam),
        (lambda p: optim.AdamW(p, 0.02, weight_decay=0.3), Reference.adamw),
        (lambda p: optim.RMSprop(p, 0.01, alpha=0.9, momentum=0.5, centered=True), Reference.rmsprop),
    ],
)
def test_optimizers_step_as_their_formulas(make, reference):
    start = np.array([1.0, -2.0, 0.5])
    parameter = nn.Parameter(start.astype(np.float32))
    optimizer = make([parameter])
    value, state = start, {}
    before = compiled()
    for t in range(1, 6):
        ((parameter - 3) ** 2).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        value = reference(value, 2 * (value - 3), state, t)
        np.testing.assert_allclose(parameter.numpy(), value, rtol=1e-5)
    assert compiled() - before <= 2  # what each step changes is fed


def compiled():
    return sum(each.compile_ms is not None for each in gs.profile())


def test_groups_schedules_and_clipping():
    a, b = nn.Parameter([1.0]), nn.Parameter([1.0])
    optimizer = optim.SGD([{"params": [a]}, {"params": [b], "lr": 1.0}], lr=0.5)
    schedule = optim.StepLR(optimizer, 2)
    for _ in range(3):
        optimizer.zero_grad()
        (a * 3 + b * 4).sum().backward()
        assert optim.clip_grad_norm_([a, b], 1.0).item() == pytest.approx(5)
        optimizer.step()
        schedule.step()
    assert a.item() == pytest.approx(1 - 0.6 * (0.5 + 0.5 + 0.05), rel=1e-5)
    assert b.item() == pytest.approx(1 - 0.8 * (1 + 1 + 0.1), rel=1e-5)
    assert optim.CosineAnnealingLR(optimizer, 10).get_last_lr() == pytest.approx([0.05, 0.1])
    for wrong, said in [
        (lambda: optim.SGD([]), "no parameters"),
        (lambda: optim.SGD([a, a]), "given twice"),
        (lambda: optim.SGD([a * 2]), "must be a leaf"),
        (lambda: optim.SGD([a], -1), "learning rate of -1"),
        (lambda: optim.SGD([a], nesterov=True), "needs momentum"),
    ]:
        with pytest.raises(gs.Error, match=said):
            wrong()


def model():
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 3))


def train(net, steps, optimizer):
    losses = []
    rng = np.random.default_rng(0)
    for _ in range(steps):
        x = rng.standard_normal((16, 1, 8, 8)).astype(np.float32)
        y = (x.mean((1, 2, 3)) > 0).astype(np.int64)
        loss = F.cross_entropy(net(gs.as_tensor(x)), gs.as_tensor(y))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return [each.item() for each in losses]


def test_a_training_step_is_one_program_and_learns(tmp_path):
    gs.manual_seed(0)
    net = model()
    optimizer = optim.Adam(net.parameters(), 0.02)
    train(net, 2, optimizer)
    before = compiled()
    losses = train(net, 60, optimizer)
    assert compiled() == before
    assert np.mean(losses[-5:]) < 0.6 * np.mean(losses[:5])

    # Its state, and that of the optimizer, go on elsewhere as if nothing had been.
    gs.safetensors.save_file(net.state_dict(), tmp_path / "net.safetensors")
    other = model()
    other.load_state_dict(gs.safetensors.load_file(tmp_path / "net.safetensors"))
    again = optim.Adam(other.parameters(), 0.02)
    again.load_state_dict(optimizer.state_dict())
    assert train(other, 3, again) == train(net, 3, optimizer)
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(other.state_dict()[name].numpy(), value.numpy())


@pytest.mark.parametrize("make", [lambda p: optim.SGD(p, 0.25), lambda p: optim.Adam(p, 0.05)])
@pytest.mark.parametrize("reads", ["before the step", "after the step", "both"])
def test_what_is_read_around_a_step_changes_no_gradient(make, reads):
    w = nn.Parameter(np.array([0.3, -0.2], np.float32))
    plain = nn.Parameter(w.numpy().copy())
    optimizer, unread = make([w]), make([plain])

    def loss_of(parameter):
        return (parameter.exp() * parameter).square().sum()

    for _ in range(3):
        value = w.numpy().astype(np.float64)
        grad = 2 * np.exp(2 * value) * value * (value + 1)
        optimizer.zero_grad()
        loss, other = loss_of(w), loss_of(w)
        loss.backward()
        if reads != "after the step":
            loss.item()
        optimizer.step()
        if reads != "before the step":
            other.item()
            loss.item()
        np.testing.assert_allclose(w.grad.numpy(), grad, rtol=1e-5)

        unread.zero_grad()
        loss_of(plain).backward()
        unread.step()
        np.testing.assert_allclose(w.numpy(), plain.numpy(), rtol=1e-6)


def test_modules_are_copied_and_pickled():
    net = model()
    x = gs.as_tensor(numbers(2, 1, 8, 8))
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert isinstance(other[0].weight, nn.Parameter)
        assert other[0].weight.requires_grad
        assert not other[1].running_mean.requires_grad
        np.testing.assert_array_equal(other.eval()(x).numpy(), net.eval()(x).numpy())
        other[0].weight.zero_()
        assert net[0].weight.abs().sum().item() > 0


def test_states_that_do_not_fit(tmp_path):
    net = model()
    assert list(net.state_dict())[:4] == ["0.weight", "0.bias", "1.weight", "1.bias"]
    with pytest.raises(gs.Error, match="it lacks 0.weight"):
        net.load_state_dict({})
    with pytest.raises(gs.Error, match=r"0.bias has shape \[4\], the state's \[5\]"):
        net.load_state_dict({**net.state_dict(), "0.bias": gs.zeros(5)})
    net.load_state_dict({"0.bias": np.ones(4, np.float32), "what": gs.ones(1)}, strict=False)
    assert net[0].bias.tolist() == [1] * 4
    (tmp_path / "cut").write_bytes(b"12345")
    for path, said in [("cut", "no safetensors file"), ("none", "No such file")]:
        with pytest.raises(gs.Error, match=said):
            gs.safetensors.load_file(tmp_path / path)
    whole = tmp_path / "whole"
    gs.safetensors.save_file({"a": gs.arange(3)}, whole)
    whole.write_bytes(whole.read_bytes()[:-1])
    with pytest.raises(gs.Error, match="cut off"):
        gs.safetensors.load_file(whole)


def test_a_trained_module_as_onnx_and_as_packages(tmp_path):
    net = model()
    x = numbers(5, 1, 8, 8)
    wanted = net.eval()(gs.as_tensor(x)).numpy()
    net.train()
    written = gs.export_onnx(net, gs.zeros(2, 1, 8, 8), name="small", input_names=["image"], output_names=["scores"], dynamic_axes={0: {0: "batch"}})
    assert net.training
    onnx.checker.check_model(written, full_check=True)
    graph = onnx.load_from_string(written).graph
    assert {each.name for each in graph.initializer} >= {"0.weight", "1.running_mean", "5.bias"}
    for port in (graph.input[0], graph.output[0]):
        assert port.type.tensor_type.shape.dim[0].dim_param == "batch"
    package = gs.compile(written)
    np.testing.assert_allclose(package.run({"image": x})["scores"], wanted, rtol=1e-4, atol=1e-5)
    gs.compile(written, target="webgl").write(tmp_path / "web")
    manifest = json.loads((tmp_path / "web/manifest.json").read_text())
    assert manifest["target"] == "webgl"
    # What has learned is what was computed.
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    net(gs.ones(2, 1, 8, 8)).sum().backward()
    optimizer.step()
    learned = gs.compile(gs.export_onnx(net, gs.zeros(2, 1, 8, 8)), target="cpu").run(np.ones((2, 1, 8, 8), np.float32))["y0"]
    np.testing.assert_allclose(learned, net.eval()(gs.ones(2, 1, 8, 8)).numpy(), rtol=1e-4, atol=1e-5)
    fixed = gs.export_onnx(lambda a, b: {"sum": a + b, "product": a * b}, [gs.ones(3), gs.ones(3)])
    made = gs.compile(fixed).run({"x0": np.full(3, 2, np.float32), "x1": np.full(3, 5, np.float32)})
    assert made["y0"].tolist() == [7] * 3
    assert made["y1"].tolist() == [10] * 3
    with pytest.raises(gs.Error, match="other things than tensors"):
        gs.export_onnx(lambda a: "text", gs.ones(1))


def test_it_ends_while_a_program_compiles_beside():
    program = """
import gossamer as gs
for rows in (2, 3, *[4] * 9):
    (gs.ones(rows, 5).exp() * 2).sum().item()
print("done")
"""
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False)
    assert (made.returncode, made.stdout, made.stderr) == (0, "done\n", "")


def _slopes(function, x):
    leaf = gs.tensor(np.asarray(x, np.float32), requires_grad=True)
    function(leaf).sum().backward()
    return leaf.grad.numpy()


@pytest.mark.parametrize(
    ("function", "x", "slopes"),
    [
        # PyTorch's, at kinks, at 0 and where an exponential overflows.
        (lambda x: F.binary_cross_entropy(x, gs.tensor(np.float32([1, 0, 0, 1])), reduction="sum"), [1, 0, 1, 0], [0, 0, 1e12, -1e12]),
        (lambda x: F.binary_cross_entropy_with_logits(x, gs.tensor(np.float32([1, 0, 1])), reduction="sum"), [0, 0, -200], [-0.5, 0.5, -1]),
        (lambda x: F.prelu(x, gs.tensor(np.float32([0.25]))), [0, -1, 1], [0.25, 0.25, 1]),
        (lambda x: F.cosine_similarity(x, gs.tensor(np.float32([[3, 4]]))), [[0, 0]], [[6e7, 8e7]]),
        (F.softplus, [0, -200, 200], [0.5, 0, 1]),
        (F.silu, [-100, 0], [0, 0.5]),
        (lambda x: x.std(), [1, 1, 1], [0, 0, 0]),
        (lambda x: x.norm(), [0, 0], [0, 0]),
        (lambda x: x.norm(3), [0, 0], [0, 0]),
        (lambda x: x.atan2(gs.tensor(np.float32([0, 0, -1]))), [1, 0, 0], [0, 0, -1]),
        (lambda x: x.log1p(), [0, 2], [1, 1 / 3]),
        (lambda x: x.expm1(), [0, -2], [1, math.exp(-2)]),
    ],
)
def test_gradients_at_special_points(function, x, slopes):
    np.testing.assert_allclose(_slopes(function, x), np.float32(slopes), rtol=2e-6)


def test_interpolation_refuses_what_it_does_not_know():
    with pytest.raises(gs.Error, match='mode "lanczos"'):
        F.interpolate(gs.ones(1, 1, 4), 2, mode="lanczos")
    with pytest.raises(gs.Error, match='align_corners does not go with mode "nearest"'):
        F.interpolate(gs.ones(1, 1, 4), 2, align_corners=True)


def test_adaptive_pools_overlap():
    x = np.float32(np.random.default_rng(1).standard_normal((2, 3, 7, 5)))
    x[0, 0, 0, 0] = np.inf
    for pool, of in ((F.adaptive_avg_pool2d, np.mean), (F.adaptive_max_pool2d, np.max)):
        for size in ((3, 2), (7, 4), (9, 11), (1, 5)):
            ends = [[(at * extent // out, -(-(at + 1) * extent // out)) for at in range(out)] for extent, out in zip((7, 5), size, strict=True)]
            wanted = [[of(x[:, :, a:b, c:d], (2, 3)) for c, d in ends[1]] for a, b in ends[0]]
            np.testing.assert_allclose(pool(gs.tensor(x), size).numpy(), np.moveaxis(np.float32(wanted), (0, 1), (2, 3)), rtol=2e-6, atol=1e-6)


def test_atan2_tells_zeros_apart():
    y, x = np.float32([0.0, -0.0, 0.0, -0.0, -0.0, 0.0, -1, 1]), np.float32([-1, -1, -0.0, -0.0, 0.0, 2, -0.0, 0.0])
    np.testing.assert_allclose(gs.tensor(y).atan2(gs.tensor(x)).numpy(), np.arctan2(y, x), rtol=2e-6)


def test_functions_are_accurate_near_zero():
    x = np.float32([1e-8, -1e-7, 1e-4, 0.49, 3])
    np.testing.assert_allclose(gs.tensor(x).log1p().numpy(), np.log1p(x.astype(np.float64)), rtol=3e-7)
    np.testing.assert_allclose(gs.tensor(x).expm1().numpy(), np.expm1(x.astype(np.float64)), rtol=6e-7)
    for p in (-math.inf, -1, 0, 0.5, 1, 3, math.inf):
        y = np.float32([-3, 2, 4])
        np.testing.assert_allclose(gs.tensor(y).norm(p).numpy(), np.linalg.norm(y, p), rtol=1e-6)


def test_states_go_on_from_step_to_step():
    """Hidden states, losses, sums and a running mean; nothing is read on the way, and all steps are few programs."""
    gs.manual_seed(1)
    rnn, head = nn.LSTM(3, 4), nn.Linear(4, 1)
    optimizer = optim.Adam([*rnn.parameters(), *head.parameters()], 0.05)
    state, losses, total, baseline = None, [], gs.zeros(1), gs.zeros(1)
    before = compiled()
    for _ in range(12):
        x = gs.randn(5, 2, 3)
        out, after = rnn(x, state)
        loss = F.mse_loss(head(out), x.sum(-1, True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        state = tuple(each.detach() for each in after)
        losses.append(loss.detach())
        total = total + loss.detach()
        with gs.no_grad():
            baseline = baseline * 0.9 + out.mean() * 0.1
    assert total.item() == pytest.approx(gs.stack(losses).sum().item(), rel=1e-5)
    assert np.isfinite(state[0].numpy()).all()
    assert np.isfinite(baseline.item())
    assert compiled() - before <= 6


def test_what_is_computed_without_gradients_stays_bounded():
    x, weight = gs.randn(4, 4), gs.eye(4) * 0.5
    before = compiled()
    for _ in range(1500):
        x = (x @ weight).tanh()
    assert abs(x.numpy()).max() < 1e-6
    assert compiled() - before <= 4
