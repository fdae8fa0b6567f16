"""OpenAI's API over HTTP for one language model: python -m gossamer.llm serve MODEL."""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from ..error import Error
from ..generate import BatchToken
from .engine import REFUSED, Engine, Job, Load
from .language_model import CHOICES, LanguageModel
from .metrics import Metrics
from .requests import CHAT, COMPLETION, RequestError, checked, checked_tools
from .texts import AnswerText, ToolCall


@dataclass(frozen=True)
class Settings:
    """Of a server."""

    places: int = 32
    """Texts that a run computes together."""
    prompt_chunk: int = 64
    """Tokens of prompts between two tokens of other texts."""
    max_waiting: int = 256
    """Texts that may wait for their first token."""
    max_body: int = 4 << 20
    """Bytes of a request."""
    read_timeout: float = 30
    """Seconds for a request to arrive."""
    timeout: float = 300
    """Seconds that a text may wait for its first token."""
    token: str | None = None
    """What requests must have: Authorization: Bearer TOKEN."""


@dataclass
class Asked:
    """A request, as both APIs have it."""

    prompts: list[list[int]]
    n: int
    options: dict[str, Any]
    stop: list[str]
    form: dict[str, Any] | None
    tools: bool
    forced: list[dict[str, Any]]
    parallel: bool
    stream: bool
    usage: bool
    logprobs: bool
    made: int = 1
    """Answers to each prompt, of which the `n` best are given."""
    echo: bool = False


class Choice:
    """One answer of a request, while its tokens arrive."""

    def __init__(self, index: int, job: Job, llm: LanguageModel, asked: Asked) -> None:
        self.index = index
        self.job = job
        self.echoed = ""
        self.text = ""
        self.tokens = 0
        self.likelihood = 0.0
        self.reused = 0
        self.finish: str | None = None
        self.logprobs: list[dict[str, Any]] = []
        self._llm = llm
        self._has_logprobs = asked.logprobs
        self._said = AnswerText(llm.tokenizer, asked.stop, asked.tools)

    @property
    def calls(self) -> list[ToolCall]:
        return self._said.calls

    def push(self, token: BatchToken) -> str:
        """The text that is certain now. Raises RequestError for a text that failed."""
        if token.error is not None:
            if token.text == REFUSED:
                raise RequestError(str(token.error), None, "invalid_value")
            raise RequestError(str(token.error), None, "generation_failed", 500)
        text, stopped = "", False
        self.reused = token.reused
        if token.token is not None:
            self.tokens += 1
            self.likelihood += token.logprob
            if self._has_logprobs:
                self.logprobs.append(self._logprob(token))
            text, stopped = self._said.push(token.token)
        if stopped or token.is_last:
            rest, self.finish = self._said.end("stop" if stopped else token.end or "stop", stopped)
            text += rest
        self.text += text
        return text

    def _logprob(self, token: BatchToken) -> dict[str, Any]:
        def shown(number: int, value: float) -> dict[str, Any]:
            data = self._llm.tokenizer.bytes_of(number)
            if data is None:
                data = self._llm.tokenizer.joined([number]).encode()
            return {"token": data.decode("utf-8", "replace"), "logprob": max(value, -9999.0), "bytes": list(data)}

        return {**shown(token.token or 0, token.logprob), "top_logprobs": [shown(number, value) for number, value in token.top]}


def _calls(calls: Sequence[ToolCall], first: int = 0) -> list[dict[str, Any]]:
    return [
        {"index": at, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)}}
        for at, call in enumerate(calls)
        if at >= first
    ]


