"""A conversation in the terminal: gossamer-chat MODEL, gossamer chat MODEL or python -m gossamer.llm MODEL."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

from ..error import Error
from .language_model import CHOICES, LanguageModel, load

HELP = "/new begins anew, /again answers once more, /exit ends; Ctrl+C ends an answer"


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="gossamer chat", description="Talk to a language model.")
    made.add_argument("model", help="a folder of Hugging Face form with ONNX or safetensors files, a compiled package with the tokenizer's files, or a GGUF file")
    made.add_argument("--target", default="cpu", help="cpu, or this machine's GPU: webgpu, opencl, opengl (default: cpu)")
    made.add_argument("--prompt", "-p", help="the one message; without it, messages are read from the terminal, or one from standard input")
    made.add_argument("--system", help="the system message")
    made.add_argument("--dtype", help="which weights, where the folder has several: q4f16, q4, q8, int8, uint8, fp16, fp32; of safetensors files how they are stored: q4, q8, fp16, fp32")
    made.add_argument("--file", help="the ONNX file's path in the folder")
    made.add_argument("--context-length", type=int, help="the most tokens of a conversation")
    made.add_argument("--threads", type=int, default=0, help="of a run; 0 takes one a core")
    made.add_argument("--max-tokens", type=int, help="of an answer")
    made.add_argument("--seed", type=int, help="one seed gives one text")
    for name in CHOICES:
        made.add_argument(f"--{name.replace('_', '-')}", type=int if name == "top_k" else float, help=argparse.SUPPRESS if name.endswith("penalty") else "of draws; by default what the folder suggests")
    made.add_argument("--stats", action="store_true", help="print tokens and tokens per second after each answer")
    return made


class Conversation:
    """Messages so far, and their answers on standard output."""

    def __init__(self, llm: LanguageModel, system: str | None, options: dict[str, Any], stats: bool) -> None:
        self._llm = llm
        self._system = [{"role": "system", "content": system}] if system else []
        self._options = options
        self._stats = stats
        self.messages: list[dict[str, Any]] = list(self._system)

    def begin(self) -> None:
        """Without what was said."""
        self.messages = list(self._system)

    def ask(self, text: str) -> None:
        """Prints the answer, which becomes a part of the conversation, also where Ctrl+C ends it."""
        self.messages.append({"role": "user", "content": text})
        try:
            self._answer()
        except Error:
            self.messages.pop()
            raise

    def again(self) -> None:
        """Another answer to the last message."""
        if self.messages and self.messages[-1]["role"] == "assistant":
            self.messages.pop()
        if self.messages and self.messages[-1]["role"] == "user":
            self._answer()

    def _answer(self) -> None:
        said, begin, first = "", time.perf_counter(), 0.0
        with self._llm.chat(self.messages, **self._options) as answer:
            try:
                for piece in answer:
                    first = first or time.perf_counter()
                    said += piece
                    print(piece, end="", flush=True)
            except KeyboardInterrupt:
                print(" ...", end="")
            print(flush=True)
            self.messages.append({"role": "assistant", "content": said})
            if self._stats and first:
                rate = (answer.usage.completion_tokens - 1) / max(time.perf_counter() - first, 1e-9)
                print(f"{answer.usage.prompt_tokens} + {answer.usage.completion_tokens} tokens, first after {first - begin:.2f} s, then {rate:.1f} tokens/s, {answer.finish_reason or 'ended'}", file=sys.stderr)


def _talk(conversation: Conversation) -> None:
    try:
        import readline  # noqa: F401: input() then edits lines
    except ImportError:
        pass
    print(HELP, file=sys.stderr)
    while True:
        try:
            text = input("> ").strip()
        except (EOFError, KeyboardInterrupt):
            print()
            return
        try:
            if text == "/exit":
                return
            if text == "/new":
                conversation.begin()
            elif text == "/again":
                conversation.again()
            elif text.startswith("/"):
                print(HELP, file=sys.stderr)
            elif text:
                conversation.ask(text)
        except Error as problem:
            print(f"gossamer: {problem}", file=sys.stderr)


def main(words: Sequence[str] | None = None) -> int:
    """The exit code: 0, or 1 for what went wrong, with one line on standard error."""
    given = vars(_parser().parse_args(words))
    options = {name: given[name] for name in ("max_tokens", "seed", *CHOICES) if given[name] is not None}
    try:
        llm = load(given["model"], given["target"], dtype=given["dtype"], file=given["file"], context_length=given["context_length"], threads=given["threads"])
        conversation = Conversation(llm, given["system"], options, given["stats"])
        if given["prompt"] is not None:
            conversation.ask(given["prompt"])
        elif sys.stdin.isatty():
            _talk(conversation)
        else:
            conversation.ask(sys.stdin.read().strip())
    except Error as problem:
        print(f"gossamer: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0
