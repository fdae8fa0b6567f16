"""Judges the model, run by onnxruntime, on MNIST's t10k and on the drawn digits.

Training sees neither.
"""

import argparse
import pathlib
import sys

import numpy as np
import onnxruntime
from PIL import Image

import mnist

HERE = pathlib.Path(__file__).resolve().parent


def probabilities(session, picture):
    """[10] float32 for a picture of [28,28] uint8."""
    feed = {"image": picture.astype(np.float32)[None, None] / 255}
    return session.run(["probabilities"], feed)[0][0]


def drawn_right(session):
    """Prints what each drawn digit is taken for; how many of the ten are right."""
    right = 0
    for digit in range(10):
        picture = np.array(Image.open(HERE / "drawn" / f"{digit}.png"))
        answer = probabilities(session, picture)
        right += int(answer.argmax() == digit)
        print(f"drawn/{digit}.png: {answer.argmax()}, {answer.max():.3f}")
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", nargs="?", default=HERE / "model.onnx", type=pathlib.Path)
    parser.add_argument("--data", required=True, help="folder of MNIST's idx files")
    parser.add_argument("--at-least", type=float, default=0.985, help="exit with 1 below this")
    options = parser.parse_args()
    try:
        images, labels = mnist.read_split(options.data, "t10k")
    except (OSError, ValueError) as problem:
        sys.exit(f"judge.py: {problem}")
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(options.model), settings)
    confusion = np.zeros((10, 10), int)
    for image, label in zip(images, labels):
        confusion[label, probabilities(session, image).argmax()] += 1
    right = int(confusion.trace())
    print("right by digit: " + "  ".join(
        f"{digit}: {confusion[digit, digit] / confusion[digit].sum():.4f}" for digit in range(10)
    ))
    print(f"t10k: {right} of {len(labels)} right, {right / len(labels):.4f}")
    all_drawn = drawn_right(session) == 10
    sys.exit(0 if all_drawn and right >= options.at_least * len(labels) else 1)


if __name__ == "__main__":
    main()
