// Models with open dimensions, each run with extents of 0, 1 and more: the same values as with fixed shapes, by the
// reference interpreter, whatever is broadcast in a run and however short a tile of rows or a vector is.
import {readFileSync} from 'node:fs';
import path from 'node:path';
import {Graph, product, random} from '../../bench/models/graph.mjs';
import {shareOf} from '../conformance/share.mjs';
import {interpreterKey, writeCase} from '../models/write_case.mjs';
import {once} from '../once.mjs';
import {SEQUENCES} from './sequences.mjs';

const pairs = [[[3, 4], [3, 4]], [[3, 1], [3, 4]], [[1, 4], [3, 1]], [[1, 1], [5, 37]], [[0, 4], [1, 4]], [[3, 0], [3, 1]], [[1, 0], [1, 1]], [[1, 1], [1, 1]]];
const threes = [[[2, 3, 4]], [[1, 1, 1]], [[0, 3, 4]], [[2, 0, 4]], [[2, 3, 0]], [[1, 3, 17]], [[5, 1, 70]]];
const filled = threes.filter(([shape]) => !shape.includes(0));
const images = [[[1, 3, 7, 9]], [[0, 3, 7, 9]], [[2, 3, 1, 1]], [[3, 3, 2, 40]], [[1, 3, 25, 24]]];

const integers = (graph, numbers) => graph.constant(BigInt64Array.from(numbers, BigInt));
const elementwise = (op) => ({inputs: [['a', 'b'], ['c', 'd']], runs: pairs, make: (graph, [x, y]) => graph.node(op, [x, y], [1, 1])});
const one = (op, attributes = {}, runs = threes, more = () => []) => ({
  inputs: [['a', 'b', 'c']], runs, make: (graph, [x]) => graph.node(op, [x, ...more(graph)], [1, 1, 1], attributes),
});
const convolution = (attributes, runs = images) => ({
  inputs: [['n', 3, 'h', 'w']], runs, make: (graph, [x]) => graph.node('Conv', [x, graph.weight([20, 3, 3, 3], 27), graph.weight([20], 1)], [1, 1, 1, 1], attributes),
});
/** Of as many channels as Winograd's algorithm is chosen for: a residual block. */
const block = {
  inputs: [['n', 64, 'h', 'w']],
  runs: [[1, 64, 7, 9], [0, 64, 7, 9], [2, 64, 1, 1], [1, 64, 2, 5], [1, 64, 25, 24], [1, 64, 0, 3]].map((shape) => [shape]),
  make: (graph, [x]) => {
    const conv = (input) => graph.node('Conv', [input, graph.weight([64, 64, 3, 3], 576), graph.weight([64], 1)], [1, 1, 1, 1], {pads: [1, 1, 1, 1]});
    const relu = graph.node('Relu', [conv(x)], [1, 1, 1, 1]);
    return graph.node('Add', [conv(relu), x], [1, 1, 1, 1]);
  },
};
const resize = (mode, attributes = {}) => ({
  inputs: [['n', 'c', 'h', 'w'], ['n2', 'c2', 'h2', 'w2']],
  runs: [[[1, 3, 4, 5], [1, 3, 9, 40]], [[2, 3, 9, 11], [2, 3, 4, 5]], [[1, 1, 1, 1], [1, 1, 3, 3]], [[1, 2, 5, 5], [1, 2, 1, 1]]],
  make: (graph, [x, y]) => {
    const sizes = graph.node('Shape', [y], [4], {}, {type: 'i64'});
    return graph.node('Resize', [x, undefined, undefined, sizes], [1, 1, 1, 1], {mode, ...attributes});
  },
});

