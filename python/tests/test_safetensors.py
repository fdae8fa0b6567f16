"""Folders with safetensors files: compile(), gossamer.llm, errors. Architectures and forms of weights are in tests/safetensors."""

import json
import subprocess
import sys

import numpy as np
import pytest

import gossamer

WIDTH, HEAD, HIDDEN, CONTEXT = 32, 16, 64, 64
WORDS = ["<|im_start|>", "<|im_end|>"]


def alphabet():
    """The characters by which byte-level tokenizers write bytes."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in shown]
    return [chr(byte) for byte in shown] + [chr(256 + at) for at in range(len(others))]


def write(folder, **changes):
    tokens = WORDS + alphabet()
    config = {"model_type": "llama", "hidden_size": WIDTH, "intermediate_size": HIDDEN, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1,
              "max_position_embeddings": CONTEXT, "rms_norm_eps": 1e-6, "tie_word_embeddings": True, "eos_token_id": 1, **changes}  # fmt: skip
    layer = "model.layers.0."
    shapes = {
        "model.embed_tokens.weight": (len(tokens), WIDTH), "model.norm.weight": (WIDTH,), f"{layer}input_layernorm.weight": (WIDTH,), f"{layer}post_attention_layernorm.weight": (WIDTH,),
        f"{layer}self_attn.q_proj.weight": (2 * HEAD, WIDTH), f"{layer}self_attn.k_proj.weight": (HEAD, WIDTH), f"{layer}self_attn.v_proj.weight": (HEAD, WIDTH),
        f"{layer}self_attn.o_proj.weight": (WIDTH, 2 * HEAD), f"{layer}mlp.gate_proj.weight": (HIDDEN, WIDTH), f"{layer}mlp.up_proj.weight": (HIDDEN, WIDTH), f"{layer}mlp.down_proj.weight": (WIDTH, HIDDEN),
    }  # fmt: skip
    random, header, data = np.random.default_rng(3), {}, b""
    for name, shape in shapes.items():
        added = random.normal(len(shape) == 1, 0.3, shape).astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(added)]}
        data += added
    text = json.dumps(header).encode()
    folder.mkdir(exist_ok=True)
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
    (folder / "config.json").write_text(json.dumps(config))
    vocabulary = {token: at for at, token in enumerate(tokens)}
    added = [{"id": at, "content": token, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} for at, token in enumerate(WORDS)]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    tokenizer = {"version": "1.0", "added_tokens": added, "normalizer": None, "pre_tokenizer": level, "post_processor": None, "decoder": level, "model": {"type": "BPE", "vocab": vocabulary, "merges": []}}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": "{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}", "eos_token": WORDS[1]}))
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(tmp_path_factory.mktemp("safetensors") / "small")


def test_forms_of_weights(folder):
    sizes = {dtype: len(gossamer.compile(folder, "wasm", dtype=dtype).files["weights.safetensors"]) for dtype in ("q4", "q8", "fp16", "fp32")}
    assert sizes["q4"] < sizes["q8"] < sizes["fp16"] < sizes["fp32"]
    assert gossamer.compile(folder, "wasm").files == gossamer.compile(folder, "wasm", dtype="q4").files


def test_language_model(folder):
    pytest.importorskip("tokenizers")
    llm = gossamer.llm.load(folder, threads=1)
    assert llm.name == "small" and llm.context_length == CONTEXT
    messages = [{"role": "user", "content": "hello"}]
    ids = list(llm.model.generate([0, *llm.encode("hello"), 1], max_tokens=12, stop_tokens=[1], temperature=0))
    assert llm.chat(messages, max_tokens=12, temperature=0).text == llm.decode(ids)
    exact = gossamer.llm.load(folder, dtype="fp32", threads=1)
    assert exact.model.report()["weight_bytes"] > 2 * llm.model.report()["weight_bytes"]
    with pytest.raises(gossamer.Error, match='no ONNX file with weights in "int8".*q4, q8, fp16, fp32'):
        gossamer.llm.load(folder, dtype="int8")


def test_chat_in_the_terminal(folder):
    pytest.importorskip("tokenizers")
    done = subprocess.run([sys.executable, "-m", "gossamer.llm", folder, "--prompt", "hello", "--max-tokens", "5", "--dtype", "q8"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_errors(folder, tmp_path):
    with pytest.raises(gossamer.Error, match='kind "gpt_oss", whose safetensors files are not supported .use a model of llama, mistral, qwen2'):
        gossamer.compile(write(tmp_path / "kind", model_type="gpt_oss"))
    with pytest.raises(gossamer.Error, match='dtype "q5"'):
        gossamer.compile(folder, dtype="q5")
    whole = (folder / "model.safetensors").read_bytes()
    (write(tmp_path / "cut") / "model.safetensors").write_bytes(whole[:-100])
    with pytest.raises(gossamer.Error, match="model.safetensors: tensor .* ends at byte .*the file is cut: download it again"):
        gossamer.compile(tmp_path / "cut")
    (tmp_path / "some.onnx").write_bytes(b"")
    with pytest.raises(gossamer.Error, match="leave out dtype"):
        gossamer.compile(tmp_path / "some.onnx", dtype="q4")
