// Operators whose work should grow with their data no faster than it must, at several sizes.
import {Graph, random} from './graph.mjs';

const int64s = (values) => BigInt64Array.from(values, BigInt);
const positive = (count) => random(1, count).map((each) => (each + 1) / 2);

/** 0 .. count - 1 in an order from a seed (Fisher and Yates). */
function shuffled(count) {
  const draws = positive(count);
  const order = Array.from({length: count}, (_, at) => at);
  for (let at = count - 1; at > 0; --at) {
    const other = Math.min(at, Math.floor(draws[at] * (at + 1)));
    [order[at], order[other]] = [order[other], order[at]];
  }
  return order;
}

const DATA = {
  random: (count) => random(1, count),
  sorted: (count) => random(1, count).sort(),
  equal: (count) => new Float32Array(count).fill(0.5),
};

/** data: a name of DATA; k: a number, or a share of the size. */
function topK(count, data, k) {
  const graph = new Graph(`topk_${k}_${data}_${count}`);
  const x = graph.input('x', [count], DATA[data](count));
  const chosen = k < 1 ? k * count : k;
  const shape = [chosen];
  for (const each of graph.nodeOf('TopK', [x, graph.constant(int64s([chosen]))], [{shape, type: 'f32'}, {shape, type: 'i64'}], {axis: 0})) graph.output(each);
  return graph;
}

/** One operator on one input, with one output. */
function simple(op, count, {data = DATA.random, shape = [count], to = shape, dims = to, type, attributes = {}, more = () => []}) {
  const graph = new Graph(`${op.toLowerCase()}_${count}`);
  const x = graph.input('x', shape, data(count));
  graph.output(graph.node(op, [x, ...more(graph)], to, attributes, {type}), dims);
  return graph;
}

const OPERATORS = {
  CumSum: (count) => simple('CumSum', count, {data: positive, more: (graph) => [graph.constant(int64s([0]), [])]}),
  Unique: (count) => simple('Unique', count, {data: () => random(1, count, count / 10).map(Math.floor), dims: ['found'], attributes: {sorted: 1}}),
  NonZero: (count) => simple('NonZero', count, {data: () => random(1, count).map((each) => Math.max(0, each)), to: [1, count], dims: [1, 'found'], type: 'i64'}),
  ArgMax: (count) => simple('ArgMax', count, {to: [1], type: 'i64', attributes: {axis: 0}}),
  ReduceSum: (count) => simple('ReduceSum', count, {data: positive, to: [1], more: (graph) => [graph.constant(int64s([0]))]}),
  Softmax: (count) => simple('Softmax', count, {shape: [1, count], attributes: {axis: -1}}),
  /** Rows of 16 numbers, in a random order. */
  Gather: (count) => simple('Gather', count, {shape: [Math.floor(count / 16), 16], data: () => random(1, count), more: (graph) => [graph.input('rows', [Math.floor(count / 16)], int64s(shuffled(Math.floor(count / 16))))]}),
  /** A quarter of the elements is written, each once. */
  ScatterND: (count) =>
    simple('ScatterND', count, {
      more: (graph) => [graph.input('at', [count / 4, 1], int64s(shuffled(count).slice(0, count / 4))), graph.input('updates', [count / 4], random(2, count / 4))],
    }),
};

/** The candidates of a detector of objects, as YOLO's at 640 x 640 give. */
function nonMaxSuppression(count) {
  const graph = new Graph(`nms_${count}`);
  const place = random(1, 4 * count);
  const boxes = graph.input('boxes', [1, count, 4], place.map((each, at) => (at % 4 < 2 ? 320 + 300 * each : 0)));
  for (let at = 0; at < 4 * count; at += 4) {
    for (const side of [0, 1]) boxes.data[at + 2 + side] = boxes.data[at + side] + 20 + 15 * (1 + place[at + 2 + side]);
  }
  const scores = graph.input('scores', [1, 1, count], positive(count));
  const limits = [graph.constant(int64s([100])), graph.constant(Float32Array.of(0.5)), graph.constant(Float32Array.of(0.25))];
  graph.output(graph.node('NonMaxSuppression', [boxes, scores, ...limits], [100, 3], {}, {type: 'i64'}), ['found', 3]);
  return graph;
}

function fourier(count) {
  const graph = new Graph(`dft_${count}`);
  const x = graph.input('x', [1, count, 1], random(1, count));
  graph.output(graph.node('DFT', [x], [1, count, 2], {axis: 1}));
  return graph;
}

/** `count` steps of a batch of one, 128 numbers in and 256 kept. */
function recurrent(count, inputs = 128, kept = 256) {
  const graph = new Graph(`lstm_${count}`);
  const x = graph.input('x', [count, 1, inputs], random(1, count * inputs));
  const weights = [inputs, kept].map((width, at) => graph.constant(random(2 + at, 4 * kept * width).map((each) => each / 16), [1, 4 * kept, width]));
  graph.output(graph.node('LSTM', [x, ...weights], [count, 1, 1, kept], {hidden_size: kept}));
  return graph;
}

const SIZES = [1e4, 1e5, 1e6];
const rows = (family, title, sizes, graph) =>
  sizes.map((count) => ({name: `${family}_${count}`.toLowerCase(), title: `${title}, ${count.toLocaleString('en')}`, part: 'growth', family, count, tolerance: 1e-2, special: /sorted|equal/.test(family), graph: () => graph(count)}));

/** Rows of the table of models, with family and count: of one family the larger are not tried once a smaller is too slow. */
export const growth = [
  ...[50, 0.5].flatMap((k) => Object.keys(DATA).flatMap((data) => rows(`topk_${k < 1 ? 'half' : k}_${data}`, `TopK ${k < 1 ? 'n / 2' : k}, ${data}`, SIZES, (count) => topK(count, data, k)))),
  ...Object.entries(OPERATORS).flatMap(([op, graph]) => rows(op, op, SIZES, graph)),
  ...rows('nms', 'NonMaxSuppression', [8400], nonMaxSuppression),
  ...rows('lstm', 'LSTM, 128 to 256', [16, 256], recurrent),
  ...rows('dft', 'DFT', [1024, 16_384], fourier),
];
