// Models and data for the pages of web/examples, at the paths that the pages read: small networks whose results can be
// computed by hand or by another way, drawn digits, and pictures. Tests use them where the shared test data is absent.
import {createHash} from 'node:crypto';
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {gzipSync} from 'node:zlib';
import {Graph, random} from '../../bench/models/graph.mjs';
import {once} from '../once.mjs';
import {png} from '../pages/pictures.mjs';

/** Classes of pictures, and the colour of each. */
export const COLOURS = {red: [210, 40, 40], green: [40, 170, 60], blue: [40, 60, 210], yellow: [220, 200, 40], grey: [128, 128, 128]};
const MEAN = [123.675, 116.28, 103.53];
const DEVIATION = [58.395, 57.12, 57.375];

/** Names colours: a convolution, the mean over the picture, and a product that scores each class by its distance. */
function colours() {
  const graph = new Graph('colours');
  const [features, side] = [48, 64];
  const image = graph.input('image', [1, 3, side, side], new Float32Array(3 * side * side), ['batch', 3, side, side]);
  const weights = random(1, features * 3, 2);
  const bias = random(2, features, 2);
  // Each window of 4 x 4 has the same weight at every place.
  const kernel = Float32Array.from({length: features * 48}, (_, at) => weights[Math.floor(at / 16)] / 16);
  const seen = graph.node('Relu', [graph.node('Conv', [image, graph.constant(kernel, [features, 3, 4, 4]), graph.constant(bias)], [1, features, 16, 16], {strides: [4, 4]})], [1, features, 16, 16]);
  const flat = graph.node('Flatten', [graph.node('GlobalAveragePool', [seen], [1, features, 1, 1])], [1, features]);
  // Scores 2 f·c - c·c of features f, where c are the features of a class.
  const centres = Object.values(COLOURS).map((colour) => Array.from({length: features}, (_, k) =>
    Math.max(0, colour.reduce((sum, byte, c) => sum + (weights[3 * k + c] * (byte - MEAN[c])) / DEVIATION[c], bias[k]))));
  const product = Float32Array.from({length: features * centres.length}, (_, at) => 2 * centres[at % centres.length][Math.floor(at / centres.length)]);
  const squares = Float32Array.from(centres, (centre) => -centre.reduce((sum, each) => sum + each * each, 0));
  const scores = graph.node('Gemm', [flat, graph.constant(product, [features, centres.length]), graph.constant(squares)], [1, centres.length]);
  graph.output(scores, ['batch', centres.length]);
  return graph;
}

/** Three times as large: each point becomes a square, by a convolution to nine channels as ESPCN has it. */
function enlarge() {
  const graph = new Graph('enlarge');
  const side = 224;
  const image = graph.input('input', [1, 1, side, side], new Float32Array(side * side), ['batch', 1, side, side]);
  const kernel = Float32Array.from({length: 9 * 9}, (_, at) => (at % 9 === 4 ? 1 : 0));
  const nine = graph.node('Conv', [image, graph.constant(kernel, [9, 1, 3, 3])], [1, 9, side, side], {pads: [1, 1, 1, 1]});
  graph.output(graph.node('DepthToSpace', [nine], [1, 1, 3 * side, 3 * side], {blocksize: 3, mode: 'CRD'}), ['batch', 1, 3 * side, 3 * side]);
  return graph;
}

/** By row, how blue, green and red of a styled picture follow from those of the picture, and what is added. */
export const STYLE = {rows: [[0.1, 0.6, 0.1], [0.5, 0, 0.3], [0, 0.2, -0.7]], added: [20, 10, 180]};
function style() {
  const graph = new Graph('style');
  const side = 720;
  const image = graph.input('input', [1, 3, side, side], new Float32Array(3 * side * side));
  graph.output(graph.node('Conv', [image, graph.constant(Float32Array.from(STYLE.rows.flat()), [3, 3, 1, 1]), graph.constant(Float32Array.from(STYLE.added))], image.shape));
  return graph;
}

