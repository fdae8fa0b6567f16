#!/usr/bin/env python3
"""From an idea to a page with WebGL, in Python alone: a network learns which of two spirals a point is on, and the page draws what it
has learnt, at the zoom that its visitor types.

    python examples/python/spirals.py site          # then: python -m http.server --directory site
"""

import argparse
import pathlib
import struct
import zlib

import numpy as np

import gossamer as gs
from gossamer import nn, optim
from gossamer.nn import functional as F

SIDE = 192  # of the picture, in pixels


def spirals(count):
    """Points of two spirals, and which one each is of."""
    rng = np.random.default_rng(0)
    which = np.arange(count) % 2
    turn = np.sqrt(rng.random(count)) * 3 * np.pi
    angle = turn + np.pi * which
    points = np.stack([np.cos(angle), np.sin(angle)], 1) * turn[:, None] / 10 + rng.normal(0, 0.015, (count, 2))
    return points.astype(np.float32), which


class Net(nn.Module):
    """Layers of sines, which bend more than those of ReLU."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(2, 48), nn.Linear(48, 48), nn.Linear(48, 1)

    def forward(self, points):
        return self.last((self.second((self.first(points) * 6).sin()) * 3).sin())


def learn(steps=400):
    gs.manual_seed(1)
    net = Net()
    optimizer = optim.Adam(net.parameters(), lr=0.004)
    points, which = spirals(1000)
    x, y = gs.as_tensor(points), gs.as_tensor(which.astype(np.float32))
    for step in range(steps):
        loss = F.binary_cross_entropy_with_logits(net(x).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0 or step == steps - 1:
            print(f"step {step + 1}: loss {loss.item():.4f}")
    right = ((net(x).squeeze(1) > 0) == (y > 0)).float().mean().item()
    print(f"{right:.1%} of the points are on their side")
    return net


class Picture(nn.Module):
    """A number, the zoom, to [1, 3, SIDE, SIDE] colours of 0 to 1."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, zoom):
        line = gs.linspace(-1, 1, SIDE) / zoom
        points = gs.stack([line.expand(SIDE, SIDE), -line.unsqueeze(1).expand(SIDE, SIDE)], -1).reshape(-1, 2)
        share = self.net(points).sigmoid().reshape(SIDE, SIDE)
        blue, orange = (gs.tensor(colour).reshape(3, 1, 1) for colour in ([0.16, 0.38, 0.75], [0.98, 0.62, 0.2]))
        return (blue + (orange - blue) * share).unsqueeze(0)


def write_png(path, picture):
    """[3, height, width] of 0 to 1."""
    pixels = np.round(picture.transpose(1, 2, 0).clip(0, 1) * 255).astype(np.uint8)
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pathlib.Path(path).write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", help="folder for the page, which is new or a package")
    parser.add_argument("--target", default="webgl", choices=["webgl", "webgpu", "wasm"])
    parser.add_argument("--png", help="also draws it here, natively, into this file")
    parser.add_argument("--native", default="cpu", choices=[each for each in ("cpu", "opencl", "opengl") if each in gs.TARGETS], help="what draws that: the CPU, or the GPU without a browser or a window")
    arguments = parser.parse_args()

    onnx = gs.export_onnx(Picture(learn()), gs.ones(1), name="Two spirals", input_names=["zoom"], output_names=["picture"])
    package = gs.compile(onnx, target=arguments.target)
    package.write(arguments.site, page=True)
    print(package)
    if arguments.png:
        here = gs.compile(onnx, target=arguments.native)
        write_png(arguments.png, here.run(np.ones(1, np.float32))["picture"][0])
        print(f"{arguments.png}: {here.report()['device']}")


if __name__ == "__main__":
    main()
