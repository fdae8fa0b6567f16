"""Speech to text and text to speech."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers as hf
from checkpoints import checkpoint, exported, write_config, write_json
from forms import write_forms
from text import TEXT, decoder, tokens
from transformers.cache_utils import EncoderDecoderCache
from recipes import Call
from weights import conditioned
from words import byte_pairs, characters, write_tokenizer


@checkpoint
def whisper(folder: Path) -> None:
    """Two seconds of sound instead of thirty."""
    specials = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|translate|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]
    tokenizer = byte_pairs([], [*specials, *(f"<|{at * 0.02:.2f}|>" for at in range(101))])
    ids = {name: tokenizer.token_to_id(name) for name in specials}
    layers, heads, width, frames = 2, 4, 16, 100
    end, start = ids["<|endoftext|>"], ids["<|startoftranscript|>"]
    config = hf.WhisperConfig(
        vocab_size=tokenizer.get_vocab_size(), num_mel_bins=80, d_model=64, encoder_layers=layers, decoder_layers=layers, encoder_attention_heads=heads,
        decoder_attention_heads=heads, encoder_ffn_dim=128, decoder_ffn_dim=128, max_source_positions=frames, max_target_positions=64, pad_token_id=end, bos_token_id=end,
        eos_token_id=end, decoder_start_token_id=start, suppress_tokens=None, begin_suppress_tokens=None,
    )
    module = conditioned(hf.WhisperForConditionalGeneration(config))
    encoder = exported(
        Call(module, lambda each, sound: each.model.encoder(sound).last_hidden_state), {"input_features": torch.randn(1, 80, 2 * frames)},
        ["last_hidden_state"], {"input_features": {0: "batch_size"}, "last_hidden_state": {0: "batch_size"}},
    )

    def call(module: Any, fed: dict[str, torch.Tensor], cache: EncoderDecoderCache) -> torch.Tensor:
        made = module.model.decoder(input_ids=fed["input_ids"], encoder_hidden_states=fed["encoder_hidden_states"], past_key_values=cache, use_cache=True)
        return module.proj_out(made.last_hidden_state)

    first = {"input_ids": tokens(2, 3), "encoder_hidden_states": torch.randn(2, frames, 64)}
    write_forms(encoder, folder / "onnx", "encoder_model")
    write_forms(decoder(module, call, first, layers, heads, width, "encoder_hidden_states"), folder / "onnx", "decoder_model_merged")
    write_config(folder, config, "WhisperForConditionalGeneration")
    write_json(
        folder / "generation_config.json",
        {
            "decoder_start_token_id": start, "eos_token_id": end, "pad_token_id": end, "bos_token_id": end, "is_multilingual": True, "lang_to_id": {"<|en|>": ids["<|en|>"]},
            "task_to_id": {"transcribe": ids["<|transcribe|>"], "translate": ids["<|translate|>"]}, "no_timestamps_token_id": ids["<|notimestamps|>"],
            "max_initial_timestamp_index": 50, "max_length": 64, "return_timestamps": False,
        },
    )
    write_tokenizer(folder, tokenizer, "WhisperTokenizer", bos_token="<|endoftext|>", eos_token="<|endoftext|>", pad_token="<|endoftext|>", unk_token="<|endoftext|>")
    write_json(
        folder / "preprocessor_config.json",
        {
            "feature_extractor_type": "WhisperFeatureExtractor", "processor_class": "WhisperProcessor", "chunk_length": 2, "feature_size": 80, "hop_length": 160, "n_fft": 400,
            "n_samples": 32000, "nb_max_frames": 200, "padding_side": "right", "padding_value": 0.0, "return_attention_mask": False, "sampling_rate": 16000,
        },
    )


@checkpoint
def vits(folder: Path) -> None:
    """Without noise, so that outputs can be compared. In fp16 only the decoder, because the converter mixes types in the rest."""
    tokenizer = characters()
    config = hf.VitsConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, ffn_dim=64, flow_size=32, spectrogram_bins=65,
        prior_encoder_num_flows=2, prior_encoder_num_wavenet_layers=2, posterior_encoder_num_wavenet_layers=2, depth_separable_num_layers=2, duration_predictor_num_flows=2,
        duration_predictor_filter_channels=32, duration_predictor_flow_bins=6, wavenet_dilation_rate=1, upsample_initial_channel=32, upsample_rates=[4, 4], upsample_kernel_sizes=[8, 8],
        resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1, 3]], sampling_rate=16000, noise_scale=0.0, noise_scale_duration=0.0,
    )
    module = conditioned(hf.VitsModel(config))

    def call(module: Any, ids: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        made = module(input_ids=ids, attention_mask=mask)
        return made.waveform, made.spectrogram

    ids = torch.randint(2, 26, (1, 21), generator=torch.Generator().manual_seed(3))
    dims = {"input_ids": TEXT, "attention_mask": TEXT, "waveform": {0: "batch_size", 1: "n_samples"}, "spectrogram": {0: "batch_size", 2: "num_bins"}}
    write_forms(exported(Call(module, call), {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, ["waveform", "spectrogram"], dims), folder / "onnx", "model", halves="/module/decoder/")
    write_config(folder, config, "VitsModel")
    write_tokenizer(folder, tokenizer, "VitsTokenizer", pad_token="_", unk_token="<unk>", add_blank=True, language="eng", normalize=True, is_uroman=False, phonemize=False)
