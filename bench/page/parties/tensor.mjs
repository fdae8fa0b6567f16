// Gossamer's tensors in the page: a step of training, compiled here.
import {at} from '../places.mjs';

const DEVICES = {wasm: 'cpu', webgpu: 'webgpu', webgl: 'webgl'};

export async function open({edition, device: kind, threads, model}) {
  const {nn, optim, setNumThreads, Tensor} = await import(at(`${edition}/tensor/tensor.js`));
  setNumThreads(threads);
  const begin = performance.now();
  const {shape, layers, images, labels, rate} = model.training();
  const making = performance.now() - begin;
  const device = DEVICES[kind];
  const made = {
    dense: ({weight}) => new nn.Linear(weight.shape[1], weight.shape[0]),
    conv: ({weight}) => new nn.Conv2d(weight.shape[1], weight.shape[0], weight.shape[2]),
    relu: () => new nn.ReLU(),
    pool: () => new nn.MaxPool2d(2),
    flatten: () => new nn.Flatten(),
  };
  const net = new nn.Sequential(...layers.map((layer) => made[layer.kind](layer)));
  const state = layers.flatMap(({weight, bias}, at) => (weight ? [[`${at}.weight`, weight], [`${at}.bias`, bias]] : []));
  net.loadStateDict(Object.fromEntries(state.map(([name, {shape: extents, data}]) => [name, new Tensor(data, {shape: extents})])));
  net.to(device);
  const optimizer = new optim.Adam(net.parameters(), {lr: rate});
  return {
    making,
    run: async () => {
      const [x, y] = [new Tensor(images, {shape, device}), new Tensor(labels, {shape: [labels.length], device})];
      optimizer.zeroGrad();
      const loss = nn.functional.crossEntropy(net.forward(x), y);
      loss.backward();
      optimizer.step();
      const value = await loss.data();
      for (const each of [x, y, loss]) each.dispose();
      return [value];
    },
  };
}
