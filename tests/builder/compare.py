"""Language models as onnxruntime-genai's builder writes them, against ONNX Runtime: a prompt of 32 tokens and 16 more, logits and caches.

    python tests/builder/compare.py [--only NAME,...] [--targets cpu,wasm] [--steps 16]

Differences are relative to the largest number of a tensor; those above 1e-3 (f32) or 1e-2 (f16) fail. Products have exact weights
(accuracy_level 0), and norms of queries and keys are nodes for ONNX Runtime, whose CPU provider has them nowhere else.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import numpy as np
import onnx
import onnxruntime
from models import MODELS, WORDS, write
from onnx import helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "third_party/cache/builder"
GOSSAMER = ROOT / os.environ.get("GOSSAMER_BUILD", "build") / "gossamer"
# Precision, provider and extra options.
FORMS = {"webgpu": ("int4", "webgpu", {}), "cpu": ("int4", "cpu", {}), "cuda": ("int4", "cuda", {}), "f32": ("fp32", "cpu", {})}
OF_SMOLLM = {
    "f16": ("fp16", "cuda", {}), "int8": ("int8", "cpu", {}),
    "k_quant": ("int4", "cpu", {"int4_algo_config": "k_quant"}), "k_quant_mixed": ("int4", "webgpu", {"int4_algo_config": "k_quant_mixed"}),
    "shared": ("int4", "webgpu", {"shared_embeddings": "true"}), "pruned": ("int4", "webgpu", {"prune_lm_head": "true"}),
    "graph": ("int4", "webgpu", {"enable_webgpu_graph": "true"}), "webgpu_f32": ("int4", "webgpu", {"use_webgpu_fp32": "1"}),
    "hidden": ("int4", "cpu", {"include_hidden_states": "true"}), "embeds": ("int4", "cpu", {"exclude_embeds": "true"}),
    "blocks_of_128": ("int4", "cuda", {"int4_block_size": "128"}), "zero_points": ("int4", "cpu", {"int4_is_symmetric": "false", "int4_block_size": "16"}),
}
# What the builder cannot write, or writes so that ONNX Runtime does not load it: types that differ, experts in the layout of CUDA.
REFUSED = {"gpt_oss f32", "gemma3 webgpu", "gemma3 cuda", "gpt_oss cuda", "qwen35_moe cuda", "lfm2_moe cuda"}


def build(name: str, precision: str, provider: str, extra: dict[str, str], out: Path) -> None:
    from onnxruntime_genai.models import builder

    source = FOLDER / name
    if not (source / "config.json").exists():
        write(name, source)
    base = next(each for each in builder.Gemma3Model.__mro__ if "make_rope_init" in vars(each))
    made = base.make_rope_init

    def make_rope_init(self: object, config: object) -> None:
        # transformers 5 has rotations of both kinds of layers in one table.
        ropes = config.rope_parameters
        if "full_attention" in ropes:
            config.rope_local_base_freq, config.rope_parameters = ropes["sliding_attention"]["rope_theta"], ropes["full_attention"]
        made(self, config)

    base.make_rope_init = make_rope_init
    try:
        given = (None, str(source), str(out), precision, provider, str(FOLDER / "cache"))
        options = builder.parse_extra_options(*given, [f"{key}={value}" for key, value in extra.items()])
        builder.create_model(*given, **options)
    finally:
        base.make_rope_init = made


def prepare(folder: Path) -> tuple[Path, Path, onnx.ModelProto]:
    """The model with exact products, and ONNX Runtime's form of it."""
    model = onnx.load(folder / "model.onnx", load_external_data=False)

    def exact(graph: onnx.GraphProto) -> None:
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.name == "accuracy_level":
                    attribute.i = 0
                if attribute.HasField("g"):
                    exact(attribute.g)

    exact(model.graph)
    own, reference = folder / "exact.onnx", folder / "reference.onnx"
    onnx.save(model, own)
    plain = onnx.ModelProto()
    plain.CopyFrom(model)
    nodes = []
    for node in plain.graph.node:
        if node.op_type == "GroupQueryAttention" and len(node.input) > 14:
            given = {each.name: helper.get_attribute_value(each) for each in node.attribute}
            for at, heads in ((0, given["num_heads"]), (1, given["kv_num_heads"])):
                name = f"{node.input[at]}.norm"
                for kind, shape in (("split", [0, 0, heads, -1]), ("flat", [0, 0, -1])):
                    plain.graph.initializer.append(numpy_helper.from_array(np.array(shape, np.int64), f"{name}.{kind}"))
                nodes += [
                    helper.make_node("Reshape", [node.input[at], f"{name}.split"], [f"{name}.heads"]),
                    helper.make_node("SimplifiedLayerNormalization", [f"{name}.heads", node.input[14 + at]], [f"{name}.done"], axis=-1, epsilon=given["qk_norm_epsilon"], stash_type=1),
                    helper.make_node("Reshape", [f"{name}.done", f"{name}.flat"], [name]),
                ]
                node.input[at] = name
            del node.input[12:]
            for attribute in [each for each in node.attribute if each.name == "qk_norm_epsilon"]:
                node.attribute.remove(attribute)
        nodes.append(node)
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del plain.graph.node[:]
    plain.graph.node.extend(nodes)
    onnx.save(plain, reference)
    return own, reference, model


