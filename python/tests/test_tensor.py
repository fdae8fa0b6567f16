"""Lazy tensors: what they compute, their gradients, and what they refuse."""

import gc
import threading

import numpy as np
import pytest

import gossamer as gs
from gossamer.model import _on_host

X = np.array([[1.5, -2.0, 3.0], [0.0, 4.0, -0.5]], np.float32)


def test_where_tensors_come_from():
    assert gs.Tensor([1.0, 2.0]).dtype == gs.float32
    assert gs.Tensor([1, 2]).dtype == gs.int64
    assert gs.Tensor([True]).dtype == np.bool_
    assert gs.Tensor(np.float64(2)).dtype == gs.float64
    assert gs.Tensor([[1, 2], [3, 4]], dtype="float16").tolist() == [[1, 2], [3, 4]]
    assert gs.tensor(3.5).item() == 3.5
    own = X.copy()
    copied, shared = gs.Tensor(own), gs.as_tensor(own)
    own[0, 0] = 9
    assert copied[0, 0].item() == 1.5
    assert shared[0, 0].item() == 9
    with pytest.raises(gs.Error, match="one length"):
        gs.Tensor([[1, 2], [3]])
    with pytest.raises(gs.Error, match="no numbers"):
        gs.Tensor(["a"])


def test_dlpack_both_ways():
    class Foreign:
        def __dlpack__(self, **options):
            return X.__dlpack__(**options)

        def __dlpack_device__(self):
            return X.__dlpack_device__()

    taken = gs.from_dlpack(Foreign())
    assert np.shares_memory(taken.numpy(), X)
    given = np.from_dlpack(taken * 2)
    np.testing.assert_array_equal(given, X * 2)
    np.testing.assert_array_equal(np.asarray(taken + 1), X + 1)
    assert not taken.numpy().flags.writeable
    np.testing.assert_array_equal(_on_host(taken, "f32"), X)


@pytest.mark.parametrize(
    ("made", "dtype"),
    [
        (lambda i, f, b: i + f, "float32"),
        (lambda i, f, b: i + 1, "int64"),
        (lambda i, f, b: i + 1.0, "float32"),
        (lambda i, f, b: i / 2, "float32"),
        (lambda i, f, b: b + b, "int64"),
        (lambda i, f, b: b + True, "int64"),
        (lambda i, f, b: b & b, "bool"),
        (lambda i, f, b: b.sum(), "int64"),
        (lambda i, f, b: i.to("uint8") + i.to("int8"), "int16"),
        (lambda i, f, b: f.half() + f, "float32"),
        (lambda i, f, b: f.half() + gs.tensor(1.0), "float16"),  # a single number widens nothing of its kind
        (lambda i, f, b: f.half() * 2.5, "float16"),
        (lambda i, f, b: i < 2.5, "bool"),
        (lambda i, f, b: f.argmax(0), "int64"),
        (lambda i, f, b: gs.where(b, i, 0.5), "float32"),
        (lambda i, f, b: gs.cat([i, f]), "float32"),
    ],
)
def test_types_are_promoted_as_in_pytorch(made, dtype):
    got = made(gs.tensor([1, 2]), gs.tensor([1.0, 2.0]), gs.tensor([True, False]))
    assert got.dtype == dtype
    assert got.numpy().dtype == dtype


CASES = {
    "scalars on both sides": lambda a, m: 2 - a * 3 + 1 / (a + 10),
    "floor division": lambda a, m: a // 0.75,
    "remainders": lambda a, m: a % 1.5 - (-a) % 2,
    "powers": lambda a, m: abs(a) ** 1.5 + a**2 + 2**a,
    "comparisons": lambda a, m: ((a > 0) & ~(a >= 3)) | (a == -2),
    "matrices": lambda a, m: a @ a.T,
    "broadcasting": lambda a, m: a + a[:, :1] * a[0],
    "sums": lambda a, m: a.sum(0) + a.mean() + m.amax(a),
    "new axes": lambda a, m: a[None, :, None].squeeze(),
    "steps": lambda a, m: a[::-1, 1::2],
    "places": lambda a, m: a[[1, 0, 1]],
    "places of two axes": lambda a, m: a[[1, 0], [0, -1]],
    "places behind a slice": lambda a, m: a[:, [2, 0]],
    "masks": lambda a, m: a[np.array([[True, False, True], [False, True, False]])],
    "an empty slice": lambda a, m: a[0, 1:1].sum(),
}


class Np:
    amax = staticmethod(np.amax)


class Gs:
    amax = staticmethod(lambda a: a.amax())


@pytest.mark.parametrize("name", CASES)
def test_it_computes_what_numpy_computes(name):
    made, wanted = CASES[name](gs.Tensor(X), Gs), CASES[name](X, Np)
    assert made.shape == wanted.shape
    np.testing.assert_allclose(made.numpy(), wanted, rtol=2e-6, atol=1e-6)


