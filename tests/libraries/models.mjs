// The models that libraries and programs are made of, with feeds; what they give is the interpreter's.
import {mkdirSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {makeCases} from '../conformance/onnx_package.mjs';
import {OWN} from '../models/own.mjs';
import {feedsOf} from '../models/write_case.mjs';
import {npy, random, read_npy} from './arrays.mjs';

const floats = (shape, draw) => ['<f4', shape, Float32Array.from({length: shape.reduce((a, b) => a * b, 1)}, draw)];
const longs = (shape, draw) => ['<i8', shape, BigInt64Array.from({length: shape.reduce((a, b) => a * b, 1)}, () => BigInt(Math.floor(draw())))];

/** One of this project's models, with the feeds that it has. */
const own = (name, more = {}) => ({
  file: ({folder}) => {
    const file = path.join(folder, `${name}.onnx`);
    writeFileSync(file, OWN[name]().file());
    return file;
  },
  feeds: () => Object.fromEntries(Object.entries(feedsOf(OWN[name]())).map(([port, {kind, shape, data}]) => [port, [kind, shape, data]])),
  ...more,
});

/** An operator case of the onnx package; undefined where the package cannot be had. */
const packaged = (name) => () => {
  try {
    return path.join(makeCases(), 'node', name, 'model.onnx');
  } catch {
    return undefined;
  }
};

/** By name: file({root, folder}), which gives the model's file, and feeds in the model's order. */
export const MODELS = {
  digits: {file: ({root}) => path.join(root, 'examples/digits/model.onnx'), feeds: (r) => ({image: floats([1, 1, 28, 28], r)})},
  network: own('network'),
  quantized: own('network_int8', {tolerance: 0.05}), // codes of eight bits: a sum that rounds otherwise is a step of one
  tokens: own('tokens'),
  lstm: own('lstm'), // a loop over a length that the caller names
  rounds: {
    file: packaged('test_loop11'), // as many rounds as an input says
    feeds: (r) => ({trip_count: longs([], () => 5), cond: ['|b1', [], Uint8Array.of(1)], y: floats([1], r)}),
  },
  choose: {
    file: packaged('test_compress_0'), // an output whose extent the run decides
    feeds: (r) => ({input: floats([3, 2], r), condition: ['|b1', [3], Uint8Array.of(0, 1, 1)]}),
  },
  story: own('decoder'),
};

/** Feeds as .npy and as raw elements, and the interpreter's outputs: {inputs: {name: file}, raw: {name: file}, outputs: {name: array}}. */
export function prepare(name, {root, folder, gossamer}) {
  const model = MODELS[name];
  mkdirSync(folder, {recursive: true});
  const file = model.file({root, folder});
  if (!file) return undefined;
  const inputs = {}, raw = {}, shapes = {};
  for (const [port, [type, shape, elements]] of Object.entries(model.feeds(random(7)))) {
    inputs[port] = path.join(folder, `${port}.npy`);
    raw[port] = path.join(folder, `${port}.raw`);
    shapes[port] = shape;
    writeFileSync(inputs[port], npy(type, shape, elements));
    writeFileSync(raw[port], new Uint8Array(elements.buffer));
  }
  const save = path.join(folder, 'wanted');
  gossamer(['run', file, '--target', 'interp', '--save', save, ...Object.entries(inputs).flatMap(([port, from]) => ['--input', `${port}=${from}`])]);
  return {file, inputs, raw, shapes, wanted: (port) => read_npy(path.join(save, `${port}.npy`)), tolerance: model.tolerance ?? 1e-4};
}