def feeds_of(model: onnx.ModelProto, config: dict, past: int, ids: np.ndarray, state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    count = ids.shape[1]
    known = {"kv_cache_dim": config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"], "past_sliding_length": config.get("sliding_window") or 0}
    feeds = {}
    for port in model.graph.input:
        kind = port.type.tensor_type
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        shape = [dim.dim_value or known.get(dim.dim_param, 1 if "batch" in dim.dim_param else 0) for dim in kind.shape.dim]
        if port.name == "input_ids":
            value = ids
        elif port.name == "inputs_embeds":
            value = np.random.default_rng(past).standard_normal((1, count, config["hidden_size"])) * 0.1
        elif port.name == "attention_mask":
            value = np.ones((1, past + count))
        elif port.name == "position_ids":
            value = np.broadcast_to(np.arange(past, past + count), [*(max(extent, 1) for extent in shape[:-1]), count])
        else:
            value = state.get(port.name, np.zeros(shape))
        feeds[port.name] = np.ascontiguousarray(value).astype(dtype)
    return feeds


def run(model: Path, target: str, feeds: dict[str, np.ndarray], names: list[str]) -> dict[str, np.ndarray]:
    with tempfile.TemporaryDirectory() as work:
        arguments = [str(GOSSAMER), "run", str(model), "--target", target, "--save", f"{work}/out"]
        for name, value in feeds.items():
            np.save(f"{work}/{name}.npy", value)
            arguments += ["-i", f"{name}={work}/{name}.npy"]
        ended = subprocess.run(arguments, capture_output=True, text=True)
        if ended.returncode:
            raise RuntimeError(ended.stderr.strip().splitlines()[-1])
        return {name: np.load(f"{work}/out/{name}.npy") for name in names}


def difference(wanted: np.ndarray, found: np.ndarray) -> float:
    if wanted.shape != found.shape or not np.isfinite(found.astype(np.float64)).all():
        return np.inf
    most = np.abs(wanted.astype(np.float64)).max(initial=1e-9)
    return float(np.abs(wanted.astype(np.float64) - found.astype(np.float64)).max(initial=0) / most)


def compare(folder: Path, config: dict, targets: list[str], steps: int) -> dict[str, float]:
    """The largest difference on each target."""
    own, reference, model = prepare(folder)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(reference), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    state: dict[str, np.ndarray] = {}
    random, past, worst = np.random.default_rng(1), 0, dict.fromkeys(targets, 0.0)
    for step in range(1 + steps):
        ids = random.integers(3, WORDS, (1, 1 if step else 32))
        feeds = feeds_of(model, config, past, ids, state)
        wanted = dict(zip(names, session.run(None, feeds), strict=True))
        # Each run compiles: the first ones and the last say it all.
        for target in targets if step < 2 or step == steps else []:
            found = run(own, target, feeds, names)
            worst[target] = max(worst[target], *(difference(wanted[name], found[name]) for name in names))
        state = {name.replace("present", prefix): value for name, value in wanted.items() if name.startswith("present") for prefix in ("past_key_values", "past")}
        past += ids.shape[1]
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares models of onnxruntime-genai's builder with ONNX Runtime.")
    parser.add_argument("--only", default="", help="names of models, separated by commas")
    parser.add_argument("--targets", default="cpu,wasm")
    parser.add_argument("--steps", type=int, default=16)
    options = parser.parse_args()
    targets = options.targets.split(",")
    passed = failed = skipped = 0
    for name in options.only.split(",") if options.only else MODELS:
        for form, (precision, provider, extra) in {**FORMS, **(OF_SMOLLM if name == "smollm" else {})}.items():
            case = f"{name} {form}"
            if case in REFUSED:
                continue
            folder = FOLDER / f"{name}.{form}"
            try:
                if not (folder / "model.onnx").exists():
                    shutil.rmtree(folder, ignore_errors=True)
                    build(name, precision, provider, extra, folder)
            except Exception as problem:  # noqa: BLE001 - whatever the builder throws
                print(f"skip  {case}: the builder refuses it: {str(problem).splitlines()[0][:200]}", flush=True)
                skipped += 1
                continue
            try:
                config = json.loads((FOLDER / name / "config.json").read_text())
                worst = compare(folder, config.get("text_config", config), targets, options.steps)
            except Exception as problem:  # noqa: BLE001
                print(f"FAIL  {case}: {str(problem).splitlines()[0][:300]}", flush=True)
                failed += 1
                continue
            most = 1e-3 if form in {"cpu", "f32", "k_quant", "hidden", "embeds", "zero_points", "int8", "webgpu_f32"} else 1e-2
            for target, value in worst.items():
                good = value <= most
                passed, failed = passed + good, failed + (not good)
                print(f"{'ok   ' if good else 'FAIL '} {case} on {target}: {value:.1e}", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
