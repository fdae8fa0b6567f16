"""Networks of sound: recognition of speech, and a codec's decoder."""

from __future__ import annotations

import torch
import transformers as hf
from recipes import Call, Model, recipe, tokens, values
from transformers.cache_utils import DynamicCache, EncoderDecoderCache
from weights import conditioned

HEADS, WIDTH, LAYERS, FRAMES = 4, 256, 3, 150


def whisper() -> hf.WhisperForConditionalGeneration:
    """The sound is three seconds, not thirty: Whisper's encoder takes one length only."""
    config = hf.WhisperConfig(
        vocab_size=2000, num_mel_bins=80, d_model=WIDTH, encoder_layers=LAYERS, decoder_layers=LAYERS, encoder_attention_heads=HEADS, decoder_attention_heads=HEADS,
        encoder_ffn_dim=4 * WIDTH, decoder_ffn_dim=4 * WIDTH, max_source_positions=FRAMES, max_target_positions=64,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, suppress_tokens=None, begin_suppress_tokens=None,
    )
    return conditioned(hf.WhisperForConditionalGeneration(config))


@recipe("legacy", "dynamo")
def whisper_encoder() -> Model:
    feeds = [{"input_features": values(batch, 80, 2 * FRAMES, seed=batch)} for batch in (1, 3)]
    call = Call(whisper(), lambda each, sound: each.model.encoder(sound).last_hidden_state)
    return Model(call, feeds, {"input_features": {0: "batch"}}, ["last_hidden_state"])


@recipe()
def whisper_decoder() -> Model:
    """A step after others: keys and values of both attentions are inputs, as optimum exports them."""
    names = [f"past_key_values.{layer}.{place}.{what}" for layer in range(LAYERS) for place in ("decoder", "encoder") for what in ("key", "value")]

    def call(module: hf.WhisperForConditionalGeneration, ids: torch.Tensor, *past: torch.Tensor) -> tuple[torch.Tensor, ...]:
        own, cross = DynamicCache(), DynamicCache()
        for layer in range(LAYERS):
            own.update(past[4 * layer], past[4 * layer + 1], layer)
            cross.update(past[4 * layer + 2], past[4 * layer + 3], layer)
        cache = EncoderDecoderCache(own, cross)
        cache.is_updated = dict.fromkeys(range(LAYERS), True)
        encoded = past[2].transpose(1, 2).flatten(2)  # only its shape counts: its keys and values are there
        made = module.model.decoder(input_ids=ids, encoder_hidden_states=encoded, past_key_values=cache, use_cache=True)
        scores = module.proj_out(made.last_hidden_state)
        return scores, *(each for layer in own.layers for each in (layer.keys, layer.values))

    def feeds(batch: int, length: int, past: int) -> dict[str, torch.Tensor]:
        shapes = [(batch, HEADS, past if ".decoder." in name else FRAMES, WIDTH // HEADS) for name in names]
        return {"input_ids": tokens(batch, length, 2000, seed=past), **{name: values(*shape, seed=at) for at, (name, shape) in enumerate(zip(names, shapes, strict=True))}}

    dims = {name: {0: "batch", 2: "past" if ".decoder." in name else "frames"} for name in names}
    outputs = ["logits", *(f"present.{layer}.{what}" for layer in range(LAYERS) for what in ("key", "value"))]
    return Model(Call(whisper(), call), [feeds(1, 1, 6), feeds(2, 1, 23)], {"input_ids": {0: "batch"}, **dims}, outputs)


@recipe()
def wav2vec2() -> Model:
    config = hf.Wav2Vec2Config(
        hidden_size=192, num_hidden_layers=2, num_attention_heads=3, intermediate_size=768, conv_dim=(128,) * 7, num_conv_pos_embeddings=32, num_conv_pos_embedding_groups=8, vocab_size=32
    )
    feeds = [{"input_values": values(batch, length, seed=batch)} for batch, length in ((1, 8000), (2, 5123))]
    call = Call(conditioned(hf.Wav2Vec2ForCTC(config)), lambda each, sound: each(sound).logits)
    return Model(call, feeds, {"input_values": {0: "batch", 1: "samples"}}, ["logits"])


def encodec() -> hf.EncodecModel:
    config = hf.EncodecConfig(num_filters=16, hidden_size=64, codebook_size=128, codebook_dim=64, target_bandwidths=[3.0], upsampling_ratios=[8, 5, 4, 2])
    return conditioned(hf.EncodecModel(config))


@recipe()
def encodec_encoder() -> Model:
    """From samples to a codec's vectors; the padding depends on the length."""
    feeds = [{"samples": values(batch, 1, length, seed=batch)} for batch, length in ((1, 4000), (2, 3001))]
    return Model(Call(encodec(), lambda each, sound: each.encoder(sound)), feeds, {"samples": {0: "batch", 2: "length"}}, ["vectors"])


@recipe()
def encodec_decoder() -> Model:
    """From a codec's codes to samples: sums of code books, an LSTM, transposed convolutions."""
    module = encodec()

    def call(module: hf.EncodecModel, codes: torch.Tensor) -> torch.Tensor:
        return module.decoder(module.quantizer.decode(codes.transpose(0, 1)))

    with torch.no_grad():
        for layer in module.quantizer.layers:
            layer.codebook.embed.copy_(values(*layer.codebook.embed.shape, seed=3))
    feeds = [{"codes": tokens(batch, 4 * length, 128, seed=length).reshape(batch, 4, length)} for batch, length in ((1, 25), (2, 11))]
    return Model(Call(module, call), feeds, {"codes": {0: "batch", 2: "frames"}}, ["samples"])
