"""Small tokenizers, trained on a few sentences, and their files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

TEXT = """
A compiler reads a model and writes the kernels that compute it. The kernels run on a graphics card, or in a page, or on a small board.
In the morning the fog lay over the river, and the ferry waited until the far bank was in sight. Nobody on board was in a hurry.
The museum in Oslo has three floors of ships. Anna Berg wrote the catalogue in 1987, while she worked for the port of Bergen.
My neighbour grows tomatoes, beans and a kind of pear that no shop sells. Last year he gave most of them away.
This film is wonderful; I would see it again tomorrow. That one was dull, slow and far too long, and I left before the end.
What is the capital of France? Paris is the capital of France. What grows in the garden? Beans and tomatoes grow in the garden.
Once upon a time there was a king who had no daughters. Every evening he walked around the walls and counted the lamps.
The train to Hamburg leaves at nine from platform two; the train to Vienna leaves an hour later from platform five.
Scores of the second half were better than those of the first: seven goals, two of them from the far end of the field.
Heat the oil, add the onions, and stir until they are soft. Then add the rice, a little salt, and twice as much water.
"""
SENTENCES = [line for line in TEXT.strip().split("\n") if line]


def wordpiece() -> Tokenizer:
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece(prefix="##")
    trainer = trainers.WordPieceTrainer(vocab_size=384, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False)
    made.train_from_iterator(SENTENCES, trainer)
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", made.token_to_id("[CLS]")), ("[SEP]", made.token_to_id("[SEP]"))]
    )
    return made


def unigram() -> Tokenizer:
    made = Tokenizer(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.train_from_iterator(SENTENCES, trainers.UnigramTrainer(vocab_size=320, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False))
    made.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", made.token_to_id("</s>"))])
    return made


def byte_pairs(specials: list[str], last: list[str] | None = None) -> Tokenizer:
    """Ids of the special tokens come first, in order; those of `last` after all others."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.ByteLevel(trim_offsets=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(SENTENCES, trainers.BpeTrainer(vocab_size=448, special_tokens=specials, initial_alphabet=alphabet, show_progress=False))
    made.add_special_tokens(last or [])
    return made


def characters() -> Tokenizer:
    """VITS's: letters with a blank between any two."""
    letters = "_ abcdefghijklmnopqrstuvwxyz'-"
    made = Tokenizer(models.BPE(vocab={letter: at for at, letter in enumerate([*letters, "<unk>"])}, merges=[], unk_token="<unk>"))
    made.normalizer = normalizers.Sequence(
        [normalizers.Lowercase(), normalizers.Replace(Regex("[^a-z' -]"), ""), normalizers.Strip(), normalizers.Replace(Regex("(?=.)|(?<!^)$"), "_")]
    )
    made.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    return made


def write_tokenizer(folder: Path, tokenizer: Tokenizer, kind: str, **settings: Any) -> None:
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind, "model_max_length": 128, **settings}, indent=1) + "\n")
