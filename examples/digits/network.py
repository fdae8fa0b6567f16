"""A small convolutional network in numpy, forwards and backwards; pictures are [N,H,W,C].

Every layer has `forward(x, training)` and `backward(gradient)`, and lists its parameters as
(value, gradient) pairs of arrays that are updated in place.
"""

import numpy as np

MEAN, DEVIATION = 0.1307, 0.3081  # of the pixels of MNIST's training pictures


def _taps(padded, height, width):
    """The nine views of a picture padded by one that a 3x3 window sees, row by row."""
    return [padded[:, i : i + height, j : j + width] for i in range(3) for j in range(3)]


def _pad(x):
    return np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))


class Layer:
    def parameters(self):
        return []


class Conv(Layer):
    """3x3, stride 1, 'same'. No bias: the Normalize after it has one."""

    def __init__(self, inputs, outputs, rng):
        scale = np.sqrt(2 / (9 * inputs))
        self.weight = (rng.standard_normal((9 * inputs, outputs)) * scale).astype(np.float32)
        self.gradient = np.zeros_like(self.weight)
        self.needs_input_gradient = True

    def forward(self, x, training):
        count, height, width, channels = x.shape
        columns = np.stack(_taps(_pad(x), height, width), axis=3)
        self.columns = columns.reshape(-1, 9 * channels)
        self.shape = x.shape
        return (self.columns @ self.weight).reshape(count, height, width, -1)

    def backward(self, gradient):
        flat = gradient.reshape(-1, gradient.shape[-1])
        self.gradient[...] = self.columns.T @ flat
        if not self.needs_input_gradient:
            return None
        count, height, width, channels = self.shape
        columns = (flat @ self.weight.T).reshape(count, height, width, 9, channels)
        result = np.zeros((count, height + 2, width + 2, channels), np.float32)
        for k, tap in enumerate(_taps(result, height, width)):
            tap += columns[:, :, :, k]
        return result[:, 1:-1, 1:-1]

    def parameters(self):
        return [(self.weight, self.gradient)]


class Depthwise(Layer):
    """3x3, stride 1, 'same', every channel on its own."""

    def __init__(self, channels, rng):
        self.weight = (rng.standard_normal((9, channels)) * np.sqrt(2 / 9)).astype(np.float32)
        self.gradient = np.zeros_like(self.weight)

    def forward(self, x, training):
        self.padded = _pad(x)
        result = np.zeros_like(x)
        for weight, tap in zip(self.weight, _taps(self.padded, *x.shape[1:3])):
            result += weight * tap
        return result

    def backward(self, gradient):
        height, width = gradient.shape[1:3]
        result = np.zeros_like(self.padded)
        views = zip(_taps(self.padded, height, width), _taps(result, height, width))
        for k, (seen, tap) in enumerate(views):
            self.gradient[k] = (seen * gradient).sum((0, 1, 2))
            tap += gradient * self.weight[k]
        return result[:, 1:-1, 1:-1]

    def parameters(self):
        return [(self.weight, self.gradient)]


class Pointwise(Layer):
    """A 1x1 convolution without bias, or, with one, the last fully connected layer."""

    def __init__(self, inputs, outputs, rng, bias=False):
        scale = np.sqrt((1 if bias else 2) / inputs)
        self.weight = (rng.standard_normal((inputs, outputs)) * scale).astype(np.float32)
        self.gradient = np.zeros_like(self.weight)
        self.bias = np.zeros(outputs, np.float32)
        self.bias_gradient = np.zeros_like(self.bias) if bias else None

    def forward(self, x, training):
        self.x = x.reshape(-1, x.shape[-1])
        return (self.x @ self.weight + self.bias).reshape(*x.shape[:-1], -1)

    def backward(self, gradient):
        flat = gradient.reshape(-1, gradient.shape[-1])
        self.gradient[...] = self.x.T @ flat
        if self.bias_gradient is not None:
            self.bias_gradient[...] = flat.sum(0)
        return (flat @ self.weight.T).reshape(*gradient.shape[:-1], -1)

    def parameters(self):
        result = [(self.weight, self.gradient)]
        if self.bias_gradient is not None:
            result.append((self.bias, self.bias_gradient))
        return result


