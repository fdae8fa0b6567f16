"""Language models as Optimum exports them, against ONNX Runtime: prompts, steps after them, and batches, by one package with open dimensions.

    PYTHONPATH=$(echo third_party/cache/optimum-environment/lib/*/site-packages) \\
        third_party/cache/zoo-environment/bin/python tests/builder/optimum_forms.py [--only NAME,...] [--targets cpu,wasm]

Decoders have caches, encoder-decoders also come merged: one file whose If takes a prompt or a step. Differences are relative to the largest
number of a tensor; those above 1e-3 fail.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import numpy as np
import onnxruntime
import transformers as hf
from compare import GOSSAMER, ROOT, difference, run
from optimum.exporters.onnx import main_export

FOLDER = ROOT / "third_party/cache/optimum"
WORDS = 211
SMALL = {"vocab_size": WORDS, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 256}
BOTH = {
    "vocab_size": WORDS, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2,
}  # fmt: skip
FRAMES, ENCODED = 3000, 1500  # of Whisper
MODELS = {
    "llama": lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**SMALL, num_key_value_heads=2)),
    "qwen2": lambda: hf.Qwen2ForCausalLM(hf.Qwen2Config(**SMALL, num_key_value_heads=2)),
    "gemma": lambda: hf.GemmaForCausalLM(hf.GemmaConfig(**SMALL, num_key_value_heads=1, head_dim=16)),
    "phi": lambda: hf.PhiForCausalLM(hf.PhiConfig(**SMALL)),
    "gpt_neox": lambda: hf.GPTNeoXForCausalLM(hf.GPTNeoXConfig(**SMALL)),
    "falcon": lambda: hf.FalconForCausalLM(hf.FalconConfig(vocab_size=WORDS, hidden_size=64, num_hidden_layers=2, num_attention_heads=4)),
    "gpt2": lambda: hf.GPT2LMHeadModel(hf.GPT2Config(vocab_size=WORDS, n_embd=64, n_layer=2, n_head=4, n_positions=256)),
    "bloom": lambda: hf.BloomForCausalLM(hf.BloomConfig(vocab_size=WORDS, hidden_size=64, n_layer=2, n_head=4)),
    "opt": lambda: hf.OPTForCausalLM(hf.OPTConfig(vocab_size=WORDS, hidden_size=64, ffn_dim=128, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=256, word_embed_proj_dim=64)),
    "t5": lambda: hf.T5ForConditionalGeneration(hf.T5Config(vocab_size=WORDS, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, decoder_start_token_id=0)),
    "bart": lambda: hf.BartForConditionalGeneration(hf.BartConfig(**BOTH, max_position_embeddings=256, forced_eos_token_id=2)),
    "whisper": lambda: hf.WhisperForConditionalGeneration(hf.WhisperConfig(**BOTH, max_source_positions=ENCODED, max_target_positions=64, suppress_tokens=None, begin_suppress_tokens=None)),
}  # fmt: skip
TASKS = {"whisper": "automatic-speech-recognition-with-past", "t5": "text2text-generation-with-past", "bart": "text2text-generation-with-past"}
# Batch, new tokens and tokens before, run by run.
RUNS = {
    "model": [(1, 9, 0), (1, 1, 9), (1, 4, 10), (2, 3, 0), (2, 1, 3)],
    "encoder_model": [(2, 7, 0)],
    "decoder_model": [(2, 5, 0)],
    "decoder_with_past_model": [(1, 1, 5), (1, 1, 6)],
    "decoder_model_merged": [(1, 5, 0), (1, 1, 5), (1, 1, 6)],
}


def feeds_of(session: onnxruntime.InferenceSession, batch: int, count: int, past: int, encoded: int, state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    random = np.random.default_rng(past)
    feeds = {}
    for port in session.get_inputs():
        if port.name in state:
            feeds[port.name] = state[port.name]
            continue

        def extent(dim: int | str) -> int:
            if isinstance(dim, int):
                return dim
            if "batch" in dim:
                return batch
            if "encoder_sequence" in dim:
                return encoded
            if "past" in dim or "total" in dim:
                return past + count if "+" in dim or "total" in dim else past
            return count

        shape = [extent(dim) for dim in port.shape]
        if port.name in ("input_ids", "decoder_input_ids"):
            value = random.integers(3, WORDS, shape)
        elif "attention_mask" in port.name:
            value = np.ones(shape, np.int64)
        elif port.name == "position_ids":
            value = np.broadcast_to(np.arange(past, past + count), shape).copy()
        elif port.name == "use_cache_branch":
            value = np.array([past > 0])
        else:
            value = random.standard_normal(shape).astype(np.float32)
        feeds[port.name] = value
    return feeds


def compare(file: Path, targets: list[str]) -> dict[str, float]:
    """The largest difference on each target."""
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    encoded = ENCODED if file.parent.name == "whisper" else 7
    state: dict[str, np.ndarray] = {}
    worst = dict.fromkeys(targets, 0.0)
    for batch, count, past in RUNS[file.stem]:
        feeds = feeds_of(session, batch, FRAMES if "input_features" in [port.name for port in session.get_inputs()] else count, past, encoded, state if past else {})
        wanted = dict(zip(names, session.run(None, feeds), strict=True))
        for target in targets:
            found = run(file, target, feeds, names)
            worst[target] = max(worst[target], *(difference(wanted[name], found[name]) for name in names))
        # With caches, a merged decoder gives empty ones of the encoder: those of the prompt go on.
        given = {name.replace("present", "past_key_values", 1): value for name, value in wanted.items() if name.startswith("present")}
        state = {name: value if value.size else feeds[name] for name, value in given.items()}
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares models of Optimum with ONNX Runtime.")
    parser.add_argument("--only", default="", help="names of models, separated by commas")
    parser.add_argument("--targets", default="cpu,wasm")
    options = parser.parse_args()
    targets = options.targets.split(",")
    if not GOSSAMER.exists():
        sys.exit(f"{GOSSAMER} is missing: make native")
    passed = failed = 0
    for name in options.only.split(",") if options.only else MODELS:
        folder = FOLDER / name
        if not (folder / "config.json").exists():
            hf.set_seed(0)
            MODELS[name]().eval().save_pretrained(FOLDER / "source" / name)
            main_export(str(FOLDER / "source" / name), output=folder, task=TASKS.get(name, "text-generation-with-past"), do_validation=False, library_name="transformers")
        for file in sorted(folder.glob("*.onnx")):
            try:
                worst = compare(file, targets)
            except RuntimeError as problem:
                print(f"FAIL  {name} {file.stem}: {problem}", flush=True)
                failed += 1
                continue
            for target, number in worst.items():
                right = number <= 1e-3
                passed, failed = passed + right, failed + (not right)
                print(f"{'pass' if right else 'FAIL'}  {name} {file.stem} {target}: {number:.1e}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
