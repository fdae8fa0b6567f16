"""Attention and whole transformers, with PyTorch's parameters and names."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

from ..error import Error
from ..lazy.tensors import Tensor, full, where, zeros
from . import functional as F  # noqa: N812
from .layers import Dropout, LayerNorm, Linear, _uniform
from .module import Module, ModuleList, Parameter


class MultiheadAttention(Module):
    """Attention of several heads. Tensors are [length, batch, features], with batch_first [batch, length, features], or without batch."""

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, batch_first: bool = False) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise Error(f"{num_heads} heads do not divide {embed_dim} features", "MultiheadAttention")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.in_proj_weight = _uniform((3 * embed_dim, embed_dim), math.sqrt(6 / (4 * embed_dim)))
        self.in_proj_bias = Parameter(zeros(3 * embed_dim)) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias)
        if self.out_proj.bias is not None:
            self.out_proj.bias.zero_()

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None,
        average_attn_weights: bool = True, is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """The output, and the weights [batch, targets, sources] or None. Masks: added to the scores, or, of bool, true where not to look."""
        if query.ndim == 2:
            at = 0 if self.batch_first else 1
            mask = key_padding_mask if key_padding_mask is None else key_padding_mask.unsqueeze(0)
            made, weights = self.forward(query.unsqueeze(at), key.unsqueeze(at), value.unsqueeze(at), mask, need_weights, attn_mask, average_attn_weights, is_causal)
            return made.squeeze(at), None if weights is None else weights.squeeze(0)
        if query.ndim != 3 or query.shape[2] != self.embed_dim:
            raise Error(f"shape {list(query.shape)}; three axes are expected, the last of {self.embed_dim}", "MultiheadAttention")
        inputs = [each if self.batch_first else each.transpose(0, 1) for each in (query, key, value)]
        batch, targets, features = inputs[0].shape
        sources = inputs[1].shape[1]
        weights_of = self.in_proj_weight.chunk(3)
        biases: Any = (None, None, None) if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        q, k, v = (x._linear(weights_of[at], biases[at]).reshape(batch, x.shape[1], self.num_heads, -1).transpose(1, 2) for at, x in enumerate(inputs))
        scores = (q * (1 / math.sqrt(features // self.num_heads))) @ k.mT
        if attn_mask is not None:
            scores = scores + _added(attn_mask.reshape(batch, self.num_heads, targets, sources) if attn_mask.ndim == 3 else attn_mask, q)
        elif is_causal:
            scores = scores + full((targets, sources), -math.inf).triu(1).to(q._dtype)
        if key_padding_mask is not None:
            scores = scores + _added(key_padding_mask, q).reshape(batch, 1, 1, -1)
        weights = scores.softmax(-1)
        heads = F.dropout(weights, self.dropout, self.training) @ v
        made = self.out_proj(heads.transpose(1, 2).reshape(batch, targets, features))
        shown = None if not need_weights else weights.mean(1) if average_attn_weights else weights
        return (made if self.batch_first else made.transpose(0, 1)), shown


def _added(mask: Tensor, like: Tensor) -> Tensor:
    return where(mask, -math.inf, 0.0).to(like._dtype) if mask._dtype == "bool" else mask


class _Layer(Module):
    """What layers of encoders and decoders share."""

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: str | Callable[[Tensor], Tensor] = "relu", layer_norm_eps: float = 1e-5,
        batch_first: bool = False, norm_first: bool = False, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first)
        self.linear1 = Linear(d_model, dim_feedforward, bias)
        self.linear2 = Linear(dim_feedforward, d_model, bias)
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias)
        self.dropout, self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout), Dropout(dropout)
        self.norm_first = norm_first
        if isinstance(activation, str) and activation not in ("relu", "gelu"):
            raise Error(f"activation is {activation!r}; relu, gelu and functions are allowed", type(self).__name__)
        self.activation = {"relu": F.relu, "gelu": F.gelu}[activation] if isinstance(activation, str) else activation

    def _part(self, x: Tensor, norm: LayerNorm, drop: Dropout, compute: Callable[[Tensor], Tensor]) -> Tensor:
        return x + drop(compute(norm(x))) if self.norm_first else norm(x + drop(compute(x)))

    def _feed(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network."""

    def forward(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
        x = self._part(src, self.norm1, self.dropout1, lambda each: self.self_attn(each, each, each, src_key_padding_mask, False, src_mask, is_causal=is_causal)[0])
        return self._part(x, self.norm2, self.dropout2, self._feed)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to a memory, and a feed-forward network."""

    def __init__(self, d_model: int, nhead: int, *given: Any, **options: Any) -> None:
        super().__init__(d_model, nhead, *given, **options)
        mine = self.self_attn
        self.multihead_attn = MultiheadAttention(d_model, nhead, mine.dropout, mine.in_proj_bias is not None, mine.batch_first)
        self.norm3 = LayerNorm(d_model, self.norm1.eps, bias=self.norm1.bias is not None)
        self.dropout3 = Dropout(self.dropout.p)

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        x = self._part(tgt, self.norm1, self.dropout1, lambda each: self.self_attn(each, each, each, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal)[0])
        x = self._part(x, self.norm2, self.dropout2, lambda each: self.multihead_attn(each, memory, memory, memory_key_padding_mask, False, memory_mask, is_causal=memory_is_causal)[0])
        return self._part(x, self.norm3, self.dropout3, self._feed)


class TransformerEncoder(Module):
    """Copies of a layer, one after the other."""

    def __init__(self, encoder_layer: TransformerEncoderLayer, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.norm = norm

    def forward(self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, is_causal)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Copies of a layer, one after the other."""

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
        self.norm = norm

    def forward(self, tgt: Tensor, memory: Tensor, *masks: Any, **named: Any) -> Tensor:
        for layer in self.layers:
            tgt = layer(tgt, memory, *masks, **named)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder."""

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu", layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        options = (dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        norm = [LayerNorm(d_model, layer_norm_eps, bias=bias) for _ in range(2)]
        self.encoder = TransformerEncoder(TransformerEncoderLayer(d_model, nhead, *options), num_encoder_layers, norm[0])
        self.decoder = TransformerDecoder(TransformerDecoderLayer(d_model, nhead, *options), num_decoder_layers, norm[1])
        for parameter in self.parameters():
            if parameter.ndim > 1:
                bound = math.sqrt(6 / sum(parameter.shape[:2]))
                parameter.uniform_(-bound, bound)

    def forward(
        self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None, src_is_causal: bool = False, tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal, memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz: int) -> Tensor:
        """A mask that lets each place see what came before: 0 there, minus infinity elsewhere."""
        return full((sz, sz), -math.inf).triu(1)


__all__ = ["MultiheadAttention", "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer"]
