"""Conversations as the text that a model was trained on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ..error import Error

ROLES = ("system", "developer", "user", "assistant", "tool")


def _environment() -> Any:
    """As transformers renders chat templates."""
    from jinja2.ext import loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def refuse(message: str) -> None:
        raise ValueError(message)

    def tojson(value: Any, ensure_ascii: bool = False, indent: int | None = None, separators: Any = None, sort_keys: bool = False) -> str:
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    made.filters["tojson"] = tojson
    made.globals.update(raise_exception=refuse, strftime_now=lambda form: datetime.now().strftime(form))
    return made


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    """With arguments as an object, which templates print."""
    function = dict(call["function"])
    if isinstance(function.get("arguments"), str):
        try:
            function["arguments"] = json.loads(function["arguments"])
        except ValueError:
            pass  # text that is not JSON is kept as it is
    return {**call, "function": function}


def checked(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Messages as templates expect them: content is text, developers are the system. Raises Error for what is not a conversation."""
    if isinstance(messages, (str, Mapping)) or not all(isinstance(each, Mapping) for each in messages):
        raise Error("is not a list of messages", "messages", 'pass [{"role": "user", "content": "..."}]')
    if not messages:
        raise Error("there is none", "messages", 'pass [{"role": "user", "content": "..."}]')
    made = []
    for at, message in enumerate(messages):
        where = f"messages[{at}]"
        role, content, calls = message.get("role"), message.get("content"), message.get("tool_calls")
        if role not in ROLES:
            raise Error(f"the role is {role!r}", where, f"one of {', '.join(ROLES)}")
        if isinstance(content, (list, tuple)) and all(isinstance(part, Mapping) and part.get("type") == "text" for part in content):
            content = "".join(part["text"] for part in content)
        if not isinstance(content, str) and not (content is None and role == "assistant" and calls):
            raise Error("the content is not text", where, "language models here read text only")
        given = {**message, "role": "system" if role == "developer" else role, "content": content or ""}
        made.append({**given, "tool_calls": [_call(call) for call in calls]} if calls else given)
    return made


class ChatTemplate:
    """source: a template, or [{"name": ..., "template": ...}]. Raises Error for one that is wrong."""

    def __init__(self, source: Any, special: Mapping[str, str]) -> None:
        from jinja2 import TemplateError

        own = _environment()
        named = {"default": source} if isinstance(source, str) else {each["name"]: each["template"] for each in source}
        try:
            self._templates = {name: own.from_string(text) for name, text in named.items()}
        except TemplateError as problem:
            raise Error(f"cannot be read: {problem}", "the chat template") from problem
        self._special = special

    def prompt(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Any] | None, variables: Mapping[str, Any]) -> str:
        """The prompt of an answer. Raises Error for a conversation that the template refuses."""
        from jinja2 import TemplateError

        template = (self._templates.get("tool_use") if tools else None) or self._templates.get("default") or next(iter(self._templates.values()))
        given = {**self._special, "messages": checked(messages), **({"tools": list(tools)} if tools else {}), "add_generation_prompt": True, **variables}
        try:
            return template.render(**given)
        except (TemplateError, ValueError, TypeError) as problem:
            raise Error(f"the model's chat template refuses them: {problem}", "messages") from problem
