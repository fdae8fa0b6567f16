"""The server of OpenAI's API: the openai package talks to it, texts are those of the model alone, whoever else asks, and bad requests are refused."""

import asyncio
import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

import gossamer
from test_llm import CONTEXT, MESSAGES, folder  # noqa: F401: a fixture

openai = pytest.importorskip("openai")
pytest.importorskip("aiohttp")
pytest.importorskip("prometheus_client")
pytest.importorskip("llguidance")

TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {"x": {"type": "integer", "minimum": 0, "maximum": 99}}, "required": ["x"], "additionalProperties": False}}}


@contextlib.contextmanager
def serving(folder, *options):
    """The process, and its address."""
    words = [sys.executable, "-P", "-m", "gossamer.llm", "serve", str(folder), "--port", "0", "--threads", "1", "--name", "tiny", *options]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("http://"), process.stderr.read()
        yield process, url
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def url(folder):  # noqa: F811
    with serving(folder) as (_, address):
        yield address


@pytest.fixture(scope="module")
def llm(folder):  # noqa: F811
    return gossamer.llm.load(folder, threads=1)


@pytest.fixture
def client(url):
    return openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


def get(url):
    with urllib.request.urlopen(url) as answer:
        return answer.read().decode()


def metric(url, name):
    return sum(float(line.split()[-1]) for line in get(f"{url}/metrics").splitlines() if re.match(rf"{name}(\{{|\s)", line))


def until(is_so, seconds=30):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def text_of(stream):
    """What each choice says, and how it ends."""
    texts, ends = {}, {}
    for chunk in stream:
        for choice in chunk.choices:
            piece = choice.delta.content if hasattr(choice, "delta") else choice.text
            texts[choice.index] = texts.get(choice.index, "") + (piece or "")
            if choice.finish_reason:
                assert choice.index not in ends
                ends[choice.index] = choice.finish_reason
    assert texts.keys() == ends.keys()
    return texts, ends


def test_answers_are_those_of_the_model(client, llm):
    assert [each.id for each in client.models.list().data] == ["tiny"] and client.models.retrieve("tiny").id == "tiny"
    for given in ({"temperature": 0, "max_tokens": 30}, {"temperature": 1, "seed": 5, "max_completion_tokens": 25}, {"temperature": 0, "presence_penalty": 1.5, "frequency_penalty": 0.5, "max_tokens": 40}):
        wanted = llm.chat(MESSAGES, **{name.replace("completion_", ""): value for name, value in given.items()})
        answer = client.chat.completions.create(model="tiny", messages=MESSAGES, **given)
        assert answer.choices[0].message.content == wanted.text
        assert answer.choices[0].finish_reason == wanted.finish_reason
        assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (wanted.usage.prompt_tokens, wanted.usage.completion_tokens)
        texts, ends = text_of(client.chat.completions.create(model="tiny", messages=MESSAGES, stream=True, **given))
        assert (texts, ends) == ({0: wanted.text}, {0: wanted.finish_reason})


def test_the_next_turn_computes_what_is_new(client, llm):
    given = {"model": "tiny", "temperature": 0, "max_tokens": 20}
    first = client.chat.completions.create(messages=MESSAGES, **given)
    turn = [*MESSAGES, {"role": "assistant", "content": first.choices[0].message.content}, {"role": "user", "content": "more"}]
    second = client.chat.completions.create(messages=turn, **given)
    assert second.choices[0].message.content == llm.chat(turn, temperature=0, max_tokens=20).text
    assert second.usage.prompt_tokens_details.cached_tokens >= first.usage.prompt_tokens
    *_, last = client.chat.completions.create(messages=turn, stream=True, stream_options={"include_usage": True}, **given)
    assert last.usage.prompt_tokens_details.cached_tokens == last.usage.prompt_tokens - 1


def test_completions(client, llm):
    prompts = ["hello", "the world"]
    given = {"temperature": 1, "max_tokens": 12}
    alone = [llm.complete(prompt, seed=seed, **given).text for prompt in prompts for seed in (3, 4)]
    answer = client.completions.create(model="tiny", prompt=prompts, n=2, seed=3, **given)
    assert [choice.text for choice in answer.choices] == alone and [choice.index for choice in answer.choices] == [0, 1, 2, 3]
    texts, _ = text_of(client.completions.create(model="tiny", prompt=prompts, n=2, seed=3, stream=True, **given))
    assert [texts[at] for at in range(4)] == alone
    ids = llm.encode("hello")
    assert client.completions.create(model="tiny", prompt=[ids, ids], seed=3, **given).choices[1].text == alone[0]
    assert client.completions.create(model="tiny", prompt="hello").usage.completion_tokens <= 16
    stop = alone[0][3:5]
    answer = client.completions.create(model="tiny", prompt="hello", seed=3, stop=["no such", stop], **given)
    assert answer.choices[0].text == alone[0][: alone[0].find(stop)] and answer.choices[0].finish_reason == "stop"


