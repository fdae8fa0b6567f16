"""Random texts of a seed: words of several scripts, spaces, numbers, punctuation, emoji, marks, and tokens of models."""

import random

# Assigned for so long that every regular expression library agrees on their properties.
LETTERS = [
    "abcdefghijklmnopqrstuvwxyz",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "äöüßéèêàçñøåæœšžčřĳﬁÄÖÜÉ",
    "абвгдежзийклмнопрстуфхцчшщъыьэюяё",
    "αβγδεζηθικλμνξοπρστυφχψωάέήίόύώς",
    "אבגדהוזחטיכלמנסעפצקרשת",
    "ابتثجحخدذرزسشصضطظعغفقكلمنهوي",
    "अआइईउऊऋएऐओऔकखगघचछजझटठडढणतथदधनपफबभमयरलवशषसह",
    "ไทยภาษากขคงจฉชซ",
    "日本語漢字中文字符一二三四五六七八九十",
    "ひらがなカタカナァィゥェォｱｲｳ",
    "한국어글자가나다라마바사",
]
MARKS = ["\u0301", "\u0308", "\u0323", "\u0327", "\u094d", "\u093e", "\u05b8", "\u064e", "\u3099"]
SYMBOLS = list(".,;:!?-_()[]{}<>/\\|@#$%^&*+=~`'\"") + ["…", "—", "«", "»", "“", "”", "’", "。", "，", "！", "€", "£", "©", "™", "½", "²", "№", "→", "∑", "ª"]
SPACES = [" ", " ", " ", "  ", "   ", "\n", "\n\n", "\t", " \n", "\n  ", "\r\n", "\u00a0", "\u2003", "\u3000", "\u200b", "\ufeff", "\u00ad"]
EMOJI = ["🦎", "😀", "👍🏽", "👩‍👩‍👧", "🇮🇹", "❤️", "☃", "𝒳", "𐍈", "\U0010fffd"]
CONTRACTIONS = ["don't", "we'll", "I'M", "it's", "they've", "you're", "he'd", "l'été"]
TOKENS = ["<s>", "</s>", "<unk>", "<|im_start|>", "<|im_end|>", "[CLS]", "[SEP]", "[MASK]", "<tool_call>", "</tool_call>", "▁", "##", "Ġ", "<0x41>"]
CODE = ["def f(x):", "    return x", "{\"a\": [1, 2]}", "for (let i = 0; i < n; ++i)", "<div class=\"x\">", "http://example.com/a?b=c", "a_b-c.d", "0x1F", "1e-5", "C++", "x²+y²"]


def word(rng: random.Random) -> str:
    letters = rng.choice(LETTERS) if rng.random() < 0.6 else LETTERS[0]
    text = "".join(rng.choice(letters) for _ in range(rng.randint(1, 9)))
    if rng.random() < 0.05:
        text += rng.choice(MARKS)
    return text.capitalize() if rng.random() < 0.2 else text


def text(rng: random.Random, *, tokens: bool = True) -> str:
    parts = []
    for _ in range(rng.randint(0, 12)):
        kind = rng.random()
        if kind < 0.55:
            parts.append(word(rng))
        elif kind < 0.65:
            parts.append(str(rng.randrange(10 ** rng.randint(1, 9))))
        elif kind < 0.75:
            parts.append("".join(rng.choice(SYMBOLS) for _ in range(rng.randint(1, 3))))
        elif kind < 0.8:
            parts.append(rng.choice(EMOJI))
        elif kind < 0.86:
            parts.append(rng.choice(CONTRACTIONS))
        elif kind < 0.92:
            parts.append(rng.choice(CODE))
        elif tokens:
            parts.append(rng.choice(TOKENS))
        if rng.random() < 0.8:
            parts.append(rng.choice(SPACES))
    return "".join(parts)
