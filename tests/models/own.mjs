// Small models of this project, one for each kind of network that users deploy, as test cases: weights and feeds come
// from seeds, expected outputs from the reference interpreter. Suites that test real models use these, so that they
// test the same things in a clone that has no shared test data.
import {readFileSync, readdirSync, rmSync} from 'node:fs';
import path from 'node:path';
import {Graph, random} from '../../bench/models/graph.mjs';
import {Builder, networkGraph} from '../../bench/models/networks.mjs';
import {quantizedGraph} from '../../bench/models/quantized.mjs';
import {bert, gpt2} from '../../bench/models/transformers.mjs';
import {once} from '../once.mjs';
import {interpreterKey, writeCase} from './write_case.mjs';

/** Residual and depthwise blocks, as ResNet and MobileNet have them; `pool`: after a pool, which quantizedGraph lacks. */
function network(name, extent, {pool}) {
  const net = new Builder(name, [3, extent, extent]);
  const relu = {activation: 'relu6'};
  const first = net.conv(net.last, 16, 7, {stride: 2, ...relu});
  const stem = pool ? net.maxpool(first, 3, 2, 1) : first;
  const same = net.sum(net.conv(net.conv(stem, 16, 3, relu), 16, 3), stem, '');
  const spread = net.conv(net.conv(same, 32, 1, relu), 32, 3, {stride: 2, groups: 32, ...relu});
  net.head(net.conv(spread, 24, 1, relu), 10);
  return net;
}

/** Two classes of bytes: an embedding, a bidirectional LSTM over a length that the caller chooses, a mean. */
function lstm() {
  const graph = new Graph('lstm');
  const [batch, length, width, hidden] = [2, 9, 8, 12];
  const text = Uint8Array.from(random(5, batch * length, 1), (each) => 97 + (each + 1) * 12);
  const bytes = graph.input('text', [batch, length], text, ['batch', 'length']);
  const ids = graph.node('Cast', [bytes], bytes.shape, {to: 7}, {type: 'i64'});
  const embedded = graph.node('Gather', [graph.weight([128, width], 1), ids], [batch, length, width], {axis: 0});
  const turned = graph.node('Transpose', [embedded], [length, batch, width], {perm: [1, 0, 2]});
  const weights = [[2, 4 * hidden, width], [2, 4 * hidden, hidden], [2, 8 * hidden]].map((shape) => graph.weight(shape, hidden));
  const states = graph.nodeOf('LSTM', [turned, ...weights], [{shape: [length, 2, batch, hidden], type: 'f32'}],
    {hidden_size: hidden, direction: 'bidirectional'})[0];
  const mean = graph.node('ReduceMean', [states], [2, batch, hidden], {axes: [0], keepdims: 0});
  const row = graph.node('Transpose', [mean], [batch, 2, hidden], {perm: [1, 0, 2]});
  const flat = graph.node('Flatten', [row], [batch, 2 * hidden]);
  const scores = graph.node('MatMul', [flat, graph.weight([2 * hidden, 2], 2 * hidden)], [batch, 2]);
  graph.output(graph.node('Softmax', [scores], [batch, 2], {axis: -1}), ['batch', 2]);
  return graph;
}

/** Tokens with types and a mask, of any batch and length: one head of attention, a score for each word, and one for the whole text. */
function tokens() {
  const graph = new Graph('tokens');
  const [batch, length, width, words] = [2, 7, 24, 99];
  const dims = ['batch', 'length'];
  const integers = (name, at) => graph.input(name, [batch, length], BigInt64Array.from({length: batch * length}, (_, index) => BigInt(at(index))), dims);
  const ids = integers('input_ids', (index) => (index * 37 + 5) % words);
  const types = integers('token_type_ids', (index) => index % 2);
  const mask = integers('input_mask', (index) => (index % length < 5 ? 1 : 0));
  const shape = [batch, length, width];
  const matrix = (x, columns) => graph.node('MatMul', [x, graph.weight([x.shape.at(-1), columns], x.shape.at(-1))], [...x.shape.slice(0, -1), columns]);
  const found = (rows, at) => graph.node('Gather', [graph.weight([rows, width], 1), at], shape, {axis: 0});
  const x = graph.node('Add', [found(words, ids), found(2, types)], shape);
  const keys = graph.node('Transpose', [matrix(x, width)], [batch, width, length], {perm: [0, 2, 1]});
  const shown = graph.node('Unsqueeze', [graph.node('Cast', [mask], mask.shape, {to: 1}, {type: 'f32'}), graph.constant(BigInt64Array.of(1n))], [batch, 1, length]);
  const hidden = graph.node('Mul', [graph.node('Sub', [graph.scalar(1), shown], shown.shape), graph.scalar(-1e4)], shown.shape);
  const scores = graph.node('Add', [graph.node('MatMul', [matrix(x, width), keys], [batch, length, length]), hidden], [batch, length, length]);
  const shares = graph.node('Softmax', [scores], scores.shape, {axis: -1});
  const mixed = graph.node('Add', [x, graph.node('MatMul', [shares, matrix(x, width)], shape)], shape);
  graph.prefix = 'relation';
  const text = matrix(graph.node('ReduceMean', [mixed], [batch, width], {axes: [1], keepdims: 0}), 2);
  graph.prefix = 'scores';
  const word = matrix(mixed, words);
  graph.output(word, [...dims, words]);
  graph.output(text, ['batch', 2]);
  return graph;
}

