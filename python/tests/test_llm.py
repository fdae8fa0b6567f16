"""Language models with text: answers are those of generate(), stop strings, calls of tools, errors."""

import json
import sys

import pytest

import gossamer
from test_generate import decoder

tokenizers = pytest.importorskip("tokenizers")

SPECIAL = ["<|begin|>", "<|end|>", "<tool_call>", "</tool_call>"]
CONTEXT = 200
TEMPLATE = (
    "{{- bos_token }}{%- for message in messages %}"
    "{%- if message.role == 'system' and not loop.first %}{{- raise_exception('the system speaks first') }}{%- endif %}"
    "{{- message.role[0] + ':' + message.content }}"
    "{%- for call in message.tool_calls or [] %}{{- call.function.arguments | tojson }}{%- endfor %}{{- '<|end|>' }}{%- endfor %}"
    "{%- for tool in tools or [] %}{{- tool.function.name }}{%- endfor %}{{- 'a:' }}"
)
MESSAGES = [{"role": "user", "content": "hello"}]


def tokenizer_file():
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab={token: at for at, token in enumerate(sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()))}, merges=[]))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    made.add_special_tokens(SPECIAL[:2])
    made.add_tokens(SPECIAL[2:])
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("model")
    (place / "tokenizer.json").write_text(tokenizer_file().to_str())
    (place / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<|begin|>", "eos_token": {"content": "<|end|>"}, "chat_template": TEMPLATE}))
    (place / "config.json").write_text(json.dumps({"max_position_embeddings": CONTEXT, "eos_token_id": 257}))
    (place / "generation_config.json").write_text(json.dumps({"do_sample": True, "temperature": 0.7, "top_k": 50}))
    (place / "onnx").mkdir()
    (place / "onnx/model.onnx").write_bytes(decoder(words=264, context=CONTEXT).SerializeToString())
    return place


@pytest.fixture(scope="module")
def llm(folder):
    return gossamer.llm.load(folder, threads=1)


def test_answers_are_the_tokens_of_generate(llm):
    assert llm.context_length == CONTEXT and llm.prompt_of(MESSAGES) == "<|begin|>u:hello<|end|>a:"
    prompt = llm.tokenizer.encode(llm.prompt_of(MESSAGES), special=False)
    ids = list(llm.model.generate(prompt, max_tokens=30, stop_tokens=[257], temperature=1, seed=3))
    assert len(set(ids)) > 8
    answer = llm.chat(MESSAGES, max_tokens=30, temperature=1, top_k=0, seed=3)
    pieces = list(answer)
    assert "".join(pieces) == answer.text == llm.decode(ids) and len(pieces) > 4
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (len(prompt), len(ids))
    assert answer.finish_reason == ("length" if len(ids) == 30 else "stop")
    assert llm.complete(prompt, max_tokens=30, temperature=1, top_k=0, seed=3).text == answer.text


def test_the_next_turn_computes_what_is_new(folder, llm):
    first = llm.chat(MESSAGES, max_tokens=8, temperature=0)
    turn = [*MESSAGES, {"role": "assistant", "content": first.text}, {"role": "user", "content": "more"}]
    wanted = gossamer.llm.load(folder, threads=1).chat(turn, max_tokens=8, temperature=0)
    assert wanted.text is not None and wanted.usage.cached_tokens == 0
    second = llm.chat(turn, max_tokens=8, temperature=0)
    assert second.text == wanted.text
    assert first.usage.prompt_tokens <= second.usage.cached_tokens < second.usage.prompt_tokens


def test_stop_strings(llm):
    text = llm.complete("hello", max_tokens=60, temperature=1, seed=5).text
    for begin, end in [(4, 7), (9, 10), (0, 2)]:
        stop = text[begin:end]
        answer = llm.complete("hello", max_tokens=60, temperature=1, seed=5, stop=["no such text", stop])
        assert answer.text == text[: text.find(stop)] and answer.finish_reason == "stop"


def test_an_answer_that_is_left_frees_the_model(llm):
    for _ in llm.chat(MESSAGES):
        break
    with llm.chat(MESSAGES) as answer:
        next(answer)
        with pytest.raises(gossamer.Error, match="under way"):
            llm.chat(MESSAGES)
    assert llm.chat(MESSAGES, max_tokens=2).text is not None
    full = llm.chat(MESSAGES, seed=1, temperature=1)
    assert full.text and (full.finish_reason == "stop" or sum([full.usage.prompt_tokens, full.usage.completion_tokens]) == CONTEXT)


def test_logprobs(llm):
    answer = llm.complete("hello", max_tokens=4, temperature=0, top_logprobs=3)
    assert answer.text is not None and len(answer.logprobs) == 4
    for each in answer.logprobs:
        assert len(each.top) == 3 and each.top[0] == (each.token, each.logprob) and each.logprob <= 0
    assert llm.complete("hello", max_tokens=1).logprobs is None


def test_characters_are_whole():
    made = tokenizer_file()
    own = gossamer.llm.texts.Tokenizer(made, made.to_str())
    text = "wörld 🦎 語\ufeff <tool_call>"
    pieces = gossamer.llm.texts.Detokenizer(own)
    said = [pieces.push(each) for each in own.encode(text)] + [pieces.end()]
    assert "".join(said) == text and not any("\ufffd" in piece for piece in said)
    some = bytes(range(256)) * 2
    ids = [made.token_to_id(next(c for c, byte in gossamer.llm.texts.BYTE_OF.items() if byte == value)) for value in some]
    assert own.decode(ids) == some.decode("utf-8", "replace")
    assert own.decode([256, 257, 9999]) == ""


def test_calls_of_tools():
    parser = gossamer.llm.texts.ToolCalls()
    text = 'a <tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call><tool_call>{</tool_call> <tool_ b<tool_call>{"name": "g"}'
    said = "".join(parser.push(character) for character in text) + parser.end()
    assert said == "a <tool_call>{</tool_call> <tool_ b"
    assert [(call.name, call.arguments) for call in parser.calls] == [("f", {"x": 1}), ("g", {})]


def test_conversations(llm):
    call = gossamer.llm.ToolCall("f", {"x": "é"})
    tools = [{"type": "function", "function": {"name": "weather"}}]
    assert llm.prompt_of([*MESSAGES, {"role": "assistant", "content": None, "tool_calls": [call.as_message()]}], tools).endswith('a:{"x": "é"}<|end|>weathera:')
    assert llm.prompt_of([{"role": "developer", "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]}]) == "<|begin|>s:xy<|end|>a:"
    answer = llm.chat(MESSAGES, tools=tools, max_tokens=3)
    assert answer.text is not None and answer.tool_calls == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda llm: llm.chat("hello"), "not a list of messages"),
        (lambda llm: llm.chat([]), "there is none"),
        (lambda llm: llm.chat([{"role": "robot", "content": ""}]), "the role is 'robot'"),
        (lambda llm: llm.chat([{"role": "user", "content": [{"type": "image"}]}]), "content is not text"),
        (lambda llm: llm.chat([*MESSAGES, {"role": "system", "content": ""}]), "refuses them: the system speaks first"),
        (lambda llm: llm.chat([{"role": "user", "content": "x" * CONTEXT}]), "the model's context has 200"),
        (lambda llm: llm.chat(MESSAGES, heat=1), "heat: is not an option"),
        (lambda llm: llm.chat(MESSAGES, stop=[""]), "none of them empty"),
        (lambda llm: llm.chat(MESSAGES, top_p=3), "top_p"),
        (lambda llm: gossamer.llm.load("no/such/folder"), "is not a folder"),
        (lambda llm: gossamer.llm.load("."), "has no tokenizer.json"),
    ],
)
def test_errors(llm, call, message):
    with pytest.raises(gossamer.Error) as problem:
        call(llm)
    assert message in str(problem.value)


def test_folders(folder, llm, tmp_path):
    for name in ("tokenizer.json", "tokenizer_config.json", "config.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    with pytest.raises(gossamer.Error, match="has none of onnx/model_q4f16.onnx"):
        gossamer.llm.load(tmp_path)
    with pytest.raises(gossamer.Error, match="1 to 200"):
        gossamer.llm.load(folder, context_length=300)
    with pytest.raises(gossamer.Error, match="it has onnx/model.onnx"):
        gossamer.llm.load(folder, dtype="q4")
    gossamer.compile(folder / "onnx/model.onnx", state=True, generate=True).write(tmp_path / "made")
    for path in (tmp_path / "made").iterdir():
        path.rename(tmp_path / path.name)
    wanted = llm.complete("hello", temperature=0, max_tokens=12).text
    assert gossamer.llm.load(tmp_path, threads=1).complete("hello", temperature=0, max_tokens=12).text == wanted
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(gossamer.Error, match="tokenizer.json: cannot be read"):
        gossamer.llm.load(tmp_path)


def talk(monkeypatch, capsys, words, lines=None, stdin=""):
    """What the program prints: (exit code, standard output, standard error)."""
    import builtins
    import io

    from gossamer.llm import terminal

    class Terminal(io.StringIO):
        def isatty(self):
            return lines is not None

    left = iter(lines or [])

    def answer(_):
        line = next(left, None)
        if line is None:
            raise EOFError
        return line

    monkeypatch.setattr("sys.stdin", Terminal(stdin))
    monkeypatch.setattr(builtins, "input", answer)
    code = terminal.main([str(word) for word in words])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_terminal(folder, llm, monkeypatch, capsys):
    options = ["--seed", 3, "--temperature", 1, "--top-k", 0, "--max-tokens", 12, "--threads", 1]
    wanted = llm.chat(MESSAGES, seed=3, temperature=1, top_k=0, max_tokens=12).text
    assert talk(monkeypatch, capsys, [folder, *options, "--prompt", "hello"])[:2] == (0, wanted + "\n")
    assert talk(monkeypatch, capsys, [folder, *options], stdin="hello\n")[:2] == (0, wanted + "\n")
    # A conversation goes on, begins anew, and answers again.
    both = [*MESSAGES, {"role": "assistant", "content": wanted}, {"role": "user", "content": "on"}]
    second = llm.chat(both, seed=3, temperature=1, top_k=0, max_tokens=12).text
    code, out, err = talk(monkeypatch, capsys, [folder, *options, "--stats"], lines=["hello", "on", "/new", "", "hello", "/again", "/what", "x" * CONTEXT, "/exit", "never"])
    assert (code, out) == (0, f"{wanted}\n{second}\n{wanted}\n{wanted}\n")
    assert err.count("tokens/s") == 4 and err.count("/new begins anew") == 2 and "the model's context has 200" in err
    code, out, err = talk(monkeypatch, capsys, [folder, "--system", "s", "--max-tokens", 2], lines=["hello"])
    assert code == 0
    for words, message in ([["no/folder"], "is not a folder"], [[folder, "-p", "hello", "--top-p", 3], "top_p is 3"]):
        code, out, err = talk(monkeypatch, capsys, words)
        assert (code, out) == (1, "") and err.startswith("gossamer: ") and message in err and err.count("\n") == 1


def test_an_answer_that_is_interrupted_is_a_part_of_the_conversation(llm, capsys):
    from gossamer.llm.terminal import Conversation

    class Interrupted:
        def __init__(self, answer):
            self._answer, self.usage, self.finish_reason = answer, answer.usage, None

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self._answer.close()

        def __iter__(self):
            yield next(self._answer)
            raise KeyboardInterrupt

    class Model:
        def chat(self, *given, **options):
            return Interrupted(llm.chat(*given, **options))

    conversation = Conversation(Model(), None, {}, False)
    conversation.ask("hello")
    said = capsys.readouterr().out
    assert said.endswith(" ...\n") and conversation.messages[-1] == {"role": "assistant", "content": said[: -len(" ...\n")]}
    assert llm.chat(MESSAGES, max_tokens=1).text is not None


@pytest.mark.parametrize("name", ["tokenizers", "jinja2"])
def test_packages_that_are_not_installed(folder, monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(gossamer.Error, match=rf"{name} \(pip install gossamer\[llm\]\)"):
        gossamer.llm.load(folder)


def test_byte_fallback():
    words = ["<unk>", "<s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "b", "▁a", "ab"]
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab={word: at for at, word in enumerate(words)}, merges=[("▁", "a"), ("a", "b")], unk_token="<unk>", byte_fallback=True))
    made.normalizer = tokenizers.normalizers.Sequence([tokenizers.normalizers.Prepend("▁"), tokenizers.normalizers.Replace(" ", "▁")])
    made.decoder = tokenizers.decoders.Sequence([tokenizers.decoders.Replace("▁", " "), tokenizers.decoders.ByteFallback(), tokenizers.decoders.Fuse(), tokenizers.decoders.Strip(" ", 1, 0)])
    own = gossamer.llm.texts.Tokenizer(made, made.to_str())
    for text in ("a b", "  a", "語a 🦎", "é\n ab", " ", ""):
        ids = own.encode(text)
        pieces = gossamer.llm.texts.Detokenizer(own)
        said = [pieces.push(each) for each in ids] + [pieces.end()]
        assert "".join(said) == made.decode(ids) and not any("\ufffd" in piece for piece in said)
    assert own.decode([2 + 0x20, 2 + 0x61]) == made.decode([2 + 0x20, 2 + 0x61]) == "a"
    assert own.decode([2 + 0xE8, 2 + 0xAA, words.index("a")]) == "\ufffda"
