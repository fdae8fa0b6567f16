"""A search whose workers Ray places: several of this machine, of which one is killed in the middle of a batch."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import uuid
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import gossamer.fleet

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / os.environ.get("GOSSAMER_BUILD", "build") / "gossamer"
MARK = f"GOSSAMER_FLEET_TEST={uuid.uuid4()}"
"""In the environment of this test's own workers."""


def products(beside=""):
    """Two products with a softmax over columns between them. (A softmax over rows would fuse everything into one attention kernel, which has no points to tune.) `beside`: a file for the weights; by default the model holds them."""
    weights = numpy_helper.from_array(np.sin(np.arange(128 * 128, dtype=np.float32)).reshape(128, 128), "w")
    nodes = [helper.make_node("MatMul", ["a", "w"], ["c"]), helper.make_node("Softmax", ["c"], ["d"], axis=0), helper.make_node("MatMul", ["d", "b"], ["e"])]
    ports = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 128] if name == "a" else [128, 128] if name == "b" else None) for name in "abe"}
    graph = helper.make_graph(nodes, "products", [ports["a"], ports["b"]], [ports["e"]], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    if beside:
        from onnx.external_data_helper import convert_model_to_external_data

        convert_model_to_external_data(model, location=beside, size_threshold=0)
    return model


def convolution():
    """Whose output leaves the model, of a few steps more than the rule computes without a copy: the copy takes longer than it saves."""
    weights = numpy_helper.from_array(np.sin(np.arange(576, dtype=np.float32)).reshape(16, 4, 3, 3), "w")
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, channels, extent, extent]) for name, channels, extent in (("x", 4, 258), ("y", 16, 256))]
    graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"])], "convolution", [ports[0]], [ports[1]], [weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture(scope="module")
def ray():
    """Small, silent and without anything outside of a folder of its own."""
    if not PROGRAM.exists():
        pytest.skip("the command line is not built (make native)")
    engine = pytest.importorskip("ray")
    name, value = MARK.split("=")
    home = tempfile.mkdtemp(prefix="gs-ray-")
    with pytest.MonkeyPatch.context() as patch:
        for variable, told in {name: value, "RAY_USAGE_STATS_ENABLED": "0", "HOME": home, "TMPDIR": home, "GOSSAMER_PROGRAM": str(PROGRAM)}.items():
            patch.setenv(variable, told)
        engine.init(num_cpus=2, object_store_memory=80 << 20, include_dashboard=False, log_to_driver=False, _temp_dir=f"{home}/ray")
        yield engine
        engine.shutdown()
    shutil.rmtree(home, ignore_errors=True)


