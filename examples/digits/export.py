"""Writes the trained network as an ONNX model, its normalisations folded into convolutions."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from network import DEVIATION, MEAN

OPSET = 17


def _folded(weight, outputs_axis, normalize):
    """The convolution's weight and bias once the Normalize behind it is a part of it."""
    scale = 1 / np.sqrt(normalize.variance + normalize.EPSILON)
    shape = [1] * weight.ndim
    shape[outputs_axis] = -1
    return weight * scale.reshape(shape), normalize.bias - normalize.mean * scale


class _Writer:
    def __init__(self):
        self.nodes, self.weights = [], []

    def constant(self, name, value):
        value = np.ascontiguousarray(value, dtype=np.float32)
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def node(self, operator, inputs, name, **attributes):
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name

    def conv(self, x, name, weight, bias, **attributes):
        inputs = [
            x, self.constant(f"{name}.weight", weight), self.constant(f"{name}.bias", bias)
        ]
        return self.node("Conv", inputs, name, **attributes)

    def conv3x3(self, x, name, layer, normalize):
        weight = layer.weight.reshape(3, 3, -1, layer.weight.shape[1]).transpose(3, 2, 0, 1)
        window = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
        return self.conv(x, name, *_folded(weight, 0, normalize), **window)


def onnx_model(network):
    """The ModelProto of a network made by network.digit_network."""
    layers = network.layers
    conv1, norm1, conv2, norm2 = layers[0], layers[2], layers[4], layers[6]
    conv3, norm3, residual, dense = layers[8], layers[9], layers[11], layers[14]
    depthwise, norm4, _, pointwise, norm5 = residual.layers

    w = _Writer()
    x = w.node("Sub", ["image", w.constant("mean", [MEAN])], "centred")
    x = w.node("Div", [x, w.constant("deviation", [DEVIATION])], "standardised")
    for stage, (conv, norm) in enumerate([(conv1, norm1), (conv2, norm2)], 1):
        x = w.conv3x3(x, f"conv{stage}", conv, norm)
        x = w.node("Relu", [x], f"relu{stage}")
        x = w.node("MaxPool", [x], f"pool{stage}", kernel_shape=[2, 2], strides=[2, 2])
    x = w.conv3x3(x, "conv3", conv3, norm3)
    skip = x = w.node("Relu", [x], "relu3")
    channels = depthwise.weight.shape[1]
    weight = depthwise.weight.T.reshape(channels, 1, 3, 3)
    x = w.conv(
        x, "depthwise", *_folded(weight, 0, norm4),
        kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=channels,
    )
    x = w.node("Relu", [x], "relu4")
    weight = pointwise.weight.T[:, :, None, None]
    x = w.conv(x, "pointwise", *_folded(weight, 0, norm5), kernel_shape=[1, 1])
    x = w.node("Add", [x, skip], "sum")
    x = w.node("Relu", [x], "relu5")
    x = w.node("GlobalAveragePool", [x], "average")
    x = w.node("Flatten", [x], "features")
    inputs = [
        x, w.constant("dense.weight", dense.weight.T), w.constant("dense.bias", dense.bias)
    ]
    x = w.node("Gemm", inputs, "logits", transB=1)
    w.node("Softmax", [x], "probabilities", axis=1)

    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, 28, 28])
    result = helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [1, 10])
    graph = helper.make_graph(w.nodes, "digits", [image], [result], w.weights)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="gossamer-digits"
    )
    model.ir_version = 8  # the one that came with opset 17, so that older readers accept it
    onnx.checker.check_model(model, full_check=True)
    return model