def test_logprobs_and_usage(client, llm):
    given = {"model": "tiny", "messages": MESSAGES, "temperature": 0, "max_tokens": 6}
    wanted = llm.chat(MESSAGES, temperature=0, max_tokens=6, top_logprobs=3)
    assert wanted.text
    answer = client.chat.completions.create(logprobs=True, top_logprobs=3, **given)
    content = answer.choices[0].logprobs.content
    assert [each.logprob for each in content] == pytest.approx([each.logprob for each in wanted.logprobs], abs=1e-4)
    assert all(len(each.top_logprobs) == 3 and each.top_logprobs[0].bytes == each.bytes for each in content)
    assert b"".join(bytes(each.bytes) for each in content).decode("utf-8", "replace") == wanted.text
    assert client.chat.completions.create(logprobs=True, **given).choices[0].logprobs.content[0].top_logprobs == []
    chunks = list(client.chat.completions.create(logprobs=True, top_logprobs=3, stream=True, stream_options={"include_usage": True}, **given))
    assert [each for chunk in chunks for choice in chunk.choices if choice.logprobs for each in choice.logprobs.content] == content
    assert (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == (answer.usage.prompt_tokens, answer.usage.completion_tokens) and chunks[-1].choices == []
    answer = client.completions.create(model="tiny", prompt="hello", temperature=0, max_tokens=4, logprobs=2)
    assert len(answer.choices[0].logprobs.tokens) == 4 and all(len(each) == 2 for each in answer.choices[0].logprobs.top_logprobs)


def test_forms_of_answers(client, llm):
    schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 6}, "n": {"type": "integer", "minimum": 5, "maximum": 50}}, "required": ["name", "n"], "additionalProperties": False}
    form = {"type": "json_schema", "json_schema": {"name": "row", "schema": schema, "strict": True}}
    for seed in range(8):
        answer = client.chat.completions.create(model="tiny", messages=MESSAGES, response_format=form, seed=seed)
        said = json.loads(answer.choices[0].message.content)
        assert said.keys() == {"name", "n"} and len(said["name"]) <= 6 and 5 <= said["n"] <= 50
        assert answer.choices[0].finish_reason == "stop"
        assert llm.chat(MESSAGES, response_format=form, seed=seed).text == answer.choices[0].message.content
    assert re.fullmatch("[a-c]{3,8}", client.completions.create(model="tiny", prompt="x", extra_body={"response_format": {"type": "regex", "pattern": "[a-c]{3,8}"}}).choices[0].text)
    grammar = {"type": "grammar", "grammar": 'root ::= "yes" | "no" [0-9]{2}'}
    texts, _ = text_of(client.chat.completions.create(model="tiny", messages=MESSAGES, n=6, stream=True, response_format=grammar))
    assert all(re.fullmatch("yes|no[0-9]{2}", text) for text in texts.values())
    for choice in ("required", {"type": "function", "function": {"name": "add"}}):
        answer = client.chat.completions.create(model="tiny", messages=MESSAGES, tools=[TOOL], tool_choice=choice, parallel_tool_calls=False)
        (call,) = answer.choices[0].message.tool_calls
        assert answer.choices[0].finish_reason == "tool_calls" and call.function.name == "add" and 0 <= json.loads(call.function.arguments)["x"] <= 99
    chunks = client.chat.completions.create(model="tiny", messages=MESSAGES, tools=[TOOL], tool_choice="required", parallel_tool_calls=False, stream=True)
    calls = [call for chunk in chunks for choice in chunk.choices for call in choice.delta.tool_calls or []]
    assert len(calls) == 1 and json.loads(calls[0].function.arguments)


def test_fifty_clients_at_once(url, llm):
    asked = [{"messages": [{"role": "user", "content": "hello " * (at % 7) + str(at)}], "max_tokens": 20 + at, "temperature": 0 if at % 3 else 1, "seed": at} for at in range(50)]
    wanted = []
    for each in asked:
        answer = llm.chat(**each)
        wanted.append((answer.text, answer.finish_reason))

    async def ask(own, at, given):
        await asyncio.sleep(0.01 * (at % 5))
        if at % 2:
            answer = await own.chat.completions.create(model="tiny", **given)
            return answer.choices[0].message.content, answer.choices[0].finish_reason
        text, end = "", None
        async for chunk in await own.chat.completions.create(model="tiny", stream=True, **given):
            text += chunk.choices[0].delta.content or ""
            end = chunk.choices[0].finish_reason or end
        return text, end

    async def all_of_them():
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=120) as own:
            return await asyncio.gather(*(ask(own, at, given) for at, given in enumerate(asked)))

    before = metric(url, "gossamer_batch_texts_count"), metric(url, "gossamer_batch_texts_sum")
    assert asyncio.run(all_of_them()) == wanted
    steps, tokens = metric(url, "gossamer_batch_texts_count") - before[0], metric(url, "gossamer_batch_texts_sum") - before[1]
    assert tokens / steps > 2  # they were computed together


