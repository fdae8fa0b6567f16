"""Draws the ten digits as 28x28 pictures, white strokes on black, into drawn/0.png .. 9.png.

A digit is a few pen strokes in a box of 20 x 20 units, y down; an arc is given by its centre,
radii and angles in degrees (0 is right, 90 is down).
"""

import argparse
import pathlib

import numpy as np
from PIL import Image

SIZE = 28
HERE = pathlib.Path(__file__).resolve().parent


def arc(x, y, across, down, start, end):
    angles = np.radians(np.linspace(start, end, 2 + int(abs(end - start) / 6)))
    return np.stack([x + across * np.cos(angles), y + down * np.sin(angles)], 1)


def line(*points):
    return np.array(points, float)


# One entry a digit: slant (units of x per unit of y), pen width in pixels, strokes.
DIGITS = [
    (0.12, 2.4, [arc(10, 10, 5.6, 9, -90, 270)]),
    (0.10, 2.4, [line((7.5, 4.5), (10.5, 1), (10.5, 19))]),
    (0.06, 2.3, [np.concatenate([
        arc(9.6, 6, 5.2, 5, -165, 30), line((13, 10.2), (4, 18.6), (16.4, 18.6)),
    ])]),
    (0.05, 2.3, [np.concatenate([
        arc(9.4, 5.4, 5, 4.4, -155, 85), arc(9.2, 14.2, 5.8, 4.8, -88, 150),
    ])]),
    (0.08, 2.3, [line((7, 1.5), (4, 11.5), (16, 11.5)), line((12.8, 5.5), (12.8, 19))]),
    (0.08, 2.3, [
        np.concatenate([line((6, 1.6), (5.2, 9)), arc(9.2, 13.2, 5.9, 5.6, -130, 145)]),
        line((6, 1.6), (15, 1.6)),
    ]),
    (0.05, 2.3, [np.concatenate([
        line((13, 1), (9.2, 4.2), (6.2, 8.6)), arc(10, 13.6, 5.1, 5.2, -170, 190),
    ])]),
    (0.04, 2.4, [line((4, 2), (15.6, 2), (12.4, 8.5), (8.6, 19))]),
    (0.10, 2.3, [arc(10, 5.4, 4.2, 4.3, 90, 450), arc(10, 14.4, 5.2, 4.7, -90, 270)]),
    (0.06, 2.3, [np.concatenate([arc(9.6, 6.4, 4.9, 5.2, 5, -355), line((14.4, 7.5), (12.6, 19))])]),
]


def distance_to_segment(points, start, end):
    along = end - start
    length = max(float(along @ along), 1e-12)
    share = np.clip((points - start) @ along / length, 0, 1)
    return np.linalg.norm(points - start - share[..., None] * along, axis=-1)


def render(digit):
    """[28, 28] uint8; a pixel's grey falls off over one pixel at the edge of the pen."""
    slant, width, strokes = DIGITS[digit]
    y, x = np.mgrid[0:SIZE, 0:SIZE] + 0.5
    pixels = np.stack([x, y], -1)
    ink = np.zeros((SIZE, SIZE))
    for stroke in strokes:
        placed = stroke + 4.0
        placed[:, 0] += slant * (10 - stroke[:, 1])
        for start, end in zip(placed[:-1], placed[1:]):
            distance = distance_to_segment(pixels, start, end)
            ink = np.maximum(ink, np.clip(width / 2 - distance + 0.5, 0, 1))
    return np.round(ink * 255).astype(np.uint8)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default=HERE / "drawn", type=pathlib.Path)
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    for digit in range(10):
        Image.fromarray(render(digit)).save(folder / f"{digit}.png", optimize=True)


if __name__ == "__main__":
    main()
