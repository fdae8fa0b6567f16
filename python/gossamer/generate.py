"""Text from a language model."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from . import _core
from .error import Error


class Generation:
    """The tokens that follow a prompt, an iterator of int: what Model.generate() gives.

    It holds the model until it ends, close() is called, a `with` block around it ends, or nothing refers to it any more, as after a loop
    `for token in model.generate(prompt)` that is left. Model.state is then that of the prompt and the tokens that were given, but for the
    last one where no run was fed with it. next() raises Error where a run fails, as at the end of the model's context.
    """

    def __init__(self, native: _core.Generation) -> None:
        self._native = native

    def __iter__(self) -> Generation:
        return self

    def __next__(self) -> int:
        token = self._native.next()
        if token is None:
            raise StopIteration
        return token

    def close(self) -> None:
        """Ends it. Tokens on their way are discarded."""
        self._native.close()

    def __enter__(self) -> Generation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def how(self) -> str | None:
        """How it ended: "stop", by a stop token; "length", by max_tokens; None: not yet, or otherwise."""
        return self._native.how or None

    @property
    def logprob(self) -> float:
        """Of the latest token, with top_logprobs: the natural logarithm of the probability that the model gives, before temperature, filters
        and penalties."""
        return self._native.logprob

    @property
    def top(self) -> list[tuple[int, float]]:
        """After the latest token, with top_logprobs: (token, logprob) of what was likeliest in its place, the likeliest first."""
        return self._native.top


class GenerationCache:
    """What a language model keeps of a text: Model.generate() with the same cache goes on from it, and computes only the tokens of its prompt
    that differ from those of the cache.

    It starts empty. A generation that ends leaves the state of its prompt and its text here. The model that made the state has it in its own
    memory until its state changes, and then copies it to the host. One generation at a time goes on from a cache.
    """

    def __init__(self) -> None:
        self._native = _core.GenerationCache()

    @classmethod
    def _of(cls, native: _core.GenerationCache) -> GenerationCache:
        made = cls()
        made._native = native
        return made

    @property
    def tokens(self) -> list[int]:
        """The tokens whose state it has."""
        return self._native.tokens

    @property
    def reused(self) -> int:
        """How many tokens of the latest prompt were not computed again."""
        return self._native.reused

    def fork(self) -> GenerationCache:
        """A cache of the same tokens, which goes its own way. Raises Error while a generation goes on with this one."""
        return self._of(self._native.fork())

    def save(self) -> bytes:
        """A file in the safetensors format: `tokens`, and each state by the name of its input. Every run time can load it for the same model,
        whatever the target. Raises Error while a generation goes on with this cache, and for a device that is lost."""
        return self._native.save()

    @classmethod
    def load(cls, data: bytes) -> GenerationCache:
        """What save() gave. Raises Error for other bytes; whether they are of the model shows when they are used."""
        return cls._of(_core.GenerationCache.load(bytes(data)))

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        return f"<gossamer.GenerationCache of {len(self)} tokens>"


@dataclass(frozen=True)
class BatchToken:
    """What a step of a batch gives of one text."""

    text: int
    """The number that add() gave."""
    token: int | None
    """None: a stop token or an error ended the text."""
    end: str | None
    """"stop" or "length": the text is over."""
    logprob: float
    """As Generation.logprob."""
    top: list[tuple[int, float]]
    error: Error | None
    """Of a run: the text is over."""
    reused: int = 0
    """Tokens of its prompt that other texts had computed."""

    @property
    def is_last(self) -> bool:
        """Whether the text is over."""
        return self.end is not None or self.error is not None


class GenerationBatch:
    """Texts that are generated together: what Model.generate_batch() gives. A run computes the next token of all of them.

    Each text is what generate() gives for it alone: with the same tokens where kernels round the same, as those of the CPU do. Prompts have
    any lengths, and texts join and leave between steps. What a prompt shares with the beginning of another text, one of those that run or of the
    latest that ended, is not computed again. It holds the model until it is closed. One thread at a time calls it.
    """

    def __init__(self, native: _core.GenerationBatch) -> None:
        self._native = native

    def add(self, prompt: Iterable[int], *, mask: bytes = b"", **options: Any) -> int:
        """Another text, which waits for a place; gives its number. options: as of Model.generate(), without ahead, prompt_lookup_num_tokens,
        cache and feeds. mask: a bit for each token that may be the first one, the lowest bit of the first byte first, in whole 32-bit
        words; empty: all. Raises Error as generate()."""
        return self._native.add(prompt_of(prompt), options_of(options), mask)

    def restrict(self, text: int, mask: bytes) -> None:
        """Which tokens may be the next one of a text, until this is called again. Raises Error for a mask of another length, or without a
        token."""
        self._native.restrict(text, mask)

    def remove(self, text: int) -> None:
        """Ends a text."""
        self._native.remove(text)

    def step(self) -> list[BatchToken]:
        """Feeds the latest token of each text that has begun, and a part of the prompts that wait. Gives at most one entry a text."""
        return [BatchToken(text, token, end or None, logprob, top, Error(*error) if error else None, reused) for text, token, end, logprob, top, error, reused in self._native.step()]

    @property
    def places(self) -> int:
        """How many texts runs compute together, at most. 1: the model cannot have texts of different lengths in one run, so they are generated
        one after the other."""
        return self._native.places

    @property
    def running(self) -> int:
        """Texts that have begun."""
        return self._native.running

    @property
    def waiting(self) -> int:
        """Texts that wait for a place, or for the rest of their prompt."""
        return self._native.waiting

    def close(self) -> None:
        """Ends all texts, and lets go of the model."""
        self._native.close()

    def __enter__(self) -> GenerationBatch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Generations:
    """Several texts, as an iterator: what Model.generate() gives for a list of prompts. Each step gives a list with a token for each prompt,
    None where its text has no token: it is over, or has not begun."""

    def __init__(self, batch: GenerationBatch, prompts: Sequence[Sequence[int]], options: dict[str, Any]) -> None:
        self._batch = batch
        self._how: list[str | None] = [None] * len(prompts)
        self._error: Error | None = None
        try:
            for prompt in prompts:
                batch.add(prompt, **options)
        except BaseException:
            batch.close()
            raise

    def __iter__(self) -> Generations:
        return self

    def __next__(self) -> list[int | None]:
        given: list[int | None] = [None] * len(self._how)
        while self._error is None and self._batch.running + self._batch.waiting > 0:
            for each in self._batch.step():
                given[each.text] = each.token
                self._how[each.text] = each.end
                self._error = self._error or each.error
            if any(token is not None for token in given):
                return given
        self.close()
        if self._error is not None:
            problem, self._error = self._error, None
            raise problem
        raise StopIteration

    def close(self) -> None:
        """Ends them."""
        if self._is_open:
            self._is_open = False
            self._batch.close()

    _is_open = True

    def __enter__(self) -> Generations:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def how(self) -> list[str | None]:
        """How each ended, as Generation.how."""
        return list(self._how)


def options_of(given: dict[str, Any]) -> _core.GenerateOptions:
    """None stands for what is not given. Raises Error for a value of another type."""
    options = _core.GenerateOptions()
    for name, value in given.items():
        if value is None:
            continue
        if name == "seed":
            value = int(value) % 2**64
        try:
            if name == "logit_bias":
                value = {operator.index(token): float(bias) for token, bias in value.items()}
            setattr(options, name, list(value) if name == "stop_tokens" else value)
        except (TypeError, ValueError, AttributeError) as problem:
            raise Error(f"{name} is {value!r}, not a number" + (" each" if name in ("stop_tokens", "logit_bias") else ""), "generate()") from problem
    return options


def prompt_of(prompt: Iterable[int]) -> Sequence[int]:
    """Raises Error for what is not integers."""
    try:
        return [operator.index(token) for token in prompt]
    except TypeError as problem:
        raise Error(f"the prompt is not a list of integers: {problem}", "generate()", "pass the tokens that a tokenizer gives") from problem
