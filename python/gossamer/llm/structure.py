"""Answers of a given form: JSON schemas, regular expressions and grammars as masks of the tokens that may come next, by llguidance."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..error import Error
from ..generate import BatchToken, GenerationBatch
from .texts import ToolCalls

if TYPE_CHECKING:
    from llguidance import LLMatcher

STYLE = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""JSON on one line: a model could otherwise write spaces forever."""

FORMS = '{"type": "text"}, {"type": "json_object"}, {"type": "json_schema", "json_schema": {"name": ..., "schema": ...}}, {"type": "regex", "pattern": ...} or {"type": "grammar", "grammar": ...}'


class Constraint:
    """The tokens that may come next in one text."""

    def __init__(self, matcher: LLMatcher) -> None:
        self._matcher = matcher

    def mask(self) -> bytes:
        """A bit for each token, as GenerationBatch.add() takes them. Tokens that end a text have theirs where the text is whole. Raises Error
        where no token may follow."""
        mask = self._matcher.compute_bitmask()
        if not any(mask):
            raise Error(f"no token of the model goes on with the text: {self._matcher.get_error() or 'the form has no end'}", "response_format", "use another form")
        return mask

    def accept(self, token: int) -> None:
        """Goes on with a token that was chosen. Raises Error where it does not fit, which masks prevent."""
        if not self._matcher.consume_token(token):
            raise Error(f"the text left its form: {self._matcher.get_error().splitlines()[0]}", "response_format")

    @property
    def is_over(self) -> bool:
        """Whether nothing but the end may follow."""
        return self._matcher.is_stopped()


class Structures:
    """Forms of answers of one model. file: tokenizer.json. words: the size of the vocabulary. stops: tokens that end a text."""

    def __init__(self, file: Path, words: int, stops: Sequence[int]) -> None:
        try:
            import llguidance
        except ImportError as problem:
            raise Error("needs the package llguidance, which is not installed", "response_format", "pip install gossamer[llm]") from problem
        self._library = llguidance
        if not stops:
            raise Error("the model has no token that ends a text", "response_format", 'name one in config.json: "eos_token_id"')
        try:
            self._tokenizer = llguidance.LLTokenizer(str(file), n_vocab=words, eos_token=list(stops))
        except Exception as problem:  # llguidance raises Exception itself
            raise Error(f"cannot restrict tokens of this tokenizer: {problem}", str(file)) from problem

    def constraint(self, form: Mapping[str, Any] | None, tools: Sequence[Mapping[str, Any]] = (), parallel: bool = True) -> Constraint | None:
        """A new text. form: as response_format of OpenAI's API, with regular expressions and grammars (GBNF) as well. tools: the text is calls of some
        of these, several where `parallel`. None: any text. Raises Error for a form that is wrong or not supported."""
        grammar = self._calls(tools, parallel) if tools else self._grammar(form or {"type": "text"})
        if grammar is None:
            return None
        matcher = self._library.LLMatcher(self._tokenizer, grammar)
        if matcher.is_error():
            where = "tools" if tools else "response_format"
            raise Error(f"cannot be met: {matcher.get_error().splitlines()[0]}", where, "use another form")
        return Constraint(matcher)

    def _grammar(self, form: Mapping[str, Any]) -> str | None:
        matcher = self._library.LLMatcher
        try:
            match form:
                case {"type": "text"}:
                    return None
                case {"type": "json_object"}:
                    return matcher.grammar_from_json_schema({"type": "object"}, defaults=STYLE)
                case {"type": "json_schema", "json_schema": {"schema": Mapping() as schema}}:
                    return matcher.grammar_from_json_schema(dict(schema), defaults=STYLE)
                case {"type": "json_schema", "json_schema": Mapping() as of} if "schema" not in of:
                    return matcher.grammar_from_json_schema({"type": "object"}, defaults=STYLE)
                case {"type": "regex", "pattern": str() as pattern}:
                    return matcher.grammar_from_regex(pattern)
                case {"type": "grammar", "grammar": str() as grammar}:
                    from llguidance.gbnf_to_lark import gbnf_to_lark

                    return matcher.grammar_from_lark(gbnf_to_lark(grammar))
        except Exception as problem:  # llguidance's own
            raise Error(f"cannot be read: {problem}", "response_format") from problem
        raise Error(f"is {json.dumps(form, default=str)[:200]}", "response_format", FORMS)

    def _mark(self, text: str) -> str:
        """A tag in a grammar, which may be a token of its own."""
        tokens = self._tokenizer.tokenize_str(text, parse_special=True)
        return f"<[{tokens[0]}]>" if len(tokens) == 1 and self._tokenizer.is_special_token(tokens[0]) else json.dumps(text)

    def _calls(self, tools: Sequence[Mapping[str, Any]], parallel: bool) -> str:
        names = []
        rules = []
        for at, tool in enumerate(tools):
            function = tool["function"]
            schema = {"type": "object", **(function.get("parameters") or {"properties": {}, "additionalProperties": False}), "x-guidance": STYLE}
            head = json.dumps(f'\n{{"name": {json.dumps(function["name"])}, "arguments": ')
            names.append(f"call{at}")
            rules.append(f'call{at}: {self._mark(ToolCalls.OPEN)} {head} arguments{at} "}}\\n" {self._mark(ToolCalls.CLOSE)}')
            rules.append(f"arguments{at}: %json {json.dumps(schema)}")
        more = ' ("\\n" call)*' if parallel else ""
        return self._library.LLMatcher.grammar_from_lark("\n".join([f"start: call{more}", f"call: {' | '.join(names)}", *rules]))


class ConstrainedGeneration:
    """One text of a batch whose tokens are restricted, with what Generation has."""

    def __init__(self, batch: GenerationBatch, prompt: Sequence[int], constraint: Constraint, options: dict[str, Any]) -> None:
        self._batch = batch
        self._constraint = constraint
        self._latest: BatchToken | None = None
        self.how: str | None = None
        try:
            self._text = batch.add(prompt, mask=constraint.mask(), **options)
        except BaseException:
            batch.close()
            raise
        self._is_open = True

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        while self._is_open and self.how is None:
            for each in self._batch.step():
                self._latest, self.how = each, each.end
                if each.error is not None:
                    self.close()
                    raise each.error
                if each.token is None:
                    continue
                self._constraint.accept(each.token)
                if each.end is None and self._constraint.is_over:
                    self.how = "stop"
                elif each.end is None:
                    self._batch.restrict(self._text, self._constraint.mask())
                return each.token
        self.close()
        raise StopIteration

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._batch.close()

    def __enter__(self) -> ConstrainedGeneration:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def logprob(self) -> float:
        return self._latest.logprob if self._latest else 0.0

    @property
    def top(self) -> list[tuple[int, float]]:
        return self._latest.top if self._latest else []
