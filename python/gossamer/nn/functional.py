"""What layers compute, as functions (PyTorch's torch.nn.functional)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..error import Error
from ..lazy.core import apply
from ..lazy.layout import broadcast_shapes
from ..lazy.products import PerAxis
from ..lazy.random import generator as _generator
from ..lazy.recording import constant, integers, record
from ..lazy.recording import shape_text as _shape_text
from ..lazy.tensors import Tensor, arange, ones, where
from ..lazy.tensors import as_tensor as _as_tensor

# Activations


def relu(x: Tensor) -> Tensor:
    """max(x, 0)"""
    return x.relu()


def relu6(x: Tensor) -> Tensor:
    """x within [0, 6]."""
    return x._clipped(0, 6)


def leaky_relu(x: Tensor, negative_slope: float = 0.01) -> Tensor:
    """negative_slope * x below 0."""
    return x._unary("LeakyRelu", {"alpha": float(negative_slope)})


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """alpha * (exp(x) - 1) below 0."""
    return x._unary("Elu", {"alpha": float(alpha)})


def celu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """alpha * (exp(x / alpha) - 1) below 0."""
    return x._unary("Celu", {"alpha": float(alpha)})


def selu(x: Tensor) -> Tensor:
    """elu() scaled so that layers keep mean 0 and variance 1."""
    return x._unary("Selu")


def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """approximate: "none" or "tanh"."""
    return x._unary("Gelu", {"approximate": approximate})


def silu(x: Tensor) -> Tensor:
    """x * sigmoid(x)"""
    return x * x.sigmoid()


def mish(x: Tensor) -> Tensor:
    """x * tanh(softplus(x))"""
    return x._unary("Mish")


def softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x))"""
    return x._unary("Softplus")


def softsign(x: Tensor) -> Tensor:
    """x / (1 + |x|)"""
    return x._unary("Softsign")


def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + exp(-x))"""
    return x.sigmoid()


def logsigmoid(x: Tensor) -> Tensor:
    """log(sigmoid(x)), without overflow."""
    return -softplus(-x)


def hardsigmoid(x: Tensor) -> Tensor:
    """x / 6 + 1 / 2 within [0, 1]."""
    return x._unary("HardSigmoid", {"alpha": 1 / 6, "beta": 0.5})


def hardswish(x: Tensor) -> Tensor:
    """x * hardsigmoid(x)"""
    return x._unary("HardSwish")


def tanh(x: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return x.tanh()


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    """exp(x) over its sum along an axis."""
    return x.softmax(dim)


def log_softmax(x: Tensor, dim: int = -1) -> Tensor:
    """log(softmax(x)), without overflow."""
    return x.log_softmax(dim)


def prelu(x: Tensor, weight: Tensor) -> Tensor:
    """weight times x below 0; one number, or one a channel."""
    fitted = weight if weight.numel() == 1 else weight.reshape([-1] + [1] * max(x.ndim - 2, 0))
    return x._apply("PRelu", [x, fitted])


def glu(x: Tensor, dim: int = -1) -> Tensor:
    """The first half of an axis, times the sigmoid of the second."""
    a, b = x.chunk(2, dim)
    return a * b.sigmoid()


# Products and windows


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x @ weight.T + bias"""
    return x._linear(weight, bias)


def conv1d(x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: PerAxis = 1, padding: PerAxis | str = 0, dilation: PerAxis = 1, groups: int = 1) -> Tensor:
    """x of [n, channels, ...plane] or without n; weight of [out, channels / groups, ...window]."""
    return x._conv(1, weight, bias, stride, padding, dilation, groups)


def conv2d(x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: PerAxis = 1, padding: PerAxis | str = 0, dilation: PerAxis = 1, groups: int = 1) -> Tensor:
    """See conv1d."""
    return x._conv(2, weight, bias, stride, padding, dilation, groups)


def conv3d(x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: PerAxis = 1, padding: PerAxis | str = 0, dilation: PerAxis = 1, groups: int = 1) -> Tensor:
    """See conv1d."""
    return x._conv(3, weight, bias, stride, padding, dilation, groups)