class Normalize(Layer):
    """Batch normalisation (Ioffe and Szegedy, 2015) with a bias but no gain.

    The gain would be idle before a Relu and a linear layer; without it the scale is positive,
    so this may stand behind a MaxPool, on a quarter of the values, and still fold into the
    convolution before the pool.
    """

    EPSILON = 1e-3

    def __init__(self, channels):
        self.bias = np.zeros(channels, np.float32)
        self.gradient = np.zeros_like(self.bias)
        self.mean = np.zeros(channels, np.float32)
        self.variance = np.ones(channels, np.float32)

    def forward(self, x, training):
        flat = x.reshape(-1, x.shape[-1])
        if training:
            mean = flat.mean(0)
            variance = np.maximum(np.einsum("nc,nc->c", flat, flat) / len(flat) - mean**2, 0)
            self.mean += 0.02 * (mean - self.mean)
            self.variance += 0.02 * (variance - self.variance)
        else:
            mean, variance = self.mean, self.variance
        self.scale = 1 / np.sqrt(variance + self.EPSILON)
        self.normal = (flat - mean) * self.scale
        return (self.normal + self.bias).reshape(x.shape)

    def backward(self, gradient):
        flat = gradient.reshape(self.normal.shape)
        self.gradient[...] = flat.sum(0)
        slope = np.einsum("nc,nc->c", flat, self.normal) / len(flat)
        result = (flat - self.gradient / len(flat) - self.normal * slope) * self.scale
        return result.reshape(gradient.shape)

    def parameters(self):
        return [(self.bias, self.gradient)]


class Relu(Layer):
    def forward(self, x, training):
        self.positive = x > 0
        return x * self.positive

    def backward(self, gradient):
        return gradient * self.positive


class MaxPool(Layer):
    """2x2, stride 2; the gradient goes to the first of equal maxima."""

    def forward(self, x, training):
        self.corners = [x[:, i::2, j::2] for i in range(2) for j in range(2)]
        self.shape = x.shape
        self.result = np.maximum(
            np.maximum(self.corners[0], self.corners[1]),
            np.maximum(self.corners[2], self.corners[3]),
        )
        return self.result

    def backward(self, gradient):
        result = np.zeros(self.shape, np.float32)
        left = gradient
        for k, corner in enumerate(self.corners):
            taken = left * (corner == self.result)
            result[:, k // 2 :: 2, k % 2 :: 2] = taken
            left = left - taken
        return result


class GlobalAverage(Layer):
    def forward(self, x, training):
        self.shape = x.shape
        return x.mean((1, 2))

    def backward(self, gradient):
        share = gradient[:, None, None] / np.float32(self.shape[1] * self.shape[2])
        return np.broadcast_to(share, self.shape)


class Chain(Layer):
    def __init__(self, *layers):
        self.layers = layers

    def forward(self, x, training):
        for layer in self.layers:
            x = layer.forward(x, training)
        return x

    def backward(self, gradient):
        for layer in reversed(self.layers):
            gradient = layer.backward(gradient)
        return gradient

    def parameters(self):
        return [pair for layer in self.layers for pair in layer.parameters()]


class Residual(Chain):
    """Its input plus what its layers make of it."""

    def forward(self, x, training):
        return x + super().forward(x, training)

    def backward(self, gradient):
        return gradient + super().backward(gradient)


def digit_network(rng):
    """28x28 pixels, already standardised by MEAN and DEVIATION, to ten logits."""
    first = Conv(1, 16, rng)
    first.needs_input_gradient = False
    return Chain(
        first, MaxPool(), Normalize(16), Relu(),
        Conv(16, 32, rng), MaxPool(), Normalize(32), Relu(),
        Conv(32, 64, rng), Normalize(64), Relu(),
        Residual(
            Depthwise(64, rng), Normalize(64), Relu(), Pointwise(64, 64, rng), Normalize(64)
        ),
        Relu(),
        GlobalAverage(),
        Pointwise(64, 10, rng, bias=True),
    )
