"""Texts of many requests at once: a thread that steps a batch, for a server's event loop."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..error import Error
from ..generate import BatchToken, GenerationBatch
from .structure import Constraint


REFUSED = -1
"""In place of a text's number: the batch did not take it."""


@dataclass(eq=False)
class Job:
    """A text that is generated. Its tokens are in `tokens`, a BatchToken each, until one is the last."""

    prompt: Sequence[int]
    options: dict[str, Any]
    constraint: Constraint | None = None
    tokens: asyncio.Queue[BatchToken] = field(default_factory=asyncio.Queue)
    has_begun: bool = False
    is_over: bool = False


@dataclass(frozen=True)
class Load:
    """How many texts there are after a step."""

    running: int
    waiting: int


class Engine:
    """Steps a batch while it has texts. Methods are for the thread of the event loop; the batch is the engine's thread's alone.

    on_step: called on the loop after each step with what there is to do, and how many texts had a token.
    """

    def __init__(self, batch: GenerationBatch, on_step: Callable[[Load, int], None] = lambda load, texts: None) -> None:
        self.places = batch.places
        self._batch = batch
        self._on_step = on_step
        self._loop = asyncio.get_running_loop()
        self._commands: queue.SimpleQueue[tuple[str, Job | None]] = queue.SimpleQueue()
        self._jobs: dict[int, Job] = {}  # of the engine's thread, by number of their text
        self._open: set[Job] = set()  # of the loop's
        self._thread = threading.Thread(target=self._run, name="gossamer-engine", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Texts without a token yet."""
        return sum(not job.has_begun for job in self._open)

    def submit(self, job: Job) -> None:
        self._open.add(job)
        self._commands.put(("add", job))

    def cancel(self, job: Job) -> None:
        """Ends a text whose tokens nobody waits for."""
        if job in self._open:
            self._open.discard(job)
            self._commands.put(("remove", job))

    async def close(self) -> None:
        """Ends all texts, and lets go of the model."""
        self._commands.put(("close", None))
        await asyncio.to_thread(self._thread.join)

    def _deliver(self, given: list[tuple[Job, BatchToken]], load: Load) -> None:
        for job, token in given:
            job.has_begun = True
            if token.is_last:
                job.is_over = True
                self._open.discard(job)
            job.tokens.put_nowait(token)
        self._on_step(load, len(given))

    def _run(self) -> None:
        batch = self._batch
        while True:
            if not self._obey(wait=batch.running + batch.waiting == 0):
                batch.close()
                return
            if batch.running + batch.waiting == 0:
                self._loop.call_soon_threadsafe(self._deliver, [], Load(0, 0))
                continue
            try:
                given = [(self._jobs[each.text], self._checked(each)) for each in batch.step()]
            except Exception as problem:  # nobody waits for a thread that has ended
                failure = problem if isinstance(problem, Error) else Error(f"{type(problem).__name__}: {problem}", "the engine")
                given = [(job, BatchToken(text, None, None, 0.0, [], failure)) for text, job in self._jobs.items()]
                for text in list(self._jobs):
                    batch.remove(text)
                self._jobs.clear()
            load = Load(batch.running, batch.waiting)
            self._loop.call_soon_threadsafe(self._deliver, given, load)

    def _obey(self, wait: bool) -> bool:
        """Does what was asked for in the meantime; False: the end."""
        while wait or not self._commands.empty():
            what, job = self._commands.get()
            wait = False
            if job is None:
                return False
            if what == "add":
                try:
                    mask = job.constraint.mask() if job.constraint else b""
                    self._jobs[self._batch.add(job.prompt, mask=mask, **job.options)] = job
                except Exception as problem:  # numbers that fit no integer raise TypeError
                    refusal = problem if isinstance(problem, Error) else Error(str(problem).splitlines()[0], "generate()")
                    failed = BatchToken(REFUSED, None, None, 0.0, [], refusal)
                    self._loop.call_soon_threadsafe(self._deliver, [(job, failed)], Load(self._batch.running, self._batch.waiting))
            else:
                for text in [text for text, each in self._jobs.items() if each is job]:
                    self._batch.remove(text)
                    del self._jobs[text]
        return True

    def _checked(self, token: BatchToken) -> BatchToken:
        """A token of a text whose next one may be restricted."""
        job = self._jobs[token.text]
        constraint = job.constraint
        problem = token.error
        end = token.end
        if constraint is not None and token.token is not None and not token.is_last:
            try:
                constraint.accept(token.token)
                if constraint.is_over:
                    end = "stop"
                else:
                    self._batch.restrict(token.text, constraint.mask())
            except Error as failed:
                problem = failed
            if end or problem:
                self._batch.remove(token.text)
                token = replace(token, end=end, error=problem)
        if token.is_last:
            del self._jobs[token.text]
        return token
