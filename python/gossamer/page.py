"""The page around a package for the web (web/runtime/page): a form for its inputs, and what it makes of them."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from pathlib import Path

from .error import Error


def _folder() -> Path:
    """Of the built page: in the wheel, or in the checkout that GOSSAMER_HOME names."""
    places = [Path(__file__).parent / "page"]
    home = os.environ.get("GOSSAMER_HOME")
    if home:
        places.append(Path(home) / "web/runtime/dist/page")
    for place in places:
        if (place / "index.html").exists():
            return place
    raise Error("this installation has no page", hint="`make web` before `pip install .`, or set GOSSAMER_HOME to a checkout where it is built")


def page_files(name: str, labels: Sequence[str]) -> dict[str, bytes]:
    """The page's files by name, to lie beside those of one package. labels: names of classes. Raises Error where it was not built."""
    files = {}
    for path in sorted(_folder().iterdir()):
        if path.name == "single.html" or not path.is_file():
            continue
        data = path.read_bytes()
        if path.suffix == ".html":
            text = data.decode()
            for mark, said in (("{{NAME}}", name or "Model"), ("{{MODEL}}", "manifest.json"), ("{{LABELS}}", "labels.txt" if labels else "")):
                text = text.replace(mark, html.escape(said))
            data = text.encode()
        files[path.name] = data
    if labels:
        files["labels.txt"] = "".join(f"{label}\n" for label in labels).encode()
    return files
