"""Devices elsewhere: compiled here, run in a browser, in Node.js or on another machine that has joined `gossamer rpc` (docs/specs/rpc.md).

>>> device = gossamer.rpc.connect("rpc://127.0.0.1:9190/page?token=...")     # the line that `gossamer rpc` prints, and a device's name
>>> model = device.load(gossamer.compile("resnet18.onnx", target="webgl"))
>>> model.run({"data": image})["logits"]
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from . import _core
from .compiler import Package
from .error import Error
from .model import Model

__all__ = ["Device", "DeviceInfo", "Profile", "RemoteModel", "connect", "devices"]


@dataclass(frozen=True)
class DeviceInfo:
    """A device that has joined. targets: what packages for it are compiled for; about: what it says of itself."""

    name: str
    targets: tuple[str, ...]
    about: str

    def __str__(self) -> str:
        return f"{self.name}: {', '.join(self.targets)}; {self.about}"


@dataclass(frozen=True)
class Profile:
    """Where the time of runs went over there; times in ms. print() shows a line a kernel."""

    run_ms: float
    kernel_ms: float
    _table: str
    _trace: str
    _json: dict[str, Any]

    def table(self) -> str:
        """Text for people: a line a kernel."""
        return self._table

    def trace(self) -> str:
        """One run as JSON for ui.perfetto.dev."""
        return self._trace

    def json(self) -> str:
        """All of it."""
        return json.dumps(self._json)

    def __repr__(self) -> str:
        return self._table


class RemoteModel(Model):
    """A package on a device elsewhere; run() as of any model. It outlives a page that is reloaded: the run that was under way raises, the
    next one loads it again. Other threads run meanwhile, and Ctrl+C ends the wait. It keeps no state: inputs that continue outputs are fed."""

    def time(self, feeds: Mapping[str, Any] | Any, runs: int = 10) -> list[float]:
        """Milliseconds of each of so many runs on the device, after one more; nothing but inputs comes over the wire."""
        return self._bench(feeds, "runs", runs)["times"]

    def profile(self, feeds: Mapping[str, Any] | Any, runs: int = 10) -> Profile:
        """Where the time of a run goes, by the device's own clock: print it for a table. Raises Error as run()."""
        made = self._bench(feeds, "profile", runs)
        found = made["profile"]
        return Profile(found["runMs"], found["kernelMs"], made["table"], made["trace"], found)

    def report(self) -> dict[str, Any]:
        """What the device's run time says of the last run, by its own names; empty before the first one."""
        with self._one() as one:
            told = json.loads(one.report)
        return {**told.get("report", {}), **({"ms": told["ms"]} if "ms" in told else {})}

    def _bench(self, feeds: Mapping[str, Any] | Any, kind: str, runs: int) -> dict[str, Any]:
        if runs < 1:
            raise Error(f"{runs} runs", "runs", "1 or more")
        tensors = self._feeds(feeds)
        with self._one() as one:
            return json.loads(one.bench(tensors, kind, runs))["bench"]

    def _repr_html_(self) -> str:
        return html.escape(repr(self))


class Device:
    """A device that has joined. Its connection ends with the last reference to it and its models."""

    def __init__(self, native: _core.RemoteDevice) -> None:
        self._native = native

    @property
    def info(self) -> DeviceInfo:
        """As it was when it was found last."""
        name, targets, about = self._native.info
        return DeviceInfo(name, tuple(targets), about)

    @property
    def name(self) -> str:
        """By which it has joined."""
        return self.info.name

    @property
    def targets(self) -> tuple[str, ...]:
        """What it runs: compile(..., target=device.targets[0])."""
        return self.info.targets

    @property
    def sent(self) -> tuple[int, int]:
        """(bytes of files that were sent, bytes of all that were to be there): what a device has is not sent again."""
        return self._native.sent

    def load(self, package: Package, *, threads: int = 0, progress: Callable[[int, int], object] | None = None) -> RemoteModel:
        """Sends the files that the device lacks, and loads them there.

        threads: of a run on wasm and cpu, 0 leaves it to the device. progress: called with (bytes that are there, all bytes) while files
        go. Raises Error for a target that it does not have, and with what its run time says.
        """
        if package.target not in self.targets:
            raise Error(f"has no {package.target}", self.name, f"compile for one of {', '.join(self.targets)}")
        return RemoteModel(self._native.load(package._made, package.target, threads, progress))

    def __repr__(self) -> str:
        return f"<gossamer.rpc.Device {self.info}>"


def devices(address: str, token: str | None = None) -> list[DeviceInfo]:
    """All that have joined the server at rpc://HOST:PORT[?token=TOKEN]. Raises Error as connect()."""
    return [DeviceInfo(name, tuple(targets), about) for name, targets, about in _core.rpc_devices(address, token)]


def connect(address: str, token: str | None = None, *, seconds: float = 30) -> Device:
    """The device of the address's name, or whichever has joined first: rpc://HOST:PORT[/NAME][?token=TOKEN].

    token: without one here or there, the variable GOSSAMER_RPC_TOKEN. seconds: how long to wait for the device to join. Raises Error
    where no server listens, the token is wrong, or no such device joins in time.
    """
    return Device(_core.RemoteDevice.connect(address, token, seconds))
