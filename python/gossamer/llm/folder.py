"""What the files of a model folder, or a GGUF file, say: tokenizer, chat template, tokens that end a text, context, sampling, and where the
network is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import _core
from ..error import Error

SUFFIXES = {"q4f16": "_q4f16", "q4": "_q4", "q8": "_quantized", "int8": "_int8", "uint8": "_uint8", "fp16": "_fp16", "fp32": ""}
"""How weights are stored, by Transformers.js' names, and how file names end. Small weights first."""

SPECIAL = ("bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "cls_token", "mask_token")
LENGTHS = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length", "context_length")
CHOICES = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty")


@dataclass(frozen=True)
class Config:
    """The settings in a folder's files, apart from the network."""

    tokenizer: str
    """tokenizer.json."""
    template: Any
    """A chat template, or several: [{"name": ..., "template": ...}]; None: there is none."""
    special: dict[str, str]
    """Special tokens by their names in templates."""
    ends: list[int | str]
    """Tokens that end a text."""
    context_length: int | None
    defaults: dict[str, float]
    """Sampling that the model's makers suggest."""
    onnx_file: str | None
    """Named by genai_config.json."""


class Texts:
    """Files of a folder, or those that a GGUF file has in it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._files = _core.texts_of_gguf(str(place)) if place.is_file() else None

    def text(self, name: str) -> str | None:
        """None: there is no such file."""
        if self._files is not None:
            return self._files.get(name)
        path = self.place / name
        return path.read_text("utf-8") if path.exists() else None

    def json(self, name: str) -> dict[str, Any]:
        """Empty where there is no such file."""
        text = self.text(name)
        try:
            return {} if text is None else json.loads(text)
        except ValueError as problem:
            raise Error(f"is not JSON: {problem}", str(self.place / name)) from problem


def _numbers(values: Any) -> Iterator[int]:
    for value in values if isinstance(values, list) else [values]:
        if isinstance(value, int) and not isinstance(value, bool):
            yield value


def _token(value: Any) -> str | None:
    return value if isinstance(value, str) else value.get("content") if isinstance(value, Mapping) else None


def read_config(folder: Path) -> Config:
    """Raises Error for files that are missing or wrong."""
    if not folder.exists():
        raise Error("is not a folder, nor a file", str(folder), "pass the folder with tokenizer.json and ONNX or safetensors files, a compiled package, or a GGUF file")
    files = Texts(folder)
    _json, tokenizer = files.json, files.text("tokenizer.json")
    if tokenizer is None:
        raise Error("has no tokenizer.json", str(folder), "pass a folder of Hugging Face form, or a compiled package with the tokenizer's files next to it")
    tokens, names = _json("tokenizer_config.json"), _json("special_tokens_map.json")
    config, generation, genai = _json("config.json"), _json("generation_config.json"), _json("genai_config.json")
    inner, genai_model = config.get("text_config") or {}, genai.get("model") or {}
    special = {name: token for name in SPECIAL if (token := _token(tokens.get(name)) or _token(names.get(name))) is not None}
    template = files.text("chat_template.jinja") or _json("chat_template.json").get("chat_template") or tokens.get("chat_template")
    ends: list[int | str] = [number for each in (generation, config, inner, genai_model) for number in _numbers(each.get("eos_token_id"))]
    lengths = [number for each in (config, inner, genai_model) for name in LENGTHS for number in _numbers(each.get(name))]
    sampling = {**(genai.get("search") or {}), **generation}
    greedy = sampling.get("do_sample") is False
    return Config(
        tokenizer=tokenizer,
        template=template,
        special=special,
        ends=ends + ([special["eos_token"]] if "eos_token" in special else []),
        context_length=lengths[0] if lengths else None,
        defaults={"temperature": 0} if greedy else {name: sampling[name] for name in CHOICES if isinstance(sampling.get(name), (int, float))},
        onnx_file=(genai_model.get("decoder") or {}).get("filename"),
    )


def is_compiled(folder: Path) -> bool:
    return any((folder / name).exists() for name in ("index.json", "manifest.json"))


SAFETENSORS = ("model.safetensors", "model.safetensors.index.json")
SAFETENSORS_TYPES = ("q4", "q8", "fp16", "fp32")
"""How compile() stores weights of safetensors files."""


def network_path(folder: Path, file: str | None, dtype: str | None, named: str | None) -> tuple[Path, str | None]:
    """What compile() is given: a path, and a dtype. Raises Error where the folder has no such file. A GGUF file is its own network, and so is a
    folder with safetensors files and no ONNX files."""
    if folder.is_file():
        if file or dtype:
            raise Error("a GGUF file has one network, whose weights are as they are", "file, dtype", "leave them out")
        return folder, None
    if dtype is not None and dtype not in SUFFIXES:
        raise Error(f'"{dtype}" is not a kind of weights', "dtype", f"one of {', '.join(SUFFIXES)}")
    kinds: Sequence[str] = [dtype] if dtype else list(SUFFIXES)
    usual = [f"{place}model{SUFFIXES[kind]}.onnx" for kind in kinds for place in ("onnx/", "")]
    paths = [file] if file else ([named] if named and not dtype else []) + usual
    for path in paths:
        if (folder / path).exists():
            return folder / path, None
    if not file and any((folder / name).exists() for name in SAFETENSORS):
        if dtype not in (None, *SAFETENSORS_TYPES):
            raise Error(f'there is no ONNX file with weights in "{dtype}"', "dtype", f"weights of safetensors files can be {', '.join(SAFETENSORS_TYPES)}")
        return folder, dtype
    found = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*.onnx"))]
    raise Error(f"has none of {', '.join(paths)}", str(folder), f"it has {', '.join(found)}: name one in `file`" if found else "give a folder with ONNX or safetensors files")
