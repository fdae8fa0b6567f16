"""Exports the models of the zoo, each to a folder with its test data, which `gossamer test` takes.

    python tests/zoo/export.py [--only NAME,...] [--to FOLDER]

A model is made again when its recipe, the code of the export or a package's version changed. Models that an exporter or ONNX
Runtime refuses are left out, and FOLDER/NAME.refused says why.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import os
import shutil
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SHARED = ["requirements.txt", "recipes.py", "weights.py", "exporters.py", "own_modules.py"]


def stamp_of(*sources: Path) -> str:
    """What a model of these files depends on."""
    made = hashlib.sha256()
    for file in [*(HERE / name for name in SHARED), *sources]:
        made.update(file.read_bytes())
    return made.hexdigest()


def reason_of(problem: BaseException) -> str:
    """The innermost problem, in a line."""
    while problem.__cause__ is not None:
        problem = problem.__cause__
    text = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return f"{type(problem).__name__}: {text[0] if text else ''}"[:400]


def main() -> int:
    parser = argparse.ArgumentParser(description="Exports the models of the zoo.")
    parser.add_argument("--only", default="", help="names of models, separated by commas")
    parser.add_argument("--to", type=Path, default=ROOT / "third_party/cache/zoo", help="folder of the models")
    parser.add_argument("--trace", action="store_true", help="print where a refused model failed")
    options = parser.parse_args()
    only = [each for each in options.only.split(",") if each]

    import audio_models, generation_models, image_models, own_models, scene_models, text_models  # noqa: E401, F401, I001
    import torch
    from converted_models import CONVERTED, write_converted
    from exporters import write_case
    from recipes import RECIPES, Recipe

    def exported(recipe: Recipe, exporter: str) -> Callable[[Path], None]:
        return lambda folder: write_case(folder, recipe.build(), exporter, recipe.opset)

    # Models are made in this order: the converted ones of the others.
    todo = [
        (name if exporter == "legacy" else f"{name}_dynamo", exported(recipe, exporter), stamp_of(recipe.source))
        for name, recipe in RECIPES.items()
        for exporter in recipe.exporters
    ]
    for name, converted in CONVERTED.items():
        sources = (HERE / "converted_models.py", RECIPES[converted.of].source)
        todo.append((name, lambda folder, converted=converted: write_converted(folder, converted), stamp_of(*sources)))
    known = [name for name, _, _ in todo]
    if unknown := [each for each in only if each not in known]:
        print(f"zoo: there is no model {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    options.to.mkdir(parents=True, exist_ok=True)
    for old in options.to.iterdir():  # of an earlier table
        if old.name.removesuffix(".refused").removesuffix(".made") not in known:
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    for name, make, stamp in todo:
        folder, made, refused = (options.to / f"{name}{ending}" for ending in ("", ".made", ".refused"))
        if only and name not in only or made.exists() and made.read_text() == stamp:
            continue
        made.unlink(missing_ok=True)
        refused.unlink(missing_ok=True)
        start = time.monotonic()
        torch.manual_seed(0)
        try:
            make(folder)
            size = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
            print(f"zoo: {name}: {size / 1e6:.1f} MB, {time.monotonic() - start:.0f} s", flush=True)
        except Exception as problem:  # an exporter may raise anything
            if options.trace:
                traceback.print_exc()
            refused.write_text(f"{reason_of(problem)}\n")
            print(f"zoo: {name} is left out: {reason_of(problem)}", flush=True)
        made.write_text(stamp)
    return 0


if __name__ == "__main__":
    sys.exit(main())
