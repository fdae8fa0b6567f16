"""Exports the checkpoints that the pipelines of Transformers.js run, each to a folder as it stands on a hub of models.

    python tests/transformersjs/export.py [--only NAME,...] [--to FOLDER]

Networks have few and narrow layers and seeded weights, tokenizers are trained on a few sentences. The Python packages are those of the
zoo (tests/zoo/requirements.txt). A checkpoint is made again when this folder's Python code or a package's version changes.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import os
import shutil
import sys
import time
import warnings
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(HERE.parent / "zoo"))


def stamp() -> str:
    """What the checkpoints depend on."""
    made = hashlib.sha256()
    for file in [*sorted(HERE.glob("*.py")), HERE.parent / "zoo/requirements.txt", HERE.parent / "zoo/weights.py"]:
        made.update(file.read_bytes())
    return made.hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description="Exports the checkpoints for Transformers.js.")
    parser.add_argument("--only", default="", help="names of checkpoints, separated by commas")
    parser.add_argument("--to", type=Path, default=ROOT / "third_party/cache/transformersjs", help="folder of the checkpoints")
    options = parser.parse_args()
    only = [each for each in options.only.split(",") if each]

    import torch

    import audio, text, vision  # noqa: E401, F401, I001
    from checkpoints import CHECKPOINTS

    if unknown := [each for each in only if each not in CHECKPOINTS]:
        print(f"transformersjs: no checkpoint is called {', '.join(unknown)}; there are {', '.join(CHECKPOINTS)}", file=sys.stderr)
        return 2
    for name, write in CHECKPOINTS.items():
        folder, made = options.to / name, options.to / f"{name}.made"
        if only and name not in only or not only and made.exists() and made.read_text() == stamp():
            continue
        made.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        start = time.monotonic()
        torch.manual_seed(0)
        write(folder)
        size = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
        print(f"transformersjs: {name}: {size / 1e6:.1f} MB, {time.monotonic() - start:.0f} s", flush=True)
        made.write_text(stamp())
    return 0


if __name__ == "__main__":
    sys.exit(main())
