"""Losses, as compositions; web/tensor/src/composed/losses.ts is written from this file. The mean over all elements unless told."""

from __future__ import annotations

from .prelude import *  # noqa: F403
from .shared import above_zero, hot_of, reduced_to, same_shape, shaped


def nll_loss(x: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean") -> Tensor:
    """Minus the log probability of the target's class; classes are along axis 1 (or the only one). A target that is known when this is
    called and does not name a class throws; one that is computed gives NaN."""
    axis = 0 if x.ndim == 1 else 1
    wanted = [extent for at, extent in enumerate(x.shape) if at != axis]
    if list(target.shape) != wanted:
        raise Error(f"the input has shape [{', '.join([str(each) for each in x.shape])}], so the target must have [{', '.join([str(each) for each in wanted])}], not [{', '.join([str(each) for each in target.shape])}]", "nll_loss")
    return _of_classes(x, target, axis, weight, ignore_index, reduction, 0.0)


def _of_classes(log: Tensor, target: Tensor, axis: int, weight: Tensor | None, ignore_index: int, reduction: str, smoothing: float) -> Tensor:
    check_classes(target, log.shape[axis], ignore_index, "nll_loss")
    hot = hot_of(log, target, axis)
    ignored = target == ignore_index
    factors = None if weight is None else shaped(weight, log.ndim, axis)
    chosen = hot if factors is None else hot & (factors != 0)
    # A select, as 0 times minus infinity would be NaN.
    taken = where(chosen, log if factors is None else log * factors, 0.0).sum(axis)
    good = hot.any(axis) | ignored
    own = hot.to(log._dtype).sum(axis) if factors is None else where(hot, factors, 0.0).sum(axis)
    counted = where(ignored, 0.0, own)
    loss = where(ignored, 0.0, -taken)
    if smoothing > 0:
        even = -(log if factors is None else log * factors).sum(axis)
        loss = loss * (1 - smoothing) + where(ignored, 0.0, even) * (smoothing / log.shape[axis])
    loss = where(good, loss, math.nan)
    return loss.sum() / counted.sum() if reduction == "mean" else reduced_to(loss, reduction)


def cross_entropy(x: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor:
    """Of logits along axis 1 (or the only one). Targets are classes, as nll_loss() takes them, or probabilities in the shape of the input."""
    if not 0 <= label_smoothing <= 1:
        raise Error(f"label_smoothing is {label_smoothing}; 0 to 1 are allowed", "cross_entropy")
    axis = 0 if x.ndim == 1 else 1
    log = x.log_softmax(axis)
    if target.ndim == x.ndim - 1 or not is_float(target):
        if label_smoothing == 0:
            return nll_loss(log, target, weight, ignore_index, reduction)
        return _of_classes(log, target, axis, weight, ignore_index, reduction, label_smoothing)
    same_shape("cross_entropy", x, target)
    smooth = target * (1 - label_smoothing) + label_smoothing / x.shape[axis] if label_smoothing > 0 else target
    loss = -(log * (smooth if weight is None else smooth * shaped(weight, x.ndim, axis))).sum(axis)
    return loss.sum() / (loss.numel()) if reduction == "mean" else reduced_to(loss, reduction)


def poisson_nll_loss(x: Tensor, target: Tensor, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean") -> Tensor:
    """Of a Poisson distribution's rate, or its logarithm."""
    loss = x.exp() - target * x if log_input else x - target * (x + eps).log()
    if full:
        many = where(target > 1, target, 2.0)
        loss = loss + where(target > 1, many * many.log() - many + (many * (2 * math.pi)).log() * 0.5, 0.0)
    return reduced_to(loss, reduction)


def gaussian_nll_loss(x: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Tensor:
    """Of a normal distribution with mean x and variance `var`, which is at least eps."""
    spread_ = var if is_tensor(var) else x * 0 + var
    if spread_.ndim == x.ndim - 1 and list(spread_.shape) == list(x.shape[:-1]):
        spread_ = spread_.unsqueeze(-1)
    kept = spread_ + (where(spread_ < eps, eps, spread_) - spread_).detach()
    loss = (kept.log() + (x - target).square() / kept) * 0.5
    return reduced_to(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last axis."""
    return (x1 - x2 + eps).norm(p, -1, keepdim)


def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, reduction: str = "mean") -> Tensor:
    """By how much the positive is not nearer to the anchor than the negative."""
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return reduced_to(above_zero(pairwise_distance(anchor, positive, p, eps) - far + margin), reduction)


def margin_ranking_loss(x1: Tensor, x2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean") -> Tensor:
    """By how much x1 is not above x2 (target 1) or below it (-1)."""
    return reduced_to(above_zero(-target * (x1 - x2) + margin), reduction)


def cosine_embedding_loss(x1: Tensor, x2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean") -> Tensor:
    """1 - cos where the target is 1, how much cos is above the margin where it is -1."""
    size = ((x1.square().sum(-1) + 1e-12) * (x2.square().sum(-1) + 1e-12)).sqrt()
    cosine = (x1 * x2).sum(-1) / size
    return reduced_to(where(target == 1, 1 - cosine, 0.0) + where(target == -1, above_zero(cosine - margin), 0.0), reduction)


__all__ = [name for name, each in list(globals().items()) if getattr(each, "__module__", None) == __name__ and not name.startswith("_")]
