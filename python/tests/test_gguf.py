"""Language models in GGUF files: compile(), gossamer.llm, errors. Weights and tokenizers of all kinds are in tests/gguf."""

import struct
import subprocess
import sys

import numpy as np
import pytest

import gossamer

WIDTH, HEAD, HIDDEN, CONTEXT = 32, 16, 64, 64
U32, F32, STRING, ARRAY, I32 = 4, 6, 8, 9, 5
WORDS = ["<|im_start|>", "<|im_end|>"]


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def alphabet():
    """The characters by which byte-level tokenizers write bytes."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in shown]
    return [chr(byte) for byte in shown] + [chr(256 + at) for at in range(len(others))]


def model(architecture="llama"):
    tokens = WORDS + alphabet()
    values = [
        ("general.architecture", STRING, text(architecture)),
        ("tokenizer.ggml.model", STRING, text("gpt2")),
        ("tokenizer.ggml.pre", STRING, text("qwen2")),
        ("tokenizer.ggml.tokens", ARRAY, struct.pack("<IQ", STRING, len(tokens)) + b"".join(map(text, tokens))),
        ("tokenizer.ggml.token_type", ARRAY, struct.pack("<IQ", I32, len(tokens)) + struct.pack(f"<{len(tokens)}i", *(3 if at < len(WORDS) else 1 for at in range(len(tokens))))),
        ("tokenizer.ggml.merges", ARRAY, struct.pack("<IQ", STRING, 0)),
        ("tokenizer.ggml.eos_token_id", U32, struct.pack("<I", 1)),
        ("tokenizer.chat_template", STRING, text("{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}")),
        (f"{architecture}.attention.layer_norm_rms_epsilon", F32, struct.pack("<f", 1e-6)),
    ]
    counts = {"block_count": 1, "embedding_length": WIDTH, "feed_forward_length": HIDDEN, "context_length": CONTEXT, "attention.head_count": 2, "attention.head_count_kv": 1}
    values += [(f"{architecture}.{name}", U32, struct.pack("<I", count)) for name, count in counts.items()]
    shapes = {
        "token_embd.weight": (len(tokens), WIDTH), "output_norm.weight": (WIDTH,), "blk.0.attn_norm.weight": (WIDTH,), "blk.0.ffn_norm.weight": (WIDTH,),
        "blk.0.attn_q.weight": (2 * HEAD, WIDTH), "blk.0.attn_k.weight": (HEAD, WIDTH), "blk.0.attn_v.weight": (HEAD, WIDTH), "blk.0.attn_output.weight": (WIDTH, 2 * HEAD),
        "blk.0.ffn_gate.weight": (HIDDEN, WIDTH), "blk.0.ffn_up.weight": (HIDDEN, WIDTH), "blk.0.ffn_down.weight": (WIDTH, HIDDEN),
    }  # fmt: skip
    random, header, data = np.random.default_rng(3), b"", b""
    for name, shape in shapes.items():
        header += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape[::-1]) + struct.pack("<IQ", 0, len(data))
        data += random.normal(len(shape) == 1, 0.3, shape).astype("<f4").tobytes()
    whole = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(values)) + b"".join(text(key) + struct.pack("<I", kind) + value for key, kind, value in values) + header
    return whole + bytes(-len(whole) % 32) + data


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    place = tmp_path_factory.mktemp("gguf") / "small.gguf"
    place.write_bytes(model())
    return place


def test_a_path_and_its_bytes_are_one_model(path):
    made, other = gossamer.compile(path, "wasm"), gossamer.compile(path.read_bytes(), "wasm")
    assert made.files == other.files
    names = [value.name for value in gossamer.compile(path).model.values]
    assert names[:2] == ["input_ids", "attention_mask"] and "past_key_values.0.key" in names


def test_language_model(path):
    pytest.importorskip("tokenizers")
    llm = gossamer.llm.load(path, threads=1)
    assert llm.name == "small" and llm.context_length == CONTEXT
    assert llm.encode("hello") == [len(WORDS) + alphabet().index(letter) for letter in "hello"]
    messages = [{"role": "user", "content": "hello"}]
    assert llm.prompt_of(messages) == "<|im_start|>hello<|im_end|>"
    prompt = [0, *llm.encode("hello"), 1]
    ids = list(llm.model.generate(prompt, max_tokens=12, stop_tokens=[1], temperature=0))
    assert llm.chat(messages, max_tokens=12, temperature=0).text == llm.decode(ids)
    with pytest.raises(gossamer.Error, match="a GGUF file has one network"):
        gossamer.llm.load(path, dtype="q4")


def test_chat_in_the_terminal(path):
    pytest.importorskip("tokenizers")
    done = subprocess.run([sys.executable, "-m", "gossamer.llm", path, "--prompt", "hello", "--max-tokens", "5"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (model()[:900], "is cut|has 900 bytes"),
        (model()[:-100], r"ends at byte \d+, the file has"),
        (model("gpt-oss"), 'architecture "gpt-oss", which is not supported .use a model of llama, qwen2'),
    ],
)
def test_errors(tmp_path, data, message):
    (tmp_path / "wrong.gguf").write_bytes(data)
    with pytest.raises(gossamer.Error, match=message):
        gossamer.compile(tmp_path / "wrong.gguf")
    with pytest.raises(gossamer.Error, match=message):
        gossamer.compile(data)
