"""Encoders of text, and models that generate it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers as hf
from checkpoints import checkpoint, exported, labels, write_config, write_json
from forms import write_forms
from merge import merge
from recipes import Call
from transformers.cache_utils import DynamicCache, EncoderDecoderCache
from weights import conditioned
from words import byte_pairs, unigram, wordpiece, write_tokenizer

TEXT = {0: "batch_size", 1: "sequence_length"}
SPECIALS = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}


def tokens(batch: int, length: int, *, seed: int = 0) -> torch.Tensor:
    return torch.randint(5, 100, (batch, length), generator=torch.Generator().manual_seed(seed))


def encoder(folder: Path, module: Any, outputs: list[str], *, types: bool) -> None:
    """A network of BERT's family with its tokenizer. outputs: attributes of the module's result."""
    tokenizer = wordpiece()
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if types else [])]

    def call(module: torch.nn.Module, *inputs: torch.Tensor) -> Any:
        result = module(**dict(zip(names, inputs, strict=True)))
        return tuple(getattr(result, each) for each in outputs)

    ids = tokens(2, 16)
    feeds = dict(zip(names, [ids, torch.ones_like(ids), torch.zeros_like(ids)], strict=False))
    spread = {name: TEXT if name in names or name in ("last_hidden_state",) or type(module).__name__.endswith(("TokenClassification", "MaskedLM", "QuestionAnswering")) else {0: "batch_size"} for name in (*names, *outputs)}
    write_forms(exported(Call(conditioned(module), call), feeds, outputs, spread), folder / "onnx", "model")
    write_config(folder, module.config, type(module).__name__)
    write_tokenizer(folder, tokenizer, "BertTokenizer" if types else "DistilBertTokenizer", do_lower_case=True, **SPECIALS)


def bert(layers: int = 2, **settings: Any) -> hf.BertConfig:
    return hf.BertConfig(
        vocab_size=wordpiece().get_vocab_size(), hidden_size=64, num_hidden_layers=layers, num_attention_heads=4, intermediate_size=128, max_position_embeddings=128, **settings
    )


def distilbert(**settings: Any) -> hf.DistilBertConfig:
    return hf.DistilBertConfig(vocab_size=wordpiece().get_vocab_size(), dim=64, n_layers=2, n_heads=4, hidden_dim=128, max_position_embeddings=128, **settings)


@checkpoint
def features(folder: Path) -> None:
    encoder(folder, hf.BertModel(bert(layers=6)), ["last_hidden_state"], types=True)


@checkpoint
def classification(folder: Path) -> None:
    encoder(folder, hf.DistilBertForSequenceClassification(distilbert(**labels("NEGATIVE", "POSITIVE", "MIXED"))), ["logits"], types=False)


@checkpoint
def entities(folder: Path) -> None:
    encoder(folder, hf.BertForTokenClassification(bert(**labels("O", "B-PER", "I-PER", "B-LOC", "I-LOC"))), ["logits"], types=True)


@checkpoint
def entailment(folder: Path) -> None:
    encoder(folder, hf.BertForSequenceClassification(bert(**labels("contradiction", "neutral", "entailment"))), ["logits"], types=True)


@checkpoint
def masked(folder: Path) -> None:
    encoder(folder, hf.DistilBertForMaskedLM(distilbert()), ["logits"], types=False)


@checkpoint
def answers(folder: Path) -> None:
    encoder(folder, hf.DistilBertForQuestionAnswering(distilbert()), ["start_logits", "end_logits"], types=False)


def caches(layers: int, kinds: tuple[str, ...], what: str) -> list[str]:
    places = [f".{kind}" if kind else "" for kind in kinds]
    return [f"{what}.{layer}{place}.{part}" for layer in range(layers) for place in places for part in ("key", "value")]


@checkpoint
def llama(folder: Path) -> None:
    """Keys and values by Optimum's names; two heads of queries share a head of keys."""
    tokenizer = byte_pairs(["<pad>", "<s>", "</s>"])
    layers, heads, width = 4, 2, 16
    config = hf.LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=64, intermediate_size=160, num_hidden_layers=layers, num_attention_heads=4, num_key_value_heads=heads,
        max_position_embeddings=512, pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )
    names = caches(layers, ("",), "past_key_values")

    def call(module: torch.nn.Module, ids: torch.Tensor, shown: torch.Tensor, positions: torch.Tensor, *past: torch.Tensor) -> tuple[torch.Tensor, ...]:
        cache = DynamicCache()
        for layer in range(layers):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        result = module(input_ids=ids, attention_mask=shown, position_ids=positions, past_key_values=cache, use_cache=True)
        return result.logits, *(each for layer in result.past_key_values.layers for each in (layer.keys, layer.values))

    past = {name: torch.randn(2, heads, 5, width) for name in names}
    feeds = {"input_ids": tokens(2, 3), "attention_mask": torch.ones(2, 8, dtype=torch.long), "position_ids": torch.arange(5, 8).expand(2, 3).contiguous(), **past}
    present = caches(layers, ("",), "present")
    total = {0: "batch_size", 2: "past_sequence_length + sequence_length"}
    dims = {
        "input_ids": TEXT, "attention_mask": {0: "batch_size", 1: "total_sequence_length"}, "position_ids": TEXT, "logits": TEXT,
        **{name: {0: "batch_size", 2: "past_sequence_length"} for name in names}, **{name: total for name in present},
    }
    model = exported(Call(conditioned(hf.LlamaForCausalLM(config)), call), feeds, ["logits", *present], dims)
    write_forms(model, folder / "onnx", "model")
    write_config(folder, config, "LlamaForCausalLM")
    write_json(folder / "generation_config.json", {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2})
    write_tokenizer(folder, tokenizer, "PreTrainedTokenizerFast", pad_token="<pad>", bos_token="<s>", eos_token="</s>", padding_side="left")


