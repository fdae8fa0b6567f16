"""What Python's tokenizers and jinja2 make of random texts and conversations: expected.py FOLDER STRINGS

Trains small tokenizers of each kind and writes them with the tokens of as many strings (all kinds together), and the chat templates
of tests/llm/templates with the prompts of a tenth as many conversations.
"""

import json
import random
import sys
from pathlib import Path

from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import texts

# Of GPT-4 and Llama 3, and of Qwen 2.
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
WORDS = 600


def bpe(pre, *, normalizer=None, special=("<s>", "</s>"), post=None):
    made = Tokenizer(models.BPE())
    if normalizer:
        made.normalizer = normalizer
    made.pre_tokenizer = pre
    made.decoder = decoders.ByteLevel()
    if post:
        made.post_processor = post
    trainer = trainers.BpeTrainer(vocab_size=WORDS, special_tokens=list(special), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    return made, trainer


def split(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def begins(token, number):
    return processors.TemplateProcessing(single=f"{token} $A", pair=f"{token} $A $B", special_tokens=[(token, number)])


def llama2():
    made = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    made.post_processor = begins("<s>", 1)
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=WORDS + 256, special_tokens=["<unk>", "<s>", "</s>", *bytes_], limit_alphabet=80, show_progress=False)
    return made, trainer


def gemma():
    made = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.normalizer = normalizers.Replace(" ", "▁")
    made.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=WORDS + 256, special_tokens=["<unk>", "<s>", "</s>", *bytes_], limit_alphabet=80, show_progress=False)
    return made, trainer


def unigram():
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    made.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    made.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    return made, trainers.UnigramTrainer(vocab_size=WORDS, special_tokens=["<s>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False)


def wordpiece():
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return made, trainers.WordPieceTrainer(vocab_size=WORDS, special_tokens=["[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False)


KINDS = {
    "gpt2": lambda: bpe(pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "prefixed": lambda: bpe(pre_tokenizers.ByteLevel(add_prefix_space=True)),
    "llama3": lambda: bpe(split(LLAMA3), post=begins("<s>", 0)),
    "qwen2": lambda: bpe(split(QWEN2), normalizer=normalizers.NFC()),
    "llama2": llama2,
    "gemma": gemma,
    "unigram": unigram,
    "wordpiece": wordpiece,
}


def tokenizer(name: str) -> Tokenizer:
    made, trainer = KINDS[name]()
    rng = random.Random(f"corpus of {name}")
    made.train_from_iterator([texts.text(rng, tokens=False) for _ in range(2000)], trainer)
    made.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    made.add_tokens([AddedToken("<tool_call>", normalized=False), AddedToken("</tool_call>", normalized=False)])
    return made


def write_tokens(folder: Path, count: int) -> None:
    for name in KINDS:
        made = tokenizer(name)
        (folder / f"{name}.json").write_text(made.to_str())
        rng = random.Random(f"texts of {name}")
        rows = []
        for _ in range(count):
            said = texts.text(rng)
            ids = made.encode(said).ids
            # Any tokens, as a model gives them, too.
            others = [rng.randrange(made.get_vocab_size()) for _ in range(rng.randint(1, 8))]
            rows.append([said, ids, made.decode(ids), others, made.decode(others)])
        (folder / f"{name}.rows.json").write_text(json.dumps(rows))


def environment() -> ImmutableSandboxedEnvironment:
    """As transformers renders chat templates."""

    def refuse(message):
        raise ValueError(message)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = refuse
    return made


def value(rng: random.Random, depth: int = 2):
    kind = rng.randrange(8 if depth else 5)
    if kind == 0:
        return rng.randint(-1000, 1000)
    if kind == 1:
        return rng.choice([0.5, -1.25, 1e-3])
    if kind == 2:
        return rng.choice([True, False, None])
    if kind < 5:
        return texts.text(rng, tokens=False)[:20]
    if kind == 5:
        return [value(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    return {texts.word(rng): value(rng, depth - 1) for _ in range(rng.randint(0, 3))}


def tool(rng: random.Random) -> dict:
    properties = {texts.word(rng): {"type": rng.choice(["string", "number", "boolean"]), "description": texts.text(rng, tokens=False)} for _ in range(rng.randint(0, 3))}
    return {"type": "function", "function": {"name": texts.word(rng), "description": texts.text(rng, tokens=False), "parameters": {"type": "object", "properties": properties, "required": list(properties)[:1]}}}


def conversation(rng: random.Random) -> dict:
    messages = [{"role": "system", "content": texts.text(rng)}] if rng.random() < 0.5 else []
    for turn in range(rng.randint(1, 4)):
        # No two are the same: @huggingface/jinja compares objects by identity.
        messages.append({"role": "user", "content": f"{texts.text(rng)}{turn}"})
        if rng.random() < 0.3:
            calls = [{"id": f"call{turn}{at}", "type": "function", "function": {"name": texts.word(rng), "arguments": {texts.word(rng): value(rng) for _ in range(rng.randint(0, 3))}}} for at in range(rng.randint(1, 2))]
            messages.append({"role": "assistant", "content": rng.choice(["", texts.text(rng)]), "tool_calls": calls})
            messages += [{"role": "tool", "content": texts.text(rng), "tool_call_id": call["id"], "name": call["function"]["name"]} for call in calls]
        if rng.random() < 0.7:
            messages.append({"role": "assistant", "content": rng.choice(["", "<think>\n" + texts.text(rng) + "\n</think>\n\n"]) + texts.text(rng)})
    if rng.random() < 0.05:
        messages.append({"role": rng.choice(["user", "system", "assistant"]), "content": ""})
    made = {"messages": messages, "add_generation_prompt": rng.random() < 0.8}
    if rng.random() < 0.4:
        made["tools"] = [tool(rng) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.3:
        made["enable_thinking"] = rng.random() < 0.5
    return made


def write_prompts(folder: Path, count: int) -> None:
    own = environment()
    for path in sorted((Path(__file__).parent / "templates").glob("*.jinja")):
        template = own.from_string(path.read_text())
        rng = random.Random(f"conversations of {path.stem}")
        rows = []
        for _ in range(count):
            variables = {**conversation(rng), "bos_token": "<s>", "eos_token": "</s>"}
            try:
                rows.append([variables, template.render(**variables)])
            except ValueError as problem:
                rows.append([variables, None, str(problem)])
        (folder / f"{path.stem}.prompts.json").write_text(json.dumps(rows))


if __name__ == "__main__":
    out, strings = Path(sys.argv[1]), int(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    write_tokens(out, strings // len(KINDS))
    write_prompts(out, strings // 10 // len(list((Path(__file__).parent / "templates").glob("*.jinja"))))
