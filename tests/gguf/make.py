"""Writes small models with seeded weights as GGUF files, with the logits that they have by NumPy.

    make.py FOLDER

Each architecture: NAME.gguf, NAME.ids.npy, NAME.logits.npy, and NAME.json with tokens of texts and a short answer. Each type of weights: TYPE.blocks.npy (bytes) and TYPE.numbers.npy, by
gguf's dequantize.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import GGUFWriter
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import dequantize, quantize

from reference import Model
from words import add_tokenizer, texts, tokenizer_of

TYPES = ("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K")
WIDTH, HIDDEN, HEADS, GROUPS, HEAD = 256, 512, 4, 2, 64
CONTEXT = 512


def packed(random: np.random.Generator, shape: tuple[int, ...], kind: Type) -> np.ndarray:
    """Weights of about 0.05 in a type. gguf cannot write the K types: their blocks are random bytes with scales that fit."""
    if not kind.name.endswith("_K"):
        return quantize(random.normal(0, 0.05, shape).astype(np.float32), kind)
    numbers, size = GGML_QUANT_SIZES[kind]
    blocks = random.integers(0, 256, (*shape[:-1], shape[-1] // numbers, size), np.uint8)
    scale = random.uniform(0.5, 1.5, blocks.shape[:-1]) * (2e-5 if kind == Type.Q6_K else 1.5e-4 if kind == Type.Q4_K else 7e-5)

    def put(at: int, values: np.ndarray) -> None:
        blocks[..., at : at + 2] = values.astype(np.float16)[..., None].view(np.uint8)

    put(size - 2 if kind == Type.Q6_K else 0, scale)
    if kind != Type.Q6_K:
        put(2, scale * (7.5 if kind == Type.Q4_K else 15.5))
    return blocks.reshape(*shape[:-1], -1)


def write(path: Path, architecture: str, types: list[str], seed: int, *, layers: int = 2, tied: bool = False, bias: bool = False, fused: bool = False,
          norms: bool = False, values: dict[str, object] | None = None, vectors: dict[str, np.ndarray] | None = None, tokenizer: str = "gpt2", parts_of: int = 0) -> None:
    """`types`: of the matrices in turn. `parts_of`: tensors of each file; 0: there is one file."""
    random = np.random.default_rng(seed)
    writer = GGUFWriter(path, architecture, split_max_tensors=parts_of)
    words = add_tokenizer(writer, tokenizer)
    kinds = [Type[name] for name in types]
    count = 0

    def matrix(name: str, rows: int, columns: int) -> None:
        nonlocal count
        kind = kinds[count % len(kinds)]
        count += 1
        writer.add_tensor(f"{name}.weight", packed(random, (rows, columns), kind), raw_dtype=kind)

    def vector(name: str, length: int, around: float) -> None:
        writer.add_tensor(name, random.normal(around, 0.1, length).astype(np.float32))

    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(GROUPS)
    writer.add_key_length(HEAD)
    writer.add_value_length(HEAD)
    writer.add_layer_norm_rms_eps(1e-6)
    for key, value in (values or {}).items():
        add = writer.add_float32 if isinstance(value, float) else writer.add_string if isinstance(value, str) else writer.add_uint32
        add(f"{architecture}.{key}", value)
    matrix("token_embd", words, WIDTH)
    for layer in range(layers):
        name, wide, narrow = f"blk.{layer}", HEADS * HEAD, GROUPS * HEAD
        vector(f"{name}.attn_norm.weight", WIDTH, 1)
        if fused:
            matrix(f"{name}.attn_qkv", wide + 2 * narrow, WIDTH)
        else:
            for part, rows in (("q", wide), ("k", narrow), ("v", narrow)):
                matrix(f"{name}.attn_{part}", rows, WIDTH)
                if bias:
                    vector(f"{name}.attn_{part}.bias", rows, 0)
        if norms:
            for part in "qk":
                vector(f"{name}.attn_{part}_norm.weight", HEAD, 1)
        matrix(f"{name}.attn_output", WIDTH, wide)
        vector(f"{name}.ffn_norm.weight", WIDTH, 1)
        if not fused:
            matrix(f"{name}.ffn_gate", HIDDEN, WIDTH)
        matrix(f"{name}.ffn_up", 2 * HIDDEN if fused else HIDDEN, WIDTH)
        matrix(f"{name}.ffn_down", WIDTH, HIDDEN)
        if architecture == "gemma3":
            vector(f"{name}.post_attention_norm.weight", WIDTH, 1)
            vector(f"{name}.post_ffw_norm.weight", WIDTH, 1)
    vector("output_norm.weight", WIDTH, 1)
    if not tied:
        matrix("output", words, WIDTH)
    for name, numbers in (vectors or {}).items():
        writer.add_tensor(name, numbers.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def models() -> dict[str, dict[str, object]]:
    half = HEAD // 2
    llama3 = np.where(np.arange(half) < half // 2, 1.0, 8.0)
    return {
        "llama": {"types": ["Q4_0", "Q8_0", "Q4_1"], "values": {"rope.freq_base": 500000.0}, "vectors": {"rope_freqs.weight": llama3}},
        "llama-spm": {"types": ["Q4_K", "Q6_K"], "tied": True, "tokenizer": "llama", "values": {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0}},
        "qwen2": {"types": ["Q5_0", "Q5_1", "F16"], "bias": True, "tied": True, "tokenizer": "qwen2",
                  "values": {"rope.freq_base": 1e6, "rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 128}},
        "qwen3": {"types": ["Q8_0", "Q5_K", "BF16"], "norms": True, "tokenizer": "qwen2", "values": {"rope.freq_base": 1e6}},
        "gemma3": {"types": ["Q4_0", "Q6_K", "Q5_K"], "layers": 6, "norms": True, "tied": True, "tokenizer": "gemma",
                   "values": {"rope.freq_base": 1e6, "attention.sliding_window": 8, "rope.scaling.type": "linear", "rope.scaling.factor": 8.0}},
        "phi3": {"types": ["Q4_K", "Q4_0", "F32"], "fused": True, "tokenizer": "llama", "values": {"rope.dimension_count": 48, "attention.sliding_window": 12}},
        "phi3-long": {"types": ["Q8_0"], "fused": True, "values": {"rope.dimension_count": 48, "rope.scaling.type": "longrope", "rope.scaling.original_context_length": 16},
                      "vectors": {"rope_factors_long.weight": np.linspace(1, 9, 24), "rope_factors_short.weight": np.linspace(1, 2, 24)}},
    }


def said(model: Model, kind: str) -> dict[str, object]:
    """What the tokenizer makes of texts, and the likeliest answer to a conversation."""
    tokenizer = tokenizer_of(kind)
    rows = [(text, tokenizer.encode(text).ids) for text in texts(11, 150)]
    prompt = "<|im_start|>user\nthe cat sat<|im_end|>\n<|im_start|>assistant\n"
    ids = tokenizer.encode(prompt, add_special_tokens=False).ids
    answer: list[int] = []
    ends = {tokenizer.token_to_id(token) for token in ("<|im_end|>", "</s>")}
    while len(answer) < 10:
        scores = model.logits(np.array(ids + answer))[-1]
        answer.append(int(scores.argmax()))
        if answer[-1] in ends:
            break
    return {"rows": rows, "prompt": prompt, "answer_ids": answer}


def main(folder: Path) -> None:
    random = np.random.default_rng(7)
    for name in TYPES:
        kind = Type[name]
        blocks = packed(random, (64, 512), kind)
        if kind.name.startswith("Q"):
            # Scales of all kinds, as files may have them: zero, negative, denormal, the greatest.
            numbers, size = GGML_QUANT_SIZES[kind]
            each = blocks.view(np.uint8).reshape(64, -1, size)
            for at in (208,) if kind == Type.Q6_K else (0, 2) if name in ("Q4_1", "Q5_1", "Q4_K", "Q5_K") else (0,):
                halves = np.array([0, -0.02, 6e-8, 65504, 3e-5, -1], np.float16)
                each[:6, 0, at : at + 2] = halves[:, None].view(np.uint8)
            random_bytes = random.integers(0, 256, (8, *each.shape[1:]), np.uint8)
            scales = each[16:24].copy()
            each[16:24] = random_bytes
            for at in (208,) if kind == Type.Q6_K else (0, 2) if name in ("Q4_1", "Q5_1", "Q4_K", "Q5_K") else (0,):
                each[16:24, :, at : at + 2] = scales[:, :, at : at + 2]
            blocks = each.reshape(64, -1)
        np.save(folder / f"{name}.blocks.npy", blocks.view(np.uint8).reshape(64, -1))
        np.save(folder / f"{name}.numbers.npy", dequantize(blocks, kind).astype(np.float32))
    for seed, (name, options) in enumerate(models().items()):
        path = folder / f"{name}.gguf"
        write(path, name.split("-")[0], seed=seed, **options)
        if name == "qwen2":
            write(folder / "parts.gguf", name, seed=seed, parts_of=10, **options)
        ids = random.integers(3, 300, 24)
        np.save(folder / f"{name}.ids.npy", ids[None])
        model = Model.read(str(path))
        np.save(folder / f"{name}.logits.npy", model.logits(ids)[None].astype(np.float32))
        (folder / f"{name}.json").write_text(json.dumps(said(model, options.get("tokenizer", "gpt2"))), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
