"""Layers, with PyTorch's parameters, names and ways of drawing them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..error import Error
from ..lazy.products import PerAxis, spread
from ..lazy.random import generator
from ..lazy.tensors import Tensor, as_tensor, full, ones, zeros
from . import functional as F  # noqa: N812
from .module import Buffer, Module, Parameter


def _uniform(shape: Sequence[int], bound: float) -> Parameter:
    return Parameter(as_tensor(generator().uniform(-bound, bound, shape).astype(np.float32)))


class Linear(Module):
    """x @ weight.T + bias"""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        bound = 1 / math.sqrt(in_features) if in_features else 0
        self.weight = _uniform((out_features, in_features), bound)
        self.bias = _uniform((out_features,), bound) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return x._linear(self.weight, self.bias)

    def extra_repr(self) -> str:
        out, into = self.weight.shape
        return f"in_features={into}, out_features={out}, bias={self.bias is not None}"


def _bias(out: int, fan: int, bias: bool) -> Parameter | None:
    return _uniform((out,), 1 / math.sqrt(fan)) if bias else None


class _Conv(Module):
    rank = 2

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: PerAxis, stride: PerAxis = 1, padding: PerAxis | str = 0, dilation: PerAxis = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros",
    ) -> None:  # fmt: skip
        super().__init__()
        if in_channels % groups or out_channels % groups:
            raise Error(f"{groups} groups do not divide {in_channels} and {out_channels} channels", type(self).__name__)
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise Error(f"padding_mode is {padding_mode!r}; zeros, reflect, replicate and circular are allowed", type(self).__name__)
        window = spread(kernel_size, self.rank)
        fan = in_channels // groups * math.prod(window)
        self.weight = _uniform((out_channels, in_channels // groups, *window), 1 / math.sqrt(fan))
        self.bias = _bias(out_channels, fan, bias)
        self.stride, self.padding, self.dilation, self.groups, self.padding_mode = stride, padding, dilation, groups, padding_mode

    def forward(self, x: Tensor) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            if isinstance(padding, str):
                reach = [gap * (extent - 1) if padding == "same" else 0 for gap, extent in zip(spread(self.dilation, self.rank), self.weight.shape[2:], strict=True)]
                ends = [(each // 2, each - each // 2) for each in reach]
            else:
                ends = [(each, each) for each in spread(padding, self.rank)]
            x = x.pad([each for pair in reversed(ends) for each in pair], self.padding_mode)
            padding = 0
        return x._conv(self.rank, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        out, into, *window = self.weight.shape
        return f"{into * self.groups}, {out}, kernel_size={tuple(window)}, stride={self.stride}, padding={self.padding}"


class Conv1d(_Conv):
    """See nn.functional.conv1d."""

    rank = 1


class Conv2d(_Conv):
    """See nn.functional.conv2d."""


class Conv3d(_Conv):
    """See nn.functional.conv3d."""

    rank = 3


class _ConvTranspose(Module):
    rank = 2

    def __init__(self, in_channels: int, out_channels: int, kernel_size: PerAxis, stride: PerAxis = 1, padding: PerAxis = 0, output_padding: PerAxis = 0, groups: int = 1, bias: bool = True, dilation: PerAxis = 1) -> None:
        super().__init__()
        if in_channels % groups or out_channels % groups:
            raise Error(f"{groups} groups do not divide {in_channels} and {out_channels} channels", type(self).__name__)
        window = spread(kernel_size, self.rank)
        fan = out_channels // groups * math.prod(window)
        self.weight = _uniform((in_channels, out_channels // groups, *window), 1 / math.sqrt(fan))
        self.bias = _bias(out_channels, fan, bias)
        self._options = (stride, padding, output_padding, groups, dilation)

    def forward(self, x: Tensor) -> Tensor:
        return x._conv_transpose(self.rank, self.weight, self.bias, *self._options)


class ConvTranspose1d(_ConvTranspose):
    """See nn.functional.conv_transpose1d."""

    rank = 1


class ConvTranspose2d(_ConvTranspose):
    """See nn.functional.conv_transpose2d."""


class ConvTranspose3d(_ConvTranspose):
    """See nn.functional.conv_transpose3d."""

    rank = 3


class Bilinear(Module):
    """See nn.functional.bilinear."""

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        self.weight = _uniform((out_features, in1_features, in2_features), 1 / math.sqrt(in1_features))
        self.bias = _bias(out_features, in1_features, bias)

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.bilinear(x1, x2, self.weight, self.bias)


class EmbeddingBag(Module):
    """See nn.functional.embedding_bag."""

    def __init__(self, num_embeddings: int, embedding_dim: int, mode: str = "mean", padding_idx: int | None = None) -> None:
        super().__init__()
        table = generator().standard_normal((num_embeddings, embedding_dim), np.float32)
        if padding_idx is not None:
            table[padding_idx] = 0
        self.weight = Parameter(as_tensor(table))
        self.mode, self.padding_idx = mode, padding_idx

    def forward(self, x: Tensor, offsets: Sequence[int] | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(x, self.weight, offsets, self.mode, per_sample_weights, self.padding_idx)


class Embedding(Module):
    """Rows of a table."""

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None) -> None:
        super().__init__()
        table = generator().standard_normal((num_embeddings, embedding_dim), np.float32)
        if padding_idx is not None:
            table[padding_idx] = 0
        self.weight = Parameter(as_tensor(table))
        self.padding_idx = padding_idx

    def forward(self, x: Tensor) -> Tensor:
        return F.embedding(x, self.weight, self.padding_idx)


class LayerNorm(Module):
    """Normalised over the last axes."""

    def __init__(self, normalized_shape: PerAxis, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.weight = Parameter(ones(self.normalized_shape)) if elementwise_affine else None
        self.bias = Parameter(zeros(self.normalized_shape)) if elementwise_affine and bias else None

    def forward(self, x: Tensor) -> Tensor:
        return x._layer_norm(self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"


class GroupNorm(Module):
    """Groups of channels normalised by their own mean and variance."""

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True) -> None:
        super().__init__()
        self.num_groups, self.eps = num_groups, eps
        self.weight = Parameter(ones(num_channels)) if affine else None
        self.bias = Parameter(zeros(num_channels)) if affine else None

    def forward(self, x: Tensor) -> Tensor:
        return x._group_norm(self.num_groups, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """See nn.functional.rms_norm."""

    def __init__(self, normalized_shape: PerAxis, eps: float | None = None, elementwise_affine: bool = True) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.weight = Parameter(ones(self.normalized_shape)) if elementwise_affine else None

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"


class _Statistics(Module):
    """Parameters and running statistics of channels."""

    usual = True

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool | None = None, track_running_stats: bool | None = None) -> None:
        super().__init__()
        affine = self.usual if affine is None else affine
        track = self.usual if track_running_stats is None else track_running_stats
        self.num_features, self.eps, self.momentum, self.affine, self.track_running_stats = num_features, eps, momentum, affine, track
        self.weight = Parameter(ones(num_features)) if affine else None
        self.bias = Parameter(zeros(num_features)) if affine else None
        self.running_mean = Buffer(zeros(num_features)) if track else None
        self.running_var = Buffer(ones(num_features)) if track else None

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, track_running_stats={self.track_running_stats}"


class _BatchNorm(_Statistics):
    def forward(self, x: Tensor) -> Tensor:
        own = self.training or self.running_mean is None  # without running statistics, those of the batch
        return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, own, self.momentum, self.eps)


class BatchNorm1d(_BatchNorm):
    """Of [n, channels] or [n, channels, length]."""


class BatchNorm2d(_BatchNorm):
    """Of [n, channels, height, width]."""


class BatchNorm3d(_BatchNorm):
    """Of [n, channels, depth, height, width]."""


class _InstanceNorm(_Statistics):
    usual = False
    rank = 2

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim == self.rank + 1:
            return self.forward(x.unsqueeze(0)).squeeze(0)
        if x.ndim != self.rank + 2:
            raise Error(f"a tensor of {x.ndim} axes; {self.rank + 1} or {self.rank + 2} are expected", type(self).__name__)
        own = self.training or self.running_mean is None
        return F.instance_norm(x, self.running_mean, self.running_var, self.weight, self.bias, own, self.momentum, self.eps)


class InstanceNorm1d(_InstanceNorm):
    """Channels of each sample normalised: [n, channels, length] or [channels, length]."""

    rank = 1


class InstanceNorm2d(_InstanceNorm):
    """Channels of each sample normalised: [n, channels, height, width] or without n."""


class InstanceNorm3d(_InstanceNorm):
    """Channels of each sample normalised: [n, channels, depth, height, width] or without n."""

    rank = 3


class Dropout(Module):
    """See nn.functional.dropout."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}"


