"""A model that answers, and its answers."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..compiler import compile  # noqa: A004
from ..error import Error
from ..generate import Generation, GenerationCache
from ..model import Model
from ..model import load as load_package
from .folder import Config, Texts, is_compiled, network_path, read_config
from .structure import ConstrainedGeneration, Structures
from .template import ChatTemplate
from .texts import AnswerText, Tokenizer, ToolCall

CHOICES = {"temperature": 1.0, "top_k": None, "top_p": 1.0, "min_p": 0.0, "repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}
"""Ways of choosing tokens, and what does nothing."""


@dataclass(frozen=True)
class Usage:
    """Tokens of a prompt and of its answer."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    """Tokens of the prompt that an earlier answer had computed."""


@dataclass(frozen=True)
class TokenLogprob:
    """A token of an answer, with the natural logarithm of its probability before temperature, filters and penalties."""

    token: str
    logprob: float
    top: list[tuple[str, float]]
    """What was likeliest in its place."""


class _Said:
    """How far an answer is. Apart from the answer, which would otherwise refer to itself and outlive a loop that is left."""

    def __init__(self, text: AnswerText, logprobs: bool) -> None:
        self.text = ""
        self.tokens = 0
        self.finish: str | None = None
        self.pieces = text
        self.logprobs: list[TokenLogprob] | None = [] if logprobs else None


def _pieces(said: _Said, generation: Generation | ConstrainedGeneration, tokenizer: Tokenizer) -> Iterator[str]:
    """Text that is certain, of which some is empty."""
    stopped = False
    with generation:
        for token in generation:
            said.tokens += 1
            if said.logprobs is not None:
                name = tokenizer.library.id_to_token
                said.logprobs.append(TokenLogprob(name(token) or "", generation.logprob, [(name(each) or "", value) for each, value in generation.top]))
            text, stopped = said.pieces.push(token)
            yield text
            if stopped:
                break
        how = "stop" if stopped else generation.how or "stop"
    text, finish = said.pieces.end(how, stopped)
    yield text
    said.finish = finish


class Answer:
    """The pieces of a text as they are made, an iterator of str. `text` waits for the whole. It holds the model until it ends, close() is
    called, a `with` block around it ends, or nothing refers to it any more."""

    def __init__(self, generation: Generation | ConstrainedGeneration, tokenizer: Tokenizer, prompt_tokens: int, cached_tokens: int, stop: Sequence[str], tools: bool, logprobs: bool) -> None:
        self._said = _Said(AnswerText(tokenizer, stop, tools), logprobs)
        self._prompt_tokens = prompt_tokens
        self._cached_tokens = cached_tokens
        self._generation = generation
        self._pieces = _pieces(self._said, generation, tokenizer)

    def __iter__(self) -> Answer:
        return self

    def __next__(self) -> str:
        while not (piece := next(self._pieces)):
            pass
        self._said.text += piece
        return piece

    def close(self) -> None:
        """Ends it: what was said stays."""
        self._pieces.close()
        self._generation.close()

    def __enter__(self) -> Answer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def text(self) -> str:
        """All of it, waited for; without calls of tools."""
        for _ in self:
            pass
        return self._said.text

    @property
    def finish_reason(self) -> str | None:
        """"stop", "length" (max_tokens, or the context is full) or "tool_calls"; None: it has not ended."""
        return self._said.finish

    @property
    def tool_calls(self) -> list[ToolCall]:
        """So far."""
        return list(self._said.pieces.calls)

    @property
    def usage(self) -> Usage:
        """So far."""
        return Usage(self._prompt_tokens, self._said.tokens, self._cached_tokens)

    @property
    def logprobs(self) -> list[TokenLogprob] | None:
        """So far, where `top_logprobs` was given."""
        return self._said.logprobs


class LanguageModel:
    """What load() gives. One answer at a time."""

    def __init__(self, folder: Path, model: Model, config: Config, tokenizer: Tokenizer, template: ChatTemplate | None, context_length: int) -> None:
        self.name = re.sub(r"(-\d{5}-of-\d{5})?\.gguf$", "", folder.resolve().name)
        self._folder = folder
        self._structures: Structures | None = None  # loaded when an answer of a form is asked for
        self.model = model
        self.context_length = context_length
        """The most tokens of a prompt and its answer."""
        self.tokenizer = tokenizer
        self._template = template
        self._defaults = config.defaults
        self._cache = GenerationCache()  # of the latest text: the next prompt of a conversation begins with it
        ends = [tokenizer.id_of(end) if isinstance(end, str) else end for end in config.ends]
        self._stop_tokens = sorted({end for end in ends if end is not None})

    @property
    def words(self) -> int:
        """The size of the vocabulary."""
        return next(port.shape[-1] for port in self.model.outputs if port.name == "logits") or 0

    def encode(self, text: str) -> list[int]:
        """Tokens of a text, with those that texts begin and end with."""
        return self.tokenizer.encode(text)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of tokens, without special ones."""
        return self.tokenizer.decode(ids)

    def prompt_of(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Any] | None = None, **variables: Any) -> str:
        """The prompt of a conversation, as the model reads it. variables: of the chat template, such as enable_thinking=False."""
        if self._template is None:
            raise Error("has no chat template", self.name, "use complete(), or give load() a chat_template")
        return self._template.prompt(messages, tools, variables)

    def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Any] | None = None,
        variables: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Answer:
        """The answer to a conversation, [{"role": "user", "content": "..."}].

        tools: as OpenAI's API describes functions; calls that the model asks for are Answer.tool_calls. variables: of the chat template.
        options: max_tokens, stop, seed, temperature, top_k, top_p, min_p, repetition_penalty, presence_penalty, frequency_penalty,
        logit_bias, top_logprobs, response_format, as complete() has them. Raises Error for a conversation that the template refuses, one longer than the context, an
        option that is unknown or wrong, and while another answer is under way.
        """
        prompt = self.tokenizer.encode(self.prompt_of(messages, tools, **(variables or {})), special=False)
        return self._answer(prompt, bool(tools), **options)

    def complete(self, prompt: str | Sequence[int], **options: Any) -> Answer:
        """What follows a text, or tokens.

        options: max_tokens (None: to the end of the context); stop: a string or several, which end the text and are not said; seed: one seed
        gives one text on a target; temperature (0: the likeliest token), top_k, top_p, min_p, repetition_penalty, presence_penalty,
        frequency_penalty: as Model.generate() has them, by default what generation_config.json suggests; top_logprobs: how many of the
        likeliest tokens Answer.logprobs has for each; logit_bias: {token: what is added to its logit}; response_format: the form of the answer, whose tokens are chosen among those that keep it:
        {"type": "json_object"}, {"type": "json_schema", "json_schema": {"name": ..., "schema": ...}}, {"type": "regex", "pattern": ...} or
        {"type": "grammar", "grammar": ...} in GBNF. Raises Error as chat(), and for a form that is wrong.
        """
        return self._answer(self.tokenizer.encode(prompt) if isinstance(prompt, str) else list(prompt), False, **options)

    @property
    def structures(self) -> Structures:
        """Forms of answers. Raises Error where llguidance is not installed."""
        if self._structures is None:
            with tempfile.TemporaryDirectory() as place:
                file = self._folder / "tokenizer.json"
                if self._folder.is_file():
                    file = Path(place, "tokenizer.json")
                    file.write_text(Texts(self._folder).text("tokenizer.json") or "", "utf-8")
                self._structures = Structures(file, self.words, self._stop_tokens)
        return self._structures

    def generation_options(self, prompt_tokens: int, *, max_tokens: int | None = None, seed: int | None = None, top_logprobs: int = 0, logit_bias: Mapping[int, float] | None = None, **choices: Any) -> dict[str, Any]:
        """Options of Model.generate() for an answer to so many tokens, by those of complete(). Raises Error for an option that is unknown, and for a
        prompt that is longer than the context."""
        for name in choices:
            if name not in CHOICES:
                raise Error("is not an option", name, f"max_tokens, stop, seed, top_logprobs, logit_bias, response_format, {', '.join(CHOICES)}")
        if prompt_tokens >= self.context_length:
            raise Error(f"has {prompt_tokens} tokens; the model's context has {self.context_length}", "the prompt", "shorten it")
        room = self.context_length - prompt_tokens
        given = {name: choice for name, none in CHOICES.items() if (choice := choices.get(name, self._defaults.get(name, none))) is not None}
        if given.get("top_k", 1) < 1:
            del given["top_k"]
        return {"max_tokens": room if max_tokens is None else min(max_tokens, room), "stop_tokens": self._stop_tokens, "seed": seed, "top_logprobs": top_logprobs, **({"logit_bias": logit_bias} if logit_bias else {}), **given}

    def _answer(self, prompt: list[int], tools: bool, *, stop: str | Sequence[str] = (), response_format: Mapping[str, Any] | None = None, **options: Any) -> Answer:
        given = self.generation_options(len(prompt), **options)
        stops = [stop] if isinstance(stop, str) else list(stop)
        if not all(isinstance(each, str) and each for each in stops):
            raise Error(f"is {stop!r}", "stop", "a string or several, none of them empty")
        constraint = self.structures.constraint(response_format) if response_format else None
        if constraint is not None:
            generation: Generation | ConstrainedGeneration = ConstrainedGeneration(self.model.generate_batch(places=1), prompt, constraint, given)
        else:
            generation = self.model.generate(prompt, cache=self._cache, **given)
        cached = self._cache.reused if constraint is None else 0
        return Answer(generation, self.tokenizer, len(prompt), cached, stops, tools, given["top_logprobs"] > 0)

    def __repr__(self) -> str:
        return f"<gossamer.llm.LanguageModel {self.name} ({self.context_length} tokens)>"


