"""Writes folders of small models with seeded weights, config.json and safetensors files, with the logits that they have by NumPy.

    make.py FOLDER

Each model: NAME/ (the folder), NAME.ids.npy and NAME.DTYPE.npy, the logits of weights that are stored in a form, and NAME.json with a short
answer. NAME.blocks/DTYPE.TENSOR: the blocks
that the gguf package makes of matrices, for one model.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf.quants import dequantize, quantize

sys.path.insert(0, str(Path(__file__).parent.parent / "gguf"))

from reference import Model  # noqa: E402
from words import TEMPLATE, tokenizer_of  # noqa: E402

WIDTH, HIDDEN, HEADS, GROUPS, HEAD, CONTEXT, WORDS = 128, 256, 4, 2, 32, 512, 384
LENGTH = 24
FORMS = {"q4": Type.Q4_0, "q8": Type.Q8_0}


def bytes_of(numbers: np.ndarray, kind: str) -> bytes:
    if kind == "BF16":
        return (np.ascontiguousarray(numbers, "<f4").view("<u4") >> 16).astype("<u2").tobytes()
    return numbers.astype("<f4" if kind == "F32" else "<f2").tobytes()


def rounded(numbers: np.ndarray, kind: str) -> np.ndarray:
    """Numbers of a type, as f32."""
    if kind == "BF16":
        return (np.ascontiguousarray(numbers, np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    return numbers.astype(np.float32 if kind == "F32" else np.float16).astype(np.float32)


def write_file(path: Path, tensors: dict[str, tuple[np.ndarray, str]]) -> None:
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (numbers, kind) in tensors.items():
        added = bytes_of(numbers, kind)
        header[name] = {"dtype": kind, "shape": numbers.shape, "data_offsets": [len(data), len(data) + len(added)]}
        data += added
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


class Network:
    """A model by the names of both formats."""

    def __init__(self, kind: str, seed: int, *, layers: int = 2, tied: bool = False, bias: bool = False, prefix: str = "model.", config: dict[str, object] | None = None,
                 values: dict[str, object] | None = None, factors: dict[str, np.ndarray] | None = None, types: tuple[str, ...] = ("F32",), window: int = 0, files: int = 1) -> None:
        self.random = np.random.default_rng(seed)
        self.architecture = {"mistral": "llama", "gemma3_text": "gemma3"}.get(kind, kind)
        self.files, self.types, self.prefix, self.window = files, types, prefix, window
        self.tensors: dict[str, tuple[np.ndarray, str]] = {}  # of the folder
        self.names: dict[str, str] = {}  # of GGUF files
        sizes = {"hidden_size": WIDTH, "intermediate_size": HIDDEN, "num_hidden_layers": layers, "num_attention_heads": HEADS, "num_key_value_heads": GROUPS, "head_dim": HEAD,
                 "max_position_embeddings": CONTEXT, "rms_norm_eps": 1e-6, "vocab_size": WORDS}
        self.config = {"model_type": kind, "tie_word_embeddings": tied, **sizes, **(config or {})}
        counts = {"embedding_length": WIDTH, "block_count": layers, "attention.head_count": HEADS, "attention.head_count_kv": GROUPS, "attention.key_length": HEAD,
                  "context_length": CONTEXT, "attention.layer_norm_rms_epsilon": 1e-6}
        self.values = {"general.architecture": self.architecture, **{f"{self.architecture}.{key}": value for key, value in {**counts, **(values or {})}.items()}}
        self.factors = factors or {}
        fused, end_norms = self.architecture == "phi3", self.architecture == "gemma3"
        self.add("token_embd", f"{prefix}embed_tokens", WORDS, WIDTH)
        wide, narrow = HEADS * HEAD, GROUPS * HEAD
        for layer in range(layers):
            gguf, own = f"blk.{layer}.", f"{prefix}layers.{layer}."
            norms = {"attn_norm": "input_layernorm", "ffn_norm": "pre_feedforward_layernorm" if end_norms else "post_attention_layernorm"}
            if end_norms:
                norms |= {"post_attention_norm": "post_attention_layernorm", "post_ffw_norm": "post_feedforward_layernorm"}
            for one, other in norms.items():
                self.add(gguf + one, own + other, WIDTH)
            if fused:
                self.add(gguf + "attn_qkv", own + "self_attn.qkv_proj", wide + 2 * narrow, WIDTH)
                self.add(gguf + "ffn_up", own + "mlp.gate_up_proj", 2 * HIDDEN, WIDTH)
            else:
                for part, rows in (("q", wide), ("k", narrow), ("v", narrow)):
                    self.add(f"{gguf}attn_{part}", f"{own}self_attn.{part}_proj", rows, WIDTH, bias=bias)
                for part in ("gate", "up"):
                    self.add(f"{gguf}ffn_{part}", f"{own}mlp.{part}_proj", HIDDEN, WIDTH)
            if self.architecture in ("qwen3", "gemma3"):
                for part in "qk":
                    self.add(f"{gguf}attn_{part}_norm", f"{own}self_attn.{part}_norm", HEAD)
            self.add(gguf + "attn_output", own + "self_attn.o_proj", WIDTH, wide)
            self.add(gguf + "ffn_down", own + "mlp.down_proj", WIDTH, HIDDEN)
        if not tied:  # rows that no test looks up: zeros, equal magnitudes, halves of steps, numbers of all sizes
            rows, _ = self.tensors[f"{prefix}embed_tokens.weight"]
            rows[0] = 0
            rows[1] = np.tile([1, -1, 0.5, -0.5], WIDTH // 4)
            rows[2] = np.arange(WIDTH) / 8
            rows[301:] *= (10.0 ** self.random.integers(-6, 4, (WORDS - 301, 1))).astype(np.float32)
        self.add("output_norm", f"{prefix}norm", WIDTH)
        if not tied:
            self.add("output", "lm_head", WORDS, WIDTH)

    def add(self, gguf: str, own: str, *shape: int, bias: bool = False) -> None:
        kind = self.types[len(self.tensors) % len(self.types)]
        around = 0 if len(shape) > 1 or self.architecture == "gemma3" else 1
        numbers = self.random.normal(around, 0.05 if len(shape) > 1 else 0.1, shape).astype(np.float32)
        self.tensors[f"{own}.weight"] = (numbers, kind)
        self.names[f"{own}.weight"] = f"{gguf}.weight"
        if bias:
            self.tensors[f"{own}.bias"] = (self.random.normal(0, 0.1, shape[0]).astype(np.float32), kind)
            self.names[f"{own}.bias"] = f"{gguf}.bias"

    def model(self, dtype: str) -> Model:
        made = {}
        for own, name in self.names.items():
            numbers, kind = self.tensors[own]
            numbers = rounded(numbers, kind)
            if numbers.ndim == 2 and dtype in FORMS:
                numbers = dequantize(quantize(numbers, FORMS[dtype]), FORMS[dtype])
            if numbers.ndim == 2 and dtype == "fp16" and kind == "F32":
                numbers = rounded(numbers, "F16")
            numbers = numbers.astype(np.float64)
            if self.architecture == "gemma3" and numbers.ndim == 1:
                numbers = numbers + 1
            if self.architecture == "llama" and ("attn_q" in name or "attn_k" in name):  # halves to neighbours
                numbers = numbers.reshape(-1, 2, HEAD // 2, *numbers.shape[1:]).swapaxes(1, 2).reshape(numbers.shape)
            made[name] = numbers
        model = Model(self.values, {**made, **self.factors})
        model.window = model.window or self.window
        if "query_pre_attn_scalar" in self.config:
            model.scale = 1 / np.sqrt(self.config["query_pre_attn_scalar"])
        return model

    def answer(self, prompt: str) -> list[int]:
        """The likeliest one in q4."""
        model, tokenizer, answer = self.model("q4"), tokenizer_of("qwen2"), []
        ids = tokenizer.encode(prompt, add_special_tokens=False).ids
        while len(answer) < 10:
            answer.append(int(model.logits(np.array(ids + answer))[-1].argmax()))
            if answer[-1] == tokenizer.token_to_id("<|im_end|>"):
                break
        return answer

    def write(self, folder: Path) -> None:
        folder.mkdir()
        config = self.config
        if self.prefix != "model.":  # as models of text and images have it
            config = {"model_type": "gemma3", "text_config": {key: value for key, value in config.items() if key != "tie_word_embeddings"}}
        (folder / "config.json").write_text(json.dumps(config), "utf-8")
        names = list(self.tensors)
        if self.files == 1:
            write_file(folder / "model.safetensors", self.tensors)
        else:
            place = {name: f"model-{at * self.files // len(names) + 1:05}-of-{self.files:05}.safetensors" for at, name in enumerate(names)}
            for file in set(place.values()):
                write_file(folder / file, {name: self.tensors[name] for name in names if place[name] == file})
            (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": place}), "utf-8")
        tokenizer = tokenizer_of("qwen2")
        tokenizer.save(str(folder / "tokenizer.json"))
        (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE, "eos_token": "<|im_end|>"}), "utf-8")


def networks() -> dict[str, dict[str, object]]:
    each = 1 / 500000.0 ** (np.arange(0, HEAD, 2) / HEAD)
    turns = 128 * each / (2 * np.pi)
    smooth = np.clip((turns - 1) / (4 - 1), 0, 1)
    llama3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 128}
    yarn = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 128, "rope.freq_base": 1e6}
    far, near = np.linspace(1, 9, 12), np.linspace(1, 2, 12)
    return {
        "llama": {"config": {"rope_theta": 500000.0, "rope_scaling": llama3}, "values": {"rope.freq_base": 500000.0}, "factors": {"rope_freqs.weight": 1 / ((1 - smooth) / 8 + smooth)},
                  "types": ("BF16", "F16", "F32")},
        "mistral": {"config": {"sliding_window": 9}, "window": 9, "types": ("F16",)},
        "qwen2": {"config": {"rope_theta": 1e6, "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128}}, "values": yarn, "bias": True, "tied": True},
        # As newer versions of transformers write the rotation.
        "qwen3": {"config": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}, "values": {"rope.freq_base": 1e6}, "files": 3, "types": ("BF16",)},
        "gemma3_text": {"config": {"rope_theta": 1e6, "sliding_window": 8, "query_pre_attn_scalar": 50, "rope_scaling": {"rope_type": "linear", "factor": 8.0}}, "layers": 6, "tied": True,
                        "prefix": "language_model.model.", "types": ("BF16",),
                        "values": {"rope.freq_base": 1e6, "attention.sliding_window": 8, "rope.scaling.type": "linear", "rope.scaling.factor": 8.0}},
        "phi3": {"config": {"partial_rotary_factor": 0.75, "original_max_position_embeddings": 16, "rope_scaling": {"type": "longrope", "long_factor": far.tolist(), "short_factor": near.tolist()}},
                 "values": {"rope.dimension_count": 24, "rope.scaling.type": "longrope", "rope.scaling.original_context_length": 16},
                 "factors": {"rope_factors_long.weight": far, "rope_factors_short.weight": near}},
    }


def main(folder: Path) -> None:
    random = np.random.default_rng(7)
    for seed, (name, options) in enumerate(networks().items()):
        network = Network(name, seed, **options)
        network.write(folder / name)
        ids = random.integers(3, 300, LENGTH)
        np.save(folder / f"{name}.ids.npy", ids[None])
        for dtype in ("q4", "q8", "fp16", "fp32"):
            np.save(folder / f"{name}.{dtype}.npy", network.model(dtype).logits(ids)[None].astype(np.float32))
        prompt = "<|im_start|>user\nthe cat sat<|im_end|>\n<|im_start|>assistant\n"
        (folder / f"{name}.json").write_text(json.dumps({"answer_ids": network.answer(prompt)}), "utf-8")
        if name == "llama":
            (folder / f"{name}.blocks").mkdir()
            for dtype, form in FORMS.items():
                for key, (numbers, kind) in network.tensors.items():
                    if numbers.ndim == 2:
                        (folder / f"{name}.blocks" / f"{dtype}.{key}").write_bytes(quantize(rounded(numbers, kind), form).tobytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
