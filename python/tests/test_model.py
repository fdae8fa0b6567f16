"""A model compiled, run, and refused, as a user would."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import gossamer
from gossamer.model import _on_host
from models import WEIGHT, X, deep, dense, driver_needed, model_of, turns_left_by


@pytest.fixture(scope="module")
def compiled():
    return gossamer.compile(dense())


def test_it_computes_what_numpy_computes(compiled):
    made = compiled.run({"x": X})
    assert set(made) == {"z"}
    assert made["z"].dtype == np.float32
    np.testing.assert_allclose(made["z"], np.maximum(X @ WEIGHT, 0), rtol=1e-6)
    # Of other extents, from lists, from memory that is not contiguous, and as the only input.
    np.testing.assert_allclose(compiled.run([[1, 0, 0]])["z"], np.maximum(WEIGHT[:1], 0), rtol=1e-6)
    turned = np.asfortranarray(X)
    np.testing.assert_allclose(compiled(turned)["z"], made["z"])


def test_results_are_the_callers(compiled):
    first = compiled.run(X)["z"]
    kept = first.copy()
    compiled.run(-X)
    np.testing.assert_array_equal(first, kept)
    first += 1
    np.testing.assert_array_equal(compiled.run(X)["z"], kept)


def test_paths_bytes_and_packages(tmp_path):
    path = tmp_path / "dense.onnx"
    onnx.save(dense(), path)
    package = gossamer.compile(path)
    package.write(tmp_path / "package")
    loaded = gossamer.load(tmp_path / "package", threads=1)
    np.testing.assert_array_equal(loaded.run(X)["z"], gossamer.compile(path.read_bytes()).run(X)["z"])
    assert [str(each) for each in loaded.inputs] == ["x: float32[?, 3]"]
    assert "manifest.json" in package.sizes
    assert package.files["manifest.json"][:1] == b"{"


def test_inputs_with_a_default():
    ports = [("s", TensorProto.FLOAT, [1]), ("x", TensorProto.FLOAT, ["n"])]
    model = model_of([helper.make_node("Mul", ["x", "s"], ["y"])], ports, [("y", TensorProto.FLOAT, ["n"])], [("s", np.array([2], np.float32))])
    x = np.array([1, 3], np.float32)
    folded, kept = gossamer.compile(model), gossamer.compile(model, keep_inputs=["s"])
    for package in (folded, kept):
        np.testing.assert_array_equal(package.run({"x": x})["y"], [2, 6])
    np.testing.assert_array_equal(kept.run({"x": x, "s": np.array([10], np.float32)})["y"], [10, 30])
    # Compiled again for the feed that overrides it.
    np.testing.assert_array_equal(folded.run({"x": x, "s": np.array([10], np.float32)})["y"], [10, 30])
    np.testing.assert_array_equal(folded.run({"x": x})["y"], [2, 6])
    with pytest.raises(gossamer.Error, match="its inputs are x; .*keep_inputs"):
        folded.run({"x": x, "t": x[:1]})
    with pytest.raises(gossamer.Error, match="its inputs are x; .*keep_inputs"):
        folded.model.run({"x": x, "s": x[:1]})
    with pytest.raises(gossamer.Error, match='"t": names no input'):
        gossamer.compile(model, keep_inputs=["t"])


def test_inputs_that_become_constants(tmp_path):
    model = model_of([helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)], [("x", TensorProto.FLOAT, ["n", 3]), ("axes", TensorProto.INT64, [1])], [("y", TensorProto.FLOAT, None)])
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for axis in (0, 1):
        package = gossamer.compile(model, constants={"axes": np.array([axis])})
        np.testing.assert_array_equal(package.run({"x": x})["y"], x.sum(axis))
    with pytest.raises(gossamer.Error, match='"axis": names no input'):
        gossamer.compile(model, constants={"axis": np.array([0])})


def test_large_weights_lie_in_several_files():
    names = gossamer.compile(deep(6), target="wasm", shard_bytes=100).sizes
    assert sum("weights" in name for name in names) > 1, names


def test_folders_that_are_not_packages(tmp_path):
    onnx.save(dense(), tmp_path / "dense.onnx")
    for target in ("webgl", "wasm"):
        gossamer.compile(dense(), target=target).write(tmp_path / "site" / target)
    (tmp_path / "site" / "index.json").write_text('{"variants":{"webgl":"webgl/","wasm":"wasm/"}}')
    for given, message in [
        (tmp_path / "dense.onnx", "is a model, not the folder of a package"),
        (tmp_path, "is not a package: it has no manifest.json"),
        (tmp_path / "none", "no such folder"),
        (tmp_path / "site", "several targets: wasm, webgl .*site/wasm.*site/webgl"),
        (gossamer.compile(dense()), "a Package is not the folder of a package"),
    ]:
        with pytest.raises(gossamer.Error, match=message):
            gossamer.load(given)


def test_fixed_dimensions():
    package = gossamer.compile(dense(), dims={"rows": 2}, name="two rows")
    assert package.model.inputs[0].shape == (2, 3)
    assert package.model.name == "two rows"
    with pytest.raises(gossamer.Error, match="x"):
        package.run(X[:1])


@pytest.mark.parametrize(
    ("feeds", "where", "message"),
    [
        ({}, 'input "x"', r"is not given \(pass x: float32\[\?, 3\]\)"),
        ({"x": X, "q": X}, 'input "q"', "is no input of the model"),
        ({"x": X.astype(np.float64)}, 'input "x"', "takes float32, not float64"),
        ({"x": X[:, :2]}, 'input "x"', "."),
        ({"x": "text"}, 'input "x"', "is no array of float32"),
    ],
)
def test_feeds_that_do_not_fit(compiled, feeds, where, message):
    with pytest.raises(gossamer.Error, match=message) as raised:
        compiled.run(feeds)
    assert str(raised.value).startswith(where)
    assert "\n" not in str(raised.value)


def test_models_that_do_not_compile(tmp_path):
    with pytest.raises(gossamer.Error, match="missing.onnx"):
        gossamer.compile(tmp_path / "missing.onnx")
    for given, message in [
        (b"models/a.onnx", 'text that begins with "models/a.onnx", not an ONNX model'),
        (b"", "the file is empty"),
        (b"<!DOCTYPE html><html>", "an HTML page, .*check the address"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer, .*git lfs pull"),
        (b"PK\x03\x04model/data.pkl", "a PyTorch checkpoint, .*torch.onnx.export"),
        (None, "a NoneType is not a model .*pass the path of an ONNX or GGUF file"),
        (dense, "a function is not a model"),
    ]:
        with pytest.raises(gossamer.Error, match=message):
            gossamer.compile(given)
    with pytest.raises(gossamer.Error, match="target"):
        gossamer.compile(dense(), target="teapot")
    with pytest.raises(gossamer.Error, match="Frobnicate"):
        gossamer.compile(model_of([helper.make_node("Frobnicate", ["x"], ["z"])], [("x", TensorProto.FLOAT, [1])], [("z", TensorProto.FLOAT, [1])]))


def test_web_packages_run_in_an_engine_without_javascript(tmp_path):
    package = gossamer.compile(dense(), target="wasm", threads=2)
    package.write(tmp_path / "web")
    try:
        outputs = package.run(X)
    except gossamer.Error as problem:
        if "install wasmtime" not in str(problem):
            raise
        pytest.skip(f"this machine has no engine: {problem}")
    right = gossamer.compile(dense()).run(X)
    assert outputs.keys() == right.keys()
    for name, values in right.items():
        np.testing.assert_allclose(outputs[name], values, rtol=1e-5)
        np.testing.assert_array_equal(gossamer.load(tmp_path / "web").run(X)[name], outputs[name])
    assert package.report()["device"].startswith("wasm, wasmtime ")


def test_packages_of_the_web_are_written(tmp_path):
    for target in ("wasm", "webgpu", "webgl"):
        package = gossamer.compile(dense(), target=target)
        package.write(tmp_path / target)
        assert (tmp_path / target / "manifest.json").exists()
        assert ("kernels.wasm" if target == "wasm" else "kernels.json") in package.files


def test_pages(tmp_path, monkeypatch):
    home = tmp_path / "home/web/runtime/dist/page"
    home.mkdir(parents=True)
    (home / "index.html").write_text('<title>{{NAME}}</title>{{MODEL}} "{{LABELS}}"')
    (home / "page.js").write_text("{{NAME}}")
    (home / "single.html").write_text("")
    monkeypatch.setattr("gossamer.page.__file__", str(tmp_path / "page.py"))
    package = gossamer.compile(dense(), target="wasm", name="<one>")
    with pytest.raises(gossamer.Error, match="has no page"):
        package.write(tmp_path / "site", page=True)
    monkeypatch.setenv("GOSSAMER_HOME", str(tmp_path / "home"))
    package.write(tmp_path / "site", page=True, labels=["a", "b"])
    assert (tmp_path / "site/index.html").read_text() == '<title>&lt;one&gt;</title>manifest.json "labels.txt"'
    assert (tmp_path / "site/labels.txt").read_text() == "a\nb\n"
    assert {"manifest.json", "page.js"} <= {each.name for each in (tmp_path / "site").iterdir()}
    assert not (tmp_path / "site/single.html").exists()
    with pytest.raises(gossamer.Error, match="cpu has no page"):
        gossamer.compile(dense()).write(tmp_path / "other", page=True)


def test_strings():
    node = helper.make_node("StringConcat", ["a", "b"], ["c"])
    graph = helper.make_graph([node], "model", [helper.make_tensor_value_info(name, TensorProto.STRING, [2]) for name in "ab"], [helper.make_tensor_value_info("c", TensorProto.STRING, [2])])
    model = gossamer.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9))
    made = model.run({"a": ["über", "x"], "b": np.array(["all", ""])})["c"]
    assert made.tolist() == ["überall", "x"]


def test_dlpack_and_booleans():
    class Foreign:
        def __dlpack__(self, **options):
            return X.__dlpack__(**options)

        def __dlpack_device__(self):
            return X.__dlpack_device__()

    assert np.shares_memory(_on_host(Foreign(), "f32"), X)
    np.testing.assert_array_equal(gossamer.compile(dense()).run(Foreign())["z"], np.maximum(X @ WEIGHT, 0))
    node = helper.make_node("Not", ["x"], ["z"])
    flip = gossamer.compile(model_of([node], [("x", TensorProto.BOOL, [])], [("z", TensorProto.BOOL, [])]))
    made = flip.run(np.array(True))["z"]
    assert made.shape == ()
    assert made.dtype == np.bool_
    assert not made


def test_texts(compiled):
    assert repr(compiled.model) == "<gossamer.Model model (x: float32[?, 3]) -> (z: float32[?, 4])>"
    assert "float32[?, 3]" in compiled._repr_html_()
    compiled.run(X)
    report = compiled.report()
    assert report["device"].startswith("cpu")
    assert report["kernels"][0]["times"] == 1
    profile = compiled.profile(X, runs=3)
    assert profile.run_ms > 0
    assert "Relu" in profile.table() or "relu" in profile.table()


def test_other_threads_run_while_it_compiles():
    assert turns_left_by(lambda: gossamer.compile(deep(60))) > 0.1


@pytest.mark.parametrize("parallel", [1, 3])
def test_threads_run_one_model(tmp_path, parallel):
    gossamer.compile(deep(20)).write(tmp_path / "package")
    for model in (gossamer.load(tmp_path / "package", threads=1, parallel=parallel), gossamer.compile(deep(20), threads=1, parallel=parallel).model):
        inputs = [np.full((64, 3), number, np.float32) for number in range(6)]
        wanted = [model.run(each)["x20"] for each in inputs]
        inside, most = set(), 0
        begin = threading.Barrier(6)
        wrong = []

        def work(number, model=model, begin=begin, wrong=wrong, wanted=wanted, inputs=inputs, inside=inside):
            nonlocal most
            begin.wait()
            for _ in range(20):
                with model._one() as one:
                    if id(one) in inside:
                        wrong.append("two threads have one")
                    inside.add(id(one))
                    most = max(most, len(inside))
                    time.sleep(0.001)
                    inside.discard(id(one))
                if not np.array_equal(model.run(inputs[number])["x20"], wanted[number]):
                    wrong.append(number)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert most == parallel
        with pytest.raises(gossamer.Error):
            model.run(X[:, :2])
        assert len(model._free) == parallel
        assert model.report()["kernels"]
    with pytest.raises(gossamer.Error, match="0 runs at the same time"):
        gossamer.load(tmp_path / "package", parallel=0)


def test_ctrl_c_ends_the_wait():
    program = textwrap.dedent("""
        import sys, gossamer
        sys.path.insert(0, sys.argv[1])
        from models import deep
        model = deep(400)
        print("ready", flush=True)
        try:
            gossamer.compile(model)
            print("compiled")
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            import os; os._exit(0)
    """)
    with subprocess.Popen([sys.executable, "-c", program, os.path.dirname(__file__)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"


@pytest.mark.parametrize("target", ["opencl", "opengl", "webgpu", "webgl"])
def test_it_runs_on_the_gpu(compiled, target):
    model = gossamer.compile(dense(), target=target)
    with driver_needed():
        made = model.run({"x": X})
    np.testing.assert_allclose(made["z"], compiled.run({"x": X})["z"], rtol=1e-5)
    assert model.report()["device"].startswith(target)
    # What runs here has machine code in its place.
    assert ("plan.wasm" in model.files) == (target in ("webgpu", "webgl"))


def test_webgpu_says_what_to_install():
    program = "import gossamer, models\ntry:\n  gossamer.compile(models.dense(), target='webgpu').model\nexcept gossamer.Error as problem:\n  print(problem)"
    environment = {**os.environ, "GOSSAMER_WEBGPU_LIBRARY": "/no/such/library.so", "PYTHONPATH": os.path.dirname(__file__)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=True)
    assert "/no/such/library.so" in done.stdout
    assert "install wgpu-native" in done.stdout


@pytest.mark.parametrize(
    ("target", "variable", "place"),
    [("webgpu", "GOSSAMER_WEBGPU_LIBRARY", "wgpu/resources/libwgpu_native-release.so"), ("wasm", "GOSSAMER_WASMTIME_LIBRARY", "wasmtime/linux-x86_64/_libwasmtime.so")],
)
def test_packages_bring_the_libraries(tmp_path, monkeypatch, target, variable, place):
    from gossamer.libraries import name_library

    library = tmp_path / place
    library.parent.mkdir(parents=True)
    library.write_bytes(b"")
    (tmp_path / place.split("/")[0] / "__init__.py").write_text("raise RuntimeError('it is not imported')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv(variable, "named")
    name_library(target)
    assert os.environ[variable] == "named"
    monkeypatch.delenv(variable)
    name_library(target)
    assert os.environ.get(variable) == str(library)
    name_library("cpu")
