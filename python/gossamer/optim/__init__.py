"""Optimizers with PyTorch's arithmetic. A step is recorded; it runs with whatever is read next, or when the next step begins."""

from . import schedules as lr_scheduler
from .more_optimizers import ASGD, LBFGS, Adadelta, Adafactor, Adagrad, Adamax, Muon, NAdam, RAdam, Rprop, SparseAdam
from .optimizers import SGD, Adam, AdamW, Optimizer, RMSprop
from .schedules import (
    ChainedScheduler,
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    CyclicLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    MultiplicativeLR,
    MultiStepLR,
    OneCycleLR,
    PolynomialLR,
    ReduceLROnPlateau,
    SequentialLR,
    StepLR,
    clip_grad_norm_,
    clip_grad_value_,
)

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
    "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "Muon", "NAdam", "OneCycleLR", "Optimizer", "PolynomialLR", "RAdam", "RMSprop", "ReduceLROnPlateau", "Rprop", "SequentialLR",
    "SparseAdam", "StepLR", "clip_grad_norm_", "clip_grad_value_", "lr_scheduler",
]  # fmt: skip
