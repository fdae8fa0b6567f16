"""Calls that PyTorch refuses are refused at the call; modes, hooks, buffers and names of modules."""

import asyncio

import numpy as np
import pytest

import gossamer as gs
from gossamer import nn
from gossamer.nn import functional as F

X = gs.arange(6).float().reshape(2, 3)
IMAGE = gs.ones(1, 1, 4, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: X.index_select(1, gs.tensor([0, 3])), "place 3 on axis 1; 0 to 2 are allowed"),
        (lambda: X.index_select(1, gs.tensor([-1])), "place -1"),
        (lambda: X.gather(1, gs.tensor([[0], [5]])), "place 5 on axis 1"),
        (lambda: X.scatter(1, gs.tensor([[7]]), gs.zeros(1, 1)), "place 7"),
        (lambda: X[gs.tensor([2])], "-2 to 1 are allowed"),
        (lambda: X.take(gs.tensor([6])), "-6 to 5 are allowed"),
        (lambda: nn.Embedding(4, 2)(gs.tensor([4])), "place 4 on axis 0; 0 to 3"),
        (lambda: F.cross_entropy(X, gs.tensor([0, 3])), "the target 3 is no class; 0 to 2"),
        (lambda: F.pad(IMAGE, [4, 0], "reflect"), "at most 3"),
        (lambda: F.pad(IMAGE, [5, 0], "circular"), "at most 4"),
        (lambda: F.pad(IMAGE, [-3, -2]), "less than nothing"),
        (lambda: F.max_pool2d(IMAGE, 2, 2, 2), "at most half of the window of 2"),
        (lambda: F.avg_pool2d(IMAGE, 5), "a window of 5 over 4 places"),
        (lambda: F.conv2d(IMAGE, gs.ones(1, 1, 5, 3)), "a window of 5 over 4 places"),
        (lambda: F.conv2d(IMAGE, gs.ones(1, 1, 3, 3), padding="same", stride=2), "stride of 1"),
        (lambda: F.conv_transpose2d(IMAGE, gs.ones(1, 1, 3, 3), output_padding=1), "at most 0 is allowed"),
        (lambda: gs.zeros(2, 0).amax(1), "axis 1 of shape .* is empty"),
        (lambda: gs.zeros(2, 0).argmin(), "is empty"),
    ],
)
def test_refused(call, message):
    with pytest.raises(gs.Error, match=message):
        call()


def test_negative_places_of_brackets_count_from_the_end():
    assert X[gs.tensor([-1])].tolist() == [[3, 4, 5]]
    assert gs.zeros(2, 0).amax(0).shape == (0,)
    assert gs.zeros(2, 0).sum(1).tolist() == [0, 0]


