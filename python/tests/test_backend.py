"""ONNX's own suite through the backend interface: all kinds but those whose models it would download; and its cases of nodes with every
dimension of the inputs open.

GOSSAMER_BACKEND_SHARE=N: one case in N, the same ones each time.
"""

import os
import zlib

import onnx
import onnx.backend.test

from gossamer.backend import GossamerBackend

share = int(os.environ.get("GOSSAMER_BACKEND_SHARE", "1"))


class OpenBackend(GossamerBackend):
    """Each dimension of each input gets a name of its own."""

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        opened = onnx.ModelProto.FromString(model.SerializeToString())
        dims = [dim for each in opened.graph.input for dim in each.type.tensor_type.shape.dim]
        for number, dim in enumerate(dims):
            dim.dim_param = f"d{number}"
        for each in opened.graph.output:
            for dim in each.type.tensor_type.shape.dim:
                dim.Clear()
        return super().prepare(opened, device, **kwargs)


def add(backend, kinds, prefix=""):
    for kind, cases in onnx.backend.test.BackendTest(backend, __name__).test_cases.items():
        if not kinds(kind):
            continue
        for name in [name for name in vars(cases) if name.startswith("test_")]:
            if zlib.crc32((prefix + name).encode()) % share:
                delattr(cases, name)
        globals()[prefix + kind] = cases


add(GossamerBackend, lambda kind: kind != "OnnxBackendRealModelTest")
add(OpenBackend, lambda kind: kind == "OnnxBackendNodeModelTest", "Open")