class ChatApi:
    """What /v1/chat/completions says."""

    prefix, object, chunk = "chatcmpl", "chat.completion", "chat.completion.chunk"

    def choice(self, of: Choice) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": of.text or (None if of.calls else ""), "refusal": None}
        if of.calls:
            message["tool_calls"] = [{name: value for name, value in call.items() if name != "index"} for call in _calls(of.calls)]
        return {"index": of.index, "message": message, "logprobs": self._logprobs(of, 0), "finish_reason": of.finish}

    def first(self, of: Choice) -> dict[str, Any]:
        return {"index": of.index, "delta": {"role": "assistant", "content": "", "refusal": None}, "logprobs": None, "finish_reason": None}

    def delta(self, of: Choice, text: str, logprobs: int, calls: int) -> dict[str, Any]:
        delta: dict[str, Any] = {"content": text} if text else {}
        if len(of.calls) > calls:
            delta["tool_calls"] = _calls(of.calls, calls)
        return {"index": of.index, "delta": delta, "logprobs": self._logprobs(of, logprobs), "finish_reason": None}

    def last(self, of: Choice) -> dict[str, Any]:
        return {"index": of.index, "delta": {}, "logprobs": None, "finish_reason": of.finish}

    def _logprobs(self, of: Choice, first: int) -> dict[str, Any] | None:
        return {"content": of.logprobs[first:], "refusal": None} if of.logprobs[first:] else None


class CompletionApi:
    """What /v1/completions says."""

    prefix, object, chunk = "cmpl", "text_completion", "text_completion"

    def choice(self, of: Choice) -> dict[str, Any]:
        return {"index": of.index, "text": of.echoed + of.text, "logprobs": self._logprobs(of, 0), "finish_reason": of.finish}

    def first(self, of: Choice) -> dict[str, Any] | None:
        return {"index": of.index, "text": of.echoed, "logprobs": None, "finish_reason": None} if of.echoed else None

    def delta(self, of: Choice, text: str, logprobs: int, calls: int) -> dict[str, Any]:
        return {"index": of.index, "text": text, "logprobs": self._logprobs(of, logprobs), "finish_reason": None}

    def last(self, of: Choice) -> dict[str, Any]:
        return {"index": of.index, "text": "", "logprobs": None, "finish_reason": of.finish}

    def _logprobs(self, of: Choice, first: int) -> dict[str, Any] | None:
        new = of.logprobs[first:]
        if not new:
            return None
        starts = [len(of.echoed)]
        for each in of.logprobs:
            starts.append(starts[-1] + len(each["token"]))
        return {
            "tokens": [each["token"] for each in new],
            "token_logprobs": [each["logprob"] for each in new],
            "top_logprobs": [{top["token"]: top["logprob"] for top in each["top_logprobs"]} for each in new],
            "text_offset": starts[first:-1],
        }


Api = ChatApi | CompletionApi


