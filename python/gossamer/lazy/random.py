"""Random numbers: one generator, which manual_seed() starts anew."""

from __future__ import annotations

import numpy as np

_generator = np.random.default_rng()


def manual_seed(seed: int) -> None:
    """What is drawn from here on is the same for the same seed."""
    global _generator
    _generator = np.random.default_rng(seed)


def generator() -> np.random.Generator:
    return _generator
