"""What layers compute, as functions (PyTorch's torch.nn.functional)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..composed.functional import *  # noqa: F403
from ..composed.functional import resample, softplus
from ..composed.losses import *  # noqa: F403
from ..composed.more_functional import *  # noqa: F403
from ..composed.more_functional import max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices
from ..composed.more_losses import *  # noqa: F403
from ..error import Error
from ..lazy.core import apply
from ..lazy.execution import looks as _looks
from ..lazy.layout import broadcast_shapes
from ..lazy.products import PerAxis, spread
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


def selu(x: Tensor) -> Tensor:
    """elu() scaled so that layers keep mean 0 and variance 1."""
    return x._unary("Selu")


def silu(x: Tensor) -> Tensor:
    """x * sigmoid(x)"""
    return x * x.sigmoid()


def mish(x: Tensor) -> Tensor:
    """x * tanh(softplus(x))"""
    return x._unary("Mish")


def softsign(x: Tensor) -> Tensor:
    """x / (1 + |x|)"""
    return x._unary("Softsign")


def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + exp(-x))"""
    return x.sigmoid()


def hardsigmoid(x: Tensor) -> Tensor:
    """x / 6 + 1 / 2 within [0, 1]."""
    return x._unary("HardSigmoid", {"alpha": 1 / 6, "beta": 0.5})


def hardswish(x: Tensor) -> Tensor:
    """x * hardsigmoid(x)"""
    return x._unary("HardSwish")