def test_biases_echoes_and_the_best_of_several(client, llm):
    ask = {"model": "tiny", "prompt": "hello", "max_tokens": 6}
    plain = llm.complete("hello", max_tokens=6, temperature=0, top_logprobs=1)
    text, token = plain.text, llm.encode("e")[-1]
    assert client.completions.create(**ask, temperature=1, logit_bias={str(token): 100}).choices[0].text == "eeeeee"
    assert llm.complete("hello", max_tokens=6, logit_bias={token: 100}).text == "eeeeee"
    chat = client.chat.completions.create(model="tiny", messages=MESSAGES, max_tokens=4, logit_bias={str(token): 100})
    assert chat.choices[0].message.content == "eeee"

    echoed = client.completions.create(**ask, temperature=0, echo=True, logprobs=1).choices[0]
    assert echoed.text == "hello" + text and echoed.logprobs.text_offset[0] == len("hello")
    assert text_of(client.completions.create(**ask, temperature=0, echo=True, stream=True))[0] == {0: "hello" + text}

    def mean(choice):
        return sum(choice.logprobs.token_logprobs) / len(choice.logprobs.token_logprobs)

    every = client.completions.create(**ask, temperature=1, seed=3, n=5, logprobs=1).choices
    best = client.completions.create(**ask, temperature=1, seed=3, n=2, best_of=5, logprobs=1)
    ranked = sorted(every, key=mean, reverse=True)
    assert [each.text for each in best.choices] == [each.text for each in ranked[:2]] and [each.index for each in best.choices] == [0, 1]
    assert best.usage.completion_tokens == sum(len(each.logprobs.tokens) for each in every)
    unasked = client.completions.create(**ask, temperature=1, seed=3, best_of=5).choices
    assert [each.text for each in unasked] == [ranked[0].text] and unasked[0].logprobs is None


WRONG = [
    ({"messages": []}, 400, "messages", "empty_array"),
    ({"messages": [{"role": "king", "content": "x"}]}, 400, "messages[0]", "invalid_value"),
    ({"messages": [*MESSAGES, {"role": "system", "content": "x"}]}, 400, "messages", "invalid_value"),
    ({"temperature": 9}, 400, "temperature", "invalid_value"),
    ({"max_tokens": 0}, 400, "max_tokens", "invalid_value"),
    ({"n": 1000}, 400, "n", "invalid_value"),
    ({"extra_body": {"unheard_of": 1}}, 400, "unheard_of", "unknown_parameter"),
    ({"logit_bias": {"5": 101}}, 400, "logit_bias", "invalid_value"),
    ({"logit_bias": {"five": 1}}, 400, "logit_bias", "invalid_value"),
    ({"logit_bias": {"5": "1"}}, 400, "logit_bias", "invalid_value"),
    ({"logit_bias": {"999999999": 1}}, 400, "logit_bias", "invalid_value"),
    ({"logit_bias": {"9" * 5000: 1}}, 400, "logit_bias", "invalid_value"),
    ({"top_logprobs": 3}, 400, "top_logprobs", "invalid_value"),
    ({"stop": ""}, 400, "stop", "invalid_value"),
    ({"tool_choice": "required"}, 400, "tool_choice", "invalid_value"),
    ({"tools": [{"type": "function"}]}, 400, "tools[0]", "invalid_value"),
    ({"response_format": {"type": "poem"}}, 400, "response_format", "invalid_value"),
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "thing"}}}}, 400, "response_format", "invalid_value"),
    ({"messages": [{"role": "user", "content": "x" * CONTEXT}]}, 400, "messages", "context_length_exceeded"),
    ({"model": "other"}, 404, "model", "model_not_found"),
]