def _library(text: str) -> Any:
    try:
        import jinja2  # noqa: F401: of the template
        import tokenizers
    except ImportError as problem:
        raise Error(f"needs a package that is not installed: {problem.name}", "gossamer.llm", "pip install gossamer[llm]") from problem
    try:
        return tokenizers.Tokenizer.from_str(text)
    except Exception as problem:  # tokenizers raises Exception itself
        raise Error(f"cannot be read: {problem}", "tokenizer.json") from problem


def load(
    folder: str | os.PathLike[str],
    target: str = "cpu",
    *,
    dtype: str | None = None,
    file: str | None = None,
    context_length: int | None = None,
    chat_template: str | None = None,
    threads: int = 0,
    **options: Any,
) -> LanguageModel:
    """Loads a language model from a folder of Hugging Face form or a GGUF file, which it compiles, or a compiled package with the tokenizer's files.

    A GGUF file has all in it. A folder has tokenizer.json, tokenizer_config.json, config.json or genai_config.json, and ONNX files as Optimum, Transformers.js or
    onnxruntime-genai export them, or else safetensors files. target: as compile() has it. dtype: which weights, "q4f16", "q4", "q8", "int8", "uint8", "fp16" or
    "fp32"; None: the smallest. Of safetensors files "q4", "q8", "fp16" or "fp32", as compile() has it. file: the ONNX file's path in the folder. context_length: the most tokens of a prompt and its answer, for
    which memory is reserved; None: what the model was made for. chat_template: in place of the folder's. threads, options: of compile().
    Raises Error for files that are missing or wrong, and as compile() and gossamer.load() do.
    """
    place = Path(folder)
    config = read_config(place)
    most = config.context_length
    length = context_length if context_length is not None else most
    if length is None:
        raise Error("config.json does not say how many tokens the model reads (max_position_embeddings)", str(place), "give context_length")
    if length < 1 or (most is not None and length > most):
        raise Error(f"is {length}", "context_length", f"1 to {most}" if most else "1 or more")
    tokenizer = Tokenizer(_library(config.tokenizer), config.tokenizer)
    source = chat_template or config.template
    template = ChatTemplate(source, config.special) if source else None
    rows = context_length or 0
    if is_compiled(place):
        model = load_package(place, threads, state=True, state_rows=rows)
    else:
        path, stored = network_path(place, file, dtype, config.onnx_file)
        model = compile(path, target, dtype=stored, state=True, generate=True, state_rows=rows, threads=threads, **options).model
    return LanguageModel(place, model, config, tokenizer, template, length)
