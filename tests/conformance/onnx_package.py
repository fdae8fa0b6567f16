"""Writes the backend test cases of the onnx package: KIND/CASE/model.onnx with test_data_set_N beside it.

    python onnx_package.py FOLDER

kinds: node and simple, which the package makes when asked; simple, pytorch-converted and pytorch-operator, which lie
in it as files; light, networks whose weights are constants, with the inputs that the package's own runner feeds.
"""

import shutil
import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")

import onnx  # noqa: E402
from onnx import numpy_helper  # noqa: E402
from onnx.backend.test.case import model as model_cases  # noqa: E402
from onnx.backend.test.loader import load_model_tests  # noqa: E402
from onnx.backend.test.runner import Runner  # noqa: E402

WRITERS = {
    "map_type": numpy_helper.from_dict,
    "sequence_type": numpy_helper.from_list,
    "optional_type": numpy_helper.from_optional,
    "tensor_type": numpy_helper.from_array,
}


def message(value, info):
    """The protobuf message of a value, of the kind that the model declares."""
    if isinstance(value, onnx.TensorProto):
        return value
    kind = info.type.WhichOneof("value")
    if kind == "tensor_type" and not hasattr(value, "dtype"):
        raise TypeError(f"{info.name}: a {type(value).__name__} for a tensor")
    return WRITERS[kind](value, info.name)


def write(folder, model, data_sets):
    for number, (inputs, outputs) in enumerate(data_sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir(parents=True)
        for word, values, infos in (("input", inputs, model.graph.input), ("output", outputs, model.graph.output)):
            # A graph may list its initializers among its inputs, behind those that are fed.
            for at, (value, info) in enumerate(zip(values, infos[: len(values)], strict=True)):
                (data / f"{word}_{at}.pb").write_bytes(message(value, info).SerializeToString())
    (folder / "model.onnx").write_bytes(model.SerializeToString())


def light(folder, file):
    """A network whose weights are constants; its expected outputs lie beside it."""
    model = onnx.load(file)
    constants = {tensor.name for tensor in model.graph.initializer}
    feeds = [Runner.generate_dummy_data(one) for one in model.graph.input if one.name not in constants]
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    for at, feed in enumerate(feeds):
        (data / f"input_{at}.pb").write_bytes(numpy_helper.from_array(feed).SerializeToString())
    for at in range(len(model.graph.output)):
        shutil.copyfile(file.with_name(f"{file.stem}_output_{at}.pb"), data / f"output_{at}.pb")
    shutil.copyfile(file, folder / "model.onnx")


def main(to):
    made = load_model_tests(kind="node") + [case for case in model_cases.collect_testcases() if case.model]
    for case in made:
        write(to / case.kind / case.name, case.model, case.data_sets)
    files = Path(onnx.__file__).parent / "backend/test/data"
    for kind in ("simple", "pytorch-converted", "pytorch-operator"):
        for model in files.glob(f"{kind}/*/model.onnx"):
            folder = to / kind / model.parent.name
            if not folder.exists():
                shutil.copytree(model.parent, folder)
    for model in files.glob("light/*.onnx"):
        light(to / "light" / model.stem, model)


main(Path(sys.argv[1]))