def test_shapes_and_parts():
    a = gs.arange(24).reshape(2, 3, -1)
    n = np.arange(24).reshape(2, 3, 4)
    for made, wanted in [
        (a.permute(2, 0, 1), n.transpose(2, 0, 1)),
        (a.transpose(0, -1), n.swapaxes(0, 2)),
        (a.flatten(1), n.reshape(2, 12)),
        (a[..., [3, 0]], n[..., [3, 0]]),
        (a[1, :, -1], n[1, :, -1]),
        (a[:, [0, 2], [1, 1]], n[:, [0, 2], [1, 1]]),
        (a[[0, 1], :, [1, 2]], n[[0, 1], :, [1, 2]]),
        (a[gs.tensor([[1], [0]])], n[[[1], [0]]]),
        (a[a > 20], n[n > 20]),
        (gs.stack([a, a], -1), np.stack([n, n], -1)),
        (a.split([1, 2], 1)[1], n[:, 1:]),
        (a.chunk(2, 2)[0], n[:, :, :2]),
        (a.flip(0, 2), n[::-1, :, ::-1]),
        (a.roll(1, 1), np.roll(n, 1, 1)),
        (a.expand(5, 2, 3, 4)[4], n),
        (a.repeat(2, 1, 1), np.tile(n, (2, 1, 1))),
        (a[0].tril(), np.tril(n[0])),
        (a[0].pad([1, 2]), np.pad(n[0], ((0, 0), (1, 2)))),
        (a.cumsum(1), n.cumsum(1)),
        (a.max(2).values, n.max(2)),
        (a.max(2).indices, n.argmax(2)),
        (a.sort(1, descending=True).values, n[:, ::-1]),
        (gs.einsum("bij,bkj->ik", a.float(), a.float()), np.einsum("bij,bkj->ik", n, n)),
        (a.gather(1, gs.tensor([[[2, 1, 0, 0]]])), np.take_along_axis(n[:1], np.array([[[2, 1, 0, 0]]]), 1)),
        ((a % 5 == 0).nonzero(), np.argwhere(n % 5 == 0)),
    ]:
        np.testing.assert_array_equal(made.numpy(), wanted)
    b = a.clone()
    b[1, :, ::2] = -1
    n[1, :, ::2] = -1
    np.testing.assert_array_equal(b.numpy(), n)
    assert a[1, 0, 0].item() == 12
    assert [row.tolist() for row in gs.tensor([[1, 2], [3, 4]])] == [[1, 2], [3, 4]]
    assert list(range(5))[gs.tensor(2)] == 2


def test_gradients_by_hand():
    x = gs.tensor([1.0, 2.0, 3.0], requires_grad=True)
    w = gs.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], requires_grad=True)
    y = (x @ w).square().sum()  # (4, 7)
    y.backward()
    assert x.grad.tolist() == [8.0, 28.0, 22.0]
    assert w.grad.tolist() == [[8.0, 14.0], [16.0, 28.0], [24.0, 42.0]]
    (x * 2).sum().backward()  # sums up
    assert x.grad.tolist() == [10.0, 30.0, 24.0]
    x.grad = None
    x[1:].backward(gs.tensor([5.0, 7.0]))
    assert x.grad.tolist() == [0.0, 5.0, 7.0]


def test_gradients_at_kinks_are_pytorchs():
    x = gs.tensor([1.0, 2.0, 0.0], requires_grad=True)
    for made, wanted in [
        (x.maximum(1.0), [0.5, 1, 0]),
        (x.minimum(gs.ones(3)), [0.5, 0, 1]),
        (x.clamp(1, 2), [1, 1, 0]),
        (x.relu(), [1, 1, 0]),
        (x.abs(), [1, 1, 0]),
        (x.amax() * gs.ones(3), [0, 3, 0]),
    ]:
        x.grad = None
        made.sum().backward()
        assert x.grad.tolist() == wanted


def test_gradients_stop_where_they_should():
    x = gs.tensor([2.0], requires_grad=True)
    (x * x.detach() + (x * 3).detach()).sum().backward()
    assert x.grad.tolist() == [2.0]
    with gs.no_grad():
        y = x * 5
        with gs.enable_grad():
            assert (x * 5).requires_grad
    assert not y.requires_grad

    @gs.no_grad()
    def untraced():
        return x * 2

    assert not untraced().requires_grad
    assert gs.is_grad_enabled()
    x.grad = None
    (y * x).sum().backward()
    assert x.grad.tolist() == [10.0]
    assert not (x > 1).requires_grad
    with pytest.raises(gs.Error, match="nothing that this was computed from"):
        y.backward()
    with pytest.raises(gs.Error, match="only a single number"):
        (x * gs.ones(2)).backward()
    with pytest.raises(gs.Error, match="floats"):
        gs.tensor([1]).requires_grad_()


