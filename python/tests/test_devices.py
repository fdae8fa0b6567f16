"""Tensors on GPUs by the drivers of this machine give what the CPU gives."""

import copy
import pickle
import threading

import numpy as np
import pytest

import gossamer as gs
from gossamer import _core, nn, optim
from gossamer.nn import functional as F
from models import driver_needed

X = np.random.default_rng(1).standard_normal((16, 6)).astype(np.float32)
LABELS = (X[:, 0] > X[:, 1]).astype(np.int64)


@pytest.fixture(params=["opencl", "opengl", "webgl", "wasm"])
def device(request):
    with driver_needed():
        gs.tensor([1.0], device=request.param).mul(2).numpy()
    return request.param


def where():
    """How often programs ran, by device."""
    return {name: sum(each.runs for each in gs.profile() if each.device == name) for name in gs.HERE}


def test_what_is_made_of_a_tensor_is_computed_on_its_device(device):
    before = where()
    x = gs.Tensor(X, device=device)
    y = (x @ gs.as_tensor(X.T.copy())).relu().sum(1) * 0.5
    assert x.device == y.device == device
    assert "device='" + device in repr(x)
    np.testing.assert_allclose(y.numpy(), np.maximum(X @ X.T, 0).sum(1) * 0.5, rtol=1e-4)
    assert where()[device] > before[device]
    assert where()["cpu"] == before["cpu"]


def test_gradients(device):
    def computed(on):
        x = gs.tensor(X, requires_grad=True, device=on)
        loss = ((x * x).sum(1).sqrt() * gs.tensor(np.arange(16, dtype=np.float32))).mean()
        loss.backward()
        assert x.grad.device == (on or "cpu")
        return loss.item(), x.grad.numpy()

    here, there = computed(None), computed(device)
    np.testing.assert_allclose(there[0], here[0], rtol=1e-5)
    np.testing.assert_allclose(there[1], here[1], rtol=1e-4, atol=1e-6)


def trained(make, on, moved):
    gs.manual_seed(3)
    # No bias before the normalisation: its gradient is rounding alone, which Adam would make steps of.
    net = nn.Sequential(nn.Linear(6, 8, bias=False), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 2))
    if on and moved:
        net.to(on)
    optimizer = make(net.parameters())
    losses = []
    for _ in range(4):
        # The data is enough: what it is computed with follows.
        loss = F.cross_entropy(net(gs.tensor(X, device=on)), gs.tensor(LABELS))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, {name: value.numpy() for name, value in net.state_dict().items()}, net


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("make", [lambda p: optim.SGD(p, lr=0.1, momentum=0.9), lambda p: optim.Adam(p, lr=0.05)], ids=["SGD", "Adam"])
def test_optimizers(device, make, moved):
    losses, state, _ = trained(make, None, moved)
    before = where()["cpu"]
    there, on_it, net = trained(make, device, moved)
    assert where()["cpu"] == before
    assert all(each.device == device for each in net.parameters())
    np.testing.assert_allclose(there, losses, rtol=1e-4)
    for name, value in state.items():
        np.testing.assert_allclose(on_it[name], value, rtol=2e-3, atol=2e-4, err_msg=name)


def test_elements_stay_where_they_are_computed(device):
    def stay(tensor):
        return isinstance(tensor._value.elements, _core.Stored)

    images, more = gs.tensor(X, device=device), gs.tensor(X + 1, device=device)
    net = nn.Linear(6, 2)
    net.to(device)
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    assert not stay(images)
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(net(images), gs.tensor(LABELS)).backward()
        optimizer.step()
        gs.synchronize()
        assert stay(images) and all(stay(each) for each in net.parameters())
    # Read, they are here as well, and are fed from there again.
    before = net.weight.numpy().copy()
    first = net(more).numpy()
    assert stay(net.weight) and stay(more)
    np.testing.assert_allclose(first, (X + 1) @ before.T + net.bias.numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(images.numpy(), X)
    # To another device they come by this machine's memory.
    np.testing.assert_allclose((net(images).detach().to("cpu") * 2).numpy(), 2 * net(images).numpy(), rtol=1e-6)


def test_what_has_learned_is_exported(device):
    _, _, net = trained(lambda p: optim.SGD(p, lr=0.1), device, True)
    net.eval()
    images = gs.tensor(X, device=device)
    model = gs.compile(gs.export_onnx(net, images), target="cpu")
    np.testing.assert_allclose(model.run(X)["y0"], net(images).numpy(), rtol=1e-4, atol=1e-5)


def test_moving(device):
    x = gs.tensor(X)
    assert x.device == "cpu"
    there = x.to(device)
    assert there.device == device and there.to(device) is there
    assert (there + 1).cpu().device == "cpu"
    np.testing.assert_array_equal((there + 1).cpu().numpy(), X + 1)
    leaf = gs.tensor(X, requires_grad=True)
    leaf.to(device).sum().backward()  # Identity has a gradient
    np.testing.assert_array_equal(leaf.grad.numpy(), np.ones_like(X))
    far = gs.tensor(X, requires_grad=True, device=device)
    with pytest.raises(gs.Error, match="detach"):
        (far * 2).to("cpu")
    assert copy.deepcopy(there).device == pickle.loads(pickle.dumps(there)).device == device
    kept = gs.zeros(16, 6, device=device)
    kept.copy_(gs.tensor(X, device="cpu"))
    assert kept.device == gs.zeros_like(kept).device == device
    np.testing.assert_array_equal(kept.numpy(), X)


def test_the_default_is_where_no_device_was_named(device):
    gs.set_default_device(device)
    try:
        before = where()
        x = gs.tensor(X)
        assert x.device == device
        np.testing.assert_allclose(x.exp().numpy(), np.exp(X), rtol=1e-5)
        assert where()[device] > before[device]
    finally:
        gs.set_default_device("cpu")


def test_several_threads(device):
    failed = []

    def use(turn):
        for at in range(5):
            made = (gs.tensor(X, device=device) * (turn + 1) + at).numpy()
            if not np.allclose(made, X * (turn + 1) + at, rtol=1e-5):
                failed.append((turn, at))

    threads = [threading.Thread(target=use, args=(turn,)) for turn in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failed


def test_errors(device):
    with pytest.raises(gs.Error, match="two devices"):
        gs.tensor(X, device=device) + gs.tensor(X, device="cpu")
    with pytest.raises(gs.Error, match="no device"):
        gs.tensor(X, device="teapot")
    with pytest.raises(gs.Error, match="no device"):
        gs.set_default_device("interp")
    with pytest.raises(gs.Error, match="no device"):
        nn.Linear(1, 1).to("teapot")
