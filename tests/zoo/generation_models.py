"""Decoders that generate text. Caches of keys and values are inputs and outputs, and a past may be empty."""

from __future__ import annotations

import torch
import transformers as hf
from recipes import Call, Model, mask, recipe, tokens, values
from transformers.cache_utils import DynamicCache
from weights import conditioned


def decoder(module: torch.nn.Module, vocabulary: int, layers: int, heads: int, width: int) -> Model:
    """heads, width: of the cache."""
    names = [f"past_key_values.{layer}.{what}" for layer in range(layers) for what in ("key", "value")]

    def call(module: torch.nn.Module, ids: torch.Tensor, shown: torch.Tensor, positions: torch.Tensor, *past: torch.Tensor) -> tuple[torch.Tensor, ...]:
        cache = DynamicCache()
        for layer in range(layers):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        result = module(input_ids=ids, attention_mask=shown, position_ids=positions, past_key_values=cache, use_cache=True)
        return result.logits, *(each for layer in result.past_key_values.layers for each in (layer.keys, layer.values))

    def feeds(batch: int, length: int, past: int) -> dict[str, torch.Tensor]:
        caches = {name: values(batch, heads, past, width, seed=at) for at, name in enumerate(names)}
        positions = torch.arange(past, past + length).expand(batch, length).contiguous()
        return {"input_ids": tokens(batch, length, vocabulary, seed=past), "attention_mask": mask(batch, past + length), "position_ids": positions, **caches}

    dims = {"input_ids": {0: "batch", 1: "sequence"}, "attention_mask": {0: "batch", 1: "total"}, "position_ids": {0: "batch", 1: "sequence"}}
    caches = {name: {0: "batch", 2: "past"} for name in names}
    outputs = ["logits", *(name.replace("past_key_values", "present") for name in names)]
    sets = [feeds(2, 3, 5), feeds(1, 1, 33), feeds(1, 7, 0)]
    return Model(Call(conditioned(module), call), sets, {**dims, **caches}, outputs)


@recipe()
def gpt2() -> Model:
    config = hf.GPT2Config(vocab_size=2000, n_positions=128, n_embd=256, n_layer=3, n_head=4, bos_token_id=1, eos_token_id=2)
    return decoder(hf.GPT2LMHeadModel(config), 2000, 3, 4, 64)


@recipe("legacy", "dynamo")
def llama() -> Model:
    """Two heads of queries share a head of keys."""
    config = hf.LlamaConfig(
        vocab_size=2000, hidden_size=256, intermediate_size=688, num_hidden_layers=3, num_attention_heads=8, num_key_value_heads=4, max_position_embeddings=256, bos_token_id=1, eos_token_id=2
    )
    return decoder(hf.LlamaForCausalLM(config), 2000, 3, 4, 32)


@recipe()
def t5() -> Model:
    """Encoder and decoder in one model, without caches; positions are relative."""
    config = hf.T5Config(vocab_size=2000, d_model=192, d_kv=48, d_ff=512, num_layers=2, num_heads=4, feed_forward_proj="gated-gelu", decoder_start_token_id=0)
    module = conditioned(hf.T5ForConditionalGeneration(config))

    def call(module: torch.nn.Module, ids: torch.Tensor, shown: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return module(input_ids=ids, attention_mask=shown, decoder_input_ids=target, use_cache=False).logits

    def feeds(batch: int, length: int, target: int) -> dict[str, torch.Tensor]:
        shown = mask(batch, length, padding=2)
        return {"input_ids": tokens(batch, length, 2000, seed=length), "attention_mask": shown, "decoder_input_ids": tokens(batch, target, 2000, seed=target)}

    text = {0: "batch", 1: "sequence"}
    dims = {"input_ids": text, "attention_mask": text, "decoder_input_ids": {0: "batch", 1: "target"}}
    return Model(Call(module, call), [feeds(2, 16, 9), feeds(1, 33, 1), feeds(3, 7, 14)], dims, ["logits"])
