"""gossamer tune on many machines: one search, whose batches of layouts and points are measured by workers that Ray places (pip install gossamer[fleet]).

    python -m gossamer.fleet resnet18.onnx --target opencl --seconds 600 --output records.jsonl --workers 8 --gpus 1 --address auto

>>> import gossamer.fleet
>>> outcome = gossamer.fleet.tune("resnet18.onnx", target="cpu", output="records.jsonl", seconds=600, workers=8)
>>> print(outcome)                                                      # what each kernel took before and takes now

Each worker compiles and measures on the device of its machine, as `gossamer tune` does there, so the program has to be installed on each
(docs/commands.md); what is compared was measured in turns on one of them. A batch whose worker is lost is measured by another, and a new
worker takes the place of the lost one as soon as Ray has room for it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .error import Error

__all__ = ["Outcome", "tune"]

PATIENCE = 3
"""Workers that a batch may cost before its points are suspected, and that may fail to start at one place in succession."""


SLOW = 30
"""Seconds without any worker, after which the terminal says what is waited for."""


@dataclass(frozen=True)
class Outcome:
    """What a search found. adapter: the device, as all workers call it. trials, failures: points that were measured, and that did not run;
    layout_trials, layout_failures: the same of layouts. layouts: those that are not the rule's, layouts_given_up: whole runs were slower in them
    at the end, so records say the rule's.
    batches, lost: how many were measured, and how often a worker was lost with one; workers: how many there were, new ones in the place of
    lost ones among them. waited_ms: of each batch, what it took beside the
    measuring itself, the planning and Ray's carrying it there and back. kernels and layouts: as `gossamer tune --json` has them."""

    adapter: str
    trials: int
    failures: int
    batches: int
    lost: int
    workers: int
    run_ms_before: float
    run_ms_after: float
    layout_trials: int
    layout_failures: int
    layouts: list[dict[str, Any]]
    layouts_given_up: bool
    kernels: list[dict[str, Any]]
    waited_ms: list[float] = field(repr=False)
    _table: str = field(repr=False)

    def __str__(self) -> str:
        return self._table


