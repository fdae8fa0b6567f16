"""Tokens as text that arrives in pieces: characters are never divided, stop strings end it, calls of tools are taken out."""

from __future__ import annotations

import codecs
import json
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

SHOWN = re.compile(r"</?(tool_call|think|tool_response)>")
"""Special tokens that are part of the text: markup that readers of the text parse."""

BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def _byte_of_character() -> dict[str, int]:
    """The characters by which byte-level tokenizers write bytes: GPT-2's bytes_to_unicode()."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {chr(256 + at): byte for at, byte in enumerate(others)}


BYTE_OF = _byte_of_character()


class Tokenizer:
    """A tokenizers.Tokenizer, with the bytes of its tokens."""

    def __init__(self, library: Any, file: str) -> None:
        self.library = library
        description = json.loads(file)
        self._hidden = {token["id"] for token in description.get("added_tokens") or [] if token.get("special") and not SHOWN.fullmatch(token["content"])}
        decoder = description.get("decoder") or {}
        kinds = {decoder.get("type"), *(each.get("type") for each in decoder.get("decoders") or [])}
        self._is_byte_level = "ByteLevel" in kinds
        self._has_byte_tokens = "ByteFallback" in kinds
        self._bytes: dict[int, bytes | None] = {}

    def encode(self, text: str, *, special: bool = True) -> list[int]:
        return self.library.encode(text, add_special_tokens=special).ids

    def decode(self, ids: Iterable[int]) -> str:
        """Without special tokens."""
        pieces = Detokenizer(self)
        return "".join([pieces.push(token) for token in ids]) + pieces.end()

    def id_of(self, token: str) -> int | None:
        return self.library.token_to_id(token)

    def is_shown(self, token: int) -> bool:
        return token not in self._hidden and self.library.id_to_token(token) is not None

    def joined(self, ids: Sequence[int]) -> str:
        """The text of a few tokens by the file's decoder."""
        return self.library.decode(list(ids), skip_special_tokens=False) if ids else ""

    def bytes_of(self, token: int) -> bytes | None:
        """The bytes of a token that may be a part of a character; None: it is text."""
        if token not in self._bytes:
            text = self.library.id_to_token(token) or ""
            if self._is_byte_level:
                codes = [BYTE_OF.get(character) for character in text]
                # An added token of other characters is written as it is.
                self._bytes[token] = text.encode() if None in codes else bytes(code for code in codes if code is not None)
            else:
                found = BYTE.fullmatch(text) if self._has_byte_tokens else None
                self._bytes[token] = bytes([int(found[1], 16)]) if found else None
        return self._bytes[token]


class Detokenizer:
    """Tokens that arrive one by one, as text. Never gives a part of a character."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # also holds the bytes of a character that is not whole
        self._last: int | None = None  # decides how the next one begins: with a space, say

    def push(self, token: int) -> str:
        """The text that is certain after this token and was not before."""
        own = self._tokenizer
        if not own.is_shown(token):
            return ""
        data, last, self._last = own.bytes_of(token), self._last, token
        if data is not None:
            # Decoders that strip a space at the beginning of a text do so where it is a byte, too.
            return "" if last is None and len(data) == 1 and own.joined([token]) == "" else self._decoder.decode(data)
        before = self.end()
        if last is None:
            return before + own.joined([token])
        return before + own.joined([last, token])[len(own.joined([last])) :]

    def end(self) -> str:
        """The rest of the text. Invalid UTF-8 is U+FFFD."""
        text = self._decoder.decode(b"", True)
        self._decoder.reset()
        return text


def overlap(text: str, string: str) -> int:
    """How many characters at the end of a text are the beginning of a string that is not whole."""
    return next((length for length in range(min(len(text), len(string) - 1), 0, -1) if text.endswith(string[:length])), 0)


class StopStrings:
    """Ends a text at the first of some strings, wherever these begin and end in the pieces that the text comes in."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = stops
        self._held = ""  # may be the beginning of a stop string

    def push(self, piece: str) -> tuple[str, bool]:
        """What can be said of the text so far, and whether a stop string ended it."""
        text = self._held + piece
        found = [at for stop in self._stops if (at := text.find(stop)) >= 0]
        if found:
            self._held = ""
            return text[: min(found)], True
        at = len(text) - max((overlap(text, stop) for stop in self._stops), default=0)
        self._held = text[at:]
        return text[:at], False

    def end(self) -> str:
        text, self._held = self._held, ""
        return text


@dataclass(frozen=True)
class ToolCall:
    """A call that the model asks for."""

    name: str
    arguments: Any
    """A dictionary, mostly: what the model wrote as JSON."""
    id: str = field(default_factory=lambda: f"call_{secrets.token_hex(12)}", compare=False)

    def as_message(self) -> dict[str, Any]:
        """As the messages of a conversation have it, in "tool_calls" of the assistant."""
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}


def _call_of(text: str) -> ToolCall | None:
    try:
        made = json.loads(text)
        name = made.get("name")
    except (ValueError, AttributeError):
        return None
    return ToolCall(name, made.get("arguments", made.get("parameters", {}))) if isinstance(name, str) else None


class ToolCalls:
    """Takes calls, <tool_call>{"name": ..., "arguments": ...}</tool_call>, out of a text. What looks like one and is none stays text."""

    OPEN, CLOSE = "<tool_call>", "</tool_call>"

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self._held = ""

    def push(self, piece: str) -> str:
        rest, text = self._held + piece, ""
        while (at := rest.find(self.OPEN)) >= 0 and (end := rest.find(self.CLOSE, at)) >= 0:
            call = _call_of(rest[at + len(self.OPEN) : end])
            end += len(self.CLOSE)
            text += rest[: at if call else end]
            self.calls += [call] if call else []
            rest = rest[end:]
        if at < 0:
            at = len(rest) - overlap(rest, self.OPEN)
        self._held = rest[at:]
        return text + rest[:at]

    def end(self) -> str:
        """What is left. The closing mark may be missing: some models end their turn with the call."""
        held, self._held = self._held, ""
        call = _call_of(held[len(self.OPEN) :]) if held.startswith(self.OPEN) else None
        self.calls += [call] if call else []
        return "" if call else held


class AnswerText:
    """Tokens of one answer as text that can be shown, without calls of tools."""

    def __init__(self, tokenizer: Tokenizer, stops: Sequence[str], tools: bool) -> None:
        self._detokenizer = Detokenizer(tokenizer)
        self._filter = StopStrings(stops)
        self._calls = ToolCalls() if tools else None

    @property
    def calls(self) -> list[ToolCall]:
        """So far."""
        return self._calls.calls if self._calls else []

    def push(self, token: int) -> tuple[str, bool]:
        """What can be said after a token, and whether a stop string ended the text."""
        text, stopped = self._filter.push(self._detokenizer.push(token))
        return self._calls.push(text) if self._calls else text, stopped

    def end(self, how: str, stopped: bool) -> tuple[str, str]:
        """The rest, and how the answer ended: as the text did, or with calls. stopped: a stop string ended the text."""
        text = ""
        if not stopped:
            text, stopped = self._filter.push(self._detokenizer.end())
            text = text if stopped else text + self._filter.end()
            text = self._calls.push(text) if self._calls else text
        if self._calls:
            text += self._calls.end()
        return text, "tool_calls" if self.calls and how == "stop" else how