/** The largest scores of rows and where they are: sorting, and integers of 64 bits. */
function ranking() {
  const graph = new Graph('ranking');
  const x = graph.input('x', [5, 33], random(8, 5 * 33, 4), ['rows', 33]);
  const shares = graph.node('LogSoftmax', [x], x.shape, {axis: -1});
  const best = [{shape: [5, 4], type: 'f32'}, {shape: [5, 4], type: 'i64'}];
  for (const value of graph.nodeOf('TopK', [shares, graph.constant(BigInt64Array.of(4n))], best)) graph.output(value, ['rows', 4]);
  return graph;
}

/** Sums of products of bytes with constants, which are exact: odd lengths, both ends of the types, zero points that a run reads. */
function integers() {
  const graph = new Graph('integers');
  const bytes = (Type, seed, count) => Type.from(random(seed, count, 1), (each) => Math.round(255 * (each + 1) / 2) - (Type === Int8Array ? 128 : 0));
  const product = (op, x, weights, shape, zero, zeros, attributes) =>
    graph.output(graph.node(op, [x, graph.constant(...weights), zero, graph.constant(zeros, zeros.length > 1 ? [zeros.length] : [])], shape, attributes, {type: 'i32'}));
  const [rows, length, columns] = [7, 67, 35];
  const x = graph.input('x', [rows, length], bytes(Uint8Array, 21, rows * length), ['rows', length]);
  const zero = graph.input('zero', [], Uint8Array.of(131));
  product('MatMulInteger', x, [bytes(Int8Array, 22, length * columns), [length, columns]], [rows, columns], zero, new Int8Array(columns));
  const middle = Uint8Array.of(128);
  product('MatMulInteger', x, [bytes(Uint8Array, 23, length * columns), [length, columns]], [rows, columns], graph.constant(Uint8Array.of(255), []), middle);
  const image = graph.input('image', [1, 6, 9, 8], bytes(Uint8Array, 24, 6 * 72));
  product('ConvInteger', image, [bytes(Int8Array, 25, 17 * 54), [17, 6, 3, 3]], [1, 17, 9, 8], graph.constant(Uint8Array.of(3), []), Int8Array.of(0), {pads: [1, 1, 1, 1]});
  const channels = graph.input('channels', [1, 32, 9, 8], bytes(Uint8Array, 26, 32 * 72));
  for (const group of [2, 8, 16, 32]) {
    const shape = [32, 32 / group, 3, 3];
    product('ConvInteger', channels, [bytes(Int8Array, 27, 32 * 32 / group * 9), shape], [1, 32, 9, 8], graph.constant(Uint8Array.of(3), []), Int8Array.of(0), {group, pads: [1, 1, 1, 1]});
  }
  return graph;
}

const small = {layers: 2, width: 32, heads: 4};

/** By name, the graph of each model; its inputs have the data that is fed. */
export const OWN = {
  network: () => networkGraph(network('network', 48, {pool: true})),
  network_int8: () => quantizedGraph(network('network_int8', 24, {pool: false}), 'network_int8', ({kind}) => ({input: 1, add: 9.3})[kind] ?? 5.9),
  tokens,
  encoder: () => bert({...small, length: 7, free: true}),
  prefill: () => gpt2({...small, length: 6, past: 0, vocabulary: 64}),
  decoder: () => gpt2({...small, length: 1, past: 5, vocabulary: 64, free: true}),
  lstm,
  ranking,
  integers,
};

/**
 * Writes the models named (all without) below `folder`, a test case each, as `gossamer test` reads them; gives the
 * folders by name. `gossamer` is the program that makes the expected outputs. Throws where it fails.
 */
export function writeOwn({folder, gossamer, names = Object.keys(OWN)}) {
  const folders = {};
  for (const name of names) {
    const to = path.join(folder, name);
    rmSync(to, {recursive: true, force: true});
    writeCase(to, OWN[name](), {gossamer});
    folders[name] = to;
  }
  return folders;
}

const root = path.resolve(import.meta.dirname, '../..');
const build = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build');

/** tests/cases/suite.mjs has the contract. */
export function planFor(configuration) {
  if (!['cpu', 'wasm', 'webgpu', 'webgl'].includes(configuration)) return undefined;
  const gossamer = path.join(build, 'gossamer');
  const key = interpreterKey(build, [], `${readFileSync(import.meta.filename)}`);
  const folder = once(path.join(build, 'own_models'), key, (part) => writeOwn({folder: part, gossamer}));
  const digits = path.join(root, 'examples/digits');
  const cases = (place) => readdirSync(place).filter((name) => name.startsWith('test_data_set_'));
  return {
    folders: [folder, digits],
    names: [...Object.keys(OWN).map((name) => `own_models/${name}/test_data_set_0`), ...cases(digits).map((name) => `digits/${name}`)],
    judge: ({status, message}) => (status === 'pass' ? '' : message || status),
  };
}