def _dropping(name: str, function: Any) -> type[Dropout]:
    def forward(self: Dropout, x: Tensor) -> Tensor:
        return function(x, self.p, self.training)

    return type(name, (Dropout,), {"forward": forward, "__module__": __name__, "__doc__": f"See nn.functional.{function.__name__}."})


Dropout1d, Dropout2d, Dropout3d = _dropping("Dropout1d", F.dropout1d), _dropping("Dropout2d", F.dropout2d), _dropping("Dropout3d", F.dropout3d)
AlphaDropout, FeatureAlphaDropout = _dropping("AlphaDropout", F.alpha_dropout), _dropping("FeatureAlphaDropout", F.feature_alpha_dropout)


class RReLU(Module):
    """See nn.functional.rrelu."""

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3) -> None:
        super().__init__()
        self.lower, self.upper = lower, upper

    def forward(self, x: Tensor) -> Tensor:
        return F.rrelu(x, self.lower, self.upper, self.training)


class Flatten(Module):
    """With axes from one to another as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self._axes = (start_dim, end_dim)

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(*self._axes)


class Identity(Module):
    """What it is given."""

    def forward(self, x: Tensor) -> Tensor:
        return x


class PReLU(Module):
    """See nn.functional.prelu."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25) -> None:
        super().__init__()
        self.weight = Parameter(full((num_parameters,), init))

    def forward(self, x: Tensor) -> Tensor:
        return F.prelu(x, self.weight)


