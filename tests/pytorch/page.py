"""Writes docs/pytorch.md: each public name of PyTorch (names.json, written by names.py) with its state in gossamer and in
@gossamer/tensor/torch. Needs this checkout's Python package and Node.js, not PyTorch:

    third_party/cache/python/bin/python tests/pytorch/page.py [--check]      --check: says whether the page is as it would be written
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import gossamer
from gossamer import nn, optim

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/pytorch.md"
NAMES = json.loads((HERE / "names.json").read_text())
SPACES = [name for name in NAMES if name != "version"]

REASONS = {
    "sparse layouts (`SparseTensor` is a class of its own)": r"(is_|to_|_)?sparse|^(c?col|crow|row)_indices|^ccol|coalesce|^(indices|values|dense_dim|smm|sspaddmm|to_dense)$",
    "quantised tensors": r"^q_|qscheme|int_repr|dequantize|is_quantized|scaled_|grouped_mm",
    "memory and strides, which tensors do not show": r"storage|^(data_ptr|stride|set_|is_set_to|share_memory_?|is_shared|pin_memory|is_pinned|record_stream|as_strided_|resize|resize_|resize_as|resize_as_|dim_order|memory_format|is_view|slice_inverse|new_empty_strided|layout)$",
    "other devices and libraries": r"cuda|xpu|ipu|mtia|maia|mkldnn|vulkan|hpu|^is_(mps|meta|cpu|xla|ort)$|get_device|compile$|to_empty|native_channel_shuffle",
    "complex numbers": r"complex|imag$|chalf|^is_conj|^is_neg$|resolve_|view_as_real|^as_subclass$",
    "named axes": r"^(names|align_|refine_names|rename|has_names)",
    "nested and distributed tensors": r"nested|jagged|distributed|to_padded",
    "the interpreter's own": r"^(apply_|map_|map2_|reinforce|__|module_load|grad_dtype|grad_fn|output_nr|name|volatile|register_|retains_grad|hash_tensor|call_super_init|dump_patches|T_destination|is_inference|is_functorch|untyped)",
}
"""Names that do not apply, by what keeps them from it."""

OTHER = {
    "Python": {"Tensor": {}},
    "TypeScript": {
        "Tensor": {"size": "shape", "numpy": "data()", "data": "detach()", "requires_grad_": "requiresGrad", "split_with_sizes": "split()", "new": "newTensor()", "ndim": "ndim", "dtype": "dtype", "detach_": "detach()", "to_dense": "toDense()"},
        "nn": {"Buffer": "BufferTensor"},
        "nn.Module": {"requires_grad_": "setRequiresGrad()", "T_destination": ""},
    },
}
"""What has another name."""


def camel(name: str) -> str:
    return re.sub(r"_([a-z0-9])", lambda found: found[1].upper(), name)


def python_names() -> dict[str, set[str]]:
    spaces = {"Tensor": gossamer.Tensor, "nn": nn, "nn.Module": nn.Module, "nn.functional": nn.functional, "optim": optim, "optim.lr_scheduler": optim.lr_scheduler}
    return {space: {*dir(of), *(["training"] if space == "nn.Module" else [])} for space, of in spaces.items()}


def typescript_names() -> dict[str, set[str]]:
    script = HERE.parents[1] / "web/tensor/build/names.mjs"
    made = json.loads(subprocess.run(["node", script], capture_output=True, text=True, check=True).stdout)
    # In the spelling of Python.
    return {space: set(names) for space, names in made.items()}


def reason(name: str) -> str | None:
    return next((why for why, pattern in REASONS.items() if re.search(pattern, name)), None)


def has(language: str, names: set[str], space: str, name: str) -> bool:
    known = name in names if language == "Python" else camel(name) in names or name in names
    return known or bool(OTHER[language].get(space, {}).get(name))


def page() -> str:
    languages = {"Python": python_names(), "TypeScript": typescript_names()}
    lines = [
        f"# PyTorch's names\n\nWritten by tests/pytorch/page.py from the names of PyTorch {NAMES['version']}. `gossamer` has them in Python's spelling, `@gossamer/tensor/torch` in",
        "JavaScript's (`nan_to_num` is `nanToNum`). Methods in place (`add_`) give a tensor other elements; other tensors keep theirs.\n",
        "| namespace | names | Python | TypeScript | do not apply |\n|---|---|---|---|---|",
    ]
    details = []
    for space in SPACES:
        names = NAMES[space]
        states: dict[str, list[str]] = {}
        counts = {language: 0 for language in languages}
        for name in names:
            found = [language for language, spaces in languages.items() if has(language, spaces[space], space, name)]
            for language in found:
                counts[language] += 1
            state = "in both" if len(found) == 2 else f"in {found[0]} alone" if found else reason(name) or "missing"
            states.setdefault(state, []).append(name)
        absent = sum(len(listed) for state, listed in states.items() if state in REASONS)
        share = [f"{counts[language]} ({counts[language] * 100 // len(names)} %)" for language in languages]
        lines.append(f"| `{space}` | {len(names)} | {share[0]} | {share[1]} | {absent} |")
        details.append(f"\n## {space}\n\n| state | names |\n|---|---|")
        order = ["in both", "in Python alone", "in TypeScript alone", "missing", *REASONS]
        for state in sorted(states, key=order.index):
            said = f"does not apply: {state}" if state in REASONS else state
            details.append(f"| {said} | {' '.join(f'`{name}`' for name in states[state])} |")
        other = {name: of for name, of in OTHER["TypeScript"].get(space, {}).items() if of and name in names and camel(name) not in languages["TypeScript"][space]}
        if other:
            details.append(f"\nIn TypeScript: {', '.join(f'`{name}` is `{of}`' for name, of in other.items())}.")
    return "\n".join([*lines, *details, ""])


def main() -> int:
    text = page()
    if "--check" in sys.argv:
        same = PAGE.exists() and PAGE.read_text() == text
        if not same:
            print("docs/pytorch.md is not what tests/pytorch/page.py writes: run it")
        return 0 if same else 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
