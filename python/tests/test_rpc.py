"""Devices that have joined `gossamer rpc`, used from Python: this machine's CPU, and wasm in Node.js where the web half is built."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

import gossamer
from models import WEIGHT, X, deep, dense, turns_left_by

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / os.environ.get("GOSSAMER_BUILD", "build") / "gossamer"
JOIN = ROOT / "web/rpc/dist/join.mjs"


@pytest.fixture(scope="module")
def server():
    if not PROGRAM.exists():
        pytest.skip("the command line is not built (make native)")
    children = [subprocess.Popen([PROGRAM, "rpc", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)]
    address = children[0].stdout.readline().strip()
    children.append(subprocess.Popen([PROGRAM, "rpc", "--join", address, "--name", "native"], stderr=subprocess.DEVNULL))
    if JOIN.exists() and shutil.which("node"):
        children.append(subprocess.Popen(["node", JOIN, address, "--name", "node"], stderr=subprocess.DEVNULL))
    yield address
    for child in children:
        child.kill()
        child.wait()


def at(server, name):
    return gossamer.rpc.connect(server.replace("?", f"/{name}?"))


@pytest.fixture(params=["native", "node"])
def device(server, request):
    if request.param == "node" and not JOIN.exists():
        pytest.skip("the web half is not built (make web)")
    return at(server, request.param)


def test_it_runs_elsewhere_what_runs_here(device):
    package = gossamer.compile(dense(), target=device.targets[0])
    told = []
    model = device.load(package, progress=lambda done, total: told.append((done, total)))
    made = model.run({"x": X})
    np.testing.assert_allclose(made["z"], np.maximum(X @ WEIGHT, 0), rtol=1e-6)
    assert made["z"].dtype == np.float32
    np.testing.assert_allclose(model([[1, 0, 0]])["z"], np.maximum(WEIGHT[:1], 0), rtol=1e-6)
    assert [str(each) for each in model.inputs] == ["x: float32[?, 3]"]
    assert model.name == "model"
    size = sum(package.sizes.values())
    assert told[-1] == (size, size)
    # What is there is not sent again.
    before = device.sent
    device.load(package)
    assert device.sent == (before[0], before[1] + size)


def test_times_and_profiles(device):
    model = device.load(gossamer.compile(deep(20), target=device.targets[0]))
    feeds = np.ones((8, 3), np.float32)
    times = model.time(feeds, runs=4)
    assert len(times) == 4
    assert all(each > 0 for each in times)
    profile = model.profile(feeds, runs=2)
    assert profile.run_ms > 0
    assert "ms" in repr(profile)
    assert profile.trace().startswith(("{", "["))
    model.run(feeds)
    assert model.report()["ms"] >= 0
    with pytest.raises(gossamer.Error, match="0 runs"):
        model.time(feeds, runs=0)


def test_strings_and_sequences(device):
    node = helper.make_node("StringConcat", ["a", "b"], ["c"])
    graph = helper.make_graph([node], "model", [helper.make_tensor_value_info(name, TensorProto.STRING, [2]) for name in "ab"], [helper.make_tensor_value_info("c", TensorProto.STRING, [2])])
    package = gossamer.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), target=device.targets[0])
    model = device.load(package)
    assert [str(each) for each in model.inputs] == ["a: str[2]", "b: str[2]"]
    assert model.run({"a": ["über", "x"], "b": np.array(["all", ""])})["c"].tolist() == ["überall", "x"]
    parts = helper.make_tensor_sequence_value_info("parts", TensorProto.FLOAT, [2, 2])
    graph = helper.make_graph([helper.make_node("ConcatFromSequence", ["parts"], ["all"], axis=0)], "join", [parts], [helper.make_tensor_value_info("all", TensorProto.FLOAT, None)])
    joined = gossamer.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), target=device.targets[0], lengths={"parts": 2})
    made = device.load(joined).run({"parts": [np.zeros((2, 2), np.float32), np.ones((2, 2), np.float32)]})
    assert made["all"].tolist() == [[0, 0], [0, 0], [1, 1], [1, 1]]


def test_a_model_elsewhere_keeps_no_state(device):
    model = device.load(gossamer.compile(dense(), target=device.targets[0]))
    assert (len(model.state), list(model.state)) == (0, [])
    model.state.reset()
    for wrong in (lambda: model.state["x"], lambda: model.state.capacity("x"), lambda: model.state.__setitem__("x", X)):
        with pytest.raises(gossamer.Error, match="models on other devices keep none"):
            wrong()


def test_what_goes_wrong_is_an_error(server, device):
    address = server.split("?")[0]
    with pytest.raises(gossamer.Error, match="token is wrong"):
        gossamer.rpc.connect(address, "guess")
    with pytest.raises(gossamer.Error, match="gossamer rpc"):
        gossamer.rpc.connect("rpc://127.0.0.1:1", "x")
    with pytest.raises(gossamer.Error, match="rpc://HOST:PORT"):
        gossamer.rpc.connect("http://x")
    with pytest.raises(gossamer.Error, match="nobody"):
        gossamer.rpc.connect(f"{address}/nobody", server.split("=")[1], seconds=0.2)
    with pytest.raises(gossamer.Error, match="has no webgl"):
        device.load(gossamer.compile(dense(), target="webgl"))
    model = device.load(gossamer.compile(dense(), target=device.targets[0]))
    with pytest.raises(gossamer.Error, match=r'input "x".*takes float32'):
        model.run(X.astype(np.float64))
    with pytest.raises(gossamer.Error, match="x"):
        model.run(X[:, :2])
    np.testing.assert_allclose(model.run(X)["z"], np.maximum(X @ WEIGHT, 0), rtol=1e-6)
    told = {each.name: each for each in gossamer.rpc.devices(address, server.split("=")[1])}
    assert told[device.name].targets == device.targets


def test_a_device_that_comes_back(server):
    child = subprocess.Popen([PROGRAM, "rpc", "--join", server, "--name", "guest"], stderr=subprocess.DEVNULL)
    model = at(server, "guest").load(gossamer.compile(dense()))
    child.kill()
    child.wait()
    raised = None
    for _ in range(100):  # until the server has seen it
        try:
            model.run(X)
        except gossamer.Error as problem:
            raised = problem
            break
    assert "left" in str(raised)
    child = subprocess.Popen([PROGRAM, "rpc", "--join", server, "--name", "guest"], stderr=subprocess.DEVNULL)
    try:
        np.testing.assert_allclose(model.run(X)["z"], np.maximum(X @ WEIGHT, 0), rtol=1e-6)
    finally:
        child.kill()
        child.wait()


def test_other_threads_run_meanwhile(server):
    model = at(server, "native").load(gossamer.compile(deep(100)), threads=1)
    feeds = np.ones((512, 3), np.float32)
    assert turns_left_by(lambda: model.time(feeds, runs=20)) > 0.1


def test_ctrl_c_ends_the_wait(server):
    program = textwrap.dedent("""
        import sys, gossamer
        sys.path.insert(0, sys.argv[1])
        try:
            print("ready", flush=True)
            gossamer.rpc.connect(sys.argv[2].replace("?", "/nobody?"), seconds=60)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            import os; os._exit(0)
    """)
    with subprocess.Popen([sys.executable, "-c", program, os.path.dirname(__file__), server], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"