def test_no_grad_is_of_its_own_task():
    x = gs.tensor([1.0], requires_grad=True)
    found = []

    async def own(quiet):
        for _ in range(3):
            if quiet:
                with gs.no_grad():
                    await asyncio.sleep(0)
                    found.append((quiet, (x * 2).requires_grad))
            else:
                found.append((quiet, (x * 2).requires_grad))
                await asyncio.sleep(0)

    async def both():
        await asyncio.gather(own(True), own(False), own(True))

    asyncio.run(both())
    assert len(found) == 9
    assert all(traced != quiet for quiet, traced in found)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 3)
        self.head = nn.Linear(3, 5, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("scale", gs.tensor([2.0]))
        self.register_buffer("mask", gs.ones(3), persistent=False)

    def forward(self, x):
        return self.head(self.embed(x)) * self.scale


def test_state_has_tied_weights_under_both_names():
    model = Tied()
    assert list(model.state_dict()) == ["embed.weight", "head.weight", "scale"]
    assert len(list(model.parameters())) == 1
    assert [name for name, _ in model.named_buffers()] == ["scale", "mask"]
    other = Tied()
    other.load_state_dict(model.state_dict())
    x = gs.tensor([1, 4])
    np.testing.assert_array_equal(model(x).numpy(), other(x).numpy())
    assert model.get_parameter("head.weight") is model.embed.weight
    with pytest.raises(gs.Error, match="there is no module 'tail'; there are .*embed"):
        model.get_submodule("tail")


def test_hooks_see_and_change_what_goes_through():
    model = nn.Sequential({"double": nn.Linear(2, 2, bias=False), "act": nn.ReLU()})
    model.double.weight.copy_(gs.eye(2) * 2)
    seen = []
    before = model.double.register_forward_pre_hook(lambda module, inputs: (inputs[0] + 1,))
    after = model.act.register_forward_hook(lambda module, inputs, output: seen.append(output.shape))
    assert model(gs.tensor([[1.0, -3.0]])).tolist() == [[4, 0]]
    assert seen == [(1, 2)]
    before.remove()
    after.remove()
    assert model(gs.tensor([[1.0, -3.0]])).tolist() == [[2, 0]]
    assert len(seen) == 1
    assert [name for name, _ in model.named_children()] == ["double", "act"]
    names = []
    model.apply(lambda module: names.append(type(module).__name__))
    assert names == ["Linear", "ReLU", "Sequential"]


def test_in_place_forms_follow_gradients():
    x = gs.tensor([1.0, -2.0], requires_grad=True)
    y = x * 3
    y.mul_(2).clamp_min_(-6)
    y.sum().backward()
    assert y.tolist() == [6, -6]
    assert x.grad.tolist() == [6, 0]
    with pytest.raises(gs.Error, match="leaf that requires a gradient"):
        x.exp_()
    with pytest.raises(gs.Error, match="int64 cannot become float32"):
        gs.tensor([1, 2]).sqrt_()
    with gs.no_grad():
        x.mul_(2)
    assert x.tolist() == [2, -4]
    assert x.requires_grad


def test_summary():
    text = nn.summary(Tied(), gs.tensor([1, 2]))
    assert "embed    Embedding  [2, 3]  15" in text
    assert text.endswith("15 parameters, 15 of them learn; 4 numbers in buffers")


def test_lazy_layers_take_sizes_from_the_first_input():
    lazy = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
    lazy.eval()
    assert list(lazy.parameters()) == []
    assert lazy(gs.ones(1, 3, 5, 5)).shape == (1, 2)
    assert list(lazy.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias", "3.weight", "3.bias", "1.running_mean", "1.running_var"]
    assert type(getattr(lazy, "3")) is nn.Linear
    assert not lazy[0].training


def test_fractional_pools_and_functions_in_place():
    values, places = F.fractional_max_pool2d_with_indices(gs.arange(36).float().reshape(1, 1, 6, 6), 2, 3)
    assert values.shape == (1, 1, 3, 3)
    np.testing.assert_array_equal(values.numpy(), places.float().numpy())
    x = gs.tensor([-1.0, 2.0])
    assert F.relu_(x) is x
    assert x.tolist() == [0, 2]
    assert not x.is_cuda
    assert not x.is_complex()
    mantissa, exponent = gs.tensor([8.0, -0.3, 0.0]).frexp()
    np.testing.assert_allclose(mantissa.numpy() * 2.0 ** exponent.numpy(), [8, -0.3, 0], rtol=1e-6)
    assert ((mantissa.abs() < 1) & ((mantissa.abs() >= 0.5) | (mantissa == 0))).all()


def test_sparse_adam_leaves_other_rows_alone():
    table = nn.Embedding(4, 2)
    before = table.weight.numpy().copy()
    optimizer = gs.optim.SparseAdam(table.parameters(), 0.1)
    for _ in range(3):
        optimizer.zero_grad()
        table(gs.tensor([1, 3])).sum().backward()
        optimizer.step()
    np.testing.assert_allclose(table.weight.numpy() - before, [[0, 0], [-0.3, -0.3], [0, 0], [-0.3, -0.3]], atol=1e-5)
