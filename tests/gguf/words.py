"""Tokenizers of GGUF files: small ones that are trained on made-up texts."""

from __future__ import annotations

import json
import random
from functools import cache

from gguf import GGUFWriter, TokenType
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace("{1,3}", "")
WORDS = 384
TEMPLATE = "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"


def texts(seed: int, count: int) -> list[str]:
    """Lines of words, numbers, spaces, and letters of other languages."""
    chosen = random.Random(seed)
    words = ["the", "cat", "sat", "on", "mat", "weights", "it's", "I'LL", "running", "graph", "été", "Größe", "мир", "世界", "こんにちは", "e\u0301", "👩‍🚀", "12345", "3.14", "x=1;", "\n\n", "  ", "\t", "(a)", "...", "\r\n"]
    return ["".join(chosen.choice(words) + chosen.choice([" ", " ", "", "  ", "\n"]) for _ in range(chosen.randint(1, 12))) for _ in range(count)]


def byte_level(pattern: str | None, composed: bool, begins: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(ignore_merges=begins))
    if composed:
        tokenizer.normalizer = normalizers.NFC()
    parts = [] if pattern is None else [pre_tokenizers.Split(Regex(pattern), "isolated")]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*parts, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None)])
    tokenizer.decoder = decoders.ByteLevel()
    special = [AddedToken(text, special=True) for text in ("<|endoftext|>", "<|im_start|>", "<|im_end|>")]
    tokenizer.train_from_iterator(texts(1, 2000), trainers.BpeTrainer(vocab_size=WORDS, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    if begins:
        tokenizer.post_processor = processors.TemplateProcessing("<|endoftext|> $A", special_tokens=[("<|endoftext|>", 0)])
    return tokenizer


def sentence_piece(space: bool) -> Tokenizer:
    """As Hugging Face converts SentencePiece's models: a BPE with bytes for what it does not know."""
    trained = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    trained.normalizer = normalizers.Sequence([*([normalizers.Prepend("▁")] if space else []), normalizers.Replace(" ", "▁")])
    special = ["<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trained.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    trained.train_from_iterator([text for text in texts(2, 2000) if "👩" not in text], trainers.BpeTrainer(vocab_size=WORDS + 64, special_tokens=special, show_progress=False))
    trained.pre_tokenizer = None  # type: ignore[assignment]
    trained.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *([decoders.Strip(" ", 1, 0)] if space else [])])
    trained.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 1)])
    # Bytes are tokens of the model, not added ones.
    made = json.loads(trained.to_str())
    made["added_tokens"] = [token for token in made["added_tokens"] if not token["content"].startswith("<0x")]
    return Tokenizer.from_str(json.dumps(made))


@cache
def tokenizer_of(kind: str) -> Tokenizer:
    if kind == "gpt2":
        return byte_level(LLAMA3, False, True)
    if kind == "qwen2":
        return byte_level(QWEN2, True, False)
    return sentence_piece(kind == "llama")


def add_tokenizer(writer: GGUFWriter, kind: str) -> int:
    """The number of tokens."""
    tokenizer = tokenizer_of(kind)
    tokens = [tokenizer.id_to_token(at) for at in range(tokenizer.get_vocab_size())]
    byte_level_kind = kind in ("gpt2", "qwen2")
    types = [TokenType.CONTROL if at < (3 if byte_level_kind else 5) else TokenType.BYTE if token.startswith("<0x") and not byte_level_kind else TokenType.NORMAL for at, token in enumerate(tokens)]
    if byte_level_kind:
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("llama-bpe" if kind == "gpt2" else "qwen2")
        pairs = json.loads(tokenizer.to_str())["model"]["merges"]
        writer.add_token_merges([" ".join(pair) for pair in pairs])
        writer.add_bos_token_id(0)
        writer.add_eos_token_id(2)
    else:
        types[0] = TokenType.UNKNOWN
        writer.add_tokenizer_model("llama")
        writer.add_token_scores([float(-at) for at in range(len(tokens))])
        writer.add_bos_token_id(1)
        writer.add_eos_token_id(2)
        writer.add_unk_token_id(0)
        writer.add_add_bos_token(True)
        writer.add_add_space_prefix(kind == "llama")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_chat_template(TEMPLATE)
    return len(tokens)