class _Function(Module):
    """A function of nn.functional with options, as a layer."""

    function: Any

    def __init__(self, *options: Any, **named: Any) -> None:
        super().__init__()
        self._options, self._named = options, named

    def forward(self, *x: Tensor) -> Tensor:
        return type(self).function(*x, *self._options, **self._named)

    def extra_repr(self) -> str:
        return ", ".join([*map(str, self._options), *(f"{name}={value}" for name, value in self._named.items())])


def _layer(name: str, function: Any) -> type[_Function]:
    return type(name, (_Function,), {"function": staticmethod(function), "__module__": __name__, "__doc__": f"nn.functional.{function.__name__} as a layer."})


_FUNCTIONS = {
    "ReLU": F.relu, "ReLU6": F.relu6, "LeakyReLU": F.leaky_relu, "ELU": F.elu, "CELU": F.celu, "SELU": F.selu, "GELU": F.gelu, "SiLU": F.silu, "Mish": F.mish,
    "Softplus": F.softplus, "Softsign": F.softsign, "Sigmoid": F.sigmoid, "LogSigmoid": F.logsigmoid, "Tanh": F.tanh, "Hardsigmoid": F.hardsigmoid, "Hardswish": F.hardswish,
    "Hardtanh": F.hardtanh, "Hardshrink": F.hardshrink, "Softshrink": F.softshrink, "Tanhshrink": F.tanhshrink, "Threshold": F.threshold, "GLU": F.glu, "Softmax": F.softmax,
    "Softmin": F.softmin, "LogSoftmax": F.log_softmax, "MaxPool1d": F.max_pool1d, "MaxPool2d": F.max_pool2d, "MaxPool3d": F.max_pool3d, "AvgPool1d": F.avg_pool1d,
    "AvgPool2d": F.avg_pool2d, "AvgPool3d": F.avg_pool3d, "AdaptiveAvgPool1d": F.adaptive_avg_pool1d, "AdaptiveAvgPool2d": F.adaptive_avg_pool2d,
    "AdaptiveAvgPool3d": F.adaptive_avg_pool3d, "AdaptiveMaxPool1d": F.adaptive_max_pool1d, "AdaptiveMaxPool2d": F.adaptive_max_pool2d, "AdaptiveMaxPool3d": F.adaptive_max_pool3d,
    "LPPool1d": F.lp_pool1d, "LPPool2d": F.lp_pool2d, "LPPool3d": F.lp_pool3d, "MaxUnpool1d": F.max_unpool1d, "MaxUnpool2d": F.max_unpool2d, "MaxUnpool3d": F.max_unpool3d,
    "PixelShuffle": F.pixel_shuffle, "PixelUnshuffle": F.pixel_unshuffle, "ChannelShuffle": F.channel_shuffle, "LocalResponseNorm": F.local_response_norm, "Fold": F.fold,
    "Unfold": F.unfold, "Upsample": F.interpolate, "UpsamplingNearest2d": F.upsample_nearest, "UpsamplingBilinear2d": F.upsample_bilinear, "FractionalMaxPool2d": F.fractional_max_pool2d, "FractionalMaxPool3d": F.fractional_max_pool3d,
    "CosineSimilarity": F.cosine_similarity, "PairwiseDistance": F.pairwise_distance, "MSELoss": F.mse_loss, "L1Loss": F.l1_loss, "HuberLoss": F.huber_loss,
    "SmoothL1Loss": F.smooth_l1_loss, "KLDivLoss": F.kl_div, "BCELoss": F.binary_cross_entropy, "BCEWithLogitsLoss": F.binary_cross_entropy_with_logits, "NLLLoss": F.nll_loss,
    "CrossEntropyLoss": F.cross_entropy, "PoissonNLLLoss": F.poisson_nll_loss, "GaussianNLLLoss": F.gaussian_nll_loss, "CTCLoss": F.ctc_loss,
    "TripletMarginLoss": F.triplet_margin_loss, "TripletMarginWithDistanceLoss": F.triplet_margin_with_distance_loss, "MarginRankingLoss": F.margin_ranking_loss,
    "HingeEmbeddingLoss": F.hinge_embedding_loss, "CosineEmbeddingLoss": F.cosine_embedding_loss, "SoftMarginLoss": F.soft_margin_loss, "MultiMarginLoss": F.multi_margin_loss,
    "MultiLabelMarginLoss": F.multilabel_margin_loss, "MultiLabelSoftMarginLoss": F.multilabel_soft_margin_loss,
}  # fmt: skip
"""Layers without parameters."""
globals().update({name: _layer(name, function) for name, function in _FUNCTIONS.items()})


