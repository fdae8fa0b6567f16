"""Seeded weights for networks without training, chosen so that every parameter and every layer affects the outputs."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

BATCH_NORMS = torch.nn.modules.batchnorm._BatchNorm


def _vary(parameter: torch.Tensor, generator: torch.Generator) -> None:
    """Gives different elements to a parameter that starts as one number: a bias, the scale of a norm, a layer scale."""
    start = parameter.flatten()[0].item()
    noise = torch.randn(parameter.shape, generator=generator)
    if start == 0:
        parameter.copy_(0.05 * noise)
    elif abs(start) < 0.2:
        parameter.copy_(0.3 + 0.1 * noise)  # a layer scale of 1e-5 would hide its whole block
    else:
        parameter.mul_(1 + 0.1 * noise)


def _fan_in(module: torch.nn.Module, weight: torch.Tensor) -> int | None:
    """The number of products in each sum of a matrix product; None for embeddings and convolutions."""
    if isinstance(module, torch.nn.Linear):
        return weight.shape[1]
    return weight.shape[0] if type(module).__name__ == "Conv1D" else None


def conditioned(module: torch.nn.Module, calibrate: Callable[[torch.nn.Module], object] | None = None) -> torch.nn.Module:
    """The module for inference, its weights changed in place. No parameter is constant, and matrices that start near 0 are
    scaled to a variance of 1 / fan-in, so that attention is not uniform. calibrate: runs the module with a batch, from which
    batch norms take their statistics."""
    generator = torch.Generator().manual_seed(1)
    module.eval()
    with torch.no_grad():
        for each in module.modules():
            for name, parameter in each.named_parameters(recurse=False):
                if not parameter.is_floating_point() or parameter.numel() < 2:
                    continue
                spread = parameter.std().item()
                fan_in = _fan_in(each, parameter) if name == "weight" else None
                if spread == 0:
                    _vary(parameter, generator)
                elif fan_in and spread < 0.5 / math.sqrt(fan_in):
                    parameter.mul_(1 / (spread * math.sqrt(fan_in)))
        norms = [each for each in module.modules() if isinstance(each, BATCH_NORMS)]
        if norms and calibrate:
            momenta = [norm.momentum for norm in norms]
            for norm in norms:
                norm.train()
                norm.momentum = 1.0
            calibrate(module)
            for norm, momentum in zip(norms, momenta, strict=True):
                norm.eval()
                norm.momentum = momentum
    return module