def processes(word):
    """Of this test's own, those with a word in their title or command."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and word.encode() in (folder / "cmdline").read_bytes() and MARK.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def lines_in(file):
    return file.read_bytes().count(b"\n") if file.exists() else 0


def until(holds, seconds=60):
    end = time.monotonic() + seconds
    while not (held := holds()) and time.monotonic() < end:
        time.sleep(0.005)
    return held


class Killer(threading.Thread):
    """Kills a worker in the middle of a batch, when the file of records has so many lines."""

    def __init__(self, records, lines):
        super().__init__(daemon=True)
        self.records, self.lines, self.killed = records, lines, 0

    def run(self):
        # Ray names its processes by what they do: these are in the middle of a batch.
        workers = until(lambda: lines_in(self.records) >= self.lines and processes("_Worker.measure"))
        if workers:
            os.kill(workers[0], signal.SIGKILL)
            self.killed = workers[0]


def search(tmp_path, *, lines, model=None, **options):
    """tune() with a worker killed, and what it recorded. model: instead of products, with their weights in a file."""
    file = tmp_path / "model.onnx"
    import onnx

    onnx.save(model or products("weights.bin"), file)
    records = tmp_path / "records.jsonl"
    killer = Killer(records, lines)
    killer.start()
    dims = {} if model else {"n": 96}
    outcome = gossamer.fleet.tune(file, "cpu", output=records, threads=1, dims=dims, quiet=True, **options)
    killer.join()
    assert killer.killed
    assert until(lambda: not processes("--with-parent")), "devices outlive their worker"
    assert not list(Path(os.environ["HOME"]).glob("gossamer-fleet-*")), "workers leave files"
    return outcome, [json.loads(line) for line in records.read_text().splitlines()], file, records


def expect_complete(outcome, lines, trials):
    points = [f"{line['key']} {line['trial']}" for line in lines if "trial" in line]
    assert len(points) == len(set(points)) == outcome.trials + outcome.failures == trials
    assert all("failed" in line or line["ms"] > 0 and line["ratio"] > 0 for line in lines if "trial" in line)


def test_a_killed_worker_loses_nothing(ray, tmp_path):
    outcome, lines, file, records = search(tmp_path, lines=4, trials=24, workers=2, inputs={"a": np.ones((96, 128), np.float32)})
    expect_complete(outcome, lines, 24)
    assert outcome.failures == 0
    assert outcome.lost == 1
    assert len(outcome.waited_ms) == outcome.batches > 8
    assert outcome.run_ms_before > 0 < outcome.run_ms_after
    assert "whole runs" in str(outcome)
    # The compiler takes what was measured.
    taken = tmp_path / "taken.jsonl"
    last = {line["key"]: {"key": line["key"], "class": line["class"], "point": line["trial"]} for line in lines if "trial" in line}
    taken.write_text("\n".join(json.dumps(line) for line in last.values()))
    words = [PROGRAM, "compile", file, "--target", "cpu", "--dim", "n=96", "--emit", "package", "--json", "-o", tmp_path / "package", "--records"]
    compiled = json.loads(subprocess.run([*words, taken], check=True, capture_output=True).stdout)["packages"][0]
    assert compiled["recorded"] >= len(last) >= 3
    assert compiled["refused"] == 0
    assert "left out" not in subprocess.run([*words, records], check=True, capture_output=True, text=True).stderr


def test_layouts_are_searched_though_a_worker_is_killed(ray, tmp_path):
    options = {"workers": 2, "trials": 6, "layout_share": 1}
    # Other work on the machine may hide that a layout is faster, not three times.
    for attempt in range(3):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        outcome, lines, file, records = search(folder, model=convolution(), lines=1, **options)
        if outcome.layouts:
            break
    expect_complete(outcome, lines, 6)

    def measured(lines):
        return [json.dumps(line["layouts"]) for line in lines if "layouts" in line]

    first = measured(lines)
    assert len(first) == len(set(first)) == outcome.layout_trials + outcome.layout_failures > 1
    assert (outcome.lost, outcome.layout_failures) == (1, 0)
    assert not outcome.layouts_given_up
    (found,) = outcome.layouts
    assert found["before"] == "axis=1" != found["after"]
    assert outcome.run_ms_after < 0.9 * outcome.run_ms_before
    assert f"layout of conv: {found['after']}" in str(outcome)
    inspected = subprocess.run([PROGRAM, "inspect", file, "--target", "cpu", "--records", records, "--json"], check=True, capture_output=True).stdout
    (taken,) = json.loads(inspected)["targets"][0]["layouts"]
    assert taken["recorded"]
    assert taken["layout"] == found["after"]
    # Another search begins there.
    again = gossamer.fleet.tune(file, "cpu", output=records, threads=1, quiet=True, workers=1, trials=2, layout_share=1)
    both = measured(json.loads(line) for line in records.read_text().splitlines())
    assert len(both) == len(set(both)) == len(first) + again.layout_trials
    assert again.layouts
    none = tmp_path / "none.jsonl"
    without = gossamer.fleet.tune(file, "cpu", output=none, threads=1, quiet=True, workers=1, trials=2, layout_share=0)
    assert (without.layout_trials, without.layouts, without.trials) == (0, [], 2)
    assert "layout" not in none.read_text()


def test_a_new_worker_takes_the_place_of_a_lost_one(ray, tmp_path):
    outcome, lines, _, _ = search(tmp_path, lines=3, trials=9, workers=1)
    expect_complete(outcome, lines, 9)
    assert (outcome.lost, outcome.workers, outcome.failures) == (1, 2, 0)


def test_a_batch_that_ends_workers_is_halved(ray, tmp_path):
    # The program ends with batch 2 wherever it is measured.
    program = tmp_path / "gossamer"
    program.write_text(
        textwrap.dedent(f"""\
            #!{sys.executable}
            import os, subprocess, sys
            if "measure" not in sys.argv:
                os.execv({str(PROGRAM)!r}, ["gossamer", *sys.argv[1:]])
            child = subprocess.Popen([{str(PROGRAM)!r}, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            print(child.stdout.readline(), end="", flush=True)
            for line in sys.stdin:
                if '"number": 2,' in line:
                    sys.exit(1)
                child.stdin.write(line)
                child.stdin.flush()
                print(child.stdout.readline(), end="", flush=True)
            """)
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    records = tmp_path / "records.jsonl"
    outcome = gossamer.fleet.tune(products().SerializeToString(), "cpu", output=records, trials=9, layout_share=0, workers=1, threads=1, dims={"n": 96}, program=str(program), quiet=True)
    expect_complete(outcome, [json.loads(line) for line in records.read_text().splitlines()], 9)
    assert (outcome.lost, outcome.failures) == (3, 0)


def test_ctrl_c_ends_a_search_of_the_command_with_its_table(ray, tmp_path):
    model, records = tmp_path / "model.onnx", tmp_path / "records.jsonl"
    model.write_bytes(products().SerializeToString())
    words = ["--target", "cpu", "--threads", "1", "--seconds", "600", "--workers", "1", "--output", records, "--address", ray.get_runtime_context().gcs_address]
    with subprocess.Popen([sys.executable, "-P", "-m", "gossamer.fleet", model, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert until(lambda: lines_in(records) > 3 or child.poll() is not None)
        child.send_signal(signal.SIGINT)
        try:
            told, wrong = child.communicate(timeout=60)
        finally:
            child.kill()
    assert child.returncode == 0, wrong
    assert "whole runs" in told, wrong


def test_what_is_wrong_is_told(ray, tmp_path):
    model, output = products().SerializeToString(), tmp_path / "records.jsonl"
    for message, options in {
        "installed here": {"program": "no-such-program", "trials": 1},
        "names no input": {"trials": 1, "inputs": {"z": np.zeros(3)}, "workers": 1},
        "0 workers": {"trials": 1, "workers": 0},
        "is `gossamer rpc` running": {"trials": 1, "devices": ["rpc://127.0.0.1:1/x?token=y"]},
    }.items():
        with pytest.raises(gossamer.Error, match=message):
            gossamer.fleet.tune(model, "cpu", output=output, quiet=True, **options)


def test_ray_is_there_only_where_it_is_used():
    found = subprocess.run([sys.executable, "-c", "import sys, gossamer.fleet; print('ray' in sys.modules)"], check=True, capture_output=True, text=True)
    assert found.stdout == "False\n"
