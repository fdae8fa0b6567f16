"""Trains the digit classifier on MNIST's train10k files and writes it as ONNX.

t10k is not read here: it only judges the result (judge.py). The same seed, numpy and machine
give the same file.
"""

import argparse
import os
import pathlib
import sys
import time

# One thread: the order of additions, hence the result, must not depend on the machine's load.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import numpy as np
import onnx

import mnist
from augment import distort
from export import onnx_model
from network import DEVIATION, MEAN, digit_network

HERE = pathlib.Path(__file__).resolve().parent
BATCH = 100
SMOOTHING = 0.02  # of the labels, spread evenly: less certainty about a scrawl


def standardise(images):
    return ((images - np.float32(MEAN)) / np.float32(DEVIATION))[..., None]


def softmax(logits):
    power = np.exp(logits - logits.max(1, keepdims=True))
    return power / power.sum(1, keepdims=True)


class Adam:
    """Kingma and Ba 2015, with weight decay apart from the gradient (AdamW)."""

    def __init__(self, parameters, decay):
        self.parameters = parameters
        self.decay = decay
        self.moments = [(np.zeros_like(v), np.zeros_like(v)) for v, _ in parameters]
        self.steps = 0

    def step(self, rate):
        self.steps += 1
        first_bias, second_bias = 1 - 0.9**self.steps, 1 - 0.99**self.steps
        for (value, gradient), (first, second) in zip(self.parameters, self.moments):
            first += 0.1 * (gradient - first)
            second += 0.01 * (gradient * gradient - second)
            if value.ndim > 1:
                value -= rate * self.decay * value
            value -= rate * (first / first_bias) / (np.sqrt(second / second_bias) + 1e-8)


def accuracy(network, images, labels):
    right = 0
    for start in range(0, len(images), 500):
        part = slice(start, start + 500)
        logits = network.forward(standardise(images[part]), training=False)
        right += int((logits.argmax(1) == labels[part]).sum())
    return right / len(images)


def train(images, labels, epochs, peak_rate, rng, after_epoch):
    network = digit_network(rng)
    optimizer = Adam(network.parameters(), decay=0.02)
    targets = np.eye(10, dtype=np.float32) * (1 - SMOOTHING) + SMOOTHING / 10
    batches = len(images) // BATCH
    for epoch in range(epochs):
        order = rng.permutation(len(images))
        total = 0.0
        for batch in range(batches):
            chosen = order[batch * BATCH : (batch + 1) * BATCH]
            x = standardise(distort(images[chosen], rng))
            predicted = softmax(network.forward(x, training=True))
            wanted = targets[labels[chosen]]
            total -= float((wanted * np.log(predicted + 1e-9)).sum()) / len(chosen)
            network.backward((predicted - wanted) / np.float32(len(chosen)))
            done = (epoch + batch / batches) / epochs
            warm = min(1.0, done / 0.1)
            optimizer.step(peak_rate * warm * (0.5 + 0.5 * np.cos(np.pi * done)))
        after_epoch(network, epoch, total / batches)
    return network


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default=mnist.DEFAULT_FOLDER, help="folder of the idx files")
    parser.add_argument("--out", default=HERE / "model.onnx", type=pathlib.Path)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--rate", type=float, default=4e-3, help="the highest learning rate")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--holdout", type=int, default=0,
        help="keep the last N training pictures back and print the accuracy on them",
    )
    options = parser.parse_args()
    try:
        images, labels = mnist.read_split(options.data, "train10k")
    except (OSError, ValueError) as problem:
        sys.exit(f"train.py: {problem}")
    images = images.astype(np.float32) / 255
    kept = len(images) - options.holdout
    started = time.time()

    def after_epoch(network, epoch, loss):
        line = f"epoch {epoch + 1}/{options.epochs}  loss {loss:.4f}"
        if options.holdout:
            line += f"  held out {accuracy(network, images[kept:], labels[kept:]):.4f}"
        print(f"{line}  {time.time() - started:.0f} s", flush=True)

    rng = np.random.default_rng(options.seed)
    network = train(
        images[:kept], labels[:kept], options.epochs, options.rate, rng, after_epoch
    )
    print(f"on the undistorted training pictures: {accuracy(network, images, labels):.4f}")
    onnx.save(onnx_model(network), options.out)
    print(f"{options.out}: {options.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
