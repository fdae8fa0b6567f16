// The benchmark's networks with seeded weights, as lists of layers that become ONNX files here and
// tfjs calls in page/tfjs_network.mjs. Batch normalization is folded, as exporters do.
//
// A layer reads `from` (layer names) and is one of
//   conv   {channels, kernel, stride, pad, groups, activation}    weights [O, I / groups, k, k], bias [O]
//   maxpool {kernel, stride, pad}; add {activation}; mean (over height and width); dense {channels}
// activation: '' | 'relu' | 'relu6'. Shapes are [channels, height, width], without the batch of 1.
import {onnxFile} from './onnx_file.mjs';

/** Uniform in ±limit, by xorshift32 from a seed. */
export function draw(seed, count, limit) {
  const values = new Float32Array(count);
  let state = Math.imul(seed, 2654435761) >>> 0 || 1;
  for (let at = 0; at < count; ++at) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    values[at] = ((state >>> 0) / 2 ** 31 - 1) * limit;
  }
  return values;
}

class Builder {
  constructor(name, shape) {
    this.name = name;
    this.layers = [{name: 'image', kind: 'input', shape, from: []}];
    this.flops = 0;
  }
  get last() {
    return this.layers.at(-1);
  }
  add(kind, shape, from, more = {}) {
    this.layers.push({name: `${kind}_${this.layers.length}`, kind, shape, from: from.map(({name}) => name), ...more});
    return this.last;
  }
  weights(fanIn, shape, channels) {
    const seed = this.layers.length;
    const count = shape.reduce((product, extent) => product * extent, 1);
    return {
      weight: {shape, data: draw(2 * seed, count, Math.sqrt(6 / fanIn))},
      bias: {shape: [channels], data: draw(2 * seed + 1, channels, 0.1)},
    };
  }
  conv(from, channels, kernel, {stride = 1, groups = 1, activation = ''} = {}) {
    const pad = (kernel - 1) / 2;
    const [inputs, height, width] = from.shape;
    const size = (extent) => Math.floor((extent + 2 * pad - kernel) / stride) + 1;
    const shape = [channels, size(height), size(width)];
    const fanIn = (inputs / groups) * kernel * kernel;
    this.flops += 2 * fanIn * channels * shape[1] * shape[2];
    const parts = this.weights(fanIn, [channels, inputs / groups, kernel, kernel], channels);
    return this.add('conv', shape, [from], {kernel, stride, pad, groups, activation, ...parts});
  }
  maxpool(from, kernel, stride, pad) {
    const size = (extent) => Math.floor((extent + 2 * pad - kernel) / stride) + 1;
    const [channels, height, width] = from.shape;
    return this.add('maxpool', [channels, size(height), size(width)], [from], {kernel, stride, pad});
  }
  sum(a, b, activation) {
    return this.add('add', a.shape, [a, b], {activation});
  }
  head(from, channels) {
    const pooled = this.add('mean', [from.shape[0]], [from]);
    this.flops += 2 * pooled.shape[0] * channels;
    const parts = this.weights(pooled.shape[0], [channels, pooled.shape[0]], channels);
    return this.add('dense', [channels], [pooled], parts);
  }
}

/** He et al. 2015: two 3x3 convolutions a block, 18 layers with weights. */
export function resnet18() {
  const net = new Builder('resnet18', [3, 224, 224]);
  let at = net.conv(net.last, 64, 7, {stride: 2, activation: 'relu'});
  at = net.maxpool(at, 3, 2, 1);
  for (const [stage, channels] of [64, 128, 256, 512].entries()) {
    for (let block = 0; block < 2; ++block) {
      const stride = stage > 0 && block === 0 ? 2 : 1;
      const first = net.conv(at, channels, 3, {stride, activation: 'relu'});
      const second = net.conv(first, channels, 3);
      const skip = stride === 1 ? at : net.conv(at, channels, 1, {stride});
      at = net.sum(second, skip, 'relu');
    }
  }
  net.head(at, 1000);
  return net;
}

/** Sandler et al. 2018: inverted residuals, width 1. */
export function mobilenetv2() {
  const net = new Builder('mobilenetv2', [3, 224, 224]);
  let at = net.conv(net.last, 32, 3, {stride: 2, activation: 'relu6'});
  const stages = [[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 3, 2], [6, 64, 4, 2], [6, 96, 3, 1], [6, 160, 3, 2], [6, 320, 1, 1]];
  for (const [expansion, channels, blocks, firstStride] of stages) {
    for (let block = 0; block < blocks; ++block) {
      const stride = block === 0 ? firstStride : 1;
      const wide = at.shape[0] * expansion;
      const grown = expansion > 1 ? net.conv(at, wide, 1, {activation: 'relu6'}) : at;
      const spread = net.conv(grown, wide, 3, {stride, groups: wide, activation: 'relu6'});
      const narrow = net.conv(spread, channels, 1);
      at = stride === 1 && at.shape[0] === channels ? net.sum(narrow, at, '') : narrow;
    }
  }
  net.head(net.conv(at, 1280, 1, {activation: 'relu6'}), 1000);
  return net;
}

/** C = A * B of size^3: B is a weight, as in a fully connected layer. */
export function matmul(size) {
  const weights = [{name: 'b', shape: [size, size], data: draw(7, size * size, 1)}];
  const nodes = [{op: 'MatMul', inputs: ['a', 'b'], output: 'c'}];
  const shape = [size, size];
  const file = () =>
    onnxFile({name: `matmul${size}`, nodes, weights, inputs: [{name: 'a', shape}], outputs: [{name: 'c', shape}]});
  return {name: `matmul${size}`, flops: 2 * size ** 3, input: {name: 'a', shape}, file, weight: weights[0]};
}

/** A network as the bytes of an ONNX file. */
export function networkFile(net) {
  const nodes = [];
  const weights = [];
  const node = (op, inputs, output, attributes) => nodes.push({op, inputs, output, attributes});
  const activate = (layer, raw) => {
    if (layer.activation === 'relu') node('Relu', [raw], layer.name);
    if (layer.activation === 'relu6') node('Clip', [raw, 'zero', 'six'], layer.name);
  };
  weights.push({name: 'zero', shape: [], data: Float32Array.of(0)}, {name: 'six', shape: [], data: Float32Array.of(6)});
  for (const layer of net.layers) {
    const {name, kind, from, kernel, stride, pad, groups, activation} = layer;
    const raw = activation ? `${name}_raw` : name;
    const window = {kernel_shape: [kernel, kernel], strides: [stride, stride], pads: [pad, pad, pad, pad]};
    for (const part of ['weight', 'bias']) {
      if (layer[part]) weights.push({name: `${name}.${part}`, ...layer[part]});
    }
    const inputs = [...from, ...(layer.weight ? [`${name}.weight`, `${name}.bias`] : [])];
    if (kind === 'conv') node('Conv', inputs, raw, {...window, group: groups});
    if (kind === 'maxpool') node('MaxPool', inputs, raw, window);
    if (kind === 'add') node('Add', inputs, raw);
    if (kind === 'mean') {
      node('GlobalAveragePool', inputs, `${name}_4d`);
      node('Flatten', [`${name}_4d`], name);
    }
    if (kind === 'dense') node('Gemm', inputs, raw, {transB: 1});
    if (kind !== 'input') activate(layer, raw);
  }
  const port = ({name, shape}) => ({name, shape: [1, ...shape]});
  const last = net.layers.at(-1);
  return onnxFile({name: net.name, nodes, weights, inputs: [port(net.layers[0])], outputs: [port(last)]});
}
