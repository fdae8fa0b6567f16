"""Rarer functions of torch.nn.functional, as compositions; web/tensor/src/composed/more_functional.ts is written from this file."""

from __future__ import annotations

from .functional import celu, elu, hardtanh, leaky_relu
from .prelude import *  # noqa: F403
from .shared import check_probability


def threshold(x: Tensor, threshold: float, value: float) -> Tensor:
    """`value` where x is at most the threshold."""
    return where(x > threshold, x, value)


def hardshrink(x: Tensor, lambd: float = 0.5) -> Tensor:
    """0 within [-lambd, lambd]."""
    return where(x.abs() > lambd, x, 0.0)


def softshrink(x: Tensor, lambd: float = 0.5) -> Tensor:
    """lambd nearer to 0, and 0 within [-lambd, lambd]."""
    return where(x > lambd, x - lambd, where(x < -lambd, x + lambd, 0.0))


def tanhshrink(x: Tensor) -> Tensor:
    """x - tanh(x)"""
    return x - x.tanh()


def softmin(x: Tensor, dim: int = -1) -> Tensor:
    """softmax(-x)"""
    return (-x).softmax(dim)


def rrelu(x: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False) -> Tensor:
    """x times a slope below 0; while training, drawn from [lower, upper] for each element."""
    if not training:
        return where(x >= 0, x, x * ((lower + upper) / 2))
    return where(x >= 0, x, x * (uniform(x, x.shape) * (upper - lower) + lower).to(x._dtype))


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of the Gumbel-softmax distribution; hard: one-hot, with the gradient of the soft one."""
    noise = -(-(uniform(logits, logits.shape) + 2**-25).log()).log()
    soft = ((logits + noise.to(logits._dtype)) / tau).softmax(dim)
    if not hard:
        return soft
    at = axis_of(logits, dim, "gumbel_softmax")
    places = iota(logits, logits.shape[at]).reshape([-1 if axis == at else 1 for axis in range(logits.ndim)])
    return (soft.argmax(at, True) == places).to(soft._dtype) + (soft - soft.detach())


def alpha_dropout(x: Tensor, p: float = 0.5, training: bool = False) -> Tensor:
    """Dropout that keeps mean and variance of what selu() gives."""
    return _alpha(x, p, training, x.shape)


def feature_alpha_dropout(x: Tensor, p: float = 0.5, training: bool = False) -> Tensor:
    """alpha_dropout() of whole channels."""
    return _alpha(x, p, training, [1 if axis > 1 else extent for axis, extent in enumerate(x.shape)])


def _alpha(x: Tensor, p: float, training: bool, shape: Sequence[int]) -> Tensor:
    check_probability(p)
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0
    low = -1.7580993408473766
    a = 1 / math.sqrt((1 - p) * (1 + p * low * low))
    return where(uniform(x, shape) >= p, x, low) * a - a * p * low


def local_response_norm(x: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """x over (k + alpha * the mean square of neighbouring channels) to the power beta."""
    squares = x.square()
    wide = padded(squares, [*[0] * (2 * (x.ndim - 2)), size // 2, (size - 1) // 2])
    total = wide.narrow(1, 0, x.shape[1])
    for at in range(1, size):
        total = total + wide.narrow(1, at, x.shape[1])
    return x / (total * (alpha / size) + k).pow(beta)


def bilinear(x1: Tensor, x2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1 weight x2 + bias for each output; weight: [outputs, features of x1, features of x2]."""
    out, first, second = weight.shape
    left = x1.reshape([-1, first]).matmul(weight.permute([1, 0, 2]).reshape([first, out * second])).reshape([-1, out, second])
    made = (left * x2.reshape([-1, 1, second])).sum(-1).reshape([*x1.shape[:-1], out])
    return made if bias is None else made + bias


