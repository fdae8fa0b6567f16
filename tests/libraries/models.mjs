// The models that libraries and programs are made of, with feeds; what they give is the interpreter's.
import {existsSync, mkdirSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {npy, random, read_npy} from './arrays.mjs';

const floats = (shape, draw) => ['<f4', shape, Float32Array.from({length: shape.reduce((a, b) => a * b, 1)}, draw)];
const longs = (shape, draw) => ['<i8', shape, BigInt64Array.from({length: shape.reduce((a, b) => a * b, 1)}, () => BigInt(Math.floor(draw())))];
const bytes = (shape, draw) => ['|u1', shape, Uint8Array.from({length: shape.reduce((a, b) => a * b, 1)}, draw)];

/** By name: the model's file from the root, and feeds in the model's order. */
export const MODELS = {
  digits: {file: 'examples/digits/model.onnx', feeds: (r) => ({image: floats([1, 1, 28, 28], r)})},
  mobilenet: {
    file: '../shared/testdata/models/mobilenetv2_int8_ort/model.onnx',
    feeds: (r) => ({image: floats([1, 3, 244, 244], r)}),
    by: 'cpu', // the interpreter takes minutes; the models' own tests compare the two
    tolerance: 0.05, // codes of eight bits: a sum that rounds otherwise is a step of one
  },
  quantized: {
    file: '../shared/testdata/models/mnist_quant_connxr/model.onnx',
    feeds: (r) => ({Input3: floats([1, 1, 28, 28], () => Math.floor(r() * 256))}),
  },
  bert: {
    file: '../shared/testdata/models/bert_toy_ort/model.onnx',
    feeds: (r) => ({input_ids: longs([2, 7], () => r() * 90), token_type_ids: longs([2, 7], () => r() * 2), input_mask: longs([2, 7], () => 1)}),
  },
  lstm: {
    file: '../shared/testdata/models/byte_sb_bidi_lstm/model.onnx', // a loop over a length that the caller names
    feeds: (r) => ({input: bytes([2, 9], () => 97 + r() * 26)}),
  },
  rounds: {
    file: '../shared/testdata/onnx_node/test_loop11/model.onnx', // as many rounds as an input says
    feeds: (r) => ({trip_count: longs([], () => 5), cond: ['|b1', [], Uint8Array.of(1)], y: floats([1], r)}),
  },
  choose: {
    file: '../shared/testdata/onnx_node/test_compress_0/model.onnx', // an output whose extent the run decides
    feeds: (r) => ({input: floats([3, 2], r), condition: ['|b1', [3], Uint8Array.of(0, 1, 1)]}),
  },
  story: {
    file: '../shared/testdata/models/stories260k/model.onnx',
    feeds: (r) => ({ids: longs([1, 3], () => r() * 500), past_k: floats([5, 1, 4, 2, 8], r), past_v: floats([5, 1, 4, 2, 8], r)}),
  },
};

/** Feeds as .npy and as raw elements, and the interpreter's outputs: {inputs: {name: file}, raw: {name: file}, outputs: {name: array}}. */
export function prepare(name, {root, folder, gossamer}) {
  const model = MODELS[name];
  const file = path.join(root, model.file);
  if (!existsSync(file)) return undefined;
  mkdirSync(folder, {recursive: true});
  const inputs = {}, raw = {}, shapes = {};
  for (const [port, [type, shape, elements]] of Object.entries(model.feeds(random(7)))) {
    inputs[port] = path.join(folder, `${port}.npy`);
    raw[port] = path.join(folder, `${port}.raw`);
    shapes[port] = shape;
    writeFileSync(inputs[port], npy(type, shape, elements));
    writeFileSync(raw[port], new Uint8Array(elements.buffer));
  }
  const save = path.join(folder, 'wanted');
  gossamer(['run', file, '--target', model.by ?? 'interp', '--save', save, ...Object.entries(inputs).flatMap(([port, from]) => ['--input', `${port}=${from}`])]);
  return {file, inputs, raw, shapes, wanted: (port) => read_npy(path.join(save, `${port}.npy`)), tolerance: model.tolerance ?? 1e-4};
}
