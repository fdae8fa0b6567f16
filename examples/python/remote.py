#!/usr/bin/env python3
"""ResNet-18, compiled here for WebGL, runs in a browser that has joined `gossamer rpc`; its class comes back, and the same model becomes
a static page that shows it.

    gossamer rpc                                        # prints the address, and what a browser opens to join
    python examples/python/remote.py site --device "rpc://127.0.0.1:9190?token=..."
"""

import argparse
import pathlib

import numpy as np

import gossamer as gs
from gossamer import nn, optim
from gossamer.nn import functional as F
from spirals import write_png

LABELS = ["disc", "square", "triangle", "cross"]
SIDE = 32  # of the pictures that the network here learns from, in pixels


def normal(x):
    """As networks for ImageNet take pictures of 0 to 1, and as the page gives them."""
    mean, deviation = np.array([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]], np.float32).reshape(2, 3, 1, 1)
    return (x - mean) / deviation


class Block(nn.Module):
    """Two convolutions and a way around them."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first, self.norm1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs, momentum=0.3)
        self.second, self.norm2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs, momentum=0.3)
        self.around = nn.Identity() if stride == 1 and inputs == outputs else nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs, momentum=0.3))

    def forward(self, x):
        return F.relu(self.norm2(self.second(F.relu(self.norm1(self.first(x))))) + self.around(x))


def resnet18(classes):
    """He et al., "Deep Residual Learning for Image Recognition" (2015), table 1; 11.2 million numbers and the last layer's."""
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64, momentum=0.3), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    for inputs, outputs, stride in [(64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)]:
        layers += [Block(inputs, outputs, stride), Block(outputs, outputs, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))


def pictures(rng, count):
    """[count, 3, SIDE, SIDE] of 0 to 1: a bright shape near the middle of a dark ground; and which shape each has."""
    which = np.arange(count) % len(LABELS)
    y, x = np.mgrid[0:SIDE, 0:SIDE].astype(np.float32)
    made = np.empty((count, 3, SIDE, SIDE), np.float32)
    for at, label in enumerate(which):
        size = rng.uniform(0.3, 0.4) * SIDE
        u, v = x - SIDE * rng.uniform(0.42, 0.58), y - SIDE * rng.uniform(0.42, 0.58)
        inside = (
            u * u + v * v < size * size,
            np.maximum(abs(u), abs(v)) < 0.85 * size,
            (v < 0.8 * size) & (v > 2 * abs(u) - size),
            (np.minimum(abs(u), abs(v)) < 0.25 * size) & (np.maximum(abs(u), abs(v)) < size),
        )[label]
        ground, colour = rng.uniform(0, 0.3, (3, 1, 1)), rng.uniform(0.6, 1, (3, 1, 1))
        made[at] = np.where(inside, colour, ground) + rng.normal(0, 0.02, (3, SIDE, SIDE))
    return made.clip(0, 1), which


def learn(steps):
    """A ResNet-18 that tells the shapes apart, as an ONNX model."""
    gs.manual_seed(1)
    rng = np.random.default_rng(1)
    net = resnet18(len(LABELS))
    optimizer = optim.Adam(net.parameters(), lr=3e-4)
    for step in range(steps):
        x, labels = pictures(rng, 24)
        loss = F.cross_entropy(net(gs.as_tensor(normal(x))), gs.as_tensor(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0 or step == steps - 1:
            print(f"step {step + 1}: loss {loss.item():.3f}", flush=True)
    net.eval()
    return gs.export_onnx(net, gs.zeros(1, 3, SIDE, SIDE), name="ResNet-18", input_names=["image"], output_names=["scores"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", help="folder for the page, which is new or a package")
    parser.add_argument("--device", required=True, help="rpc://HOST:PORT[/NAME]?token=TOKEN: where it runs")
    parser.add_argument("--target", default="webgl", choices=["webgl", "webgpu", "wasm"])
    parser.add_argument("--model", help="an ONNX file in place of the ResNet-18 that learns here")
    parser.add_argument("--image", help="its input, a .npy; with --model")
    parser.add_argument("--labels", help="names of its classes, a line each; with --model")
    parser.add_argument("--steps", type=int, default=25, help="that the network learns")
    arguments = parser.parse_args()
    if arguments.model and not arguments.image:
        parser.error("--model needs --image")

    device = gs.rpc.connect(arguments.device)
    print(device)
    if arguments.model:
        onnx, image = arguments.model, np.load(arguments.image)
        labels = pathlib.Path(arguments.labels).read_text().splitlines() if arguments.labels else []
    else:
        onnx, labels = learn(arguments.steps), LABELS
        images, which = pictures(np.random.default_rng(7), len(LABELS))
        image = normal(images[2:3])
    package = gs.compile(onnx, target=arguments.target)
    model = device.load(package, progress=lambda done, total: print(f"{done / 1e6:.1f} of {total / 1e6:.1f} MB are there", flush=True))

    def classify(x):
        scores = next(iter(model.run(x).values()))
        best = int(scores.argmax())
        return labels[best] if labels else best

    print(f"class: {classify(image)}")
    if not arguments.model:
        right = sum(classify(normal(x[None])) == LABELS[label] for x, label in zip(images, which, strict=True))
        print(f"{right} of {len(images)} are right")
    print(f"median of 5 runs on {device.name}: {np.median(model.time(image, runs=5)):.1f} ms")
    package.write(arguments.site, page=True, labels=labels)
    if not arguments.model:
        write_png(pathlib.Path(arguments.site) / "picture.png", images[2])
    print(f"python -m http.server --directory {arguments.site}    # http://localhost:8000/?device={arguments.target}")


if __name__ == "__main__":
    main()