class Softmax2d(Module):
    """Over the channels of [n, channels, height, width] or without n."""

    def forward(self, x: Tensor) -> Tensor:
        return x.softmax(-3)


class Unflatten(Module):
    """With one axis as several."""

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        self._options = (dim, unflattened_size)

    def forward(self, x: Tensor) -> Tensor:
        return x.unflatten(*self._options)


class _Pad(Module):
    rank = 1
    mode = "constant"

    def __init__(self, padding: PerAxis, value: float = 0) -> None:
        super().__init__()
        self.padding, self.value = spread(padding, 2 * self.rank), value

    def forward(self, x: Tensor) -> Tensor:
        return x.pad(self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return str(self.padding)


_PADS = {"ZeroPad": "constant", "ConstantPad": "constant", "ReflectionPad": "reflect", "ReplicationPad": "replicate", "CircularPad": "circular"}
_PADDING = {f"{name}{rank}d": type(f"{name}{rank}d", (_Pad,), {"rank": rank, "mode": mode, "__module__": __name__, "__doc__": f"nn.functional.pad, mode {mode}."}) for name, mode in _PADS.items() for rank in (1, 2, 3)}
globals().update(_PADDING)

def _lazy(kind: type[Module], axis: int) -> type[Module]:
    """A class of layers that see how many features or channels there are at the first input, and are of the other class from then on."""

    def __init__(self: Any, *given: Any, **named: Any) -> None:  # noqa: N807
        Module.__init__(self)
        self._given = (given, named)

    def forward(self: Any, x: Tensor) -> Tensor:
        (given, named), training = self._given, self.training
        vars(self).clear()
        self.__class__ = kind
        kind.__init__(self, x.shape[axis], *given, **named)
        self.training = training
        return self.forward(x)

    return type(f"Lazy{kind.__name__}", (kind,), {"__init__": __init__, "forward": forward, "__module__": __name__, "__doc__": f"{kind.__name__} that takes its inputs' size from the first input."})


_LAZY = {
    f"Lazy{kind.__name__}": _lazy(kind, axis)
    for kind, axis in [(Linear, -1), *((kind, -1 - rank) for rank, kinds in enumerate([(Conv1d, ConvTranspose1d, InstanceNorm1d), (Conv2d, ConvTranspose2d, InstanceNorm2d), (Conv3d, ConvTranspose3d, InstanceNorm3d)], 1) for kind in kinds), *((kind, 1) for kind in (BatchNorm1d, BatchNorm2d, BatchNorm3d))]
}
globals().update(_LAZY)


class SyncBatchNorm(_BatchNorm):
    """BatchNorm: there is one process."""


class CrossMapLRN2d(Module):
    """See nn.functional.local_response_norm."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self._options = (size, alpha, beta, k)

    def forward(self, x: Tensor) -> Tensor:
        return F.local_response_norm(x, *self._options)


NLLLoss2d = NLLLoss  # type: ignore[name-defined]  # noqa: F821

__all__ = [
    *_FUNCTIONS, *_PADDING, *_LAZY, "AlphaDropout", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Bilinear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
    "CrossMapLRN2d", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "Embedding", "EmbeddingBag", "FeatureAlphaDropout", "Flatten", "GroupNorm", "Identity", "InstanceNorm1d", "InstanceNorm2d",
    "InstanceNorm3d", "LayerNorm", "Linear", "NLLLoss2d", "PReLU", "RMSNorm", "RReLU", "Softmax2d", "SyncBatchNorm", "Unflatten",
]  # fmt: skip