def test_reading_does_not_end_gradients():
    x = gs.tensor([3.0], requires_grad=True)
    y = x * x
    z = (y * x).sum()
    assert y.item() == 9
    assert z.item() == 27
    z.backward()
    assert z.item() == 27
    assert x.grad.item() == 27
    u = (x * x).sum()
    u.backward()
    x.grad.item()
    u.item()
    x.grad = None
    with pytest.raises(gs.Error, match="backward\\(\\) had gone through it"):
        (u * 2).backward()
    kept = (x * x).sum()
    kept.backward(retain_graph=True)
    kept.item()
    kept.backward()
    assert x.grad.item() == 12


def test_a_gradient_that_is_read_after_the_loss_is_right():
    x = gs.tensor([3.0], requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    assert loss.item() == 9
    assert x.grad.item() == 6


def test_gradients_of_gradients():
    x = gs.tensor([2.0], requires_grad=True)
    (first,) = gs.grad((x**3).sum(), x, create_graph=True)
    (second,) = gs.grad(first.sum(), x)
    assert (first.item(), second.item()) == (12.0, 12.0)
    middle = x * 2
    middle.retain_grad()
    (middle * middle).sum().backward()
    assert (middle.grad.item(), x.grad.item()) == (8.0, 16.0)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda a: a @ a, r"MatMul\(float32\[2, 3\], float32\[2, 3\]\)"),
        (lambda a: a + gs.ones(2), r"Add\(float32\[2, 3\], float32\[2\]\)"),
        (lambda a: a.reshape(4), "6 elements do not make the shape"),
        (lambda a: a.sum(2), "axis 2 of a tensor of shape"),
        (lambda a: a.permute(0, 0), "no order of 2 axes"),
        (lambda a: a.expand(2, 4), "do not fit"),
        (lambda a: a.expand(3), "does not broadcast"),
        (lambda a: gs.arange(3).mean(), "is of floats"),
        (lambda a: a.item(), "has not one element"),
        (lambda a: a.to("complex64"), "no element type"),
        (lambda a: gs.nn.functional.conv2d(a, a), "conv2d: a weight of shape"),
        (lambda a: gs.call("Frobnicate", a), "Frobnicate"),
    ],
)
def test_errors_are_at_the_call(wrong, said):
    with pytest.raises(gs.Error, match=said) as raised:
        wrong(gs.Tensor(X))
    assert "\n" not in str(raised.value)


def test_indices_that_are_not_there():
    a = gs.Tensor(X)
    for index in (2, (0, 3), (0, 0, 0), [0, 5]):
        with pytest.raises(IndexError):
            a[index]
    with pytest.raises(TypeError):
        a[0.5]
    with pytest.raises(gs.Error, match="neither true nor false"):
        bool(a > 0)


def runs():
    return sum(each.compile_ms is not None for each in gs.profile())


def test_a_loop_compiles_once_and_other_extents_once_more():
    def step(rows):
        return (gs.ones(rows, 7).sin() * 3 - 0.125).sum(0).tolist()

    before = runs()
    for _ in range(4):
        step(5)
    assert runs() == before + 1
    for rows in (6, 7, 8, 9):
        assert step(rows) == pytest.approx([rows * (3 * np.sin(1) - 0.125)] * 7, rel=1e-5)
    assert runs() == before + 2


def test_what_is_let_go_of_goes():
    from gossamer import _core

    def loop():
        x = gs.tensor([1.0], requires_grad=True)
        for _ in range(20):
            y = (x * 2).exp().sum()
            y.backward()
            y.item()
            x.grad = None

    loop()
    gc.collect()
    before = _core.count()
    loop()
    gc.collect()
    assert _core.count() == before


def test_threads_record_and_run_at_the_same_time():
    wrong = []

    def work(number):
        x = gs.tensor([float(number)], requires_grad=True)
        for at in range(20):
            y = (x * gs.tensor([float(at)]) + number).sum()
            y.backward()
            if (y.item(), x.grad.item()) != (number * at + number, at):
                wrong.append((number, at))
            x.grad = None

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_random_numbers_come_again():
    gs.manual_seed(7)
    first = gs.randn(4).tolist(), gs.randperm(9).tolist()
    gs.manual_seed(7)
    assert (gs.randn(4).tolist(), gs.randperm(9).tolist()) == first


def test_texts():
    assert repr(gs.tensor([1.0, 2.5])) == "tensor([1. , 2.5])"
    assert repr(gs.tensor([1], dtype="int32", requires_grad=False)) == "tensor([1], dtype=int32)"
    assert repr(gs.zeros(0, 3) + 1) == "tensor([], shape=(0, 3))"
    assert (gs.tensor(1) == None, gs.tensor(1) != "a") == (False, True)  # noqa: E711
    shown = gs.Tensor(X, requires_grad=True)._repr_html_()
    assert "2 &times; 3, float32, requires_grad; -2 to 4, mean 1" in shown
    assert shown.count("<td>") == 6
    assert "and more" in gs.zeros(20, 20)._repr_html_()
    assert "a number" in gs.tensor(1)._repr_html_()