class _Program:
    """A `gossamer tune --fleet ...` of this machine. Lines in, lines out."""

    def __init__(self, program: str, words: Sequence[str]) -> None:
        program = program or os.environ.get("GOSSAMER_PROGRAM", "gossamer")
        found = shutil.which(program)
        if found is None:
            raise Error("is not installed here", program, "install the command line on each machine, or name it: program=")
        # Of a session of its own: Ctrl+C is the caller's to pass on.
        self._child = subprocess.Popen([found, "tune", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)

    def receive(self) -> str:
        """The next line. Raises Error with what it says is wrong, or when it has ended."""
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            raise Error("has ended", "gossamer tune", "its message stands above, or in the worker's log")
        if line.startswith('{"error":'):
            told = json.loads(line)["error"]
            raise Error(told["message"], told.get("where", ""), told.get("hint", "")) if isinstance(told, dict) else Error(told)
        return line.rstrip("\n")

    def ask(self, line: str) -> str:
        assert self._child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._child.stdin.write(line + "\n")
            self._child.stdin.flush()
        return self.receive()

    def end(self) -> None:
        """Its devices end with it."""
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self._child.wait()


class _Worker:
    """What Ray places: the device of its machine."""

    def __init__(self) -> None:
        self._program: _Program | None = None

    def survey(self, files: Mapping[str, bytes], inputs: Mapping[str, str], program: str, words: Sequence[str]) -> str:
        """files: model.onnx and what lies beside it; inputs: files of them by the inputs' names."""
        # Read or mapped when the survey is there: so one that is killed later leaves no folder.
        with tempfile.TemporaryDirectory(prefix="gossamer-fleet-") as folder:
            for name, content in files.items():
                file = Path(folder, name)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            given = [word for name, file in inputs.items() for word in ("--input", f"{name}={Path(folder, file)}")]
            self._program = _Program(program, [str(Path(folder, "model.onnx")), *words, *given])
            return self._program.receive()

    def measure(self, batch: str) -> tuple[str, float]:
        """With the seconds that it took."""
        assert self._program is not None
        begin = time.perf_counter()
        return self._program.ask(batch), time.perf_counter() - begin


@dataclass
class _Batch:
    text: str
    number: int
    lost: int = 0


@dataclass
class _Place:
    """Of a worker, or of those that come after it."""

    device: str
    handle: Any = None
    failed: int = 0  # to start, in succession


class _Fleet:
    """Who measures, and who is waited for."""

    def __init__(self, ray: Any, places: Sequence[_Place], start: Callable[[Any, str], Any], plan: _Program, options: Mapping[str, Any]) -> None:
        self._ray = ray
        self._places = list(places)
        self._stopped = False
        self._start = start  # (handle, device) -> survey
        self._plan = plan
        self._options = options
        self._idle: deque[_Place] = deque()
        self._again: deque[_Batch] = deque()
        self._surveys: dict[Any, _Place] = {}
        self._measuring: dict[Any, tuple[_Place, _Batch, float]] = {}
        self.batches = self.lost = self.workers = 0
        self.waited_ms: list[float] = []
        for place in places:
            self._hire(place)

    def _hire(self, place: _Place) -> None:
        # A new one: an actor that Ray starts again would be where the old one was, which may be gone for long.
        place.handle = self._ray.remote(_Worker).options(**self._options).remote()
        self._surveys[self._start(place.handle, place.device)] = place

    def dismiss(self) -> None:
        for place in self._places:
            self._ray.kill(place.handle)

    def stop(self) -> None:
        """No more batches but the comparison at the end."""
        self._stopped = True

    def run(self) -> dict[str, Any]:
        """Until the planner says what it found."""
        begin = time.monotonic()
        told = False
        while True:
            if self._stopped:
                self._plan.ask("stop")
            if ended := self._give():
                return ended
            if not self._measuring and not self._surveys:
                raise Error("the search waits for a batch that nobody measures", "gossamer.fleet", "this is a mistake of ours: please report it")
            if not self.workers and not told and time.monotonic() - begin > SLOW:
                print(f"gossamer: waits for Ray to start {len(self._places)} workers, each with {dict(self._options)}", file=sys.stderr)
                told = True
            ready, _ = self._ray.wait([*self._measuring, *self._surveys], num_returns=1, timeout=1)
            for ref in ready:
                if place := self._surveys.pop(ref, None):
                    self._begun(place, ref)
                else:
                    self._measured(*self._measuring.pop(ref), ref)

    def _give(self) -> dict[str, Any] | None:
        while self._idle:
            begin = time.perf_counter()
            batch = self._again.popleft() if self._again else None
            if batch is None:
                answer = json.loads(self._plan.ask("next"))
                if "end" in answer:
                    return answer
                if "batch" not in answer:
                    return None
                batch = _Batch(json.dumps(answer["batch"]), answer["batch"]["number"])
            place = self._idle.popleft()
            self._measuring[place.handle.measure.remote(batch.text)] = (place, batch, begin)
        return None

    def _begun(self, place: _Place, ref: Any) -> None:
        try:
            self._plan.ask(f"survey {self._ray.get(ref)}")
        except (Error, self._ray.exceptions.RayError) as problem:
            self._ray.kill(place.handle)
            place.failed += 1
            # What the program says is wrong is wrong the next time, too.
            if place.failed < PATIENCE and not isinstance(problem, Error):
                return self._hire(place)
            self._places.remove(place)
            error = _error_of(problem)
            if not self._places:
                raise error from None
            return print(f"gossamer: a worker is left out: {error}", file=sys.stderr)
        place.failed = 0
        self.workers += 1
        self._idle.append(place)

    def _measured(self, place: _Place, batch: _Batch, begin: float, ref: Any) -> None:
        try:
            answer, seconds = self._ray.get(ref)
        except (Error, self._ray.exceptions.RayError) as problem:
            self.lost += 1
            batch.lost += 1
            if batch.lost < PATIENCE:
                self._again.append(batch)
            else:
                self._plan.ask(f"lose {batch.number} {batch.lost} workers ended with it: {_error_of(problem)}")
            self._ray.kill(place.handle)
            return self._hire(place)
        self._plan.ask(f"take {answer}")
        self.batches += 1
        self._idle.append(place)
        self.waited_ms.append(1e3 * (time.perf_counter() - begin - seconds))


def _error_of(problem: Exception) -> Error:
    """Of one line, without what Ray tells of the way that it came."""
    problem = getattr(problem, "cause", None) or problem
    return problem if isinstance(problem, Error) else Error(" ".join(str(problem).split())[:300], "Ray")


@contextlib.contextmanager
def _interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl+C calls `stop`, the next one is Python's."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def handle(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        stop()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _words(options: Mapping[str, Any]) -> Iterator[str]:
    """As the command line takes them."""
    for name, value in options.items():
        if value not in ("", None, 0):
            yield from (f"--{name}", str(value))


@contextlib.contextmanager
def _engine(address: str, cpus: float) -> Iterator[Any]:
    try:
        # Nothing is told to anybody, unless the caller's own settings say so.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray
    except ImportError as problem:
        raise Error("is not installed", "Ray", "pip install gossamer[fleet]") from problem
    if ray.is_initialized():
        yield ray
        return
    if address:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    else:
        ray.init(num_cpus=cpus, object_store_memory=128 << 20, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:
        yield ray
    finally:
        ray.shutdown()


def _files(model: Path, names: Sequence[str], inputs: Mapping[str, Any], folder: str) -> dict[str, bytes]:
    files = {name: (model.parent / name).read_bytes() for name in names}
    files["model.onnx"] = model.read_bytes()
    for number, value in enumerate(inputs.values()):
        file = Path(folder, "input.npy")
        np.save(file, np.asarray(value), allow_pickle=False)
        files[f"input{number}.npy"] = file.read_bytes()
    return files


def tune(
    model: str | os.PathLike[str] | bytes,
    target: str,
    *,
    output: str | os.PathLike[str],
    trials: int = 0,
    seconds: float = 0,
    layout_share: float = 0.25,
    workers: int = 2,
    devices: Sequence[str] = (),
    inputs: Mapping[str, Any] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    threads: int = 0,
    timeout: float = 60,
    cpu: str = "native",
    seed: int = 1,
    address: str = "",
    options: Mapping[str, Any] | None = None,
    program: str = "",
    quiet: bool = False,
) -> Outcome:
    """Searches faster kernels for a model on the devices of many machines, into a file of records for `gossamer compile --records`.

    model: a path (weights in other files are found beside it) or bytes. target, output, trials, seconds, layout_share (0: no layouts),
    inputs (arrays by name; others are made up), shapes, dims, threads, timeout, cpu, seed: as of `gossamer tune`. workers: so many, each with the device that `gossamer
    tune` takes there; devices: one worker for each of these, "native" or rpc://...; all must be of one kind, others are left out.
    address: of a Ray cluster ("auto", "ray://HOST:10001"); without one, what ray.init() has connected to, or else workers of this machine.
    options: of Ray for each worker, {"num_cpus": 1} unless told otherwise; {"num_gpus": 1} gives each a GPU of its own. program: the command
    line, by default $GOSSAMER_PROGRAM of each machine, or `gossamer`. quiet: no progress on the terminal.

    Workers that are lost lose nothing: their batch is measured by another one, and a new one is started in their place. A batch that took
    three workers with it is halved until the points are found that do it; they are recorded as failed, and so are layouts. Ctrl+C ends the search with what it has found.
    Raises Error as `gossamer tune`, where Ray is not installed, and where no worker is left.
    """
    count = len(devices) or workers
    if count < 1:
        raise Error(f"{count} workers", "workers", "1 or more")
    inputs = inputs or {}
    asked = {"num_cpus": 1, **(options or {})}
    common = ["--target", target, *_words({"cpu": cpu, "threads": threads, "timeout": timeout})]
    for name, shape in (shapes or {}).items():
        common += ["--shape", f"{name}={','.join('?' if extent < 0 else str(extent) for extent in shape)}"]
    for name, extent in (dims or {}).items():
        common += ["--dim", f"{name}={extent}"]
    measuring = ["--fleet", "measure", *common]
    named = {name: f"input{number}.npy" for number, name in enumerate(inputs)}
    with tempfile.TemporaryDirectory(prefix="gossamer-fleet-") as folder:
        if isinstance(model, bytes):
            file = Path(folder, "model.onnx")
            file.write_bytes(model)
        else:
            file = Path(model)
        words = [str(file), "--fleet", "plan", *common, "--output", os.fspath(output), *_words({"trials": trials, "seconds": seconds, "seed": seed, "layout-share": str(layout_share)})]
        plan = _Program(program, [*words, "--json"] if quiet else words)
        try:
            names = json.loads(plan.receive())["files"]
            with _engine(address, count * asked["num_cpus"]) as ray:
                files = ray.put(_files(file, names, inputs, folder))

                def start(handle: Any, device: str) -> Any:
                    return handle.survey.remote(files, named, program, [*measuring, *_words({"device": device})])

                fleet = _Fleet(ray, [_Place(device) for device in devices or [""] * count], start, plan, asked)
                try:
                    with _interrupt(fleet.stop):
                        ended = fleet.run()
                finally:
                    fleet.dismiss()
        finally:
            plan.end()
    found = ended["end"]
    return Outcome(
        adapter=found["adapter"],
        trials=found["trials"],
        failures=found["failures"],
        batches=fleet.batches,
        lost=fleet.lost,
        workers=fleet.workers,
        run_ms_before=found["runMsBefore"],
        run_ms_after=found["runMsAfter"],
        layout_trials=found["layoutTrials"],
        layout_failures=found["layoutFailures"],
        layouts=found["layouts"],
        layouts_given_up=found["layoutsGivenUp"],
        kernels=found["kernels"],
        waited_ms=fleet.waited_ms,
        _table=ended["table"],
    )


def main() -> int:
    """As `python -m gossamer.fleet`."""
    parser = argparse.ArgumentParser("python -m gossamer.fleet", description="gossamer tune on many machines, by Ray", argument_default=argparse.SUPPRESS)
    parser.add_argument("model", help="An ONNX file")
    parser.add_argument("--target", "-t", required=True, help="Where it runs")
    parser.add_argument("--output", "-o", required=True, help="Records, a line each; a file that is there is gone on with")
    parser.add_argument("--trials", type=int, help="Points to measure")
    parser.add_argument("--seconds", type=float, help="To search for, the comparison at the end too")
    parser.add_argument("--layout-share", type=float, help="Of --seconds, or of --trials and beside them, for layouts that cross kernels (0.25); 0: none")
    parser.add_argument("--workers", type=int, help="So many (2)")
    parser.add_argument("--device", action="append", dest="devices", help='A worker for each: "native" or rpc://...')
    parser.add_argument("--address", help='Of a Ray cluster: "auto", ray://HOST:10001')
    parser.add_argument("--cpus", type=float, help="That Ray counts for a worker (1)")
    parser.add_argument("--gpus", type=float, help="That Ray gives each worker for itself")
    parser.add_argument("--threads", type=int, help="Of cpu and wasm")
    parser.add_argument("--timeout", type=float, help="Seconds that measuring a candidate may take (60)")
    parser.add_argument("--cpu", help="With --target cpu: LLVM's name of the processor, where it is not this machine's")
    parser.add_argument("--seed", type=int, help="Of what the search draws")
    parser.add_argument("--program", help="The command line on each machine ($GOSSAMER_PROGRAM, or gossamer)")
    given = vars(parser.parse_args())
    options = {f"num_{name}": given.pop(name) for name in ("cpus", "gpus") if name in given}
    try:
        print(tune(**given, options=options), end="")
    except Error as problem:
        print(f"gossamer: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
