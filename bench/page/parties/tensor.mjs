// Gossamer's tensors in the page: a step of training, compiled here.
import {networkGraph} from '../../models/networks.mjs';
import {at} from '../places.mjs';

const DEVICES = {wasm: 'cpu', webgpu: 'webgpu', webgl: 'webgl'};

export async function open({edition, device: kind, threads, model}) {
  const {nn, OnnxModel, optim, setNumThreads, Tensor} = await import(at(`${edition}/tensor/tensor.js`));
  setNumThreads(threads);
  const begin = performance.now();
  const {shape, layers, images, labels, rate, frozen} = model.training();
  const file = frozen && networkGraph(frozen, shape[0]).file();
  const making = performance.now() - begin;
  const device = DEVICES[kind];
  class Last extends nn.Module {
    constructor(inputs, hidden) {
      super();
      this.lstm = new nn.LSTM(inputs, hidden, {batchFirst: true, bias: false});
    }
    forward(x) {
      return this.lstm.forward(x)[0].select(1, -1);
    }
  }
  const made = {
    dense: ([{shape: [outputs, inputs]}]) => new nn.Linear(inputs, outputs),
    conv: ([{shape: [outputs, inputs, side]}]) => new nn.Conv2d(inputs, outputs, side),
    lstm: ([{shape: [, inputs]}, {shape: [, hidden]}]) => new Last(inputs, hidden),
    relu: () => new nn.ReLU(),
    pool: () => new nn.MaxPool2d(2),
    flatten: () => new nn.Flatten(),
  };
  const net = new nn.Sequential(...layers.map(({kind: layer, weights}) => made[layer](weights)));
  const values = layers.flatMap(({weights = []}) => weights);
  net.loadStateDict(Object.fromEntries(net.namedParameters().map(([name], place) => [name, new Tensor(values[place].data, {shape: values[place].shape})])));
  net.to(device);
  const features = file && new OnnxModel(file, {device});
  const optimizer = new optim.Adam(net.parameters(), {lr: rate});
  return {
    making,
    run: async () => {
      const [x, y] = [new Tensor(images, {shape, device}), new Tensor(labels, {shape: [labels.length], device})];
      optimizer.zeroGrad();
      const loss = nn.functional.crossEntropy(net.forward(features ? features.call(x) : x), y);
      loss.backward();
      optimizer.step();
      const value = await loss.data();
      for (const each of [x, y, loss]) each.dispose();
      return [value];
    },
  };
}
