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


class _Conv(Module):
    rank = 2

    def __init__(self, in_channels: int, out_channels: int, kernel_size: PerAxis, stride: PerAxis = 1, padding: PerAxis | str = 0, dilation: PerAxis = 1, groups: int = 1, bias: bool = True) -> None:
        super().__init__()
        if in_channels % groups or out_channels % groups:
            raise Error(f"{in_channels} and {out_channels} channels in {groups} groups", type(self).__name__)
        window = spread(kernel_size, self.rank)
        bound = 1 / math.sqrt(in_channels // groups * math.prod(window))
        self.weight = _uniform((out_channels, in_channels // groups, *window), bound)
        self.bias = _uniform((out_channels,), bound) if bias else None
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups

    def forward(self, x: Tensor) -> Tensor:
        return x._conv(self.rank, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

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


class ConvTranspose2d(Module):
    """See nn.functional.conv_transpose2d."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: PerAxis, stride: PerAxis = 1, padding: PerAxis = 0, output_padding: PerAxis = 0, groups: int = 1, bias: bool = True, dilation: PerAxis = 1) -> None:
        super().__init__()
        window = spread(kernel_size, 2)
        bound = 1 / math.sqrt(out_channels // groups * math.prod(window))
        self.weight = _uniform((in_channels, out_channels // groups, *window), bound)
        self.bias = _uniform((out_channels,), bound) if bias else None
        self._options = (stride, padding, output_padding, groups, dilation)

    def forward(self, x: Tensor) -> Tensor:
        return x._conv_transpose(2, self.weight, self.bias, *self._options)


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


class _BatchNorm(Module):
    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True) -> None:
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight = Parameter(ones(num_features)) if affine else None
        self.bias = Parameter(zeros(num_features)) if affine else None
        self.running_mean = Buffer(zeros(num_features))
        self.running_var = Buffer(ones(num_features))

    def forward(self, x: Tensor) -> Tensor:
        return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, self.training, self.momentum, self.eps)

    def extra_repr(self) -> str:
        return f"{self.running_mean.shape[0]}, eps={self.eps}, momentum={self.momentum}"


class BatchNorm1d(_BatchNorm):
    """Of [n, channels] or [n, channels, length]."""


class BatchNorm2d(_BatchNorm):
    """Of [n, channels, height, width]."""


class Dropout(Module):
    """See nn.functional.dropout."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class Dropout2d(Dropout):
    """See nn.functional.dropout2d."""

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout2d(x, self.p, self.training)


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


class MultiheadAttention(Module):
    """Attention of several heads, with PyTorch's parameters; tensors are [batch, length, features]."""

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise Error(f"{embed_dim} features in {num_heads} heads", "MultiheadAttention")
        self.num_heads, self.dropout = num_heads, dropout
        self.in_proj_weight = _uniform((3 * embed_dim, embed_dim), math.sqrt(6 / (4 * embed_dim)))
        self.in_proj_bias = Parameter(zeros(3 * embed_dim)) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
        """The attention's output alone. attn_mask: added to the scores, or, of bool, where to look."""
        weights = self.in_proj_weight.chunk(3)
        biases: Any = (None, None, None) if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        batch, targets, features = query.shape

        def heads(x: Tensor, at: int) -> Tensor:
            return x._linear(weights[at], biases[at]).reshape(batch, x.shape[1], self.num_heads, -1).transpose(1, 2)

        parts = [heads(x, at) for at, x in enumerate((query, key, value))]
        made = F.scaled_dot_product_attention(*parts, attn_mask, self.dropout if self.training else 0.0, is_causal)
        return self.out_proj(made.transpose(1, 2).reshape(batch, targets, features))


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


ReLU, ReLU6, LeakyReLU = _layer("ReLU", F.relu), _layer("ReLU6", F.relu6), _layer("LeakyReLU", F.leaky_relu)
ELU, CELU, SELU = _layer("ELU", F.elu), _layer("CELU", F.celu), _layer("SELU", F.selu)
GELU, SiLU, Mish = _layer("GELU", F.gelu), _layer("SiLU", F.silu), _layer("Mish", F.mish)
Softplus, Softsign = _layer("Softplus", F.softplus), _layer("Softsign", F.softsign)
Sigmoid, LogSigmoid, Tanh = _layer("Sigmoid", F.sigmoid), _layer("LogSigmoid", F.logsigmoid), _layer("Tanh", F.tanh)
Hardsigmoid, Hardswish, GLU = _layer("Hardsigmoid", F.hardsigmoid), _layer("Hardswish", F.hardswish), _layer("GLU", F.glu)
Softmax, LogSoftmax = _layer("Softmax", F.softmax), _layer("LogSoftmax", F.log_softmax)
MaxPool1d, MaxPool2d = _layer("MaxPool1d", F.max_pool1d), _layer("MaxPool2d", F.max_pool2d)
AvgPool1d, AvgPool2d = _layer("AvgPool1d", F.avg_pool1d), _layer("AvgPool2d", F.avg_pool2d)
AdaptiveAvgPool2d, AdaptiveMaxPool2d = _layer("AdaptiveAvgPool2d", F.adaptive_avg_pool2d), _layer("AdaptiveMaxPool2d", F.adaptive_max_pool2d)
Upsample = _layer("Upsample", F.interpolate)
MSELoss, L1Loss, HuberLoss = _layer("MSELoss", F.mse_loss), _layer("L1Loss", F.l1_loss), _layer("HuberLoss", F.huber_loss)
SmoothL1Loss, KLDivLoss = _layer("SmoothL1Loss", F.smooth_l1_loss), _layer("KLDivLoss", F.kl_div)
BCELoss, BCEWithLogitsLoss = _layer("BCELoss", F.binary_cross_entropy), _layer("BCEWithLogitsLoss", F.binary_cross_entropy_with_logits)
NLLLoss, CrossEntropyLoss = _layer("NLLLoss", F.nll_loss), _layer("CrossEntropyLoss", F.cross_entropy)

__all__ = [
    "AdaptiveAvgPool2d",
    "AdaptiveMaxPool2d",
    "AvgPool1d",
    "AvgPool2d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "CELU",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose2d",
    "CrossEntropyLoss",
    "Dropout",
    "Dropout2d",
    "ELU",
    "Embedding",
    "Flatten",
    "GELU",
    "GLU",
    "GroupNorm",
    "Hardsigmoid",
    "Hardswish",
    "HuberLoss",
    "Identity",
    "KLDivLoss",
    "L1Loss",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MaxPool1d",
    "MaxPool2d",
    "Mish",
    "MultiheadAttention",
    "NLLLoss",
    "PReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "Softmax",
    "Softplus",
    "Softsign",
    "Tanh",
    "Upsample",
]