class Server:
    """Answers requests for one model. app() is for aiohttp's runners."""

    def __init__(self, llm: LanguageModel, settings: Settings) -> None:
        self._llm = llm
        self._settings = settings
        self._created = int(time.time())
        self._metrics = Metrics()
        self._engine: Engine | None = None
        self._ends = False

    def app(self) -> web.Application:
        made = web.Application(client_max_size=self._settings.max_body, middlewares=[self._errors])
        made.router.add_get("/health", self._health)
        made.router.add_get("/metrics", self._show_metrics)
        made.router.add_get("/v1/models", self._models)
        made.router.add_get("/v1/models/{name}", self._model)
        made.router.add_post("/v1/chat/completions", self._chat)
        made.router.add_post("/v1/completions", self._complete)
        made.cleanup_ctx.append(self._running)
        return made

    @property
    def places(self) -> int:
        return self._engine.places if self._engine else 0

    def end(self) -> None:
        """New requests are refused from here on."""
        self._ends = True

    async def _running(self, _: web.Application) -> AsyncIterator[None]:
        batch = await asyncio.to_thread(self._llm.model.generate_batch, places=self._settings.places, prompt_chunk=self._settings.prompt_chunk)
        self._engine = Engine(batch, self._after_step)
        yield
        await self._engine.close()

    def _after_step(self, load: Load, texts: int) -> None:
        self._metrics.running.set(load.running)
        self._metrics.waiting.set(load.waiting)
        if texts:
            self._metrics.batch.observe(texts)

    @web.middleware
    async def _errors(self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> web.StreamResponse:
        route = request.match_info.route.resource
        path = route.canonical if route else "other"
        begin = time.perf_counter()
        status = 499  # the client went away
        try:
            if path != "/health":
                self._check_token(request)
            response = await handler(request)
            status = response.status
        except RequestError as problem:
            status = problem.status
            response = web.json_response(problem.body(), status=status, headers=problem.headers)
        except web.HTTPException as problem:
            status = problem.status
            said = {404: f"There is no {request.method} {request.path[:200]} here.", 405: f"{request.path} does not take {request.method}.", 413: f"The request is larger than {self._settings.max_body} bytes."}
            response = web.json_response(RequestError(said.get(status, problem.reason), status=status).body(), status=status)
        except Error as problem:
            status = 400
            response = web.json_response(RequestError(str(problem), problem.where or None, "invalid_value").body(), status=status)
        except ConnectionError:
            raise  # the client went away
        except Exception:  # a mistake of ours
            status = 500
            traceback.print_exc()
            response = web.json_response(RequestError("The server failed to answer; its log has the reason.", None, "internal_error", 500).body(), status=500)
        finally:
            self._metrics.requests.labels(path, str(status)).inc()
            self._metrics.seconds.labels(path).observe(time.perf_counter() - begin)
        return response

    def _check_token(self, request: web.Request) -> None:
        token = self._settings.token
        if token is not None and not hmac.compare_digest(request.headers.get("Authorization", "").encode(), f"Bearer {token}".encode()):
            raise RequestError("Incorrect API key provided.", None, "invalid_api_key", 401)

    async def _health(self, _: web.Request) -> web.Response:
        return web.json_response({"status": "ending" if self._ends else "ok"}, status=503 if self._ends else 200)

    async def _show_metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=self._metrics.text(), headers={"Content-Type": self._metrics.content_type})

    def _described(self) -> dict[str, Any]:
        return {"id": self._llm.name, "object": "model", "created": self._created, "owned_by": "gossamer", "max_model_len": self._llm.context_length}

    async def _models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [self._described()]})

    async def _model(self, request: web.Request) -> web.Response:
        self._check_name(request.match_info["name"])
        return web.json_response(self._described())

    def _check_name(self, name: str) -> None:
        if name != self._llm.name:
            raise RequestError(f"The model `{name[:200]}` does not exist; this server has `{self._llm.name}`.", "model", "model_not_found", 404)

    async def _body(self, request: web.Request) -> bytes:
        try:
            return await asyncio.wait_for(request.read(), self._settings.read_timeout)
        except TimeoutError as problem:
            raise RequestError(f"The request did not arrive within {self._settings.read_timeout:g} seconds.", None, "timeout", 408, {"Connection": "close"}) from problem

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        given = checked(await self._body(request), CHAT, "messages")
        self._check_name(given["model"])
        tools, forced = checked_tools(given)
        try:
            text = self._llm.prompt_of(given["messages"], tools or None, **given.get("chat_template_kwargs", {}))
        except (Error, TypeError) as problem:
            where = problem.where if isinstance(problem, Error) else "chat_template_kwargs"
            raise RequestError(f"Invalid '{where}': {problem}.", where, "invalid_value") from problem
        prompt = self._llm.tokenizer.encode(text, special=False)
        logprobs = given.get("logprobs", False)
        most = given.get("max_completion_tokens", given.get("max_tokens"))
        asked = self._asked(given, [prompt], most, max(1, given.get("top_logprobs", 0)) if logprobs else 0)
        asked.tools, asked.forced = bool(tools), forced
        answer = self._stream if asked.stream else self._whole
        return await answer(request, asked, ChatApi(), given.get("top_logprobs", 0))

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        given = checked(await self._body(request), COMPLETION, "prompt")
        self._check_name(given["model"])
        prompt = given["prompt"]
        several = isinstance(prompt, list) and not all(isinstance(each, int) for each in prompt)
        prompts = [self._llm.encode(each) if isinstance(each, str) else each for each in (prompt if several else [prompt])]
        logprobs = given.get("logprobs")
        asked = self._asked(given, prompts, given.get("max_tokens", 16), 0 if logprobs is None else max(1, logprobs))
        asked.echo = given.get("echo", False)
        asked.made = given.get("best_of", asked.n)
        if asked.made > asked.n:
            asked.options["top_logprobs"] = max(1, asked.options["top_logprobs"])
        answer = self._stream if asked.stream else self._whole
        return await answer(request, asked, CompletionApi(), logprobs or 0)

    def _asked(self, given: Mapping[str, Any], prompts: list[list[int]], most: int | None, top_logprobs: int) -> Asked:
        for prompt in prompts:
            if not prompt:
                raise RequestError("The prompt has no tokens.", "prompt", "invalid_value")
            if len(prompt) >= self._llm.context_length:
                raise RequestError(
                    f"This model's maximum context length is {self._llm.context_length} tokens. However, your prompt has {len(prompt)} tokens. Please reduce its length.",
                    "messages" if "messages" in given else "prompt",
                    "context_length_exceeded",
                )
        bias = {int(token): value for token, value in given.get("logit_bias", {}).items()}
        words = self._llm.words
        if unknown := [token for token in bias if token >= words]:
            raise RequestError(f"Invalid token {unknown[0]} in 'logit_bias': this model has the tokens 0 to {words - 1}.", "logit_bias", "invalid_value")
        stop = given.get("stop", [])
        options = {name: given[name] for name in CHOICES if name in given}
        if isinstance(stream := given.get("stream_options"), dict) and stream.get("include_usage"):
            usage = True
        else:
            usage = False
        return Asked(
            prompts=prompts,
            n=given.get("n", 1),
            options={**options, "max_tokens": most, "seed": given.get("seed"), "top_logprobs": top_logprobs, "logit_bias": bias},
            stop=[stop] if isinstance(stop, str) else stop,
            form=given.get("response_format"),
            tools=False,
            forced=[],
            parallel=given.get("parallel_tool_calls", True),
            stream=given.get("stream", False),
            usage=usage,
            logprobs=top_logprobs > 0,
            made=given.get("n", 1),
        )

    @asynccontextmanager
    async def _choices(self, asked: Asked) -> AsyncIterator[list[Choice]]:
        """Begins all answers of a request, and ends what is left of them."""
        engine = self._engine
        if engine is None or self._ends:
            raise RequestError("The server ends.", None, "server_ends", 503)
        count = len(asked.prompts) * asked.made
        if engine.waiting + count > max(self._settings.max_waiting, count if engine.waiting == 0 else 0):
            raise RequestError(f"The server is busy: {engine.waiting} texts wait.", None, "server_overloaded", 503, {"Retry-After": "1"})
        choices = []
        for at in range(count):
            prompt = asked.prompts[at // asked.made]
            options = self._llm.generation_options(len(prompt), **asked.options)
            if options["seed"] is not None:
                options["seed"] += at % asked.made
            needs = asked.form is not None or asked.forced
            constraint = await asyncio.to_thread(self._llm.structures.constraint, asked.form, asked.forced, asked.parallel) if needs else None
            choices.append(Choice(at, Job(prompt, options, constraint), self._llm, asked))
            if asked.echo:
                choices[-1].echoed = self._llm.decode(prompt)
        try:
            for choice in choices:
                engine.submit(choice.job)
            yield choices
        finally:
            for choice in choices:
                engine.cancel(choice.job)
            self._metrics.prompt_tokens.inc(sum(len(prompt) for prompt in asked.prompts))
            self._metrics.cached_tokens.inc(sum(choice.reused for choice in choices))
            self._metrics.completion_tokens.inc(sum(choice.tokens for choice in choices))

    async def _pieces(self, choice: Choice) -> AsyncIterator[str]:
        """Texts of one answer, of which some are empty."""
        begin = time.perf_counter()
        while choice.finish is None:
            if choice.tokens:
                token = await choice.job.tokens.get()
            else:
                try:
                    token = await asyncio.wait_for(choice.job.tokens.get(), self._settings.timeout)
                except TimeoutError as problem:
                    raise RequestError(f"The text waited {self._settings.timeout:g} seconds for its first token.", None, "timeout", 503, {"Retry-After": "1"}) from problem
                self._metrics.first_token.observe(time.perf_counter() - begin)
            yield choice.push(token)

    def _usage(self, asked: Asked, choices: Sequence[Choice]) -> dict[str, Any]:
        prompt, completion = sum(len(each) for each in asked.prompts), sum(choice.tokens for choice in choices)
        cached = sum(choice.reused for choice in choices if choice.index % asked.made == 0)
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion, "prompt_tokens_details": {"cached_tokens": cached}}

    def _head(self, api: Api, kind: str) -> dict[str, Any]:
        return {"id": f"{api.prefix}-{secrets.token_hex(12)}", "object": kind, "created": int(time.time()), "model": self._llm.name}

    async def _whole(self, _: web.Request, asked: Asked, api: Api, top: int) -> web.Response:
        async def finish(choice: Choice) -> None:
            async for _text in self._pieces(choice):
                pass
            if choice.finish is not None and self._engine is not None:
                self._engine.cancel(choice.job)  # where a stop string ended it

        async with self._choices(asked) as choices:
            try:
                async with asyncio.TaskGroup() as group:
                    for choice in choices:
                        group.create_task(finish(choice))
            except* RequestError as problems:
                failed = problems.exceptions[0]
            else:
                failed = None
            if failed is not None:
                raise failed
        usage = self._usage(asked, choices)
        choices = self._best(asked, choices)
        self._trim(choices, top)
        return web.json_response({**self._head(api, api.object), "choices": [api.choice(choice) for choice in choices], "usage": usage})

    def _best(self, asked: Asked, choices: Sequence[Choice]) -> list[Choice]:
        """Of each prompt the answers whose tokens were likeliest, the best first."""
        if asked.made == asked.n:
            return list(choices)
        best = []
        for at in range(0, len(choices), asked.made):
            ranked = sorted(choices[at : at + asked.made], key=lambda choice: choice.likelihood / max(1, choice.tokens), reverse=True)
            best += ranked[: asked.n]
        for index, choice in enumerate(best):
            choice.index = index
        return best

    def _trim(self, choices: Sequence[Choice], top: int) -> None:
        """The likeliest tokens that were asked for, which may be fewer than one."""
        for choice in choices:
            for each in choice.logprobs:
                each["top_logprobs"] = each["top_logprobs"][:top]

    async def _stream(self, request: web.Request, asked: Asked, api: Api, top: int) -> web.StreamResponse:
        async with self._choices(asked) as choices:
            head = self._head(api, api.chunk)
            chunks: asyncio.Queue[dict[str, Any] | Exception | None] = asyncio.Queue()

            async def follow(choice: Choice) -> None:
                logprobs = calls = 0
                first = api.first(choice)
                if first is not None:
                    chunks.put_nowait(first)
                async for text in self._pieces(choice):
                    if text or len(choice.calls) > calls:
                        self._trim([choice], top)
                        chunks.put_nowait(api.delta(choice, text, logprobs, calls))
                        logprobs, calls = len(choice.logprobs), len(choice.calls)
                chunks.put_nowait(api.last(choice))
                if self._engine is not None:
                    self._engine.cancel(choice.job)  # where a stop string ended it

            async def all_of_them() -> None:
                try:
                    async with asyncio.TaskGroup() as group:
                        for choice in choices:
                            group.create_task(follow(choice))
                except* RequestError as problems:
                    chunks.put_nowait(problems.exceptions[0])
                chunks.put_nowait(None)

            following = asyncio.create_task(all_of_them())
            try:
                # Errors before the first token have a status of their own.
                ready = [await chunks.get()]
                while isinstance(ready[-1], dict) and len(ready) <= sum(api.first(choice) is not None for choice in choices):
                    ready.append(await chunks.get())
                for each in ready:
                    if isinstance(each, Exception):
                        raise each
                response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
                await response.prepare(request)
                while True:
                    each = ready.pop(0) if ready else await chunks.get()
                    if each is None:
                        break
                    if isinstance(each, Exception):
                        data = each.body() if isinstance(each, RequestError) else {"error": {"message": str(each)}}
                    else:
                        data = {**head, "choices": [each], **({"usage": None} if asked.usage else {})}
                    await response.write(f"data: {json.dumps(data, ensure_ascii=False)}\n\n".encode())
                if asked.usage:
                    await response.write(f"data: {json.dumps({**head, 'choices': [], 'usage': self._usage(asked, choices)})}\n\n".encode())
                await response.write(b"data: [DONE]\n\n")
                await response.write_eof()
                return response
            finally:
                following.cancel()
