"""Requests of OpenAI's API: which arguments there are, and what each may be."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class RequestError(Exception):
    """What is wrong with a request, as OpenAI's API says it."""

    def __init__(self, message: str, param: str | None = None, code: str | None = None, status: int = 400, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.param, self.code, self.status = param, code, status
        self.headers = dict(headers or {})

    def body(self) -> dict[str, Any]:
        kind = {401: "authentication_error", 404: "invalid_request_error", 503: "server_error", 500: "server_error"}.get(self.status, "invalid_request_error")
        return {"error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}}


@dataclass(frozen=True)
class Kind:
    wanted: str
    accepts: Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_list(value: Any, accepts: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(accepts(each) for each in value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_tokens(value: Any) -> bool:
    return _is_list(value, _is_integer)


def _is_choice(value: Any) -> bool:
    if value in ("auto", "none", "required"):
        return True
    return isinstance(value, dict) and value.get("type") == "function" and isinstance(value.get("function"), dict) and _is_text(value["function"].get("name"))


def number(least: float, most: float) -> Kind:
    return Kind(f"a number of {least:g} to {most:g}", lambda value: _is_number(value) and least <= value <= most)


def integer(least: int, most: int | None = None) -> Kind:
    wanted = f"an integer of at least {least}" if most is None else f"an integer of {least} to {most}"
    return Kind(wanted, lambda value: _is_integer(value) and value >= least and (most is None or value <= most))


TEXT = Kind("a string", _is_text)
FLAG = Kind("a boolean", lambda value: isinstance(value, bool))
OBJECT = Kind("an object", lambda value: isinstance(value, dict))
LIST = Kind("an array", lambda value: isinstance(value, list))
MOST_CHOICES = 128
MOST_BIAS = 100


def _is_bias(value: Any) -> bool:
    return isinstance(value, dict) and all(re.fullmatch("[0-9]{1,10}", token) and _is_number(bias) and abs(bias) <= MOST_BIAS for token, bias in value.items())



COMMON = {
    "model": TEXT,
    "stream": FLAG,
    "stream_options": OBJECT,
    "max_tokens": integer(1),
    "n": integer(1, MOST_CHOICES),
    "seed": integer(-(2**63), 2**63 - 1),
    "stop": Kind("a string or an array of strings, none of them empty", lambda value: (_is_text(value) and value != "") or _is_list(value, lambda each: _is_text(each) and each != "")),
    "temperature": number(0, 2),
    "top_p": number(0, 1),
    "top_k": integer(-1),
    "min_p": number(0, 1),
    "presence_penalty": number(-2, 2),
    "frequency_penalty": number(-2, 2),
    "repetition_penalty": number(0.01, 100),
    "response_format": OBJECT,
    "logit_bias": Kind(f"an object from tokens to numbers of {-MOST_BIAS} to {MOST_BIAS}", _is_bias),
    # Without a meaning here.
    "user": TEXT,
    "metadata": OBJECT,
    "store": FLAG,
    "service_tier": TEXT,
    "safety_identifier": TEXT,
    "prompt_cache_key": TEXT,
}
CHAT = {
    **COMMON,
    "messages": LIST,
    "max_completion_tokens": integer(1),
    "tools": LIST,
    "tool_choice": Kind('"auto", "none", "required" or {"type": "function", "function": {"name": ...}}', _is_choice),
    "parallel_tool_calls": FLAG,
    "chat_template_kwargs": OBJECT,
    "logprobs": FLAG,
    "top_logprobs": integer(0, 20),
}
PROMPT = "a string, an array of strings, an array of tokens, or an array of arrays of tokens"
COMPLETION = {
    **COMMON,
    "prompt": Kind(PROMPT, lambda value: _is_text(value) or _is_list(value, _is_text) or _is_tokens(value) or _is_list(value, _is_tokens)),
    "echo": FLAG,
    "logprobs": integer(0, 20),
    "best_of": integer(1, MOST_CHOICES),
    "suffix": TEXT,
}
MISSING: Sequence[tuple[str, Callable[[Any], bool], str]] = (
    ("suffix", lambda value: value == "", "text is only continued, not filled in"),
)
"""Arguments that need something that is not there, unless their value is harmless."""


def checked(body: bytes, table: Mapping[str, Kind], required: str) -> dict[str, Any]:
    """The arguments of a request without those that are null. Raises RequestError."""
    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as problem:
        raise RequestError(f"We could not parse the JSON body of your request: {problem}") from problem
    if not isinstance(given, dict):
        raise RequestError("The request is not an object of arguments.")
    given = {name: value for name, value in given.items() if value is not None}
    for name, value in given.items():
        kind = table.get(name)
        if kind is None:
            raise RequestError(f"Unrecognized request argument supplied: {name[:100]}", name[:100], "unknown_parameter")
        if not kind.accepts(value):
            raise RequestError(f"Invalid value for '{name}': {json.dumps(value)[:200]}. It must be {kind.wanted}.", name, "invalid_value")
    for name in ("model", required):
        if name not in given:
            raise RequestError(f"You must provide '{name}'.", name, "missing_required_parameter")
    if not given[required] and not isinstance(given[required], str):
        raise RequestError(f"Invalid '{required}': the array is empty.", required, "empty_array")
    for name, is_harmless, missing in MISSING:
        if name in given and not is_harmless(given[name]):
            raise RequestError(f"'{name}' is not supported here: {missing}.", name, "unsupported_parameter")
    best_of, n = given.get("best_of"), given.get("n", 1)
    if best_of is not None and best_of < n:
        raise RequestError(f"Invalid value for 'best_of': {best_of}. It must be at least 'n', which is {n}.", "best_of", "invalid_value")
    if best_of is not None and best_of > n and given.get("stream"):
        raise RequestError("'best_of' of more completions than 'n' cannot be streamed.", "best_of", "invalid_value")
    if given.get("top_logprobs") and given.get("logprobs") is not True:
        raise RequestError("'top_logprobs' is only allowed when 'logprobs' is true.", "top_logprobs", "invalid_value")
    if "stream_options" in given and not given.get("stream"):
        raise RequestError("'stream_options' is only allowed when 'stream' is true.", "stream_options", "invalid_value")
    return given


def checked_tools(given: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Tools that the template is given, and those of which a call is asked for. Raises RequestError."""
    tools = given.get("tools", [])
    for at, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, dict) and tool.get("type") == "function" else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not isinstance(function.get("parameters", {}), dict):
            where = f"tools[{at}]"
            raise RequestError(f"Invalid '{where}': it must be {{type: \"function\", function: {{name, description, parameters}}}}.", where, "invalid_value")
    choice = given.get("tool_choice", "auto")
    if choice == "none":
        return [], []
    if choice == "auto":
        return tools, []
    if not tools:
        raise RequestError("'tool_choice' is only allowed when 'tools' are specified.", "tool_choice", "invalid_value")
    if choice == "required":
        return tools, tools
    named = [tool for tool in tools if tool["function"]["name"] == choice["function"]["name"]]
    if not named:
        raise RequestError(f"Invalid 'tool_choice': no function \"{choice['function']['name']}\" is in 'tools'.", "tool_choice", "invalid_value")
    return tools, named
