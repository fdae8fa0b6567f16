// TensorFlow.js: networks as its calls, channels last, bias and activation fused, as its converter would write them.
import {imageChannelsLast} from '../../models/channels_last.mjs';
import {imageOf} from '../../models/networks.mjs';
import {at} from '../places.mjs';
import {openTraining} from './tfjs_training.mjs';

function script(url) {
  return new Promise((resolve, reject) => {
    const element = document.createElement('script');
    Object.assign(element, {src: url, onload: resolve, onerror: () => reject(new Error(`no ${url}`))});
    document.head.append(element);
  });
}

async function start(backend, threads) {
  const packages = at('peers/@tensorflow');
  if (!globalThis.tf) await script(`${packages}/tfjs/dist/tf.min.js`);
  const {tf} = globalThis;
  if (backend !== 'webgl') await script(`${packages}/tfjs-backend-${backend}/dist/tf-backend-${backend}.min.js`);
  if (backend === 'wasm') {
    tf.wasm.setWasmPaths(`${packages}/tfjs-backend-wasm/dist/`);
    tf.wasm.setThreadsCount(threads); // before the backend starts
  }
  if (!(await tf.setBackend(backend))) throw new Error(`tfjs has no backend ${backend} here`);
  await tf.ready();
  return tf;
}

/** OIHW weights to tfjs's HWIO, or HWI1 for depthwise. */
function filterOf(tf, {weight, groups}) {
  const filter = tf.tensor4d(weight.data, weight.shape);
  return tf.tidy(() => filter.transpose(groups > 1 ? [2, 3, 0, 1] : [2, 3, 1, 0]));
}

/** A function of an image [1, height, width, channels]; weights stay on the device. */
function networkOf(tf, net) {
  const prepared = new Map();
  for (const layer of net.layers.filter(({weight}) => weight)) {
    const {kind, weight, bias} = layer;
    const filter = kind === 'dense' ? tf.tidy(() => tf.tensor2d(weight.data, weight.shape).transpose()) : filterOf(tf, layer);
    prepared.set(layer.name, {filter, bias: tf.tensor1d(bias.data)});
  }
  const steps = {
    conv({name, stride, pad, groups, activation}, x) {
      const options = {x, ...prepared.get(name), strides: stride, pad, activation: activation || 'linear'};
      return groups > 1 ? tf.fused.depthwiseConv2d(options) : tf.fused.conv2d(options);
    },
    maxpool: ({kernel, stride, pad}, x) => tf.maxPool(x, kernel, stride, pad),
    add: ({activation}, a, b) => (activation === 'relu' ? tf.relu(tf.add(a, b)) : tf.add(a, b)),
    concat: (_layer, a, b) => tf.concat([a, b], 3),
    mean: (_layer, x) => tf.mean(x, [1, 2]),
    dense({name}, x) {
      const {filter, bias} = prepared.get(name);
      return tf.add(tf.matMul(x, filter), bias);
    },
  };
  return (image) => {
    const values = new Map();
    for (const layer of net.layers) {
      values.set(layer.name, layer.kind === 'input' ? image : steps[layer.kind](layer, ...layer.from.map((name) => values.get(name))));
    }
    return values.get(net.layers.at(-1).name);
  };
}

/** A chain of products, as the graph's nodes are. */
const chainOf = (tf, links) => ([a, b]) => Array.from({length: links}).reduce((x) => tf.matMul(x, b), a);

export async function open({device, threads, model, graph, links}) {
  const tf = await start(device, threads);
  if (model.training) return openTraining(tf, {model}, networkOf);
  let compute;
  let making = 0;
  if (model.net) {
    const begin = performance.now();
    const net = model.net();
    making = performance.now() - begin;
    const [channels, height, width] = net.layers[0].shape;
    const image = imageChannelsLast(imageOf(net), [channels, height, width]);
    const network = networkOf(tf, net);
    compute = () => network(tf.tensor4d(image, [1, height, width, channels]));
  } else {
    const chain = chainOf(tf, links);
    compute = () => chain(graph.inputs.map(({data, shape}) => tf.tensor2d(data, shape)));
  }
  return {
    making,
    run: async () => {
      const result = tf.tidy(compute);
      const values = await result.data();
      result.dispose();
      return [values];
    },
  };
}
