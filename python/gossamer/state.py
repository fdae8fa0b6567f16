"""What a model keeps from run to run: caches of keys and values, weights in training."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core

if TYPE_CHECKING:
    from .model import Port

StatePairs = bool | Mapping[str, str]
"""{input: output}; True: each past... with its present..."""


class State:
    """By the names of the inputs that are state: state[name] is what the next run begins with, an array; None at the beginning, which is
    zeros, of length 0 along axes that nothing else tells. Assigning makes the next run begin with that. A run that fails leaves the state
    as it was. Raises Error for a name that is no state, and for an array of another type or shape."""

    def __init__(
        self,
        loaded: _core.Loaded,
        ports: Mapping[str, Port],
        types: Mapping[str, str],
        feed: Callable[[Any, str, str], tuple[str, list[int], Any]],
        array: Callable[[str, list[int], Any], np.ndarray],
    ) -> None:
        self._loaded = loaded
        self._types = types
        self._feed = feed
        self._array = array
        self.ports = dict(ports)

    def __getitem__(self, name: str) -> np.ndarray | None:
        read = self._loaded.read_state(name)
        return None if read is None else self._array(*read)

    def __setitem__(self, name: str, value: Any) -> None:
        self._loaded.write_state(name, self._feed(value, self._types.get(name, "f32"), f'state "{name}"'))

    def __iter__(self) -> Iterator[str]:
        return iter(self.ports)

    def __len__(self) -> int:
        return len(self.ports)

    def capacity(self, name: str) -> int:
        """Rows that there is memory for before more has to be made; 0 before the first run, and for what is not written in place."""
        return self._loaded.state_capacity(name)

    def reset(self) -> None:
        """Back to the beginning, all of it."""
        self._loaded.reset_state()

    def __repr__(self) -> str:
        return f"<gossamer.State {'; '.join(map(str, self.ports.values())) or '(none)'}>"
