// jax-js: a step of training as one function under jit, Adam in it. Arrays belong to whom they are given to; .ref keeps one's own.
import {at} from '../places.mjs';

/** {layers: [[weight, bias], ...]} of arrays, as jax-js's trees are. */
const trainable = (np, layers) => layers.filter(({weights}) => weights).map(({weights}) => weights.map(({data, shape}) => np.array(data).reshape(shape)));

function frozenNetwork({np, lax, nn}, net) {
  const parts = new Map(net.layers.filter(({weight}) => weight).map(({name, weight, bias}) => [name, [weight, bias].map(({data, shape}) => np.array(data).reshape(shape))]));
  const relu6 = (x) => np.clip(x, 0, 6);
  const activated = {'': (x) => x, relu: (x) => nn.relu(x), relu6};
  const steps = {
    conv({name, stride, pad, groups, activation}, x) {
      const [weight, bias] = parts.get(name);
      const y = lax.convGeneralDilated(x, weight.ref, [stride, stride], [[pad, pad], [pad, pad]], {featureGroupCount: groups});
      return activated[activation](y.add(bias.ref.reshape([1, -1, 1, 1])));
    },
    add: (_layer, a, b) => a.add(b),
    mean: (_layer, x) => np.mean(x, [2, 3]),
  };
  return (image) => {
    const values = new Map();
    const uses = (name) => net.layers.filter(({from}) => from.includes(name)).length;
    for (const layer of net.layers) {
      const value = layer.kind === 'input' ? image : steps[layer.kind](layer, ...layer.from.map((name) => values.get(name)));
      values.set(layer.name, value);
      for (let more = 1; more < uses(layer.name); ++more) void value.ref;
    }
    return values.get(net.layers.at(-1).name);
  };
}

/** The layers' functions: of what came before and the layer's weights. */
function applied(jax) {
  const {numpy: np, lax, nn} = jax;
  return {
    dense: (x, [weight, bias]) => np.matmul(x, weight.transpose()).add(bias),
    conv: (x, [weight, bias]) => lax.conv(x, weight, [1, 1], 'VALID').add(bias.reshape([1, -1, 1, 1])),
    relu: (x) => nn.relu(x),
    pool: (x) => lax.reduceWindow(x, np.max, [2, 2], [2, 2]),
    flatten: (x) => x.reshape([x.shape[0], -1]),
    lstm(x, [inputs, hidden]) {
      const [batch, length] = x.shape;
      const size = hidden.shape[1];
      const all = np.matmul(x, inputs.transpose());
      const turned = hidden.transpose();
      let [h, c] = [np.zeros([batch, size]), np.zeros([batch, size])];
      for (let step = 0; step < length; ++step) {
        const gates = np.split(all.ref.slice([], step).add(np.matmul(h, turned.ref)), 4, 1);
        const [i, f, o] = [0, 1, 3].map((gate) => nn.sigmoid(gates[gate]));
        c = f.mul(c).add(i.mul(np.tanh(gates[2])));
        h = o.mul(np.tanh(c.ref));
      }
      for (const each of [all, turned, c]) each.dispose();
      return h;
    },
  };
}

/** Kingma and Ba 2014, as PyTorch has it; `scales`: [1 / (1 - beta1^t), 1 / (1 - beta2^t)]. */
function adam(np, rate, value, gradient, mean, square, scales) {
  const m = mean.mul(0.9).add(gradient.ref.mul(0.1));
  const v = square.mul(0.999).add(np.square(gradient).mul(0.001));
  const change = m.ref.mul(scales.ref.slice(0)).div(np.sqrt(v.ref.mul(scales.ref.slice(1))).add(1e-8));
  return [value.sub(change.mul(rate)), m, v];
}

export async function open({device, threads, model}) {
  const jax = await import(at('peers/@jax-js/jax/dist/index.js'));
  if (device === 'wasm' && threads === 1) throw new Error('jax-js takes as many threads as there are');
  const {numpy: np, nn, jit, valueAndGrad} = jax;
  if (!(await jax.init(device)).includes(device)) throw new Error(`jax-js has no ${device} here`);
  jax.defaultDevice(device);
  const begin = performance.now();
  const {shape, layers, images, labels, classes, rate, frozen} = model.training();
  const making = performance.now() - begin;
  const features = frozen && frozenNetwork({np, lax: jax.lax, nn}, frozen);
  const apply = applied(jax);
  const loss = (weights, x, truth) => {
    let next = 0;
    const logits = layers.reduce((value, {kind, weights: has}) => apply[kind](value, has && weights[next++]), x);
    return nn.logSoftmax(logits, 1).mul(truth).sum().mul(-1 / shape[0]);
  };
  const step = jit((weights, means, squares, scales, x, y) => {
    const truth = nn.oneHot(y, classes);
    const [value, gradients] = valueAndGrad(loss)(weights.map((of) => of.map((each) => each.ref)), features ? features(x) : x, truth);
    const next = weights.map((of, layer) => of.map((_, each) => adam(np, rate, weights[layer][each], gradients[layer][each], means[layer][each], squares[layer][each], scales)));
    scales.dispose();
    const part = (which) => next.map((of) => of.map((each) => each[which]));
    return [value, part(0), part(1), part(2)];
  });
  const zeros = () => layers.filter(({weights}) => weights).map(({weights}) => weights.map(({shape: extents}) => np.zeros(extents)));
  let state = [trainable(np, layers), zeros(), zeros()];
  let count = 0;
  return {
    making,
    run: async () => {
      ++count;
      const scales = np.array(Float32Array.of(1 / (1 - 0.9 ** count), 1 / (1 - 0.999 ** count)));
      const [value, ...next] = step(...state, scales, np.array(images).reshape(shape), np.array(labels));
      state = next;
      const read = await value.data();
      // What goes on in its threads would slow the others down; on GPUs it waits for each array by itself, at its own cost.
      if (device === 'wasm') await jax.blockUntilReady(state);
      return [read];
    },
  };
}
