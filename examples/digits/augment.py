"""Random distortions of digit pictures, so that 10 000 of them teach as much as many more."""

import numpy as np

SIZE = 28
GRID = 6  # control points along each side of the elastic field


def _upsampling():
    """[28, GRID] weights that spread control points smoothly over the pixels of one axis."""
    pixels = np.linspace(0, GRID - 1, SIZE)[:, None]
    weights = np.exp(-0.5 * ((pixels - np.arange(GRID)) / 0.6) ** 2)
    return (weights / weights.sum(1, keepdims=True)).astype(np.float32)


_SPREAD = _upsampling()


def _source_points(count, rng):
    """[count, 28, 28] rows and columns, in pixels, from which each output pixel is taken."""
    angle = rng.uniform(-0.26, 0.26, count)
    shear = rng.uniform(-0.25, 0.25, count)
    stretch = np.exp(rng.uniform(-0.16, 0.16, (2, count)))
    shift = rng.uniform(-2.2, 2.2, (2, count))
    cos, sin = np.cos(angle), np.sin(angle)
    centre = (SIZE - 1) / 2
    y, x = np.meshgrid(np.arange(SIZE) - centre, np.arange(SIZE) - centre, indexing="ij")

    def column(values):
        return values.astype(np.float32)[:, None, None]

    y, x = y.astype(np.float32)[None], x.astype(np.float32)[None]
    rows = column(cos * stretch[0]) * y + column(sin * stretch[0]) * x
    columns = column(-sin * stretch[1] + shear) * y + column(cos * stretch[1]) * x
    strength = rng.uniform(0, 1.6, count)
    field = rng.standard_normal((2, count, GRID, GRID)).astype(np.float32)
    field = _SPREAD @ field @ _SPREAD.T * column(strength)
    rows = rows + field[0] + column(shift[0] + centre)
    columns = columns + field[1] + column(shift[1] + centre)
    return rows, columns


def _sample(images, rows, columns):
    """Bilinear samples; what lies outside a picture is black."""
    padded = np.pad(images, ((0, 0), (1, 2), (1, 2)))
    rows = np.clip(rows + 1, 0, SIZE + 1)
    columns = np.clip(columns + 1, 0, SIZE + 1)
    top, left = rows.astype(np.int32), columns.astype(np.int32)
    down, right = rows - top, columns - left
    side = padded.shape[1]
    start = (np.arange(len(images), dtype=np.int32) * side * side)[:, None, None]
    index = start + top * side + left
    flat = padded.reshape(-1)
    upper = flat[index] * (1 - right) + flat[index + 1] * right
    lower = flat[index + side] * (1 - right) + flat[index + side + 1] * right
    return upper * (1 - down) + lower * down


def _change_thickness(images, rng):
    """Makes some strokes thicker and some thinner: a finger on a screen is not a pencil."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    neighbours = (
        padded[:, :-2, 1:-1], padded[:, 2:, 1:-1], padded[:, 1:-1, :-2], padded[:, 1:-1, 2:],
    )
    thick, thin = images, images
    for neighbour in neighbours:
        thick, thin = np.maximum(thick, neighbour), np.minimum(thin, neighbour)
    amount = rng.uniform(-1, 1, len(images)).astype(np.float32)[:, None, None]
    thicker = images + np.maximum(amount - 0.3, 0) * (thick - images)
    return thicker + np.maximum(-amount - 0.6, 0) * (thin - images)


def distort(images, rng):
    """New versions of `images` ([N,28,28] float32, 0..1): moved, turned, bent, re-inked."""
    rows, columns = _source_points(len(images), rng)
    return _change_thickness(_sample(images, rows, columns), rng)
