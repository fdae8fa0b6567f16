"""Functions of torch.nn.functional, as compositions; web/tensor/src/composed/functional.ts is written from this file."""

from __future__ import annotations

from .prelude import *  # noqa: F403
from .shared import check_probability


def hardtanh(x: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """x within [min_val, max_val]; the gradient at the bounds is 0."""
    return where(x <= min_val, min_val, where(x >= max_val, max_val, x))


def leaky_relu(x: Tensor, negative_slope: float = 0.01) -> Tensor:
    """negative_slope * x below 0."""
    return node("LeakyRelu", [floating(x)], {"alpha": float(negative_slope)})


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """alpha * (exp(x) - 1) below 0."""
    return node("Elu", [floating(x)], {"alpha": float(alpha)})


def celu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """alpha * (exp(x / alpha) - 1) below 0."""
    return node("Celu", [floating(x)], {"alpha": float(alpha)})


def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """approximate: "none" or "tanh"."""
    if approximate not in ["none", "tanh"]:
        raise Error(f"approximate is {approximate}; none and tanh are allowed", "gelu")
    return node("Gelu", [floating(x)], {"approximate": approximate})


def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold."""
    y = floating(x)
    if beta == 1 and threshold == 20:
        return node("Softplus", [y])
    return where(y * beta > threshold, y, node("Softplus", [y * beta]) / beta)


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    """exp(x) over its sum along an axis."""
    return x.softmax(dim)


def log_softmax(x: Tensor, dim: int = -1) -> Tensor:
    """log(softmax(x)), without overflow."""
    return x.log_softmax(dim)


def pad(x: Tensor, pad: Sequence[int], mode: str = "constant", value: float = 0.0) -> Tensor:
    """More elements at both ends: the last axis first, [before, after] of each; negative ones cut. mode: constant, reflect, replicate, circular."""
    if mode not in ["constant", "reflect", "replicate", "edge", "circular", "wrap"]:
        raise Error(f"mode is {mode}; constant, reflect, replicate and circular are allowed", "pad")
    return padded(x, pad, mode, value)


def normalize(x: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """x over its p-norm along an axis."""
    return x / x.norm(p, dim, True).clamp(eps)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along an axis; each norm is at least eps."""
    return (normalize(x1, 2.0, dim, eps) * normalize(x2, 2.0, dim, eps)).sum(dim)


def logsigmoid(x: Tensor) -> Tensor:
    """log(sigmoid(x)), without overflow."""
    return -node("Softplus", [-floating(x)])


def glu(x: Tensor, dim: int = -1) -> Tensor:
    """The first half of an axis, times the sigmoid of the second."""
    at = axis_of(x, dim, "glu")
    if x.shape[at] % 2 != 0:
        raise Error(f"axis {at} has {x.shape[at]} places; an even number is expected", "glu")
    a, b = x.chunk(2, at)
    return a * b.sigmoid()


def dropout1d(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """dropout() of whole channels of [n, channels, length] or [channels, length]."""
    return _dropped(x, p, training, 1)


def dropout2d(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """dropout() of whole channels of [n, channels, height, width] or [channels, height, width]."""
    return _dropped(x, p, training, 2)


def dropout3d(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """dropout() of whole channels of [n, channels, ...plane] or [channels, ...plane]."""
    return _dropped(x, p, training, 3)


def _dropped(x: Tensor, p: float, training: bool, plane: int) -> Tensor:
    check_probability(p)
    if not training or p == 0:
        return x
    shape = [1 if axis >= x.ndim - plane else extent for axis, extent in enumerate(x.shape)]
    kept = (uniform(x, shape) >= p).to(x._dtype)
    return x * kept * (0.0 if p == 1 else 1 / (1 - p))


def rms_norm(x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Divided by the root of the mean square over the last axes."""
    if list(x.shape[x.ndim - len(normalized_shape) :]) != list(normalized_shape):
        raise Error(f"the shape does not end in [{', '.join([str(each) for each in normalized_shape])}]", "rms_norm")
    axes = list(range(x.ndim - len(normalized_shape), x.ndim))
    least = 1.1920928955078125e-07 if eps is None else eps
    made = x * (x.square().mean(axes, True) + least).rsqrt()
    return made if weight is None else made * weight


def pixel_shuffle(x: Tensor, upscale_factor: int) -> Tensor:
    """Blocks of channels moved into the plane."""
    r = upscale_factor
    channels, height, width = x.shape[-3:]
    if channels % (r * r) != 0:
        raise Error(f"{channels} channels; a multiple of {r * r} is expected", "pixel_shuffle")
    n = x.ndim - 3
    parts = x.reshape([*x.shape[:-3], channels // (r * r), r, r, height, width])
    return parts.permute([*range(n), n, n + 3, n + 1, n + 4, n + 2]).reshape([*x.shape[:-3], channels // (r * r), height * r, width * r])


def grid_sample(x: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool = False) -> Tensor:
    """x at places of a grid, from -1 to 1 along each axis. mode: bilinear, nearest, bicubic; padding_mode: zeros, border, reflection."""
    kinds = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}
    if mode not in kinds or padding_mode not in ["zeros", "border", "reflection"]:
        raise Error(f"mode {mode} with padding_mode {padding_mode}; bilinear, nearest, bicubic and zeros, border, reflection are allowed", "grid_sample")
    return node("GridSample", [x, grid], {"mode": kinds[mode], "padding_mode": padding_mode, "align_corners": 1 if align_corners else 0})


def unfold(x: Tensor, kernel_size: PerAxis, dilation: PerAxis = 1, padding: PerAxis = 0, stride: PerAxis = 1) -> Tensor:
    """Windows of the plane as columns: [n, channels * window, places]."""
    if x.ndim == 3:
        return unfold(x.unsqueeze(0), kernel_size, dilation, padding, stride).squeeze(0)
    window, gap, ends, step = spread(kernel_size, 2), spread(dilation, 2), spread(padding, 2), spread(stride, 2)
    wide = padded(x, [ends[1], ends[1], ends[0], ends[0]])
    places = []
    for axis in range(2):
        count = (wide.shape[axis + 2] - gap[axis] * (window[axis] - 1) - 1) // step[axis] + 1
        if count < 1:
            raise Error(f"a window of {window[axis]} on {wide.shape[axis + 2]} places of axis {axis + 2}, padding included", "unfold")
        places = [*places, [at * gap[axis] + begin * step[axis] for at in range(window[axis]) for begin in range(count)]]
    rows = wide.index_select(2, constant(x, places[0], [len(places[0])], "i64")).index_select(3, constant(x, places[1], [len(places[1])], "i64"))
    high, across = len(places[0]) // window[0], len(places[1]) // window[1]
    n, channels = x.shape[0], x.shape[1]
    parts = rows.reshape([n, channels, window[0], high, window[1], across]).permute([0, 1, 2, 4, 3, 5])
    return parts.reshape([n, channels * window[0] * window[1], high * across])


def _resampling(extent: int, size: int, kernel: str, factor: float) -> list[float]:
    """Weights [size, extent] of a row at another size, by a kernel that is wider where the row shrinks."""
    scale = factor if factor > 1 else 1.0
    reach = (1.0 if kernel == "linear" else 2.0) * scale
    made = []
    for at in range(size):
        middle = factor * (at + 0.5)
        begin = max(int(middle - reach + 0.5), 0)
        end = min(int(middle + reach + 0.5), extent)
        row = [_weight(kernel, (place + 0.5 - middle) / scale) if begin <= place and place < end else 0.0 for place in range(extent)]
        total = sum(row)
        made = [*made, *[each / total for each in row]]
    return made


def _weight(kernel: str, distance: float) -> float:
    x = abs(distance)
    if kernel == "linear":
        return 1 - x if x < 1 else 0.0
    if x < 1:
        return (1.5 * x - 2.5) * x * x + 1
    return ((-0.5 * x + 2.5) * x - 4) * x + 2 if x < 2 else 0.0


def resample(x: Tensor, size: Sequence[int], kernel: str, factors: Sequence[float]) -> Tensor:
    """The plane at another size, by interpolate()'s kernels with antialias: linear or cubic."""
    made = x
    for axis, count in enumerate(size):
        extent = x.shape[axis + 2]
        weights = constant(x, _resampling(extent, count, kernel, factors[axis]), [count, extent], x._dtype)
        made = made.transpose(axis + 2, -1).matmul(weights.transpose(0, 1)).transpose(axis + 2, -1)
    return made


__all__ = [name for name, each in list(globals().items()) if getattr(each, "__module__", None) == __name__ and not name.startswith("_")]
