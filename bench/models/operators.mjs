// Single operators with open dimensions, at sizes where a CPU is limited by different things: arithmetic, caches, memory, short vectors.
import {Graph, draw, product} from './graph.mjs';

/** A graph of one operator. inputs: [declared dimensions, those of the run]; make(graph, inputs): the output. */
function single(name, inputs, make) {
  const graph = new Graph(name);
  const ports = inputs.map(([dims, shape], at) => graph.input(`x${at}`, shape, draw(at + 11, product(shape), 2), dims));
  const made = make(graph, ports);
  graph.output(made, made.shape.map((_, axis) => `y${axis}`));
  return graph;
}

const rows = (count, length) => [[['r', 'c'], [count, length]]];
const softmax = (count, length) => () => single('softmax', rows(count, length), (g, [x]) => g.node('Softmax', [x], x.shape, {axis: -1}));
const product2 = (m, k, n) => () => single('product', [[['m', 'k'], [m, k]], [['k', 'n'], [k, n]]], (g, [a, b]) => g.node('MatMul', [a, b], [m, n]));
const linear = (m, k, n) => () => single('linear', [[['m', k], [m, k]]], (g, [x]) => g.node('MatMul', [x, g.weight([k, n], k)], [m, n]));

function convolution(channels, size, kernel, {to = channels, stride = 1, group = 1, op = 'Conv'} = {}) {
  const pad = op === 'Conv' ? (kernel - 1) >> 1 : 0;
  const made = op === 'Conv' ? Math.floor((size + 2 * pad - kernel) / stride) + 1 : (size - 1) * stride + kernel;
  const weights = op === 'Conv' ? [to, channels / group, kernel, kernel] : [channels, to / group, kernel, kernel];
  return () => single('convolution', [[['n', channels, 'h', 'w'], [1, channels, size, size]]], (g, [x]) =>
    g.node(op, [x, g.weight(weights, weights[1] * kernel ** 2), g.weight([to], 1)], [1, to, made, made],
      {kernel_shape: [kernel, kernel], strides: [stride, stride], pads: [pad, pad, pad, pad], group}));
}
const depthwise = (channels, size, kernel, stride = 1) => convolution(channels, size, kernel, {stride, group: channels});

/** Functions that return a graph, by name. */
export const operators = {
  'softmax 1,024 x 1,024': softmax(1024, 1024),
  'softmax 1 x 10^6': softmax(1, 1_000_000),
  'softmax 4,096 x 50': softmax(4096, 50),
  'layer norm 512 x 768': () => single('norm', [[['r', 768], [512, 768]]], (g, [x]) => g.node('LayerNormalization', [x, g.weight([768], 1), g.weight([768], 1)], x.shape)),
  'product 1,024^3': product2(1024, 1024, 1024),
  'product 2,048^3': product2(2048, 2048, 2048),
  'product 33 x 64 x 70': product2(33, 64, 70),
  'linear 1,024^3': linear(1024, 1024, 1024),
  'linear 197 x 768 x 768': linear(197, 768, 768),
  'linear 1 x 2,048 x 2,048': linear(1, 2048, 2048),
  'depthwise 3 x 3, 192 x 28^2': depthwise(192, 28, 3),
  'depthwise 3 x 3, 384 x 14^2': depthwise(384, 14, 3),
  'depthwise 3 x 3, 960 x 7^2': depthwise(960, 7, 3),
  'depthwise 3 x 3, stride 2, 144 x 28^2': depthwise(144, 28, 3, 2),
  'depthwise 5 x 5, 120 x 14^2': depthwise(120, 14, 5),
  'depthwise 5 x 5, stride 2, 72 x 56^2': depthwise(72, 56, 5, 2),
  'pointwise, 96 to 576 x 14^2': convolution(96, 14, 1, {to: 576}),
  '3 x 3, 128 x 28^2': convolution(128, 28, 3),
  '3 x 3, 512 x 8^2': convolution(512, 8, 3),
  '7 x 7, stride 2, 3 to 64 x 224^2': convolution(3, 224, 7, {to: 64, stride: 2}),
  'transposed 2 x 2, stride 2, 64 x 56^2': convolution(64, 56, 2, {to: 32, stride: 2, op: 'ConvTranspose'}),
};
