"""What several composed functions use; web/tensor/src/composed/shared.ts is written from this file."""

from __future__ import annotations

from .prelude import *  # noqa: F403


def reduced_to(loss: Tensor, reduction: str) -> Tensor:
    if reduction not in ["mean", "sum", "none"]:
        raise Error(f"reduction is {reduction}; mean, sum and none are allowed", "loss")
    return loss if reduction == "none" else loss.sum() if reduction == "sum" else loss.mean()


def soft_plus(x: Tensor) -> Tensor:
    return node("Softplus", [x])


def same_shape(name: str, x: Tensor, target: Tensor) -> None:
    if list(x.shape) != list(target.shape):
        raise Error(f"the input has shape [{', '.join([str(each) for each in x.shape])}], the target [{', '.join([str(each) for each in target.shape])}]", name)


def shaped(factors: Tensor, rank: int, axis: int) -> Tensor:
    return factors.reshape([-1, *[1] * (rank - axis - 1)])


def hot_of(x: Tensor, target: Tensor, axis: int) -> Tensor:
    classes = x.shape[axis]
    places = iota(x, classes).reshape([-1 if at == axis else 1 for at in range(x.ndim)])
    return target.to("i64").unsqueeze(axis) == places


def above_zero(x: Tensor) -> Tensor:
    """max(x, 0), whose gradient at 0 is 1, as clamp's is."""
    return where(x < 0, 0.0, x)


def check_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise Error(f"p is {p}; 0 to 1 are allowed", "dropout")


def rows_of(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    at = axis_of(x, dim, "index_add")
    return index.reshape([-1 if axis == at else 1 for axis in range(x.ndim)]).expand(source.shape)


def nan_last(x: Tensor) -> Tensor:
    return where(x.isnan(), math.inf, x) if is_float(x) else x
