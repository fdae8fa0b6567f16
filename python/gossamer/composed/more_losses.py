"""Rarer losses, as compositions; web/tensor/src/composed/more_losses.ts is written from this file."""

from __future__ import annotations

from .losses import pairwise_distance
from .prelude import *  # noqa: F403
from .shared import above_zero, hot_of, reduced_to, soft_plus


def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, distance_function: Distance | None = None, margin: float = 1.0, swap: bool = False, reduction: str = "mean") -> Tensor:
    """triplet_margin_loss() with a distance of one's own."""
    measure = distance_function if distance_function is not None else pairwise_distance
    far = measure(anchor, negative)
    if swap:
        far = far.minimum(measure(positive, negative))
    return reduced_to(above_zero(measure(anchor, positive) - far + margin), reduction)


def hinge_embedding_loss(x: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """The distance x where the target is 1, how much it is below the margin where it is -1."""
    return reduced_to(where(target == 1, x, 0.0) + where(target == -1, above_zero(margin - x), 0.0), reduction)


def soft_margin_loss(x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target * x))"""
    return reduced_to(soft_plus(-target * x), reduction)


def multi_margin_loss(x: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, reduction: str = "mean") -> Tensor:
    """By how much other classes come nearer to the target's than the margin, to the power p (1 or 2)."""
    single = x.ndim == 1
    rows = x.unsqueeze(0) if single else x
    classes = target.reshape([-1])
    check_classes(classes, rows.shape[1], -100, "multi_margin_loss")
    hot = hot_of(rows, classes, 1)
    own = where(hot, rows, 0.0).sum(1, True)
    above = above_zero(margin - own + rows)
    each = above if p == 1 else above * above
    if weight is not None:
        each = each * weight.index_select(0, classes).unsqueeze(1)
    loss = where(hot, 0.0, each).sum(1) / rows.shape[1]
    return reduced_to(loss.squeeze(0) if single else loss, reduction)


def multilabel_soft_margin_loss(x: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean") -> Tensor:
    """The mean over classes of binary cross entropies of logits."""
    loss = soft_plus(-x) * target + soft_plus(x) * (1 - target)
    return reduced_to((loss if weight is None else loss * weight).mean(-1), reduction)


def multilabel_margin_loss(x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Hinges between the classes that the target lists, up to the first -1, and all others."""
    classes = x.shape[-1]
    places = target.to("i64")
    listed = (places < 0).to("i64").cumsum(-1) == 0
    hot = (places.unsqueeze(-1) == iota(x, classes)) & listed.unsqueeze(-1)
    wanted = hot.any(-2)
    own = where(listed, x.gather(-1, places.clamp(0)), 0.0)
    hinge = above_zero(1 - (own.unsqueeze(-1) - x.unsqueeze(-2)))
    counted = listed.unsqueeze(-1) & wanted.logical_not().unsqueeze(-2)
    return reduced_to(where(counted, hinge, 0.0).sum([-2, -1]) / classes, reduction)


def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor | Sequence[int], target_lengths: Tensor | Sequence[int], blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> Tensor:
    """Connectionist temporal classification (Graves and others, 2006). log_probs: [time, batch, classes], or without the batch; targets:
    [batch, longest]; lengths are lists or tensors. The program grows with the time."""
    single = log_probs.ndim == 2
    log = log_probs.unsqueeze(1) if single else log_probs
    time, batch, classes = log.shape
    if targets.ndim == 1 and not single:
        raise Error("targets are one list; [batch, longest] is expected", "ctc_loss")
    labels = targets.reshape([batch, -1]).to("i64")
    check_classes(labels, classes, blank, "ctc_loss")
    longest = labels.shape[1]
    into = _lengths(log, input_lengths)
    wanted = _lengths(log, target_lengths)
    # blank, label, blank, label, ..., blank
    blanks = labels * 0 + blank
    path = cat([stack([blanks, labels], 2).reshape([batch, 2 * longest]), blanks.narrow(1, 0, 1)], 1) if longest > 0 else (into.reshape([batch, 1]) * 0 + blank)
    states = 2 * longest + 1
    least = -1e30
    skips = (path != blank) & (path != path.roll(2, 1)) & (iota(log, states) >= 2)
    emitted = log.gather(2, path.clamp(0, classes - 1).unsqueeze(0).expand([time, batch, states]))
    alpha = where(iota(log, states) < 2, emitted.select(0, 0), least)
    state = iota(log, states)
    for at in range(1, time):
        one = where(state >= 1, alpha.roll(1, 1), least)
        two = where(skips, alpha.roll(2, 1), least)
        large = alpha.maximum(one).maximum(two).detach()
        total = (alpha - large).exp() + (one - large).exp() + (two - large).exp()
        following = where(large > least / 2, large + total.log(), least) + emitted.select(0, at)
        alpha = where((into > at).reshape([batch, 1]), following.clamp(least, None), alpha)
    end = wanted.reshape([batch, 1]) * 2
    last = alpha.gather(1, end)
    before = where(end > 0, alpha.gather(1, (end - 1).clamp(0)), least)
    most = last.maximum(before).detach()
    made = most + ((last - most).exp() + (before - most).exp()).log()
    possible = most > least / 2
    loss = where(possible, -made, 0.0 if zero_infinity else math.inf).reshape([batch])
    if reduction == "mean":
        return (loss / wanted.clamp(1).to(loss._dtype)).mean()
    return reduced_to(loss.squeeze(0) if single else loss, reduction)


def _lengths(x: Tensor, given: Tensor | Sequence[int]) -> Tensor:
    return given.reshape([-1]).to("i64") if is_tensor(given) else constant(x, list(given), [len(given)], "i64")


__all__ = [name for name, each in list(globals().items()) if getattr(each, "__module__", None) == __name__ and not name.startswith("_")]