def decoder(module: Any, call: Any, first: dict[str, torch.Tensor], layers: int, heads: int, width: int, encoded: str) -> Any:
    """Merged. call(module, given, cache): logits. encoded: the name of the encoder's states; `first`: feeds of a first step."""
    sides = ("decoder", "encoder")
    names = caches(layers, sides, "past_key_values")
    plain = list(first)

    def states(cache: EncoderDecoderCache, sides: tuple[str, ...]) -> list[torch.Tensor]:
        of = {"decoder": cache.self_attention_cache, "encoder": cache.cross_attention_cache}
        return [each for layer in range(layers) for side in sides for each in (of[side].layers[layer].keys, of[side].layers[layer].values)]

    def begin(module: torch.nn.Module, *given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        return call(module, dict(zip(plain, given, strict=True)), cache), *states(cache, sides)

    def proceed(module: torch.nn.Module, *given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        past = given[len(kept) :]
        own, cross = DynamicCache(), DynamicCache()
        for layer in range(layers):
            own.update(past[4 * layer], past[4 * layer + 1], layer)
            cross.update(past[4 * layer + 2], past[4 * layer + 3], layer)
        cache = EncoderDecoderCache(own, cross)
        cache.is_updated = dict.fromkeys(range(layers), True)
        fed = dict(zip(kept, given, strict=False))
        # Only the shape counts: keys and values are there.
        fed.setdefault(encoded, past[2].transpose(1, 2).flatten(2))
        return call(module, fed, cache), *states(cache, sides[:1])

    kept = [name for name in plain if name != encoded]
    length = first[encoded].shape[1]
    past = {name: torch.randn(2, heads, 4 if ".decoder." in name else length, width) for name in names}
    later = {**{name: first[name] for name in kept}, **past}
    later["input_ids" if "input_ids" in later else "decoder_input_ids"] = tokens(2, 1)
    spread = {
        **{name: {0: "batch_size", 1: "encoder_sequence_length" if name.startswith("encoder") else "decoder_sequence_length"} for name in plain},
        **{name: {0: "batch_size", 2: "past_decoder_sequence_length" if ".decoder." in name else "encoder_sequence_length_out"} for name in names},
        "logits": {0: "batch_size", 1: "decoder_sequence_length"},
        **{name: {0: "batch_size", 2: f"{name.split('.')[2]}_sequence_length_made"} for name in caches(layers, sides, "present")},
    }
    beginning = exported(Call(module, begin), first, ["logits", *caches(layers, sides, "present")], spread)
    going = exported(Call(module, proceed), later, ["logits", *caches(layers, sides[:1], "present")], spread)
    return merge(beginning, going)


@checkpoint
def t5(folder: Path) -> None:
    tokenizer = unigram()
    layers, heads, width = 2, 4, 16
    config = hf.T5Config(
        vocab_size=tokenizer.get_vocab_size(), d_model=64, d_kv=width, d_ff=128, num_layers=layers, num_heads=heads, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0
    )
    module = conditioned(hf.T5ForConditionalGeneration(config))
    ids = tokens(2, 9)
    mask = torch.ones_like(ids)
    encoder = exported(
        Call(module, lambda each, ids, mask: each.encoder(input_ids=ids, attention_mask=mask).last_hidden_state),
        {"input_ids": ids, "attention_mask": mask}, ["last_hidden_state"], {"input_ids": TEXT, "attention_mask": TEXT, "last_hidden_state": TEXT},
    )

    def call(module: Any, fed: dict[str, torch.Tensor], cache: EncoderDecoderCache) -> torch.Tensor:
        made = module.decoder(
            input_ids=fed["input_ids"], encoder_hidden_states=fed["encoder_hidden_states"], encoder_attention_mask=fed["encoder_attention_mask"], past_key_values=cache, use_cache=True
        )
        scale = module.model_dim**-0.5 if config.tie_word_embeddings else 1.0
        return module.lm_head(made.last_hidden_state * scale)

    first = {"encoder_attention_mask": mask, "input_ids": tokens(2, 3), "encoder_hidden_states": torch.randn(2, 9, 64)}
    write_forms(encoder, folder / "onnx", "encoder_model")
    write_forms(decoder(module, call, first, layers, heads, width, "encoder_hidden_states"), folder / "onnx", "decoder_model_merged")
    write_config(folder, config, "T5ForConditionalGeneration")
    write_json(folder / "generation_config.json", {"decoder_start_token_id": 0, "eos_token_id": 1, "pad_token_id": 0})
    write_tokenizer(folder, tokenizer, "T5Tokenizer", pad_token="<pad>", eos_token="</s>", unk_token="<unk>", extra_ids=0)