def conv_transpose2d(x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: PerAxis = 1, padding: PerAxis = 0, output_padding: PerAxis = 0, groups: int = 1, dilation: PerAxis = 1) -> Tensor:
    """weight of [channels, out / groups, ...window]."""
    return x._conv_transpose(2, weight, bias, stride, padding, output_padding, groups, dilation)


def max_pool1d(x: Tensor, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0, dilation: PerAxis = 1, ceil_mode: bool = False) -> Tensor:
    """The largest element of each window."""
    return x._pool("MaxPool", 1, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(x: Tensor, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0, dilation: PerAxis = 1, ceil_mode: bool = False) -> Tensor:
    """The largest element of each window."""
    return x._pool("MaxPool", 2, kernel_size, stride, padding, dilation, ceil_mode)


def avg_pool1d(x: Tensor, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor:
    """The mean of each window; padding counts as zeros unless told otherwise."""
    return x._pool("AveragePool", 1, kernel_size, stride, padding, 1, ceil_mode, count_include_pad=int(count_include_pad))


def avg_pool2d(x: Tensor, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor:
    """The mean of each window; padding counts as zeros unless told otherwise."""
    return x._pool("AveragePool", 2, kernel_size, stride, padding, 1, ceil_mode, count_include_pad=int(count_include_pad))


def adaptive_avg_pool2d(x: Tensor, output_size: PerAxis) -> Tensor:
    """Means of windows that make a plane of this size; they overlap where it does not divide x's."""
    return x._adaptive_pool("AveragePool", 2, output_size)


def adaptive_max_pool2d(x: Tensor, output_size: PerAxis) -> Tensor:
    """As adaptive_avg_pool2d, the largest element."""
    return x._adaptive_pool("MaxPool", 2, output_size)


def interpolate(x: Tensor, size: PerAxis | None = None, scale_factor: float | Sequence[float] | None = None, mode: str = "nearest", align_corners: bool = False) -> Tensor:
    """mode: "nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic", "area"."""
    return x._interpolate(size, scale_factor, mode, align_corners)


def pad(x: Tensor, pad: Sequence[int], mode: str = "constant", value: float = 0) -> Tensor:
    """The last axis first, [before, after] of each."""
    return x.pad(pad, mode, value)


# Choices


def one_hot(x: Tensor, num_classes: int) -> Tensor:
    """1 where a new last axis equals the class, 0 elsewhere; int64."""
    return x._apply("OneHot", [x.to("i64"), integers([num_classes]), constant("i64", (2,), [0, 1])], {"axis": -1})


def embedding(x: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Rows of a table. The row padding_idx gets no gradient."""
    if padding_idx is not None:
        weight = where((arange(weight.shape[0]) == padding_idx).unsqueeze(1), weight.detach(), weight)
    return weight.index_select(0, x)


def _random_bits(shape: Sequence[int]) -> Tensor:
    """32 bits of each place of a shape, hashed with a seed that is fed: one program for all calls. The hash is C. Wellons' lowbias32."""
    (places,) = record("Range", [constant("i64", (), each) for each in (0, math.prod(shape), 1)])
    (wide,) = record("Cast", [places], {"to": 12})
    (spread,) = record("Mul", [wide, constant("u32", (), 0x9E3779B9)])
    mixed: Any = apply("Add", [_as_tensor(_generator().integers(0, 2**32, (), np.uint32)), spread])[0]
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B), (16, 0)):
        mixed = mixed ^ (mixed >> shift)
        mixed = mixed * factor if factor else mixed
    return mixed.reshape(shape)


def dropout(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """While training, zeros a share p of the elements and scales the rest by 1 / (1 - p)."""
    return _dropped(x, p, training, x.shape)


def dropout2d(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """The same of whole channels."""
    return _dropped(x, p, training, (*x.shape[:2], *(1 for _ in x.shape[2:])))


def _dropped(x: Tensor, p: float, training: bool, shape: Sequence[int]) -> Tensor:
    if not 0 <= p <= 1:
        raise Error(f"a probability of {p}", "dropout")
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0
    kept = (_random_bits(shape) >> 8).float() >= p * 2**24
    return x * kept.to(x._dtype) * (1 / (1 - p))


# Normalisation


def layer_norm(x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Normalised over the last axes."""
    return x._layer_norm(normalized_shape, weight, bias, eps)


def group_norm(x: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Groups of channels normalised by their own mean and variance."""
    return x._group_norm(num_groups, weight, bias, eps)


def instance_norm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Channels normalised by their own mean and variance."""
    return x._group_norm(x.shape[1], weight, bias, eps)


def batch_norm(x: Tensor, running_mean: Tensor, running_var: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """While training, by the batch's mean and variance, which move the running ones."""
    if not training:
        return x._normalized(running_mean, running_var, weight, bias, eps)
    axes = [axis for axis in range(x.ndim) if axis != 1]
    count = x.numel() // x.shape[1]
    over = [-1] + [1] * (x.ndim - 2)
    mean = x.mean(axes)
    middle = x - mean.reshape(over)
    variance = middle.square().mean(axes)
    running_mean.copy_(running_mean.detach() * (1 - momentum) + mean.detach() * momentum)
    running_var.copy_(running_var.detach() * (1 - momentum) + variance.detach() * (momentum * count / max(count - 1, 1)))
    made = middle / (variance + eps).sqrt().reshape(over)
    if weight is not None:
        made = made * weight.reshape(over)
    return made if bias is None else made + bias.reshape(over)


def normalize(x: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """x over its p-norm along an axis."""
    return x / x.norm(p, dim, True).clamp(eps)


def cosine_similarity(a: Tensor, b: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along an axis; each norm is at least eps."""
    return (normalize(a, 2.0, dim, eps) * normalize(b, 2.0, dim, eps)).sum(dim)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None
) -> Tensor:
    """softmax(q k^T * scale + mask) v over the last two axes. attn_mask: added to the scores, or, of bool, where to look."""
    broadcast_shapes(query.shape[:-2], key.shape[:-2])
    scores = (query * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)) @ key.mT
    if attn_mask is not None:
        scores = scores.masked_fill(attn_mask.logical_not(), -math.inf) if attn_mask._dtype == "bool" else scores + attn_mask
    if is_causal:
        seen = ones(scores.shape[-2:], dtype="bool").tril()
        scores = scores.masked_fill(seen.logical_not(), -math.inf)
    return dropout(scores.softmax(-1), dropout_p) @ value


# Losses: the mean over all elements unless told otherwise.


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    if reduction not in ("mean", "sum", "none"):
        raise Error(f'a reduction "{reduction}"', "loss", 'there are "mean", "sum" and "none"')
    return loss if reduction == "none" else loss.sum() if reduction == "sum" else loss.mean()


def _same_shape(name: str, x: Tensor, target: Tensor) -> None:
    if x.shape != target.shape:
        raise Error(f"the input has shape {_shape_text(x.shape)}, the target {_shape_text(target.shape)}", name)


def mse_loss(x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """The square of the difference."""
    _same_shape("mse_loss", x, target)
    return _reduced((x - target).square(), reduction)


def l1_loss(x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """The absolute difference."""
    _same_shape("l1_loss", x, target)
    return _reduced((x - target).abs(), reduction)


def huber_loss(x: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """Half the square up to delta, linear beyond."""
    _same_shape("huber_loss", x, target)
    distance = (x - target).abs()
    near = distance.clamp(None, delta)
    return _reduced(near.square() * 0.5 + (distance - near) * delta, reduction)


def smooth_l1_loss(x: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Half the square over beta up to beta, linear beyond."""
    return l1_loss(x, target, reduction) if beta == 0 else huber_loss(x, target, reduction, beta) / beta


def binary_cross_entropy(x: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean") -> Tensor:
    """Of probabilities; their logarithms are at least -100."""
    _same_shape("binary_cross_entropy", x, target)

    def entropy(p: Tensor) -> Tensor:
        return -(target * p.log().clamp(-100) + (1 - target) * (1 - p).log().clamp(-100))

    loss = _saturating(x, target, entropy) if x.requires_grad else entropy(x)
    return _reduced(loss if weight is None else loss * weight, reduction)


def _saturating(x: Tensor, target: Tensor, entropy: Callable[[Tensor], Tensor]) -> Tensor:
    """`entropy` where x (1 - x) exceeds 1e-12. Elsewhere its logarithms have no gradient: a term of value 0 has the gradient instead."""
    still = x.detach()
    inside = still * (1 - still) > 1e-12
    slope = (still - target.detach()) * 1e12
    return where(inside, entropy(where(inside, x, 0.5)), entropy(still) + (x - still) * slope)


def binary_cross_entropy_with_logits(x: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean", pos_weight: Tensor | None = None) -> Tensor:
    """Of logits. pos_weight: a factor of the positive ones."""
    _same_shape("binary_cross_entropy_with_logits", x, target)
    loss = softplus(x) - x * target if pos_weight is None else (1 - target) * x + ((pos_weight - 1) * target + 1) * softplus(-x)
    return _reduced(loss if weight is None else loss * weight, reduction)


def _class_axis(x: Tensor) -> int:
    return 0 if x.ndim == 1 else 1


def _hot(x: Tensor, target: Tensor, axis: int) -> Tensor:
    """Targets as probabilities of classes along an axis; one that is no class has none."""
    classes = x.shape[axis]
    wide = target.to("i64")
    places = wide.masked_fill((wide < 0) | (wide >= classes), classes)
    return x._apply("OneHot", [places, integers([classes]), constant(x._dtype, (2,), [0, 1])], {"axis": axis})


def _of_classes(loss: Tensor, target: Tensor, classes: int, ignore_index: int) -> Tensor:
    """NaN where a target is no class: nothing stops a kernel, and a wrong label must not look like a good one."""
    wide = target.to("i64")
    return where(((wide >= 0) & (wide < classes)) | (wide == ignore_index), loss, float("nan"))


def nll_loss(x: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean") -> Tensor:
    """Minus the log probability of the target's class; x has log probabilities of classes along axis 1 (or the only one). A target
    of ignore_index does not count; where one is neither that nor a class the loss is NaN."""
    axis = _class_axis(x)
    wanted = (*x.shape[:axis], *x.shape[axis + 1 :])
    if target.shape != wanted:
        raise Error(f"classes of shape {_shape_text(x.shape)} want targets of shape {_shape_text(wanted)}, not {_shape_text(target.shape)}", "nll_loss")
    factors = _hot(x, target, axis)
    if 0 <= ignore_index < x.shape[axis]:
        factors = factors * (target != ignore_index).to(x._dtype).unsqueeze(axis)
    if weight is not None:
        factors = factors * weight.reshape([-1] + [1] * (x.ndim - axis - 1))
    # A select, as 0 times minus infinity would be NaN.
    loss = _of_classes(-where(factors != 0, x * factors, 0).sum(axis), target, x.shape[axis], ignore_index)
    return _reduced(loss, reduction) if reduction != "mean" else loss.sum() / factors.sum()


def cross_entropy(x: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor:
    """Of logits along axis 1 (or the only one). Targets are classes, as nll_loss takes them, or probabilities in the shape of the input."""
    axis = _class_axis(x)
    log = x.log_softmax(axis)
    classes = not target.is_floating_point()
    if classes and label_smoothing == 0:
        return nll_loss(log, target, weight, ignore_index, reduction)
    if classes and (weight is not None or ignore_index >= 0):
        raise Error("smoothed labels go with neither weight nor ignore_index", "cross_entropy")
    wanted = _hot(x, target, axis) if classes else target
    _same_shape("cross_entropy", x, wanted)
    counted = wanted.sum(axis)
    smooth = wanted if label_smoothing == 0 else wanted * (1 - label_smoothing) + label_smoothing / x.shape[axis]
    if weight is not None:
        smooth = smooth * weight.reshape([-1] + [1] * (x.ndim - axis - 1))
    loss = -(log * smooth).sum(axis)
    if not classes:
        return _reduced(loss, reduction)
    loss = _of_classes(loss * counted, target, x.shape[axis], ignore_index)
    return loss.sum() / counted.sum() if reduction == "mean" else _reduced(loss, reduction)


def kl_div(x: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """Of log probabilities against probabilities (or their logarithms). "batchmean" divides by the first extent."""
    _same_shape("kl_div", x, target)
    loss = target.exp() * (target - x) if log_target else where(target > 0, target, 1).log() * target - target * x
    return loss.sum() / x.shape[0] if reduction == "batchmean" else _reduced(loss, reduction)