/** Bytes of a constant, each from 0 to 255. */
const bytes = (graph, shape) => graph.constant(Uint8Array.from(random(graph.weights.length + 1, product(shape), 127.5), (each) => each + 127.5), shape);
/** Weights of a few bits, which are decoded in the product: a kernel for few rows, one for many. */
const bits = (k, n, count, block, rows, more = () => []) => ({
  inputs: [['b', 's', k]], runs: rows.map(([batch, sequence]) => [[batch, sequence, k]]),
  make: (graph, [x]) => {
    const blocks = Math.ceil(k / block);
    const weights = [bytes(graph, [n, blocks, (block * count) / 8]), graph.weight([n * blocks], 3000)];
    return graph.node('MatMulNBits', [x, ...weights, ...more(graph, n, blocks)], [1, 1, n], {K: k, N: n, bits: count, block_size: block}, {domain: 'com.microsoft'});
  },
});
const few = [[1, 1], [1, 2], [0, 3], [1, 8], [1, 9], [3, 1], [2, 20], [1, 67]];

const MODELS = {
  ...SEQUENCES,
  four_bits: bits(256, 80, 4, 32, few),
  four_bits_ragged: bits(200, 37, 4, 16, few),
  four_bits_with_zeros: bits(576, 64, 4, 32, few, (graph, n, blocks) => [bytes(graph, [n * Math.ceil(blocks / 2)])]),
  eight_bits: bits(192, 48, 8, 64, few),
  two_bits: bits(128, 20, 2, 128, few),
  // Bytes that share words on GPUs: rows of odd lengths, read by numbers, by vectors and where data says.
  bytes: {
    inputs: [['n', 7]], runs: [0, 1, 4, 9].map((rows) => [[rows, 7]]),
    make: (graph, [x]) => {
      const ids = graph.node('Cast', [graph.node('Clip', [x, graph.scalar(0), graph.scalar(4)], [1, 1])], [1, 1], {to: 7}, {type: 'i64'});
      const found = graph.node('Gather', [bytes(graph, [5]), ids], [1, 1], {axis: 0}, {type: 'u8'});
      const levels = graph.constant(Int8Array.of(-128, -1, 0, 1, 127, -77, 99), [7]);
      const sum = [found, levels].map((each) => graph.node('Cast', [each], [1, 1], {to: 1}, {type: 'f32'}));
      return graph.node('Add', [graph.node('Mul', sum, [1, 1]), x], [1, 1]);
    },
  },
  add: elementwise('Add'),
  pow: elementwise('Pow'),
  where: {...elementwise('Add'), make: (graph, [x, y]) => graph.node('Where', [graph.node('Less', [x, y], [1, 1], {}, {type: 'bool'}), x, y], [1, 1], {}, {type: 'f32'})},
  // An extent that two dimensions were broadcast to meets a third one.
  three: {
    inputs: [['a', 'b'], ['c', 'd'], ['e', 'f']],
    runs: [[[3, 4], [3, 4], [1, 4]], [[1, 4], [3, 1], [1, 1]], [[1, 1], [1, 1], [3, 4]], [[3, 1], [1, 1], [1, 4]], [[0, 4], [1, 1], [1, 4]]],
    make: (graph, [x, y, z]) => graph.node('Mul', [graph.node('Add', [x, y], [1, 1]), z], [1, 1]),
  },
  // A sum that was broadcast meets its parts again.
  chain: {...elementwise('Add'), make: (graph, [x, y]) => {
    const sum = graph.node('Add', [x, y], [1, 1]);
    return graph.node('Mul', [graph.node('Sub', [sum, x], [1, 1]), graph.node('Add', [y, sum], [1, 1])], [1, 1]);
  }},
  with_constant: {inputs: [['a', 'b']], runs: [[[1, 5]], [[3, 5]], [[1, 1]], [[3, 1]], [[0, 5]]], make: (graph, [x]) => graph.node('Mul', [x, graph.weight([1, 5], 1)], [1, 1])},
  matmul: {
    inputs: [['p', 'm', 'k'], ['q', 'k', 'n']],
    runs: [[[2, 3, 4], [2, 4, 5]], [[1, 3, 4], [2, 4, 5]], [[2, 3, 4], [1, 4, 5]], [[0, 3, 4], [1, 4, 5]], [[2, 0, 4], [2, 4, 5]], [[2, 3, 0], [2, 0, 5]],
      [[1, 1, 1], [1, 1, 1]], [[2, 3, 4], [2, 4, 0]], [[1, 40, 33], [1, 33, 70]]],
    make: (graph, [x, y]) => graph.node('MatMul', [x, y], [1, 1, 1]),
  },
  // Tiles of several vectors and rows, single ones, and fewer; a copied factor, of a known and of an unknown length.
  matmul_tiles: {
    inputs: [['m', 'k'], ['k', 'n']],
    runs: [[1, 64], [1, 200], [3, 65], [5, 17], [6, 64], [13, 130], [25, 65], [65, 15], [200, 200], [130, 3], [200, 40], [200, 1]].map(([m, n]) => [[m, 13], [13, n]]),
    make: (graph, [x, y]) => graph.node('MatMul', [x, y], [1, 1]),
  },
  matmul_heads: {
    inputs: [['b', 'm', 24], ['b', 'n', 24]],
    runs: [[1, 64], [7, 100], [30, 64], [193, 129], [40, 9], [0, 70]].map(([m, n]) => [[2, m, 24], [2, n, 24]]),
    make: (graph, [x, y]) => graph.node('MatMul', [x, graph.node('Transpose', [y], [1, 1, 1], {perm: [0, 2, 1]})], [1, 1, 1]),
  },
  rows: {inputs: [['m', 36]], runs: [0, 1, 2, 5, 6, 7, 12, 13, 14, 27].map((rows) => [[rows, 36]]), make: (graph, [x]) => graph.node('MatMul', [x, graph.weight([36, 80], 36)], [1, 1])},
  gemm: {
    inputs: [['m', 'k'], ['k', 'n'], ['u', 'v']],
    runs: [[[3, 4], [4, 5], [3, 5]], [[3, 4], [4, 5], [1, 5]], [[3, 4], [4, 5], [3, 1]], [[1, 4], [4, 5], [1, 5]], [[0, 4], [4, 5], [1, 5]], [[3, 0], [0, 5], [1, 5]]],
    make: (graph, inputs) => graph.node('Gemm', inputs, [1, 1]),
  },
  einsum: {
    inputs: [['p', 'i', 'j'], ['q', 'j', 'k']], runs: [[[2, 3, 4], [2, 4, 5]], [[1, 3, 4], [2, 4, 5]], [[2, 1, 4], [2, 4, 1]]],
    make: (graph, inputs) => graph.node('Einsum', inputs, [1, 1, 1], {equation: '...ij,...jk->...ik'}),
  },
  attention: {
    inputs: [['b', 2, 's', 16], ['b', 2, 't', 16], ['e', 1, 'f', 'g']],
    runs: [[2, 5, 7, [2, 1, 5, 7]], [2, 5, 7, [1, 1, 1, 7]], [1, 1, 33, [1, 1, 1, 1]], [0, 5, 7, [1, 1, 1, 7]], [2, 0, 7, [1, 1, 1, 1]], [3, 20, 40, [3, 1, 1, 40]],
      [1, 37, 0, [1, 1, 1, 1]], [1, 37, 1, [1, 1, 37, 1]], [1, 71, 101, [1, 1, 71, 101]], [2, 9, 48, [1, 1, 9, 48]]]
      .map(([batch, queries, keys, mask]) => [[batch, 2, queries, 16], [batch, 2, keys, 16], mask]),
    make: (graph, [query, key, mask]) => {
      const scores = graph.node('MatMul', [query, graph.node('Transpose', [key], [1, 1, 1, 1], {perm: [0, 1, 3, 2]})], [1, 1, 1, 1]);
      const shares = graph.node('Softmax', [graph.node('Add', [scores, mask], [1, 1, 1, 1])], [1, 1, 1, 1], {axis: -1});
      return graph.node('MatMul', [shares, key], [1, 1, 1, 1]);
    },
  },
  // Scores of -inf (in whole rows, too), inf and NaN, by a mask.
  attention_special: {
    inputs: [['b', 's', 32], ['b', 't', 32], ['e', 'f', 'g']],
    runs: [[1, 45, 67, [1, 45, 67]], [1, 70, 51, [1, 70, 1]], [2, 21, 9, [2, 1, 9]], [1, 3, 20, [1, 3, 20]], [1, 40, 1, [1, 40, 1]]]
      .map(([batch, queries, keys, mask]) => [[batch, queries, 32], [batch, keys, 32], mask]),
    make: (graph, [query, key, mask]) => {
      const where = (op, limit, value, others) =>
        graph.node('Where', [graph.node(op, [mask, graph.scalar(limit)], [1, 1, 1], {}, {type: 'bool'}), graph.scalar(value), others], [1, 1, 1], {}, {type: 'f32'});
      const special = where('Less', 0.6, -Infinity, where('Greater', 1.49, Infinity, where('Greater', 1.48, NaN, mask)));
      const scores = graph.node('MatMul', [query, graph.node('Transpose', [key], [1, 1, 1], {perm: [0, 2, 1]})], [1, 1, 1]);
      const shares = graph.node('Softmax', [graph.node('Add', [scores, special], [1, 1, 1])], [1, 1, 1], {axis: -1});
      return graph.node('MatMul', [shares, key], [1, 1, 1]);
    },
  },
  softmax: one('Softmax', {axis: -1}, [...threes, [[2, 3, 130]], [[1, 2, 1000]]]),
  softmax_middle: one('Softmax', {axis: 1}),
  sum: {...one('ReduceSum', {keepdims: 1}, threes, (graph) => [graph.constant(BigInt64Array.of(2n))])},
  sum_of_all: one('ReduceSum', {keepdims: 1}),
  largest: one('ReduceMax', {axes: [2], keepdims: 1}, filled),
  mean: one('ReduceMean', {axes: [1, 2], keepdims: 1}, filled),
  cumulative: one('CumSum', {}, threes, (graph) => [graph.constant(BigInt64Array.of(1n), [])]),
  joined: one('Concat', {axis: 1}),
  negated: one('Neg'),
  squeezed: one('Squeeze'),
  turned: one('Transpose', {perm: [2, 0, 1]}),
  padded: one('Pad', {}, threes, (graph) => [graph.constant(BigInt64Array.of(0n, 1n, 1n, 0n, 2n, 1n))]),
  sliced: one('Slice', {}, threes, (graph) => [1n, 100n, 1n].map((value) => graph.constant(BigInt64Array.of(value)))),
  layer_norm: {
    inputs: [['a', 'b', 24]], runs: [[[2, 3, 24]], [[0, 3, 24]], [[1, 0, 24]], [[1, 1, 24]]],
    make: (graph, [x]) => graph.node('LayerNormalization', [x, graph.weight([24], 1), graph.weight([24], 1)], [1, 1, 1]),
  },
  // GroupNorm as exporters write it, between convolutions, whose layouts it meets.
  group_norm: {
    inputs: [['n', 24, 'h', 'w']],
    runs: [[1, 24, 5, 7], [2, 24, 1, 1], [1, 24, 16, 20], [0, 24, 5, 7], [3, 24, 1, 33]].map((shape) => [shape]),
    make: (graph, [x]) => {
      const conv = (input) => graph.node('Conv', [input, graph.weight([24, 24, 3, 3], 216), graph.weight([24], 1)], [1, 1, 1, 1], {pads: [1, 1, 1, 1]});
      const before = conv(x), shape = graph.node('Shape', [before], [4], {}, {type: 'i64'});
      const groups = graph.node('Reshape', [before, integers(graph, [0, 3, -1])], [1, 1, 1]);
      const normal = graph.node('InstanceNormalization', [groups, graph.weight([3], 1), graph.weight([3], 1)], [1, 1, 1]);
      const back = graph.node('Mul', [graph.node('Reshape', [normal, shape], [1, 1, 1, 1]), graph.weight([24, 1, 1], 1)], [1, 1, 1, 1]);
      return conv(graph.node('Mul', [back, graph.node('Sigmoid', [back], [1, 1, 1, 1])], [1, 1, 1, 1]));
    },
  },
  // Windows of an image, as of Swin: cut, mixed and joined again.
  windows: {
    inputs: [['n', 'h', 'w', 6]],
    runs: [[1, 4, 6, 6], [2, 2, 2, 6], [1, 8, 20, 6], [0, 4, 4, 6]].map((shape) => [shape]),
    make: (graph, [x]) => {
      const dims = graph.node('Shape', [x], [4], {}, {type: 'i64'});
      const part = (from, to) => graph.node('Slice', [dims, integers(graph, [from]), integers(graph, [to])], [1], {}, {type: 'i64'});
      const half = (from) => graph.node('Div', [part(from, from + 1), integers(graph, [2])], [1], {}, {type: 'i64'});
      const join = (parts) => graph.node('Concat', parts, [1], {axis: 0}, {type: 'i64'});
      const two = integers(graph, [2]), six = integers(graph, [6]);
      const cut = graph.node('Reshape', [x, join([part(0, 1), half(1), two, half(2), two, six])], [1, 1, 1, 1, 1, 1]);
      const turned = graph.node('Transpose', [cut], [1, 1, 1, 1, 1, 1], {perm: [0, 1, 3, 2, 4, 5]});
      const rows = graph.node('Reshape', [turned, integers(graph, [-1, 4, 6])], [1, 1, 1]);
      const mixed = graph.node('Add', [graph.node('MatMul', [rows, graph.weight([6, 6], 6)], [1, 1, 1]), graph.node('ReduceMean', [rows], [1, 1, 1], {axes: [1]})], [1, 1, 1]);
      const apart = graph.node('Reshape', [mixed, join([part(0, 1), half(1), half(2), two, two, six])], [1, 1, 1, 1, 1, 1]);
      return graph.node('Reshape', [graph.node('Transpose', [apart], [1, 1, 1, 1, 1, 1], {perm: [0, 1, 3, 2, 4, 5]}), dims], [1, 1, 1, 1]);
    },
  },
  instance_norm: {inputs: [['n', 4, 'h']], runs: [[[2, 4, 5]], [[1, 4, 1]], [[1, 4, 77]]], make: (graph, [x]) => graph.node('InstanceNormalization', [x, graph.weight([4], 1), graph.weight([4], 1)], [1, 1, 1])},
  conv: convolution({pads: [1, 1, 1, 1]}),
  conv_strided: convolution({pads: [5, 3, 2, 4], dilations: [4, 3], strides: [2, 3]}, images.filter(([[, , height]]) => height > 1)),
  conv_dilated: convolution({pads: [12, 12, 12, 12], dilations: [12, 12]}),
  pool: {inputs: [['n', 'c', 'h', 'w']], runs: [[[1, 3, 7, 9]], [[0, 3, 7, 9]], [[2, 0, 7, 9]], [[2, 3, 1, 1]]], make: (graph, [x]) => graph.node('MaxPool', [x], [1, 1, 1, 1], {kernel_shape: [3, 3], pads: [1, 1, 1, 1], strides: [2, 2]})},
  block,
  // Its shorter edge becomes 24, as torchvision's detectors have it.
  resize_shorter: {
    inputs: [['n', 'c', 'h', 'w']],
    runs: [[[1, 3, 7, 9]], [[2, 1, 30, 20]], [[1, 2, 24, 24]]],
    make: (graph, [x]) => {
      const i64 = {type: 'i64'};
      const shape = graph.node('Shape', [x], [4], {}, i64);
      const edges = graph.node('Slice', [shape, integers(graph, [2]), integers(graph, [4])], [2], {}, i64);
      const least = graph.node('Cast', [graph.node('ReduceMin', [edges], [], {keepdims: 0}, i64)], [], {to: 1}, {type: 'f32'});
      const wide = graph.node('Cast', [edges], [2], {to: 1}, {type: 'f32'});
      const scaled = graph.node('Mul', [wide, graph.node('Div', [graph.scalar(24), least], [])], [2]);
      const size = graph.node('Cast', [graph.node('Floor', [scaled], [2])], [2], {to: 7}, i64);
      const sizes = graph.node('Concat', [graph.node('Slice', [shape, integers(graph, [0]), integers(graph, [2])], [2], {}, i64), size], [4], {axis: 0}, i64);
      return graph.node('Resize', [x, undefined, undefined, sizes], [1, 1, 1, 1], {mode: 'nearest'});
    },
  },
  // Lengths that are made of other lengths again and again, as in EnCodec's encoder: written out the longest have thousands of terms.
  cut_by_remainders: {
    inputs: [['n', 'length']],
    runs: [[[2, 5]], [[1, 1]], [[0, 4]], [[3, 40]]],
    make: (graph, [x]) => {
      const i64 = {type: 'i64'};
      let size = graph.node('Shape', [x], [1], {start: 1}, i64);
      const parts = [];
      for (let divisor = 3; divisor < 12; ++divisor) {
        const square = graph.node('Mul', [size, size], [1], {}, i64);
        size = graph.node('Add', [graph.node('Mod', [square, integers(graph, [divisor])], [1], {}, i64), size], [1], {}, i64);
        const start = graph.node('Mod', [size, integers(graph, [3])], [1], {}, i64);
        parts.push(graph.node('Slice', [x, start, graph.node('Neg', [start], [1], {}, i64), integers(graph, [1])], [1, 1]));
      }
      return graph.node('Concat', parts, [1, 1], {axis: 1});
    },
  },
  resize_linear: resize('linear'),
  resize_like_pytorch: resize('linear', {coordinate_transformation_mode: 'pytorch_half_pixel'}),
  resize_cubic_like_pytorch: resize('cubic', {coordinate_transformation_mode: 'pytorch_half_pixel'}),
  // A small image, four times as large again: axis by axis.
  resize_back: {
    inputs: [['n', 3, 'h', 'w']],
    runs: [[[1, 3, 9, 11]], [[2, 3, 1, 1]], [[1, 3, 33, 70]], [[0, 3, 8, 8]]],
    make: (graph, [x]) => {
      const small = graph.node('MaxPool', [x], [1, 1, 1, 1], {kernel_shape: [4, 4], pads: [1, 1, 2, 2], strides: [4, 4]});
      return graph.node('Resize', [small, undefined, undefined, graph.node('Shape', [x], [4], {}, {type: 'i64'})], [1, 1, 1, 1], {mode: 'linear'});
    },
  },
  // Sizes that data gives.
  resize_to_data: {
    inputs: [['n', 3, 'h', 'w']],
    runs: [[[1, 3, 4, 5]], [[2, 3, 1, 1]], [[1, 3, 7, 2]]],
    make: (graph, [x]) => {
      const most = graph.node('Cast', [graph.node('ReduceMax', [x], [], {keepdims: 0})], [], {to: 7}, {type: 'i64'});
      const edge = graph.node('Reshape', [graph.node('Add', [most, integers(graph, [3])], [1], {}, {type: 'i64'}), integers(graph, [1])], [1], {}, {type: 'i64'});
      const shape = graph.node('Shape', [x], [2], {start: 0, end: 2}, {type: 'i64'});
      const sizes = graph.node('Concat', [shape, edge, edge], [4], {axis: 0}, {type: 'i64'});
      return graph.node('Resize', [x, undefined, undefined, sizes], [1, 1, 1, 1], {mode: 'linear', coordinate_transformation_mode: 'align_corners'});
    },
  },
  // An end far behind the last element, which data gives: with an extent added it passes 32 bits.
  slice_to_data: {
    inputs: [['a', 'b', 'c']],
    runs: filled,
    make: (graph, [x]) => {
      const i64 = {type: 'i64'};
      const most = graph.node('Cast', [graph.node('ReduceMax', [x], [], {keepdims: 0})], [], {to: 7}, i64);
      const end = graph.node('Reshape', [graph.node('Add', [most, integers(graph, [2 ** 31 - 3])], [1], {}, i64), integers(graph, [1])], [1], {}, i64);
      const step = graph.node('Reshape', [graph.node('Add', [most, integers(graph, [1])], [1], {}, i64), integers(graph, [1])], [1], {}, i64);
      return graph.node('Slice', [x, integers(graph, [0]), end, integers(graph, [1]), step], [1, 1, 1]);
    },
  },
  resize_nearest: resize('nearest'),
  resize_cubic: resize('cubic'),
  lstm: {
    inputs: [['length', 'batch', 3]], runs: [[[5, 2, 3]], [[1, 1, 3]], [[3, 5, 3]]],
    make: (graph, [x]) => graph.nodeOf('LSTM', [x, graph.weight([1, 16, 3], 3), graph.weight([1, 16, 4], 4)], [{shape: [1, 1, 1, 1], type: 'f32'}], {hidden_size: 4})[0],
  },
};