const PIECES = 512;
const syllables = [...'bcdfghjklmnpqrstvwxz'].flatMap((first) => [...'aeiou'].map((second) => first + second));
const letters = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ '];
const bytes = Array.from({length: 256}, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
/** Each piece by its token: the last hundred begin with a space, and the model below writes no others. */
export const pieces = ['<unk>', '<s>', '</s>', ...bytes, ...letters, ...syllables, ...syllables.map((each) => ` ${each}`)];

/** tokenizer.bin of llama2.c. */
function tokenizer() {
  const parts = pieces.flatMap((piece, token) => {
    const header = Buffer.alloc(8);
    header.writeFloatLE(-token, 0);
    header.writeInt32LE(piece.length, 4);
    return [header, Buffer.from(piece)];
  });
  return Buffer.concat([Buffer.from([7, 0, 0, 0]), ...parts]);
}

/** A decoder of five layers with the signature of llama2.c's 260K model: tokens and caches in, logits and caches out. */
function stories() {
  const graph = new Graph('stories');
  const [layers, heads, size, T, P] = [5, 4, 8, 1, 0];
  const width = heads * size;
  const i64 = {type: 'i64'};
  const integers = (...values) => graph.constant(BigInt64Array.from(values, BigInt));
  const ids = graph.input('ids', [1, T], BigInt64Array.of(1n), [1, 'T']);
  const caches = ['past_k', 'past_v'].map((name) => graph.input(name, [layers, 1, heads, P, size], new Float32Array(0), [layers, 1, heads, 'P', size]));
  const scalar = (value) => graph.node('Squeeze', [value], [], {}, i64);
  const extent = (value, axis) => scalar(graph.node('Slice', [graph.node('Shape', [value], [value.shape.length], {}, i64), integers(axis), integers(axis + 1)], [1], {}, i64));
  const past = extent(caches[0], 3);
  const total = graph.node('Add', [past, extent(ids, 1)], [], {}, i64);
  const one = graph.constant(BigInt64Array.of(1n), []);
  const places = graph.node('Range', [past, total, one], [T], {}, i64);
  const all = graph.node('Range', [graph.constant(BigInt64Array.of(0n), []), total, one], [P + T], {}, i64);
  const later = graph.node('Greater', [all, graph.node('Unsqueeze', [places, integers(1)], [T, 1], {}, i64)], [T, P + T], {}, {type: 'bool'});
  const shape = [1, T, width];
  const matrix = (x, columns, gain) => graph.node('MatMul', [x, graph.weight([x.shape.at(-1), columns], x.shape.at(-1), gain)], [1, T, columns]);
  const normal = (x) => graph.node('LayerNormalization', [x, graph.constant(new Float32Array(width).fill(1))], shape);
  const add = (a, b) => graph.node('Add', [a, b], shape);
  let x = add(graph.node('Gather', [graph.weight([PIECES, width], 3), ids], shape), graph.node('Gather', [graph.weight([PIECES, width], 6), places], [T, width]));
  const made = [[], []];
  for (let layer = 0; layer < layers; ++layer) {
    const y = normal(x);
    const split = (value) => graph.node('Transpose', [graph.node('Reshape', [value, integers(1, -1, heads, size)], [1, T, heads, size])], [1, heads, T, size], {perm: [0, 2, 1, 3]});
    const query = split(matrix(y, width));
    const [keys, values] = caches.map((cache, at) => {
      const before = graph.node('Gather', [cache, graph.constant(BigInt64Array.of(BigInt(layer)), [])], [1, heads, P, size], {axis: 0});
      const joined = graph.node('Concat', [before, split(matrix(y, width))], [1, heads, P + T, size], {axis: 2});
      made[at].push(graph.node('Unsqueeze', [joined, integers(0)], [1, 1, heads, P + T, size]));
      return joined;
    });
    const turned = graph.node('Transpose', [keys], [1, heads, size, P + T], {perm: [0, 1, 3, 2]});
    const scores = graph.node('MatMul', [query, turned], [1, heads, T, P + T]);
    const shares = graph.node('Softmax', [graph.node('Where', [later, graph.scalar(-1e9), scores], scores.shape, {}, {type: 'f32'})], scores.shape, {axis: -1});
    const mixed = graph.node('Transpose', [graph.node('MatMul', [shares, values], [1, heads, T, size])], [1, T, heads, size], {perm: [0, 2, 1, 3]});
    x = add(x, matrix(graph.node('Reshape', [mixed, integers(1, -1, width)], shape), width));
    x = add(x, matrix(graph.node('Relu', [matrix(normal(x), 2 * width, 2)], [1, T, 2 * width]), width));
  }
  const shown = graph.constant(Float32Array.from(pieces, (piece, token) => (token >= PIECES - syllables.length ? 0 : -100)));
  graph.prefix = 'out';
  const logits = graph.node('Add', [matrix(normal(x), PIECES, 4), shown], [1, T, PIECES]);
  const presents = made.map((parts) => graph.node('Concat', parts, [layers, 1, heads, P + T, size], {axis: 0}));
  const named = [[logits, 'logits', [1, 'T', PIECES]], ...presents.map((each, at) => [each, ['present_k', 'present_v'][at], [layers, 1, heads, 'PT', size]])];
  graph.prefix = '';
  for (const [value, name, dims] of named) {
    // An output is called by its node's output.
    const node = graph.nodes.find(({outputs}) => outputs[0] === value.name);
    node.outputs[0] = value.name = name;
    graph.output(value, dims);
  }
  return graph;
}

const line = (...points) => points;
const arc = (x, y, across, down, from, to) => Array.from({length: 13}, (_, at) => {
  const angle = ((from + ((to - from) * at) / 12) * Math.PI) / 180;
  return [x + across * Math.cos(angle), y + down * Math.sin(angle)];
});
/** Strokes of the ten digits in a box of 20 x 20 units, as examples/digits/draw.py has them. */
const STROKES = [
  [arc(10, 10, 5.6, 9, -90, 270)],
  [line([7.5, 4.5], [10.5, 1], [10.5, 19])],
  [[...arc(9.6, 6, 5.2, 5, -165, 30), [13, 10.2], [4, 18.6], [16.4, 18.6]]],
  [[...arc(9.4, 5.4, 5, 4.4, -155, 85), ...arc(9.2, 14.2, 5.8, 4.8, -88, 150)]],
  [line([7, 1.5], [4, 11.5], [16, 11.5]), line([12.8, 5.5], [12.8, 19])],
  [[[6, 1.6], [5.2, 9], ...arc(9.2, 13.2, 5.9, 5.6, -130, 145)], line([6, 1.6], [15, 1.6])],
  [[[13, 1], [9.2, 4.2], [6.2, 8.6], ...arc(10, 13.6, 5.1, 5.2, -170, 190)]],
  [line([4, 2], [15.6, 2], [12.4, 8.5], [8.6, 19])],
  [arc(10, 5.4, 4.2, 4.3, 90, 450), arc(10, 14.4, 5.2, 4.7, -90, 270)],
  [[...arc(9.6, 6.4, 4.9, 5.2, 5, -355), [14.4, 7.5], [12.6, 19]]],
];

/** 28 x 28 bytes of a digit, of which `chance()` in ±1 gives the size, slant, place and pen. */
function digit(strokes, chance) {
  const [slant, wide, high, left, top, pen] = [0.08 + 0.15 * chance(), 1 + 0.15 * chance(), 1 + 0.1 * chance(), 2 * chance(), 1.5 * chance(), 1.2 + 0.4 * chance()];
  const place = ([x, y]) => [14 + left + wide * (x - 10) + slant * (10 - y), 14 + top + high * (y - 10)];
  const ink = new Float32Array(784);
  for (const stroke of strokes) {
    const points = stroke.map(place);
    for (let at = 1; at < points.length; ++at) {
      const [[ax, ay], [bx, by]] = [points[at - 1], points[at]];
      const [dx, dy] = [bx - ax, by - ay];
      const [from, to] = [Math.max(0, Math.floor(Math.min(ay, by) - 3)), Math.min(27, Math.ceil(Math.max(ay, by) + 3))];
      for (let y = from; y <= to; ++y) for (let x = Math.max(0, Math.floor(Math.min(ax, bx) - 3)); x <= Math.min(27, Math.max(ax, bx) + 3); ++x) {
        const share = Math.min(1, Math.max(0, ((x + 0.5 - ax) * dx + (y + 0.5 - ay) * dy) / (dx * dx + dy * dy + 1e-9)));
        const distance = Math.hypot(x + 0.5 - ax - share * dx, y + 0.5 - ay - share * dy);
        ink[28 * y + x] = Math.max(ink[28 * y + x], Math.min(1, Math.max(0, pen - distance + 0.5)));
      }
    }
  }
  return Uint8Array.from(ink, (share) => Math.round(255 * share));
}

/** How many digits there are to learn from and to be tested on. */
export const DIGITS = {train10k: 4000, t10k: 1000};

/** Digits as MNIST's four files have them. */
function writeDigits(folder) {
  mkdirSync(folder, {recursive: true});
  for (const [at, [name, count]] of Object.entries(DIGITS).entries()) {
    const draws = random(at + 11, 7 * count);
    const labels = Uint8Array.from({length: count}, (_, index) => Math.floor((draws[7 * index] + 1) * 5) % 10);
    let next = 0;
    const images = [...labels].map((label, index) => {
      next = 7 * index + 1;
      return digit(STROKES[label], () => draws[next++]);
    });
    const idx = (shape, ...data) => gzipSync(Buffer.concat([Buffer.from([0, 0, 8, shape.length]), ...shape.map((extent) => Buffer.from([0, 0, extent >> 8, extent & 255])), ...data]), {level: 1});
    writeFileSync(path.join(folder, `${name}-images-idx3-ubyte.gz`), idx([count, 28, 28], ...images));
    writeFileSync(path.join(folder, `${name}-labels-idx1-ubyte.gz`), idx([count], labels));
  }
}

function write(folder) {
  const put = (name, content) => {
    mkdirSync(path.dirname(path.join(folder, name)), {recursive: true});
    writeFileSync(path.join(folder, name), content);
  };
  put('models/mobilenetv2_int8_ort/model.onnx', colours().file());
  put('models/super_resolution_10/model.onnx', enlarge().file());
  put('models/fns_candy/model.onnx', style().file());
  put('models/stories260k/model.onnx', stories().file());
  put('models/stories260k/tok512.bin', tokenizer());
  put('data/labels/imagenet_classes.txt', Object.keys(COLOURS).join('\n'));
  for (const [name, colour] of Object.entries(COLOURS)) {
    // Waves around the colour.
    put(`data/images/${name}.png`, png(160, 120, {}, (x, y, c) => Math.round(colour[c] + 25 * Math.sin(x / (3 + c)) * Math.cos(y / 5))));
  }
  writeDigits(path.join(folder, 'data/mnist'));
}

/** The folder with all of it, made once. */
export function exampleData(root) {
  const key = createHash('sha256').update(readFileSync(path.join(root, 'tests/models/example_data.mjs'))).digest('hex');
  return once(path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build', 'example_data'), key, write);
}
