"""Writes test_data_set_0 .. 2 beside the model: drawn digits in, onnxruntime's answers out."""

import pathlib

import numpy as np
import onnxruntime
from onnx import numpy_helper
from PIL import Image

HERE = pathlib.Path(__file__).resolve().parent
CASES = (2, 5, 8)  # the digits of the cases


def main():
    session = onnxruntime.InferenceSession(str(HERE / "model.onnx"))
    for number, digit in enumerate(CASES):
        pixels = np.array(Image.open(HERE / "drawn" / f"{digit}.png"), np.float32)
        image = (pixels / 255)[None, None]
        (probabilities,) = session.run(["probabilities"], {"image": image})
        folder = HERE / f"test_data_set_{number}"
        folder.mkdir(exist_ok=True)
        for name, tensor, file in (
            ("image", image, "input_0.pb"), ("probabilities", probabilities, "output_0.pb")
        ):
            written = numpy_helper.from_array(tensor, name).SerializeToString()
            (folder / file).write_bytes(written)


if __name__ == "__main__":
    main()
