"""An engine with WebGPU and without JavaScript: runs a program of `gossamer compile --target webgpu --emit wasi`.

    pip install wasmtime wgpu
    python gpu_host.py digits.wasm --input image.npy --output -

wasmtime runs the program, wgpu-native (or, in software, a driver such as lavapipe under it) its kernels. The functions that the
program imports are those of docs/specs/gpu_imports.md; this is all that an engine has to provide.
"""

import struct
import sys

import wasmtime
import wgpu
from wasmtime import FuncType, ValType

LAUNCHES_OF_A_SUBMISSION = 256


class Gpu:
    """The imports of module `gossamer_gpu`. Functions give 0 where they fail, and `error` tells why."""

    def __init__(self):
        self.device = None
        self.memory = None  # the program's, once it is there
        self.problem = ""
        self.buffers, self.kernels = {}, {}  # by the numbers that the program knows
        self.bound, self.uniforms = {}, {}
        self.launches = []

    def open(self):
        adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
        sizes = ("max-buffer-size", "max-storage-buffer-binding-size")
        features = [name for name in ("shader-f16",) if name in adapter.features]
        self.device = adapter.request_device_sync(
            required_limits={name: adapter.limits[name] for name in sizes}, required_features=features)
        return 1 if adapter.info["adapter_type"] == "CPU" else 2

    def buffer(self, size):
        usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
        return self._keep(self.buffers, self.device.create_buffer(size=size, usage=usage))

    def free(self, number):
        self._submit()
        self.bound = {key: group for key, group in self.bound.items() if number not in key[1]}
        self.buffers.pop(number).destroy()

    def write(self, number, offset, start, size):
        self._submit()
        self.device.queue.write_buffer(self.buffers[number], offset, self._bytes(start, size))
        return 1

    def read(self, number, offset, start, size):
        self._submit()
        data = self.device.queue.read_buffer(self.buffers[number], offset, size)
        self.memory.write(self.store, data, start)
        return 1

    def kernel(self, start, length, buffers, writes, scalars):
        kinds = ["read-only-storage"] * (buffers - writes) + ["storage"] * writes + ["uniform"] * (scalars > 0)
        layout = self.device.create_bind_group_layout(entries=[
            {"binding": at, "visibility": wgpu.ShaderStage.COMPUTE, "buffer": {"type": kind}}
            for at, kind in enumerate(kinds)])
        module = self.device.create_shader_module(code=self._bytes(start, length).decode())
        pipeline = self.device.create_compute_pipeline(
            layout=self.device.create_pipeline_layout(bind_group_layouts=[layout]),
            compute={"module": module, "entry_point": "main"})
        return self._keep(self.kernels, (pipeline, layout, buffers, scalars))

    def launch(self, number, buffers, scalars, x, y):
        pipeline, layout, count, words = self.kernels[number]
        numbers = struct.unpack(f"<{count}i", self._bytes(buffers, 4 * count))
        key = number, numbers, self._bytes(scalars, 4 * words)
        if key not in self.bound:
            bound = [self.buffers[one] for one in numbers] + ([self._uniform(key[2])] if words else [])
            self.bound[key] = self.device.create_bind_group(layout=layout, entries=[
                {"binding": at, "resource": {"buffer": one}} for at, one in enumerate(bound)])
        self.launches.append((pipeline, self.bound[key], x, y))
        if len(self.launches) == LAUNCHES_OF_A_SUBMISSION:
            self._submit()
        return 1

    def error(self, start, room):
        text = self.problem.encode()[:room]
        self.memory.write(self.store, text, start)
        return len(text)

    def _keep(self, table, thing):
        number = max(table, default=0) + 1
        table[number] = thing
        return number

    def _bytes(self, start, size):
        return bytes(self.memory.read(self.store, start, start + size))

    def _uniform(self, data):
        """As vectors of four words."""
        data += bytes(-len(data) % 16)
        if data not in self.uniforms:
            self.uniforms[data] = self.device.create_buffer_with_data(data=data, usage=wgpu.BufferUsage.UNIFORM)
        return self.uniforms[data]

    def _submit(self):
        """What was launched since, in order."""
        if not self.launches:
            return
        encoder = self.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        for pipeline, group, x, y in self.launches:
            compute.set_pipeline(pipeline)
            compute.set_bind_group(0, group)
            compute.dispatch_workgroups(x, y)
        compute.end()
        self.device.queue.submit([encoder.finish()])
        self.launches = []


def add_imports(linker, gpu):
    """`gpu` as the program's imports; what goes wrong becomes its error."""
    number, large = ValType.i32(), ValType.i64()
    signatures = {
        "open": ([], True), "error": ([number] * 2, True), "buffer": ([large], True), "free": ([number], False),
        "write": ([number, large, number, number], True), "read": ([number, large, number, number], True),
        "kernel": ([number] * 5, True), "launch": ([number] * 5, True),
    }

    def guarded(function):
        def call(*arguments):
            try:
                # Addresses above 2 GiB come as negative numbers.
                return function(*(one & 0xFFFFFFFF if one < 0 else one for one in arguments))
            except Exception as problem:  # noqa: BLE001: whatever it is, the program tells it
                gpu.problem = " ".join(str(problem).split()) or type(problem).__name__
                return 0
        return call

    for name, (takes, gives) in signatures.items():
        kind = FuncType(takes, [number] if gives else [])
        linker.define_func("gossamer_gpu", name, kind, guarded(getattr(gpu, name)))


def run(file, arguments, folder=".", gpu=None):
    """Runs the program with files of a folder; its exit code."""
    gpu = gpu or Gpu()
    engine = wasmtime.Engine()
    linker, store = wasmtime.Linker(engine), wasmtime.Store(engine)
    linker.define_wasi()
    wasi = wasmtime.WasiConfig()
    wasi.argv = [file, *arguments]
    wasi.inherit_stdin()
    wasi.inherit_stdout()
    wasi.inherit_stderr()
    wasi.preopen_dir(folder, ".")
    store.set_wasi(wasi)
    gpu.store = store
    add_imports(linker, gpu)
    program = linker.instantiate(store, wasmtime.Module.from_file(engine, file)).exports(store)
    gpu.memory = program["memory"]
    try:
        program["_start"](store)
    except wasmtime.ExitTrap as end:
        return end.code
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: gpu_host.py PROGRAM.wasm [ITS ARGUMENTS]")
    sys.exit(run(sys.argv[1], sys.argv[2:]))
