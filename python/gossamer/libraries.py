"""Where the libraries are that packages for webgpu and for wasm run through."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

LIBRARIES = {
    "webgpu": ("GOSSAMER_WEBGPU_LIBRARY", "wgpu", "resources/*wgpu_native*"),
    "wasm": ("GOSSAMER_WASMTIME_LIBRARY", "wasmtime", "*/_libwasmtime.*"),
}
"""By target: the variable that names the file, and the Python package that has one, with its place there."""


def name_library(target: str) -> None:
    """Names the target's library to the run time in C++ where a Python package has it and the environment names none; does not import it."""
    variable, package, place = LIBRARIES.get(target, ("", "", ""))
    if not variable or os.environ.get(variable):
        return
    spec = importlib.util.find_spec(package)
    for root in (spec and spec.submodule_search_locations) or ():
        for file in sorted(Path(root).glob(place)):
            os.environ[variable] = str(file)
            return


def name_libraries() -> None:
    """Those of all targets."""
    for target in LIBRARIES:
        name_library(target)