def tanh(x: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return x.tanh()


def prelu(x: Tensor, weight: Tensor) -> Tensor:
    """weight times x below 0; one number, or one a channel."""
    fitted = weight if weight.numel() == 1 else weight.reshape([-1] + [1] * max(x.ndim - 2, 0))
    return x._apply("PRelu", [x, fitted])


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


def conv_transpose1d(x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: PerAxis = 1, padding: PerAxis = 0, output_padding: PerAxis = 0, groups: int = 1, dilation: PerAxis = 1) -> Tensor:
    """weight of [channels, out / groups, ...window]."""
    return x._conv_transpose(1, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: PerAxis = 1, padding: PerAxis = 0, output_padding: PerAxis = 0, groups: int = 1, dilation: PerAxis = 1) -> Tensor:
    """weight of [channels, out / groups, ...window]."""
    return x._conv_transpose(3, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: PerAxis = 1, padding: PerAxis = 0, output_padding: PerAxis = 0, groups: int = 1, dilation: PerAxis = 1) -> Tensor:
    """weight of [channels, out / groups, ...window]."""
    return x._conv_transpose(2, weight, bias, stride, padding, output_padding, groups, dilation)


def _max_pool(rank: int, x: Tensor, kernel_size: PerAxis, stride: PerAxis | None, padding: PerAxis, dilation: PerAxis, ceil_mode: bool, return_indices: bool) -> Any:
    if return_indices:
        return (max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices)[rank - 1](x, kernel_size, stride, padding, dilation, ceil_mode)
    return x._pool("MaxPool", rank, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool1d(x: Tensor, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0, dilation: PerAxis = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The largest element of each window; return_indices: and its place in the plane."""
    return _max_pool(1, x, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(x: Tensor, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0, dilation: PerAxis = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """See max_pool1d."""
    return _max_pool(2, x, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(x: Tensor, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0, dilation: PerAxis = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """See max_pool1d."""
    return _max_pool(3, x, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def avg_pool1d(x: Tensor, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor:
    """The mean of each window; padding counts as zeros unless told otherwise."""
    return x._pool("AveragePool", 1, kernel_size, stride, padding, 1, ceil_mode, count_include_pad=int(count_include_pad))


def avg_pool2d(x: Tensor, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor:
    """See avg_pool1d."""
    return x._pool("AveragePool", 2, kernel_size, stride, padding, 1, ceil_mode, count_include_pad=int(count_include_pad))


def avg_pool3d(x: Tensor, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor:
    """See avg_pool1d."""
    return x._pool("AveragePool", 3, kernel_size, stride, padding, 1, ceil_mode, count_include_pad=int(count_include_pad))


def adaptive_avg_pool1d(x: Tensor, output_size: PerAxis) -> Tensor:
    """Means of windows that make a plane of this size; they overlap where it does not divide x's."""
    return x._adaptive_pool("AveragePool", 1, output_size)


def adaptive_avg_pool2d(x: Tensor, output_size: PerAxis) -> Tensor:
    """See adaptive_avg_pool1d."""
    return x._adaptive_pool("AveragePool", 2, output_size)


def adaptive_avg_pool3d(x: Tensor, output_size: PerAxis) -> Tensor:
    """See adaptive_avg_pool1d."""
    return x._adaptive_pool("AveragePool", 3, output_size)


def adaptive_max_pool1d(x: Tensor, output_size: PerAxis) -> Tensor:
    """As adaptive_avg_pool1d, the largest element."""
    return x._adaptive_pool("MaxPool", 1, output_size)


def adaptive_max_pool2d(x: Tensor, output_size: PerAxis) -> Tensor:
    """See adaptive_max_pool1d."""
    return x._adaptive_pool("MaxPool", 2, output_size)


def adaptive_max_pool3d(x: Tensor, output_size: PerAxis) -> Tensor:
    """See adaptive_max_pool1d."""
    return x._adaptive_pool("MaxPool", 3, output_size)


def interpolate(
    x: Tensor, size: PerAxis | None = None, scale_factor: float | Sequence[float] | None = None, mode: str = "nearest", align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:  # fmt: skip
    """mode: "nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic", "area"; antialias, of bilinear and bicubic: by
    kernels that are wider where the plane shrinks. recompute_scale_factor is PyTorch's; sizes are always those of the factors given."""
    if not antialias:
        return x._interpolate(size, scale_factor, mode, bool(align_corners))
    if mode not in ("bilinear", "bicubic") or x.ndim != 4:
        raise Error(f"antialias with mode {mode!r} of {x.ndim} axes; it goes with bilinear and bicubic of 4 axes", "interpolate")
    if (size is None) == (scale_factor is None):
        raise Error("it needs a size or a scale_factor", "interpolate")
    factors = [float(scale_factor)] * 2 if isinstance(scale_factor, int | float) else list(scale_factor or ())
    plane = x.shape[2:]
    wanted = spread(size, 2) if size is not None else [int(extent * factor) for extent, factor in zip(plane, factors, strict=True)]
    if align_corners:
        steps = [(extent - 1) / (count - 1) if count > 1 else 0.0 for extent, count in zip(plane, wanted, strict=True)]
    else:
        steps = [extent / count for extent, count in zip(plane, wanted, strict=True)] if size is not None else [1 / factor for factor in factors]
    return resample(x, wanted, "linear" if mode == "bilinear" else "cubic", steps)


def upsample(x: Tensor, size: PerAxis | None = None, scale_factor: float | Sequence[float] | None = None, mode: str = "nearest", align_corners: bool | None = None) -> Tensor:
    """interpolate()"""
    return interpolate(x, size, scale_factor, mode, align_corners)


def upsample_nearest(x: Tensor, size: PerAxis | None = None, scale_factor: float | Sequence[float] | None = None) -> Tensor:
    """interpolate() with mode "nearest"."""
    return interpolate(x, size, scale_factor)


def upsample_bilinear(x: Tensor, size: PerAxis | None = None, scale_factor: float | Sequence[float] | None = None) -> Tensor:
    """interpolate() with mode "bilinear" and align_corners."""
    return interpolate(x, size, scale_factor, "bilinear", True)


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
    if not 0 <= p <= 1:
        raise Error(f"a probability of {p}", "dropout")
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0
    if _looks():  # an export: other elements in each run
        return apply("Dropout", [x, constant("f32", (), p), constant("bool", (), True)])[0]
    kept = (_random_bits(x.shape) >> 8).float() >= p * 2**24
    return x * kept.to(x._dtype) * (1 / (1 - p))


# Normalisation


def layer_norm(x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Normalised over the last axes."""
    return x._layer_norm(normalized_shape, weight, bias, eps)


def group_norm(x: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Groups of channels normalised by their own mean and variance."""
    return x._group_norm(num_groups, weight, bias, eps)


def instance_norm(
    x: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5
) -> Tensor:
    """Channels of each sample normalised, by their own statistics or, unless use_input_stats, by running ones."""
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, False, momentum, eps)
    axes = list(range(2, x.ndim))
    if math.prod(x.shape[2:]) < 2:
        raise Error(f"shape {_shape_text(x.shape)} has 1 value a channel; more are needed", "instance_norm")
    if running_mean is not None and running_var is not None:
        running_mean.copy_(running_mean.detach() * (1 - momentum) + x.detach().mean(axes).mean(0) * momentum)
        running_var.copy_(running_var.detach() * (1 - momentum) + x.detach().var(axes).mean(0) * momentum)
    return x._group_norm(x.shape[1], weight, bias, eps)


def batch_norm(x: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """While training, by the batch's mean and variance, which move the running ones."""
    if not training:
        if running_mean is None or running_var is None:
            raise Error("without running statistics it is for training alone", "batch_norm")
        return x._normalized(running_mean, running_var, weight, bias, eps)
    axes = [axis for axis in range(x.ndim) if axis != 1]
    count = x.numel() // x.shape[1]
    if count < 2:
        raise Error(f"shape {_shape_text(x.shape)} has {count} value a channel; more than 1 is needed", "batch_norm")
    over = [-1] + [1] * (x.ndim - 2)
    mean = x.mean(axes)
    middle = x - mean.reshape(over)
    variance = middle.square().mean(axes)
    if running_mean is not None and running_var is not None:
        running_mean.copy_(running_mean.detach() * (1 - momentum) + mean.detach() * momentum)
        running_var.copy_(running_var.detach() * (1 - momentum) + variance.detach() * (momentum * count / (count - 1)))
    made = middle / (variance + eps).sqrt().reshape(over)
    if weight is not None:
        made = made * weight.reshape(over)
    return made if bias is None else made + bias.reshape(over)


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


def kl_div(x: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """Of log probabilities against probabilities (or their logarithms). "batchmean" divides by the first extent."""
    _same_shape("kl_div", x, target)
    loss = target.exp() * (target - x) if log_target else where(target > 0, target, 1).log() * target - target * x
    return loss.sum() / x.shape[0] if reduction == "batchmean" else _reduced(loss, reduction)