@pytest.mark.parametrize("stream", [False, True])
def test_bad_requests(client, stream):
    for given, status, param, code in WRONG:
        with pytest.raises(openai.APIStatusError) as found:
            client.chat.completions.create(**{"model": "tiny", "messages": MESSAGES, "stream": stream, **given})
        assert (found.value.status_code, found.value.param, found.value.code) == (status, param, code), given
    for given, param in (({"best_of": 2, "n": 3}, "best_of"), ({"best_of": 0}, "best_of"), ({"echo": 1}, "echo"), ({"suffix": "x"}, "suffix"), ({"logit_bias": []}, "logit_bias")):
        with pytest.raises(openai.BadRequestError) as found:
            client.completions.create(model="tiny", prompt="hello", stream=stream, **given)
        assert found.value.param == param, given
    for prompt in ([1, 5000], [1, -1], [1, 2**70]):
        with pytest.raises(openai.BadRequestError):
            client.completions.create(model="tiny", prompt=prompt, stream=stream)


def test_requests_that_are_no_requests(url):
    def status(path, data=None, method=None):
        try:
            with urllib.request.urlopen(urllib.request.Request(url + path, data=data, method=method)) as answer:
                return answer.status
        except urllib.error.HTTPError as problem:
            assert "message" in json.loads(problem.read())["error"]
            return problem.code

    assert status("/v1/chat/completions", b"{") == 400
    assert status("/v1/chat/completions", b"[1]") == 400
    assert status("/v1/chat/completions", b"[" * 100_000) == 400
    assert status("/v1/chat/completions", b"\xff\xfe") == 400
    assert status("/v1/chat/completions") == 405
    assert status("/v1/nothing") == 404
    assert status("/v1/completions", b" " * (5 << 20)) == 413
    assert status("/v1/models") == 200 and json.loads(get(f"{url}/health")) == {"status": "ok"}


def test_a_client_that_goes_away(url, client, llm):
    before = metric(url, "gossamer_completion_tokens_total")
    with client.chat.completions.create(model="tiny", messages=MESSAGES, stream=True, n=100, temperature=1) as stream:
        for chunk in stream:
            if chunk.choices[0].delta.content:
                break
    until(lambda: metric(url, "gossamer_running_texts") + metric(url, "gossamer_waiting_texts") == 0 and metric(url, "gossamer_completion_tokens_total") > before)
    most = 100 * (CONTEXT - len(llm.encode(MESSAGES[0]["content"])))
    assert metric(url, "gossamer_completion_tokens_total") - before < most / 2
    assert client.chat.completions.create(model="tiny", messages=MESSAGES, temperature=0, max_tokens=9).choices[0].message.content == llm.chat(MESSAGES, temperature=0, max_tokens=9).text


def test_a_signal_ends_it_after_its_streams(folder, llm):  # noqa: F811
    with serving(folder) as (process, url):
        own = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
        stream = iter(own.chat.completions.create(model="tiny", messages=MESSAGES, stream=True, temperature=0, n=16))
        first = next(stream)
        process.send_signal(signal.SIGTERM)
        texts, ends = text_of(each for each in [first, *stream])
        assert texts == dict.fromkeys(range(16), llm.chat(MESSAGES, temperature=0).text) and len(ends) == 16
        assert process.wait(30) == 0 and "ended" in process.stderr.read()
        with pytest.raises(openai.APIConnectionError):
            own.models.list()


def test_limits(folder):  # noqa: F811
    with serving(folder, "--max-batch", "1", "--max-waiting", "2", "--token", "secret", "--context-length", "100", "--read-timeout", "0.5") as (_, url):
        with pytest.raises(openai.AuthenticationError):
            openai.OpenAI(base_url=f"{url}/v1", api_key="wrong", max_retries=0).models.list()
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as slow:
            slow.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\nContent-Length: 100\r\n\r\n{")
            slow.settimeout(30)
            assert slow.recv(100).startswith(b"HTTP/1.1 408")
        own = openai.OpenAI(base_url=f"{url}/v1", api_key="secret", max_retries=0)
        assert own.models.list().data[0].model_dump()["max_model_len"] == 100
        assert get(f"{url}/health")
        with own.chat.completions.create(model="tiny", messages=MESSAGES, stream=True, n=60) as stream:
            next(iter(stream))
            with pytest.raises(openai.InternalServerError) as found:
                own.chat.completions.create(model="tiny", messages=MESSAGES, n=3)
            assert found.value.status_code == 503 and found.value.code == "server_overloaded"


def test_what_cannot_be_served(tmp_path, folder):  # noqa: F811
    def said(*words):
        ended = subprocess.run([sys.executable, "-P", "-m", "gossamer.llm", "serve", *words], capture_output=True, text=True, check=False)
        assert ended.returncode == 1 and ended.stderr.count("\n") <= 2
        return ended.stderr

    assert "tokenizer.json" in said(str(tmp_path))
    assert "--max-batch: is 0" in said(str(folder), "--max-batch", "0")
    with serving(folder) as (_, url):
        assert "cannot listen there" in said(str(folder), "--threads", "1", "--port", url.rsplit(":", 1)[1])
