"""Optimizers with PyTorch's arithmetic. A step is recorded; it runs with whatever is read next, or when the next step begins."""

from .optimizers import SGD, Adam, AdamW, Optimizer, RMSprop
from .schedules import CosineAnnealingLR, ExponentialLR, LambdaLR, StepLR, clip_grad_norm_, clip_grad_value_

__all__ = ["SGD", "Adam", "AdamW", "CosineAnnealingLR", "ExponentialLR", "LambdaLR", "Optimizer", "RMSprop", "StepLR", "clip_grad_norm_", "clip_grad_value_"]
