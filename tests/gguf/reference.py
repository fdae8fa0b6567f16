"""Forward passes of the architectures of GGUF files in NumPy, in f64: what tests of the readers of language models expect.

Checked once against transformers 4.57.6 in f32: see transformers_check.py.
"""

from __future__ import annotations

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize


class Model:
    def __init__(self, values: dict[str, object], tensors: dict[str, np.ndarray]) -> None:
        """By the names of GGUF files."""
        self.values, self.tensors = values, tensors
        self.architecture = self.values["general.architecture"]
        get = self.get
        self.width, self.layers, self.heads = get("embedding_length"), get("block_count"), get("attention.head_count")
        self.groups = get("attention.head_count_kv", self.heads)
        self.head = get("attention.key_length", self.width // self.heads)
        self.rotated = get("rope.dimension_count", self.head)
        self.epsilon = get("attention.layer_norm_rms_epsilon", 1e-5)
        window = get("attention.sliding_window", 0) if self.architecture in ("gemma3", "phi3") else 0
        self.window = window if window < get("context_length") else 0
        self.scale = 1 / np.sqrt(self.head)

    @classmethod
    def read(cls, path: str) -> Model:
        reader = GGUFReader(path)
        values = {key: field.contents() for key, field in reader.fields.items()}
        return cls(values, {tensor.name: dequantize(tensor.data, tensor.tensor_type).astype(np.float64) for tensor in reader.tensors})

    def get(self, name, fallback=None):
        return self.values.get(f"{self.architecture}.{name}", fallback)

    def frequencies(self, base: float, scaled: bool, length: int) -> tuple[np.ndarray, float]:
        """Angles of one position in f32, as transformers has them, and a factor of cosines and sines."""
        dims, kind, factor = self.rotated, self.get("rope.scaling.type", "none"), self.get("rope.scaling.factor", 1.0)
        each = (np.float32(1) / np.float32(base) ** (np.arange(0, dims, 2, dtype=np.float32) / np.float32(dims))).astype(np.float64)
        if not scaled:
            return each, 1.0
        if kind == "linear":
            return each / factor, 1.0
        original = self.get("rope.scaling.original_context_length", self.get("context_length"))
        if kind == "yarn":
            def place(turns):
                return dims * np.log(original / (turns * 2 * np.pi)) / (2 * np.log(base))

            low, high = max(np.floor(place(32)), 0), min(np.ceil(place(1)), dims - 1)
            ramp = np.clip((np.arange(dims // 2) - low) / max(high - low, 0.001), 0, 1)
            return each / factor * ramp + each * (1 - ramp), 0.1 * np.log(factor) + 1
        if kind == "longrope":
            name = "rope_factors_long.weight" if length > original else "rope_factors_short.weight"
            longer = self.get("context_length") / original
            return each / self.tensors[name], self.get("rope.scaling.attn_factor", np.sqrt(1 + np.log(longer) / np.log(original)))
        return each / self.tensors.get("rope_freqs.weight", 1.0), 1.0

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + self.epsilon) * self.tensors[f"{name}.weight"]

    def product(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self.tensors[f"{name}.weight"].T + self.tensors.get(f"{name}.bias", 0.0)

    def turned(self, x: np.ndarray, cosines: np.ndarray, sines: np.ndarray) -> np.ndarray:
        """x [length, heads, head]"""
        part, rest = x[..., : self.rotated], x[..., self.rotated :]
        half = self.rotated // 2
        pairs = self.architecture == "llama"
        a, b = (part[..., 0::2], part[..., 1::2]) if pairs else (part[..., :half], part[..., half:])
        c, s = cosines[:, None], sines[:, None]
        y = np.empty_like(part)
        if pairs:
            y[..., 0::2], y[..., 1::2] = a * c - b * s, a * s + b * c
        else:
            y[..., :half], y[..., half:] = a * c - b * s, a * s + b * c
        return np.concatenate([y, rest], -1)

    def attention(self, x: np.ndarray, layer: int) -> np.ndarray:
        name, length = f"blk.{layer}", len(x)
        wide, narrow = self.heads * self.head, self.groups * self.head
        if f"{name}.attn_qkv.weight" in self.tensors:
            q, k, v = np.split(self.product(x, f"{name}.attn_qkv"), [wide, wide + narrow], -1)
        else:
            q, k, v = (self.product(x, f"{name}.attn_{part}") for part in "qkv")
        q, k, v = (each.reshape(length, -1, self.head) for each in (q, k, v))
        if f"{name}.attn_q_norm.weight" in self.tensors:
            q, k = self.norm(q, f"{name}.attn_q_norm"), self.norm(k, f"{name}.attn_k_norm")
        gemma = self.architecture == "gemma3"
        local = gemma and (layer + 1) % 6 != 0
        each, factor = self.frequencies(10000.0 if local else self.get("rope.freq_base", 10000.0), not local, length)
        angles = np.arange(length)[:, None] * each
        q, k = (self.turned(one, np.cos(angles) * factor, np.sin(angles) * factor) for one in (q, k))
        k, v = (np.repeat(one, self.heads // self.groups, 1) for one in (k, v))
        scores = np.einsum("qhd,khd->hqk", q, k) * self.scale
        at = np.arange(length)
        seen = at[None, :] <= at[:, None]
        if self.window and (local or not gemma):
            seen &= at[None, :] > at[:, None] - self.window
        scores = np.where(seen, scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        y = np.einsum("hqk,khd->qhd", weights / weights.sum(-1, keepdims=True), v)
        return self.product(y.reshape(length, wide), f"{name}.attn_output")

    def feed_forward(self, x: np.ndarray, layer: int) -> np.ndarray:
        name = f"blk.{layer}"
        if f"{name}.ffn_gate.weight" in self.tensors:
            gate, up = self.product(x, f"{name}.ffn_gate"), self.product(x, f"{name}.ffn_up")
        else:
            gate, up = np.split(self.product(x, f"{name}.ffn_up"), 2, -1)
        if self.architecture == "gemma3":
            gate = 0.5 * gate * (1 + np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3)))
        else:
            gate = gate / (1 + np.exp(-gate))
        return self.product(gate * up, f"{name}.ffn_down")

    def logits(self, ids: np.ndarray) -> np.ndarray:
        """[length, words]"""
        gemma = self.architecture == "gemma3"
        x = self.tensors["token_embd.weight"][ids] * (np.sqrt(self.width) if gemma else 1)
        for layer in range(self.layers):
            y = self.attention(self.norm(x, f"blk.{layer}.attn_norm"), layer)
            x = x + (self.norm(y, f"blk.{layer}.post_attention_norm") if gemma else y)
            y = self.feed_forward(self.norm(x, f"blk.{layer}.ffn_norm"), layer)
            x = x + (self.norm(y, f"blk.{layer}.post_ffw_norm") if gemma else y)
        return self.product(self.norm(x, "output_norm"), "output" if "output.weight" in self.tensors else "token_embd")
