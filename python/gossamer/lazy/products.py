"""Sums of products and windows: matrices, convolutions, pools, normalisation, resampling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..error import Error
from .layout import Layout
from .recording import Attributes, constant, integers, shape_text

if TYPE_CHECKING:
    from .tensors import Tensor

PerAxis = int | Sequence[int]
"""A number for all axes of the plane, or one each."""

RESIZE_MODES: dict[str, Attributes] = {
    "nearest": {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
    "nearest-exact": {"nearest_mode": "round_prefer_ceil"},
    "linear": {"mode": "linear"},
    "bilinear": {"mode": "linear"},
    "trilinear": {"mode": "linear"},
    "bicubic": {"mode": "cubic", "cubic_coeff_a": -0.75},
}
"""Of PyTorch's modes, ONNX's attributes of Resize."""


def spread(given: PerAxis | None, rank: int, otherwise: int = 1) -> tuple[int, ...]:
    """One number an axis of the plane."""
    if given is None or isinstance(given, int):
        return (otherwise if given is None else given,) * rank
    return tuple(given)


def _check_windows(what: str, plane: Sequence[int], window: Sequence[int], attributes: Attributes) -> None:
    """Raises Error for windows that do not fit into the plane with its padding."""
    rank = len(window)
    for axis, (length, extent) in enumerate(zip(plane, window, strict=True)):
        reach = attributes["dilations"][axis] * (extent - 1) + 1
        whole = length + attributes["pads"][axis] + attributes["pads"][axis + rank]
        if reach > whole:
            raise Error(f"a window of {reach} over {whole} places of axis {axis + 2}, padding included", what)


class Products(Layout):
    """See the module."""

    __slots__ = ()

    def matmul(self, other: Tensor) -> Tensor:
        """The matrix product; leading axes are batches and broadcast."""
        other = self._operand(other)
        dtype = self._common(other)
        return self._apply("MatMul", [self.to(dtype), other.to(dtype)])

    __matmul__ = mm = bmm = dot = mv = matmul

    def __rmatmul__(self, other: Any) -> Tensor:
        return self._operand(other).matmul(self)

    def outer(self, other: Tensor) -> Tensor:
        """The products of all pairs of elements of two vectors."""
        return self.unsqueeze(1) * other.unsqueeze(0)

    def addmm(self, a: Tensor, b: Tensor) -> Tensor:
        """this + a @ b"""
        return a._apply("Gemm", [a, b, self])

    def _linear(self, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """this @ weight.T + bias, over the last axis."""
        if weight.ndim != 2 or self.ndim == 0 or self.shape[-1] != weight.shape[1]:
            raise Error(f"shape {shape_text(self.shape)} times weight of shape {shape_text(weight.shape)}", "linear")
        if self.ndim == 2:
            return self._apply("Gemm", [self, weight] if bias is None else [self, weight, bias], {"transB": 1})
        product = self.matmul(weight.T)
        return product if bias is None else product + bias

    def _conv(self, rank: int, weight: Tensor, bias: Tensor | None, stride: PerAxis, padding: PerAxis | str, dilation: PerAxis, groups: int) -> Tensor:
        """[n, channels, ...plane], or without n, with a kernel [out, channels / groups, ...window]."""
        if weight.ndim != rank + 2:
            raise Error(f"a weight of shape {shape_text(weight.shape)}", f"conv{rank}d")
        if self.ndim == rank + 1:
            return self.unsqueeze(0)._conv(rank, weight, bias, stride, padding, dilation, groups).squeeze(0)
        attributes: Attributes = {"dilations": spread(dilation, rank), "group": groups, "strides": spread(stride, rank), "kernel_shape": weight.shape[2:]}
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise Error(f'a padding of "{padding}"', f"conv{rank}d", 'there are "same" and "valid"')
            reach = [d * (extent - 1) if padding == "same" else 0 for d, extent in zip(spread(dilation, rank), weight.shape[2:], strict=True)]
            attributes["pads"] = (*(each // 2 for each in reach), *(each - each // 2 for each in reach))
            if padding == "same" and any(each != 1 for each in spread(stride, rank)):
                raise Error(f"padding 'same' goes with a stride of 1 alone, not {stride}", f"conv{rank}d")
        else:
            attributes["pads"] = spread(padding, rank) * 2
        _check_windows(f"conv{rank}d", self.shape[2:], weight.shape[2:], attributes)
        return self._apply("Conv", [self, weight] if bias is None else [self, weight, bias], attributes)

    def _conv_transpose(self, rank: int, weight: Tensor, bias: Tensor | None, stride: PerAxis, padding: PerAxis, output_padding: PerAxis, groups: int, dilation: PerAxis) -> Tensor:
        what = f"conv_transpose{rank}d"
        if self.ndim == rank + 1:
            return self.unsqueeze(0)._conv_transpose(rank, weight, bias, stride, padding, output_padding, groups, dilation).squeeze(0)
        if weight.ndim != rank + 2 or self.ndim != rank + 2:
            raise Error(f"a tensor of {self.ndim} axes with a weight of {weight.ndim}; {rank + 2} are expected", what)
        for more, step, gap in zip(spread(output_padding, rank), spread(stride, rank), spread(dilation, rank), strict=True):
            if more >= max(step, gap):
                raise Error(f"an output padding of {more}; at most {max(step, gap) - 1} is allowed, less than the stride or the dilation", what)
        attributes: Attributes = {
            "dilations": spread(dilation, rank), "group": groups, "strides": spread(stride, rank), "kernel_shape": weight.shape[2:],
            "pads": spread(padding, rank) * 2, "output_padding": spread(output_padding, rank),
        }  # fmt: skip
        return self._apply("ConvTranspose", [self, weight] if bias is None else [self, weight, bias], attributes)

    def _pool(self, op: str, rank: int, kernel: PerAxis, stride: PerAxis | None, padding: PerAxis, dilation: PerAxis, ceil_mode: bool, **more: Any) -> Tensor:
        if self.ndim == rank + 1:
            return self.unsqueeze(0)._pool(op, rank, kernel, stride, padding, dilation, ceil_mode, **more).squeeze(0)
        window = spread(kernel, rank)
        attributes: Attributes = {
            "kernel_shape": window, "strides": window if stride is None else spread(stride, rank), "pads": spread(padding, rank) * 2,
            "dilations": spread(dilation, rank), "ceil_mode": int(ceil_mode), **more,
        }  # fmt: skip
        name = f"{'max' if op == 'MaxPool' else 'avg'}_pool{rank}d"
        if self.ndim != rank + 2:
            raise Error(f"a tensor of {self.ndim} axes; {rank + 1} or {rank + 2} are expected", name)
        for extent, end, gap in zip(window, spread(padding, rank), spread(dilation, rank), strict=True):
            reach = gap * (extent - 1) + 1
            if end > reach // 2:
                raise Error(f"a padding of {end}; at most half of the window of {reach} is allowed", name)
        _check_windows(name, self.shape[2:], window, attributes)
        return self._apply(op, [self], attributes)

    def _adaptive_pool(self, op: str, rank: int, size: PerAxis) -> Tensor:
        plane = self.shape[-rank:]
        wanted = spread(size, rank)
        if self.ndim == rank + 1:
            return self.unsqueeze(0)._adaptive_pool(op, rank, size).squeeze(0)
        if all(each == 1 for each in wanted) and 0 not in plane:
            return self._apply(f"Global{op}", [self])
        if not any(extent % each for extent, each in zip(plane, wanted, strict=True)):
            window = [extent // each for extent, each in zip(plane, wanted, strict=True)]
            return self._pool(op, rank, window, None, 0, 1, False)
        made = self
        for axis, each in enumerate(wanted, 2):
            made = made._windows(op, axis, each)
        return made

    def _windows(self, op: str, axis: int, size: int) -> Tensor:
        """One axis at another size, by windows of one length: shorter ones repeat their last element, whose copies share its weight."""
        extent = self.shape[axis]
        if size == extent:
            return self
        begins = np.arange(size) * extent // size
        lengths = -(-np.arange(1, size + 1) * extent // size) - begins
        at = np.arange(lengths.max())
        places = begins[:, None] + np.minimum(at, lengths[:, None] - 1)
        windows = self._apply("Gather", [self, constant("i64", places.shape, places)], {"axis": axis})
        over = integers([axis + 1])
        if op == "MaxPool":
            return self._apply("ReduceMax", [windows, over], {"keepdims": 0})
        last = at >= lengths[:, None] - 1
        weights = np.where(last, 1 / last.sum(1, keepdims=True), 1) / lengths[:, None]
        shape = (*places.shape, *(1 for _ in self.shape[axis + 1 :]))
        return self._apply("ReduceSum", [windows._apply("Mul", [windows, constant(self._dtype, shape, weights)]), over], {"keepdims": 0})

    def _interpolate(self, size: PerAxis | None, scale: float | Sequence[float] | None, mode: str, align_corners: bool) -> Tensor:
        rank = self.ndim - 2
        if (size is None) == (scale is None):
            raise Error("it needs a size or a scale_factor", "interpolate")
        if mode not in RESIZE_MODES and mode != "area":
            raise Error(f'mode "{mode}"', "interpolate", f"there are {', '.join(RESIZE_MODES)}, area")
        attributes = {"mode": "nearest", "coordinate_transformation_mode": "half_pixel", **RESIZE_MODES.get(mode, {})}
        if align_corners:
            if attributes["mode"] == "nearest":
                raise Error(f'align_corners does not go with mode "{mode}"', "interpolate")
            attributes["coordinate_transformation_mode"] = "align_corners"
        factors = [float(scale)] * rank if isinstance(scale, int | float) else list(scale or ())
        plane = [int(extent * factor) for extent, factor in zip(self.shape[2:], factors, strict=True)] if size is None else spread(size, rank)
        if mode == "area":
            return self._adaptive_pool("AveragePool", rank, plane)
        # By factors, elements are placed evenly also where the size is rounded.
        by_size = size is not None or align_corners
        by = [None, integers([*self.shape[:2], *plane])] if by_size else [constant("f32", (self.ndim,), [1, 1, *factors])]
        return self._apply("Resize", [self, None, *by], attributes)

    def _normalized(self, mean: Tensor, variance: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
        """(this - mean) / sqrt(variance + eps) * weight + bias, a number a channel (axis 1)."""
        channels = self.shape[1]
        scale = constant(self._dtype, (channels,), [1] * channels) if weight is None else weight
        shift = constant(self._dtype, (channels,), [0] * channels) if bias is None else bias
        return self._apply("BatchNormalization", [self, scale, shift, mean, variance], {"epsilon": float(eps)})

    def _layer_norm(self, shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
        axis = self.ndim - len(shape)
        if axis < 0 or self.shape[axis:] != tuple(shape):
            raise Error(f"a tensor of shape {shape_text(self.shape)} does not end in {shape_text(shape)}", "layer_norm")
        scale: Any = weight
        if weight is None:
            scale = self._apply("Expand", [constant(self._dtype, (), 1), integers(shape)])
        return self._apply("LayerNormalization", [self, scale] if bias is None else [self, scale, bias], {"axis": axis, "epsilon": float(eps)})

    def _group_norm(self, groups: int, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
        """Groups of channels (axis 1), normalised by their own mean and variance."""
        batch, channels = self.shape[:2]
        if channels % groups:
            raise Error(f"{channels} channels in {groups} groups", "group_norm")
        rows = self.reshape(batch, groups, -1)
        middle = rows - rows.mean(-1, True)
        made = (middle / (middle.square().mean(-1, True) + eps).sqrt()).reshape(self.shape)
        over = [channels] + [1] * (self.ndim - 2)
        if weight is not None:
            made = made * weight.reshape(over)
        return made if bias is None else made + bias.reshape(over)
