"""Where the library is that packages for webgpu run through."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path


def name_webgpu_library() -> None:
    """Names wgpu-native to the run time in C++ where the package wgpu has it and the environment names no library; does not import it."""
    if os.environ.get("GOSSAMER_WEBGPU_LIBRARY"):
        return
    spec = importlib.util.find_spec("wgpu")
    for place in (spec and spec.submodule_search_locations) or ():
        for file in sorted(Path(place, "resources").glob("*wgpu_native*")):
            os.environ["GOSSAMER_WEBGPU_LIBRARY"] = str(file)
            return
