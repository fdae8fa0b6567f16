// Steps of training: forward, gradients, Adam, with a batch that is written anew each time; the loss is read. What a step needs, for
// parties in their own words:
//   frozen: a network (networks.mjs) whose last values are what the layers are given; absent: the batch itself
//   layers: {kind, weights: [{shape, data}]}, initial values as PyTorch lays them out; see below
//   shape: of the batch; images, labels: one batch, the same in each step; classes; rate: of Adam
import {draw, product} from './graph.mjs';
import {mobilenetv2} from './networks.mjs';

const CLASSES = 10;

// dense: weight, bias; conv (valid, stride 1): weight, bias; lstm: the last step's output, of gates i, f, g, o without bias: weights of
// the input, of the output before
const dense = (inputs, outputs) => ({kind: 'dense', shapes: [[outputs, inputs], [outputs]], fanIn: inputs});
const conv = (inputs, outputs, side) => ({kind: 'conv', shapes: [[outputs, inputs, side, side], [outputs]], fanIn: inputs * side * side});
const lstm = (inputs, hidden) => ({kind: 'lstm', shapes: [[4 * hidden, inputs], [4 * hidden, hidden]], fanIn: hidden});
const [relu, pool, flatten] = ['relu', 'pool', 'flatten'].map((kind) => ({kind}));

/** The network without its last layer. */
function headless(net) {
  const {shape} = net.layers.at(-2);
  return {name: `${net.name}_features`, layers: net.layers.slice(0, -1), shape};
}

function step(name, title, shape, layers, flops, {frozen} = {}) {
  const training = () => ({
    frozen: frozen && headless(frozen()),
    shape,
    layers: layers.map(({kind, shapes, fanIn}, layer) => ({
      kind,
      weights: shapes?.map((each, part) => ({shape: each, data: draw(100 * (part + 1) + layer, product(each), 1 / Math.sqrt(fanIn))})),
    })),
    images: draw(1, product(shape), 1),
    labels: Int32Array.from({length: shape[0]}, (_, at) => (at * 7 + 3) % CLASSES),
    classes: CLASSES,
    rate: 1e-3,
  });
  return {name, title, part: 'training', flops, training, tolerance: 1e-3};
}

/** Arithmetic of a step: forward and twice as much backward. */
export const steps = [
  step('train_mlp', 'MLP step, 64 x 784-256-128-10', [64, 784], [dense(784, 256), relu, dense(256, 128), relu, dense(128, 10)], 6 * 64 * (784 * 256 + 256 * 128 + 1280)),
  step(
    'train_cnn',
    'MNIST CNN step, batch of 64',
    [64, 1, 28, 28],
    [conv(1, 16, 5), relu, pool, conv(16, 32, 5), relu, pool, flatten, dense(512, 10)],
    6 * 64 * (24 * 24 * 16 * 25 + 8 * 8 * 32 * 16 * 25 + 5120),
  ),
  step('train_lstm', 'LSTM step, 32 x 28 rows of 28, 128 wide', [32, 28, 28], [lstm(28, 128), dense(128, 10)], 6 * 32 * 28 * 4 * 128 * (28 + 128)),
  step('train_head', 'MobileNetV2, step of its last layer, batch of 8', [8, 3, 224, 224], [dense(1280, 10)], 8 * 0.6e9, {frozen: mobilenetv2}),
];
