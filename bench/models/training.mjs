// Steps of training: forward, gradients, Adam, with a batch that is written anew each time; the loss is read. What a step needs, for
// parties in their own words:
//   layers: of lib-neutral kinds, see below; shape: of a batch; weights: initial values by layer, as PyTorch lays them out
//   images, labels: one batch, the same in each step; rate: of Adam
import {draw, product} from './graph.mjs';

const BATCH = 64;
const CLASSES = 10;

const dense = (inputs, outputs) => ({kind: 'dense', weight: [outputs, inputs], bias: [outputs], fanIn: inputs});
const conv = (inputs, outputs, side) => ({kind: 'conv', weight: [outputs, inputs, side, side], bias: [outputs], fanIn: inputs * side * side});
const [relu, pool, flatten] = ['relu', 'pool', 'flatten'].map((kind) => ({kind}));

function step(name, title, shape, layers, flops) {
  const training = () => ({
    shape: [BATCH, ...shape],
    layers: layers.map((layer, at) => {
      if (!layer.weight) return layer;
      const limit = 1 / Math.sqrt(layer.fanIn);
      return {...layer, weight: {shape: layer.weight, data: draw(100 + at, product(layer.weight), limit)}, bias: {shape: layer.bias, data: draw(200 + at, product(layer.bias), limit)}};
    }),
    images: draw(1, BATCH * product(shape), 1),
    labels: Int32Array.from({length: BATCH}, (_, at) => (at * 7 + 3) % CLASSES),
    classes: CLASSES,
    rate: 1e-3,
  });
  return {name, title, part: 'training', flops, training, tolerance: 1e-3};
}

/** Arithmetic of a step: forward and twice as much backward. */
export const steps = [
  step('train_mlp', 'MLP step, 64 x 784-256-128-10', [784], [dense(784, 256), relu, dense(256, 128), relu, dense(128, 10)], 6 * BATCH * (784 * 256 + 256 * 128 + 1280)),
  step(
    'train_cnn',
    'MNIST CNN step, batch of 64',
    [1, 28, 28],
    [conv(1, 16, 5), relu, pool, conv(16, 32, 5), relu, pool, flatten, dense(512, 10)],
    6 * BATCH * (24 * 24 * 16 * 25 + 8 * 8 * 32 * 16 * 25 + 5120),
  ),
];
