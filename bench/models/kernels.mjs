// Single kernels as chains of themselves, each fed by the last, so that what a run costs besides can be taken off.
// Weights keep the size of the values about as it is.
import {draw, Graph, product, random} from './graph.mjs';

/** A graph of `links` times link(graph, x), of an input of this shape. */
function chainOf(name, shape, links, link, {limit = 1, opset} = {}) {
  const graph = new Graph(`${name}x${links}`, opset);
  let x = graph.input('x', shape, random(1, product(shape), limit));
  for (let at = 0; at < links; ++at) x = link(graph, x);
  graph.output(x);
  return graph;
}

/** One value for the whole chain: an input or a weight. */
function once(make) {
  let made;
  return (graph) => (made ??= make(graph));
}

/** Both operands are inputs of the run; a random matrix of this variance keeps the size of a product. */
export function matmulChain(size, links) {
  const limit = Math.sqrt(3 / size);
  const b = once((graph) => graph.input('b', [size, size], random(2, size * size, limit)));
  return chainOf(`matmul${size}`, [size, size], links, (graph, x) => graph.node('MatMul', [x, b(graph)], x.shape), {limit});
}

/** Two products of a row with weights, out and back; each link is both. */
export function rowTimesMatrix(inner, outer, links) {
  const there = once((graph) => graph.weight([inner, outer], inner));
  const back = once((graph) => graph.weight([outer, inner], outer));
  return chainOf(`row${inner}x${outer}`, [1, inner], links, (graph, x) => graph.node('MatMul', [graph.node('MatMul', [x, there(graph)], [1, outer]), back(graph)], x.shape));
}

export function convolution(channels, extent, links, groups = 1) {
  const fanIn = (9 * channels) / groups;
  const weight = once((graph) => graph.weight([channels, channels / groups, 3, 3], fanIn, groups > 1 ? 0.5 : 1));
  const window = {kernel_shape: [3, 3], strides: [1, 1], pads: [1, 1, 1, 1], group: groups};
  const name = `${groups > 1 ? 'depthwise' : 'conv'}${channels}_${extent}`;
  return chainOf(name, [1, channels, extent, extent], links, (graph, x) => graph.node('Conv', [x, weight(graph)], x.shape, window));
}

/** The values are made larger in between: of its own results a softmax makes equal numbers. */
export function softmaxRows(rows, width, links) {
  return chainOf(`softmax${rows}x${width}`, [rows, width], links, (graph, x) => {
    const scaled = graph.node('Mul', [x, graph.scalar(width / 2)], x.shape);
    return graph.node('Softmax', [scaled], x.shape, {axis: -1});
  });
}

export function layerNormRows(rows, width, links) {
  const scale = once((graph) => graph.constant(draw(3, width, 0.1).map((each) => 1 + each)));
  const bias = once((graph) => graph.constant(draw(4, width, 0.1)));
  return chainOf(`layernorm${rows}x${width}`, [rows, width], links, (graph, x) =>
    graph.node('LayerNormalization', [x, scale(graph), bias(graph)], x.shape, {axis: -1, epsilon: {float: 1e-5}}),
  );
}

/** softmax(q kT / sqrt depth) v; each link's result is the next one's q. */
export function attentionHeads(heads, length, depth, links) {
  const shape = [1, heads, length, depth];
  const k = once((graph) => graph.input('k', [1, heads, depth, length], random(2, product(shape), 1)));
  const v = once((graph) => graph.input('v', shape, random(3, product(shape), 4)));
  return chainOf(`attention${heads}x${length}x${depth}`, shape, links, (graph, q) => {
    const scores = graph.node('MatMul', [q, k(graph)], [1, heads, length, length]);
    const scaled = graph.node('Mul', [scores, graph.scalar(1 / Math.sqrt(depth))], scores.shape);
    return graph.node('MatMul', [graph.node('Softmax', [scaled], scores.shape, {axis: -1}), v(graph)], shape);
  });
}

/** com.microsoft's MatMulNBits: weights of four bits, blocks of 32 with a scale. */
export function fourBits(size, links) {
  const [bits, block] = [4, 32];
  const blocks = size / block;
  // Two values a byte, of 1 to 15 around a zero point of 8: a mean would grow from link to link.
  const weight = once((graph) => {
    const digits = draw(5, size * size, 7.499);
    const packed = new Uint8Array((size * size) / 2);
    for (let at = 0; at < packed.length; ++at) packed[at] = (8 + Math.round(digits[2 * at])) | ((8 + Math.round(digits[2 * at + 1])) << 4);
    return graph.constant(packed, [size, blocks, (block * bits) / 8]);
  });
  // Such values have a variance of 18.7.
  const scale = once((graph) => graph.constant(draw(6, size * blocks, 0.2).map((each) => (1 + each) / Math.sqrt(18.7 * size)), [size * blocks]));
  return chainOf(`nbits${size}`, [1, size], links, (graph, x) =>
    graph.node('MatMulNBits', [x, weight(graph), scale(graph)], x.shape, {K: size, N: size, bits, block_size: block}, {domain: 'com.microsoft'}),
  );
}
