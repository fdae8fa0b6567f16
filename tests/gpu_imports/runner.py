"""Runs programs through the example of a host, all on one device: a JSON object a line, {"file", "arguments"}, to {"code", "said"}."""

import json
import os
import sys
import tempfile

host_folder, folder = sys.argv[1:]
sys.path.insert(0, host_folder)
import gpu_host  # noqa: E402: it lies where the first argument says


class OneDevice(gpu_host.Gpu):
    """Opened once, as making a device takes longer than most runs."""

    opened = None

    def open(self):
        if OneDevice.opened is None:
            OneDevice.opened = super().open(), self.device
        kind, self.device = OneDevice.opened
        return kind


for line in sys.stdin:
    asked = json.loads(line)
    with tempfile.TemporaryFile() as text:
        kept = os.dup(2)
        os.dup2(text.fileno(), 2)
        try:
            code = gpu_host.run(asked["file"], asked["arguments"], folder, OneDevice())
        except Exception as problem:  # noqa: BLE001: a trap is a verdict, too
            code, _ = "trapped", os.write(2, str(problem).encode())
        os.dup2(kept, 2)
        os.close(kept)
        text.seek(0)
        said = text.read().decode()
    said = "\n".join(one for one in said.splitlines() if "XDG_RUNTIME_DIR" not in one)
    print(json.dumps({"code": code, "said": said}), flush=True)
