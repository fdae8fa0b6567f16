"""A language model over HTTP: python -m gossamer.llm serve MODEL, gossamer-serve MODEL or gossamer serve MODEL."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from ..error import Error
from .language_model import LanguageModel, load


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="gossamer serve", description="Answer requests of OpenAI's API with a language model.")
    made.add_argument("model", help="a folder of Hugging Face form with ONNX or safetensors files, or a compiled package with the tokenizer's files")
    made.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    made.add_argument("--port", "-p", type=int, default=8000, help="0 takes a free port (default: 8000)")
    made.add_argument("--token", default=os.environ.get("GOSSAMER_TOKEN"), help="what requests need as Authorization: Bearer TOKEN (default: GOSSAMER_TOKEN)")
    made.add_argument("--name", help="the model's name in requests (default: the folder's)")
    made.add_argument("--target", default="cpu", help="cpu, or this machine's GPU: webgpu, opencl, opengl (default: cpu)")
    made.add_argument("--dtype", help="which weights, where the folder has several: q4f16, q4, q8, int8, uint8, fp16, fp32; of safetensors files how they are stored: q4, q8, fp16, fp32")
    made.add_argument("--file", help="the ONNX file's path in the folder")
    made.add_argument("--context-length", type=int, help="the most tokens of a prompt and its answer")
    made.add_argument("--threads", type=int, default=0, help="of a run; 0 takes one a core")
    made.add_argument("--max-batch", type=int, default=32, help="texts that a run computes together, at most (default: 32)")
    made.add_argument("--prompt-chunk", type=int, default=64, help="tokens of prompts that are computed between two tokens of other texts (default: 64)")
    made.add_argument("--max-waiting", type=int, default=256, help="texts that may wait for their first token; more get 503 (default: 256)")
    made.add_argument("--max-body", type=int, default=4 << 20, help="bytes of a request; more get 413 (default: 4 MiB)")
    made.add_argument("--read-timeout", type=float, default=30, help="seconds for a request to arrive; then 408 (default: 30)")
    made.add_argument("--timeout", type=float, default=300, help="seconds that a text may wait for its first token; then 503 (default: 300)")
    made.add_argument("--end-timeout", type=float, default=60, help="seconds for answers under way after SIGTERM (default: 60)")
    return made


def _say(line: str) -> None:
    print(f"gossamer: {line}", file=sys.stderr, flush=True)


async def _serve(llm: LanguageModel, given: dict[str, Any]) -> None:
    from aiohttp import web

    from .server import Server, Settings

    server = Server(llm, Settings(given["max_batch"], given["prompt_chunk"], given["max_waiting"], given["max_body"], given["read_timeout"], given["timeout"], given["token"] or None))
    # A client that goes away cancels its request, which ends its texts.
    runner = web.AppRunner(server.app(), handler_cancellation=True, access_log=None, shutdown_timeout=given["end_timeout"])
    await runner.setup()
    try:
        site = web.TCPSite(runner, given["host"], given["port"], backlog=1024)
        try:
            await site.start()
        except OSError as problem:
            raise Error(f"cannot listen there: {problem.strerror}", f"{given['host']}:{given['port']}", "use another --port") from problem
        if server.places < given["max_batch"]:
            _say("this model's runs cannot have texts of different lengths: answers are generated one after the other")
        host, port = runner.addresses[0][:2]
        # The one line of standard output: where a script finds the server.
        print(f"http://{f'[{host}]' if ':' in host else host}:{port}", flush=True)
        ends = asyncio.Event()
        loop = asyncio.get_running_loop()

        def end() -> None:
            if ends.is_set():
                _say("ended before all requests were answered")
                os._exit(1)
            server.end()
            ends.set()

        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, end)
        await ends.wait()
    finally:
        # Waits for requests that are being answered.
        await runner.cleanup()


def main(words: Sequence[str] | None = None) -> int:
    """The exit code: 0, or 1 for what went wrong, with one line on standard error."""
    given = vars(_parser().parse_args(words))
    try:
        try:
            import aiohttp  # noqa: F401
            import prometheus_client  # noqa: F401
        except ImportError as problem:
            raise Error(f"needs a package that is not installed: {problem.name}", "serve", "pip install gossamer[serve]") from problem
        for name in ("max_batch", "prompt_chunk", "max_waiting", "max_body"):
            if given[name] < 1:
                raise Error(f"is {given[name]}", f"--{name.replace('_', '-')}", "1 or more")
        llm = load(given["model"], given["target"], dtype=given["dtype"], file=given["file"], context_length=given["context_length"], threads=given["threads"])
        llm.name = given["name"] or llm.name
        if not (given["host"].startswith("127.") or given["host"] in ("::1", "localhost") or given["token"]):
            _say(f"anyone who reaches {given['host']} may use the model: see --token")
        _say(f"{llm.name}: ready, {llm.context_length} tokens of context")
        asyncio.run(_serve(llm, given))
    except Error as problem:
        _say(str(problem))
        return 1
    except KeyboardInterrupt:
        return 130
    _say("ended")
    return 0