def pixel_unshuffle(x: Tensor, downscale_factor: int) -> Tensor:
    """Blocks of the plane moved into channels."""
    r = downscale_factor
    channels, height, width = x.shape[-3:]
    if height % r != 0 or width % r != 0:
        raise Error(f"a plane of {height} x {width}; multiples of {r} are expected", "pixel_unshuffle")
    n = x.ndim - 3
    parts = x.reshape([*x.shape[:-3], channels, height // r, r, width // r, r])
    return parts.permute([*range(n), n, n + 2, n + 4, n + 1, n + 3]).reshape([*x.shape[:-3], channels * r * r, height // r, width // r])


def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    """Channels of groups in turns."""
    if x.shape[1] % groups != 0:
        raise Error(f"{x.shape[1]} channels in {groups} groups", "channel_shuffle")
    return x.reshape([x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]]).transpose(1, 2).reshape(x.shape)


def pdist(x: Tensor, p: float = 2.0) -> Tensor:
    """p-norms of the differences of all pairs of different rows."""
    n = x.shape[0]
    pairs = [[first, second] for first in range(n) for second in range(first + 1, n)]
    rows = x.index_select(0, constant(x, [pair[0] for pair in pairs], [len(pairs)], "i64"))
    return (rows - x.index_select(0, constant(x, [pair[1] for pair in pairs], [len(pairs)], "i64"))).norm(p, -1)


def conv_tbc(x: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Convolution of [time, batch, channels] with a kernel [window, channels, out]."""
    made = node("Conv", [x.permute([1, 2, 0]), weight.permute([2, 1, 0])], {"pads": [pad, pad], "kernel_shape": [weight.shape[0]]})
    return made.permute([2, 0, 1]) + bias


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool = False) -> Tensor:
    """The grid of places that affine maps of an image read: [n, ...plane, rank]."""
    return node("AffineGrid", [theta, integers(list(size))], {"align_corners": 1 if align_corners else 0})


def fold(x: Tensor, output_size: PerAxis, kernel_size: PerAxis, dilation: PerAxis = 1, padding: PerAxis = 0, stride: PerAxis = 1) -> Tensor:
    """The sum of columns of windows at their places in the plane, the reverse of unfold()."""
    if x.ndim == 2:
        return fold(x.unsqueeze(0), output_size, kernel_size, dilation, padding, stride).squeeze(0)
    ends = spread(padding, 2)
    attributes = {"dilations": spread(dilation, 2), "pads": [*ends, *ends], "strides": spread(stride, 2)}
    return node("Col2Im", [x, integers(spread(output_size, 2)), integers(spread(kernel_size, 2))], attributes)


def _largest(x: Tensor, rank: int, window: PerAxis, stride: PerAxis | None, padding: PerAxis, dilation: PerAxis, ceil_mode: bool) -> list[Tensor]:
    if x.ndim == rank + 1:
        return [each.squeeze(0) for each in _largest(x.unsqueeze(0), rank, window, stride, padding, dilation, ceil_mode)]
    size = spread(window, rank)
    ends = spread(padding, rank)
    attributes = {"kernel_shape": size, "strides": size if stride is None else spread(stride, rank), "pads": [*ends, *ends], "dilations": spread(dilation, rank), "ceil_mode": 1 if ceil_mode else 0}
    values, places = nodes("MaxPool", [x], attributes, 2)
    return [values, places.remainder(math.prod(x.shape[2:])).to("i64")]


def max_pool1d_with_indices(x: Tensor, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0, dilation: PerAxis = 1, ceil_mode: bool = False) -> list[Tensor]:
    """The largest element of each window, and its place in the plane."""
    return _largest(x, 1, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d_with_indices(x: Tensor, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0, dilation: PerAxis = 1, ceil_mode: bool = False) -> list[Tensor]:
    """See max_pool1d_with_indices()."""
    return _largest(x, 2, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d_with_indices(x: Tensor, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0, dilation: PerAxis = 1, ceil_mode: bool = False) -> list[Tensor]:
    """See max_pool1d_with_indices()."""
    return _largest(x, 3, kernel_size, stride, padding, dilation, ceil_mode)


def _unpooled(x: Tensor, indices: Tensor, rank: int, window: PerAxis, stride: PerAxis | None, padding: PerAxis, output_size: Sequence[int] | None) -> Tensor:
    size, ends = spread(window, rank), spread(padding, rank)
    step = size if stride is None else spread(stride, rank)
    usual = [(extent - 1) * step[axis] - 2 * ends[axis] + size[axis] for axis, extent in enumerate(x.shape[x.ndim - rank :])]
    plane = usual if output_size is None else list(output_size[len(output_size) - rank :])
    before = x.shape[: x.ndim - rank]
    flat = x.reshape([*before, -1])
    empty = constant(x, [0], [1], x._dtype).expand([*before, math.prod(plane)])
    return empty.scatter(-1, indices.reshape([*before, -1]), flat).reshape([*before, *plane])


def max_unpool1d(x: Tensor, indices: Tensor, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0, output_size: Sequence[int] | None = None) -> Tensor:
    """Elements at the places where a pool found them, 0 elsewhere."""
    return _unpooled(x, indices, 1, kernel_size, stride, padding, output_size)


def max_unpool2d(x: Tensor, indices: Tensor, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0, output_size: Sequence[int] | None = None) -> Tensor:
    """See max_unpool1d()."""
    return _unpooled(x, indices, 2, kernel_size, stride, padding, output_size)


def max_unpool3d(x: Tensor, indices: Tensor, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0, output_size: Sequence[int] | None = None) -> Tensor:
    """See max_unpool1d()."""
    return _unpooled(x, indices, 3, kernel_size, stride, padding, output_size)


def _lp(x: Tensor, norm_type: float, rank: int, window: PerAxis, stride: PerAxis | None, ceil_mode: bool) -> Tensor:
    if x.ndim == rank + 1:
        return _lp(x.unsqueeze(0), norm_type, rank, window, stride, ceil_mode).squeeze(0)
    size = spread(window, rank)
    attributes = {"kernel_shape": size, "strides": size if stride is None else spread(stride, rank), "ceil_mode": 1 if ceil_mode else 0}
    mean = node("AveragePool", [x.pow(norm_type)], attributes)
    total = mean * math.prod(size)
    return (total.sign() * total.abs().relu()).pow(1 / norm_type)


def lp_pool1d(x: Tensor, norm_type: float, kernel_size: PerAxis, stride: PerAxis | None = None, ceil_mode: bool = False) -> Tensor:
    """The root of the sum of powers of each window."""
    return _lp(x, norm_type, 1, kernel_size, stride, ceil_mode)


def lp_pool2d(x: Tensor, norm_type: float, kernel_size: PerAxis, stride: PerAxis | None = None, ceil_mode: bool = False) -> Tensor:
    """See lp_pool1d()."""
    return _lp(x, norm_type, 2, kernel_size, stride, ceil_mode)


def lp_pool3d(x: Tensor, norm_type: float, kernel_size: PerAxis, stride: PerAxis | None = None, ceil_mode: bool = False) -> Tensor:
    """See lp_pool1d()."""
    return _lp(x, norm_type, 3, kernel_size, stride, ceil_mode)


def embedding_bag(x: Tensor, weight: Tensor, offsets: Sequence[int] | None = None, mode: str = "mean", per_sample_weights: Tensor | None = None, padding_idx: int | None = None) -> Tensor:
    """Rows of a table, joined in bags: [bags, each], or one list with the offsets of bags. mode: sum, mean, max."""
    if mode not in ["sum", "mean", "max"]:
        raise Error(f"mode is {mode}; sum, mean and max are allowed", "embedding_bag")
    if x.ndim == 1:
        if offsets is None:
            raise Error("one list of places needs offsets", "embedding_bag")
        ends = [*offsets[1:], x.shape[0]]
        weights = [None if per_sample_weights is None else per_sample_weights.narrow(0, begin, end - begin).unsqueeze(0) for begin, end in zip(offsets, ends)]
        bags = [embedding_bag(x.narrow(0, begin, end - begin).unsqueeze(0), weight, None, mode, weights[at], padding_idx) if end > begin else constant(weight, [0] * weight.shape[1], [1, weight.shape[1]], weight._dtype) for at, (begin, end) in enumerate(zip(offsets, ends))]
        return cat(bags, 0) if len(bags) > 1 else bags[0]
    rows = weight.index_select(0, x)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    if padding_idx is None:
        return rows.sum(1) if mode == "sum" else rows.mean(1) if mode == "mean" else rows.amax(1)
    counted = (x != padding_idx).unsqueeze(-1)
    if mode == "max":
        return where(counted.any(1), where(counted, rows, -math.inf).amax(1), 0.0)
    total = where(counted, rows, 0.0).sum(1)
    return total if mode == "sum" else total / counted.to(rows._dtype).sum(1).clamp(1)


def _picked(x: Tensor, rank: int, begins: Sequence[Sequence[int]], lengths: Sequence[Sequence[int]]) -> list[Tensor]:
    """The largest element of each window of the plane, by the begins and lengths of windows of each axis, and its place."""
    plane = x.shape[x.ndim - rank :]
    cells = [[]]
    for axis in range(rank):
        cells = [[*cell, at] for cell in cells for at in range(len(begins[axis]))]
    windows = []
    for cell in cells:
        places = [0]
        for axis in range(rank):
            at = cell[axis]
            places = [place * plane[axis] + begins[axis][at] + each for place in places for each in range(lengths[axis][at])]
        windows = [*windows, places]
    longest = max(*[len(each) for each in windows], 1)
    # Shorter ones repeat their first place, which is found before its copies.
    flat = [places[each] if each < len(places) else places[0] for places in windows for each in range(longest)]
    before = x.shape[: x.ndim - rank]
    table = constant(x, flat, [len(cells), longest], "i64")
    rows = node("Gather", [x.reshape([*before, math.prod(plane)]), table], {"axis": len(before)})
    at = rows.detach().argmax(-1, True)
    values = rows.gather(-1, at).squeeze(-1)
    places = table.expand([*before, len(cells), longest]).gather(-1, at).squeeze(-1)
    shape = [*before, *[len(each) for each in begins]]
    return [values.reshape(shape), places.reshape(shape)]


def _adaptive(x: Tensor, rank: int, output_size: PerAxis) -> list[Tensor]:
    plane = x.shape[x.ndim - rank :]
    sizes = spread(output_size, rank)
    begins = [[at * plane[axis] // sizes[axis] for at in range(sizes[axis])] for axis in range(rank)]
    lengths = [[-(-(at + 1) * plane[axis] // sizes[axis]) - begins[axis][at] for at in range(sizes[axis])] for axis in range(rank)]
    return _picked(x, rank, begins, lengths)


def adaptive_max_pool1d_with_indices(x: Tensor, output_size: PerAxis) -> list[Tensor]:
    """adaptive_max_pool1d() and the places in the plane."""
    return _adaptive(x, 1, output_size)


def adaptive_max_pool2d_with_indices(x: Tensor, output_size: PerAxis) -> list[Tensor]:
    """adaptive_max_pool2d() and the places in the plane."""
    return _adaptive(x, 2, output_size)


def adaptive_max_pool3d_with_indices(x: Tensor, output_size: PerAxis) -> list[Tensor]:
    """adaptive_max_pool3d() and the places in the plane."""
    return _adaptive(x, 3, output_size)


def _fractional(x: Tensor, rank: int, kernel_size: PerAxis, output_size: PerAxis | None, output_ratio: Sequence[float] | None) -> list[Tensor]:
    plane = x.shape[x.ndim - rank :]
    if (output_size is None) == (output_ratio is None):
        raise Error("it needs an output_size or an output_ratio", "fractional_max_pool")
    window = spread(kernel_size, rank)
    sizes = spread(output_size, rank) if output_size is not None else [int(extent * ratio) for extent, ratio in zip(plane, floats(output_ratio, rank))]
    drawn = draw(rank)
    begins = []
    for axis in range(rank):
        extent, size, length = plane[axis], sizes[axis], window[axis]
        if size + length - 1 > extent:
            raise Error(f"{size} windows of {length} over the {extent} of an axis", "fractional_max_pool")
        step = (extent - length) / (size - 1) if size > 1 else 0.0
        begins = [*begins, [int((at + drawn[axis]) * step) - int(drawn[axis] * step) if at < size - 1 else extent - length for at in range(size)]]
    return _picked(x, rank, begins, [[window[axis]] * sizes[axis] for axis in range(rank)])


def fractional_max_pool2d_with_indices(x: Tensor, kernel_size: PerAxis, output_size: PerAxis | None = None, output_ratio: Sequence[float] | None = None) -> list[Tensor]:
    """The largest elements of windows at random places, the same for all samples of a call, and their places in the plane."""
    return _fractional(x, 2, kernel_size, output_size, output_ratio)


def fractional_max_pool3d_with_indices(x: Tensor, kernel_size: PerAxis, output_size: PerAxis | None = None, output_ratio: Sequence[float] | None = None) -> list[Tensor]:
    """See fractional_max_pool2d_with_indices()."""
    return _fractional(x, 3, kernel_size, output_size, output_ratio)


def fractional_max_pool2d(x: Tensor, kernel_size: PerAxis, output_size: PerAxis | None = None, output_ratio: Sequence[float] | None = None) -> Tensor:
    """See fractional_max_pool2d_with_indices()."""
    return _fractional(x, 2, kernel_size, output_size, output_ratio)[0]


def fractional_max_pool3d(x: Tensor, kernel_size: PerAxis, output_size: PerAxis | None = None, output_ratio: Sequence[float] | None = None) -> Tensor:
    """See fractional_max_pool2d_with_indices()."""
    return _fractional(x, 3, kernel_size, output_size, output_ratio)[0]


def relu_(x: Tensor) -> Tensor:
    """relu() in place."""
    return become(x, x.relu(), "relu_")


def leaky_relu_(x: Tensor, negative_slope: float = 0.01) -> Tensor:
    """leaky_relu() in place."""
    return become(x, leaky_relu(x, negative_slope), "leaky_relu_")


def elu_(x: Tensor, alpha: float = 1.0) -> Tensor:
    """elu() in place."""
    return become(x, elu(x, alpha), "elu_")


def celu_(x: Tensor, alpha: float = 1.0) -> Tensor:
    """celu() in place."""
    return become(x, celu(x, alpha), "celu_")


def selu_(x: Tensor) -> Tensor:
    """selu() in place."""
    return become(x, node("Selu", [x]), "selu_")


def hardtanh_(x: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """hardtanh() in place."""
    return become(x, hardtanh(x, min_val, max_val), "hardtanh_")


def threshold_(x: Tensor, threshold: float, value: float) -> Tensor:
    """threshold() in place."""
    return become(x, where(x > threshold, x, value), "threshold_")


def rrelu_(x: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False) -> Tensor:
    """rrelu() in place."""
    return become(x, rrelu(x, lower, upper, training), "rrelu_")


__all__ = [name for name, each in list(globals().items()) if getattr(each, "__module__", None) == __name__ and not name.startswith("_")]