/** The graph of a model for a run's shapes; open, or as the run has them. */
function graphOf({inputs, make}, shapes, name, open) {
  const graph = new Graph(name);
  // Above 0, where powers have a value.
  const given = inputs.map((dims, at) => graph.input(`x${at}`, shapes[at], random(at + 3, product(shapes[at]), 1).map((value) => Math.abs(value) + 0.5), open ? dims : shapes[at]));
  const made = make(graph, given);
  graph.output(made, made.shape.map((_, axis) => `out${axis}`));
  return graph;
}

function write(folder, gossamer) {
  for (const [name, model] of Object.entries(MODELS)) {
    const open = graphOf(model, model.runs[0], name, true);
    model.runs.forEach((shapes, set) => writeCase(path.join(folder, name), graphOf(model, shapes, name, false), {gossamer, set, model: open}));
  }
}

const root = path.resolve(import.meta.dirname, '../..');
const build = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build');

/** Models whose ranks only the feeds decide, so that each kind of feeds has a package of its own. */
const decidesRank = (name) => name.includes('/squeezed/');

/** tests/cases/suite.mjs has the contract. */
export function planFor(configuration, {all}) {
  if (!['cpu', 'wasm', 'webgpu', 'webgl', 'opencl', 'opengl', 'cpu avx2'].includes(configuration)) return undefined;
  const gossamer = path.join(build, 'gossamer');
  const key = interpreterKey(build, [], `${readFileSync(import.meta.filename)}`, `${readFileSync(path.join(import.meta.dirname, 'sequences.mjs'))}`);
  const folder = once(path.join(build, 'open_dimensions'), key, (part) => write(part, gossamer));
  const names = Object.entries(MODELS).flatMap(([name, {runs}]) => runs.map((_, run) => `open_dimensions/${name}/test_data_set_${run}`));
  return {
    folders: [folder],
    names: all ? names : shareOf(names, configuration),
    // A verdict with fixed shapes would say nothing of open ones.
    judge: ({name, status, message, known}) => (status !== 'pass' ? message || status : known && !decidesRank(name) ? `only with ${known} known` : ''),
  };
}
