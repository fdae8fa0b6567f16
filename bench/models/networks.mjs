// The benchmark's networks with seeded weights, as lists of layers that become ONNX files here and
// calls of tfjs and .tflite files elsewhere. Batch normalization is folded, as exporters do.
//
// A layer reads `from` (layer names) and is one of
//   conv   {kernel, stride, pad, groups, activation}    weights [O, I / groups, k, k], bias [O]
//   maxpool {kernel, stride, pad}; add {activation}; concat (channels); mean (over height and width); dense
// activation: '' | 'relu' | 'relu6'. Shapes are [channels, height, width], without the batch of 1.
import {draw, Graph, product, random} from './graph.mjs';

export class Builder {
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
  weights(fanIn, shape, channels, gain) {
    const seed = this.layers.length;
    return {
      weight: {shape, data: draw(2 * seed, product(shape), Math.sqrt((3 * gain) / fanIn))},
      bias: {shape: [channels], data: draw(2 * seed + 1, channels, 0.1)},
    };
  }
  conv(from, channels, kernel, {stride = 1, groups = 1, activation = '', pad = (kernel - 1) / 2, gain = activation ? 2 : 1} = {}) {
    const [inputs, height, width] = from.shape;
    const size = (extent) => Math.floor((extent + 2 * pad - kernel) / stride) + 1;
    const shape = [channels, size(height), size(width)];
    const fanIn = (inputs / groups) * kernel * kernel;
    this.flops += 2 * fanIn * channels * shape[1] * shape[2];
    const parts = this.weights(fanIn, [channels, inputs / groups, kernel, kernel], channels, gain);
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
  concat(a, b) {
    return this.add('concat', [a.shape[0] + b.shape[0], a.shape[1], a.shape[2]], [a, b]);
  }
  mean(from) {
    return this.add('mean', [from.shape[0]], [from]);
  }
  head(from, channels) {
    const pooled = this.mean(from);
    this.flops += 2 * pooled.shape[0] * channels;
    const parts = this.weights(pooled.shape[0], [channels, pooled.shape[0]], channels, 1);
    return this.add('dense', [channels], [pooled], parts);
  }
}

/** He et al. 2015: residual blocks of two 3x3 convolutions, or of a narrow one between two 1x1 that shrink and grow. */
function resnet(name, blocks, narrow) {
  const net = new Builder(name, [3, 224, 224]);
  let at = net.conv(net.last, 64, 7, {stride: 2, activation: 'relu'});
  at = net.maxpool(at, 3, 2, 1);
  for (const [stage, count] of blocks.entries()) {
    const channels = 64 << stage;
    const wide = narrow ? 4 * channels : channels;
    for (let block = 0; block < count; ++block) {
      const stride = stage > 0 && block === 0 ? 2 : 1;
      const first = narrow ? net.conv(at, channels, 1, {activation: 'relu'}) : at;
      const second = net.conv(first, channels, 3, {stride, activation: 'relu'});
      // Half the variance each, so that their sum keeps it.
      const last = net.conv(second, wide, narrow ? 1 : 3, {gain: 0.5});
      const skip = stride === 1 && at.shape[0] === wide ? at : net.conv(at, wide, 1, {stride, gain: 0.5});
      at = net.sum(last, skip, 'relu');
    }
  }
  net.head(at, 1000);
  return net;
}

export const resnet18 = () => resnet('resnet18', [2, 2, 2, 2], false);
export const resnet50 = () => resnet('resnet50', [3, 4, 6, 3], true);

/** Iandola et al. 2016, version 1.1. Pooling rounds down: at these sizes rounding up gives the same, and not all parties know it. */
export function squeezenet() {
  const net = new Builder('squeezenet', [3, 224, 224]);
  const relu = {activation: 'relu'};
  const fire = (from, squeezed, expanded) => {
    const narrow = net.conv(from, squeezed, 1, relu);
    return net.concat(net.conv(narrow, expanded, 1, relu), net.conv(narrow, expanded, 3, relu));
  };
  let at = net.maxpool(net.conv(net.last, 64, 3, {stride: 2, pad: 0, ...relu}), 3, 2, 0);
  at = net.maxpool(fire(fire(at, 16, 64), 16, 64), 3, 2, 0);
  at = net.maxpool(fire(fire(at, 32, 128), 32, 128), 3, 2, 0);
  at = fire(fire(fire(fire(at, 48, 192), 48, 192), 64, 256), 64, 256);
  net.mean(net.conv(at, 1000, 1, relu));
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

/** The values of the network's input, channels first. */
export const imageOf = (net, batch = 1) => random(99, batch * product(net.layers[0].shape), 1);

/** A network as an ONNX graph, for a batch of so many images. */
export function networkGraph(net, batch = 1) {
  const graph = new Graph(net.name);
  const values = new Map();
  const activated = {'': (x) => x, relu: (x) => graph.node('Relu', [x], x.shape), relu6: (x) => graph.node('Clip', [x, graph.scalar(0), graph.scalar(6)], x.shape)};
  const steps = {
    conv: (layer, shape, x) => {
      const {kernel, stride, pad, groups} = layer;
      const window = {kernel_shape: [kernel, kernel], strides: [stride, stride], pads: [pad, pad, pad, pad], group: groups};
      return graph.node('Conv', [...x, ...parameters(layer)], shape, window);
    },
    maxpool: ({kernel, stride, pad}, shape, x) =>
      graph.node('MaxPool', x, shape, {kernel_shape: [kernel, kernel], strides: [stride, stride], pads: [pad, pad, pad, pad]}),
    add: (_layer, shape, x) => graph.node('Add', x, shape),
    concat: (_layer, shape, x) => graph.node('Concat', x, shape, {axis: 1}),
    mean: (_layer, shape, x) => graph.node('Flatten', [graph.node('GlobalAveragePool', x, [...shape, 1, 1])], shape),
    dense: (layer, shape, x) => graph.node('Gemm', [...x, ...parameters(layer)], shape, {transB: 1}),
  };
  const parameters = ({weight, bias}) => [weight, bias].map(({data, shape}) => graph.constant(data, shape));
  for (const layer of net.layers) {
    const shape = [batch, ...layer.shape];
    graph.prefix = layer.name;
    const made =
      layer.kind === 'input'
        ? graph.input(layer.name, shape, imageOf(net, batch))
        : activated[layer.activation ?? ''](steps[layer.kind](layer, shape, layer.from.map((name) => values.get(name))));
    values.set(layer.name, made);
  }
  graph.output(values.get(net.layers.at(-1).name));
  return graph;
}
