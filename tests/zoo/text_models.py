"""Encoders of text, and of text and images, from configurations of transformers."""

from __future__ import annotations

from typing import Any

import torch
import transformers as hf
from recipes import Call, Model, images, mask, recipe, tokens
from weights import conditioned

DIMS = {0: "batch", 1: "sequence"}


def encoder(module: torch.nn.Module, vocabulary: int, outputs: dict[str, str], *, types: bool = False) -> Model:
    """outputs: attributes of the module's result, by the names that they get."""
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if types else [])]

    def call(module: torch.nn.Module, *inputs: torch.Tensor) -> Any:
        result = module(**dict(zip(names, inputs, strict=True)))
        return tuple(getattr(result, each) for each in outputs.values())

    def feeds(batch: int, length: int, padding: int) -> dict[str, torch.Tensor]:
        given = [tokens(batch, length, vocabulary, seed=length), mask(batch, length, padding=padding), torch.arange(batch * length).reshape(batch, length) % 2]
        return dict(zip(names, given, strict=False))

    sets = [feeds(2, 16, 5), feeds(1, 47, 0), feeds(3, 9, 4)]
    return Model(Call(conditioned(module), call), sets, {name: DIMS for name in names}, list(outputs))


@recipe("legacy", "dynamo")
def minilm() -> Model:
    config = hf.BertConfig(vocab_size=2000, hidden_size=384, num_hidden_layers=3, num_attention_heads=12, intermediate_size=1536)
    return encoder(hf.BertModel(config), 2000, {"last_hidden_state": "last_hidden_state", "pooler_output": "pooler_output"}, types=True)


@recipe()
def modernbert() -> Model:
    config = hf.ModernBertConfig(
        vocab_size=2000, hidden_size=256, intermediate_size=384, num_hidden_layers=4, num_attention_heads=4, local_attention=8,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2,
    )
    return encoder(hf.ModernBertForSequenceClassification(config), 2000, {"logits": "logits"})


@recipe()
def xlm_roberta() -> Model:
    config = hf.XLMRobertaConfig(vocab_size=2000, hidden_size=256, num_hidden_layers=3, num_attention_heads=4, intermediate_size=1024, max_position_embeddings=130)
    return encoder(hf.XLMRobertaForTokenClassification(config), 2000, {"logits": "logits"})


@recipe()
def deberta_v3() -> Model:
    config = hf.DebertaV2Config(
        vocab_size=2000, hidden_size=192, num_hidden_layers=3, num_attention_heads=3, intermediate_size=768, relative_attention=True, position_buckets=16,
        norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type="p2c|c2p", position_biased_input=False, type_vocab_size=0,
    )
    return encoder(hf.DebertaV2ForSequenceClassification(config), 2000, {"logits": "logits"})


@recipe()
def clip_text() -> Model:
    config = hf.CLIPTextConfig(
        vocab_size=2000, hidden_size=256, intermediate_size=1024, num_hidden_layers=3, num_attention_heads=4, projection_dim=128, bos_token_id=1998, eos_token_id=1999, pad_token_id=1
    )
    model = encoder(hf.CLIPTextModelWithProjection(config), 1990, {"text_embeds": "text_embeds", "last_hidden_state": "last_hidden_state"})
    for feeds in model.feeds:
        feeds["input_ids"][:, -1] = 1999  # the end, whose state is the text's
        feeds["input_ids"][0, feeds["input_ids"].shape[1] // 2 :] = 1999
    return model


@recipe()
def clip_vision() -> Model:
    config = hf.CLIPVisionConfig(hidden_size=256, intermediate_size=1024, num_hidden_layers=3, num_attention_heads=4, patch_size=32, image_size=224, projection_dim=128)
    module = conditioned(hf.CLIPVisionModelWithProjection(config))
    feeds = [{"pixel_values": images(1, 224, 224)}, {"pixel_values": images(3, 224, 224, seed=1)}]
    return Model(Call(module, lambda each, image: each(pixel_values=image).image_embeds), feeds, {"pixel_values": {0: "batch"}}, ["image_embeds"])


@recipe()
def siglip() -> Model:
    """Texts and images of different counts; the scores of every pair."""
    size: dict[str, Any] = {"hidden_size": 192, "intermediate_size": 768, "num_hidden_layers": 2, "num_attention_heads": 3}
    config = hf.SiglipConfig(
        text_config={**size, "vocab_size": 2000, "max_position_embeddings": 64, "projection_size": 192}, vision_config={**size, "image_size": 224, "patch_size": 16}
    )

    def call(module: torch.nn.Module, ids: torch.Tensor, image: torch.Tensor) -> tuple[torch.Tensor, ...]:
        result = module(input_ids=ids, pixel_values=image)
        return result.logits_per_image, result.text_embeds, result.image_embeds

    feeds = [{"input_ids": tokens(texts, 64, 2000, seed=texts), "pixel_values": images(count, 224, 224, seed=count)} for texts, count in ((2, 1), (1, 2), (3, 3))]
    dims = {"input_ids": {0: "texts"}, "pixel_values": {0: "images"}}
    return Model(Call(conditioned(hf.SiglipModel(config)), call), feeds, dims, ["logits_per_image", "text_embeds", "image_embeds"])


