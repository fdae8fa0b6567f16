// Models whose shapes follow from small inputs, feeds that ask for anything up to far beyond 64 bits of elements, and
// what must come of it.
import {graph, model, node, stored, value} from '../cli/models.mjs';

// Numbers around every width that something has been counted in.
export const HUGE = [
  2n ** 15n, 2n ** 16n, 46340n, 46341n, 65536n, 2n ** 20n, 2n ** 30n, 2n ** 31n - 1n, 2n ** 31n, 2n ** 32n - 1n,
  2n ** 32n, 2n ** 32n + 1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 62n, 2n ** 63n - 1n, 0n, 1n, 3n, -1n, -(2n ** 31n),
  -(2n ** 63n),
];

const f32 = (...shape) => ({type: 'f32', shape, data: Float32Array.from({length: shape.reduce((a, b) => a * b, 1)}, (_, i) => (i % 7) - 2)});
const i64 = (...data) => ({type: 'i64', shape: [data.length], data: BigInt64Array.from(data)});
const scalar = (number) => ({type: 'i64', shape: [], data: BigInt64Array.of(number)});
const product = (extents) => extents.reduce((a, b) => a * b, 1n);
const whole = (shape, at) => ({shape, at});

// Of a column and a row, whose extents are dimensions of inputs: as large as an input of a megabyte makes them.
const columnAndRow = (operator, of) => ({
  takes: 2, fed: 2n ** 17n,
  bytes: model({
    nodes: [node(operator, ['a', 'b'], ['y'], {name: 'each of both'})],
    inputs: [value('a', 'f32', ['n', 1]), value('b', 'f32', [1, 'm'])], outputs: [value('y', 'f32', ['n', 'm'])],
  }),
  make: (a, b) => [f32(Number(a), 1), f32(1, Number(b))],
  wanted: ([a, b], n) => (n.some((each) => each < 1n) ? undefined : whole(n, (at) => of(a.data[Math.floor(at / Number(n[1]))], b.data[at % Number(n[1])]))),
});

// A loop over x of a trip count `n` and a body of these nodes, which make `again`, `next` and `row` of `i`, `going` and
// `now`.
const loop = (nodes, {inputs = [], before = [], start = 'x', row, outputs}) => model({
  nodes: [
    ...before,
    node('Loop', ['n', '', start], outputs.map(({name}) => name), {
      name: 'repeat',
      graphs: {body: graph({
        nodes,
        inputs: [value('i', 'i64', []), value('going', 'bool', []), value('now', 'f32', row)],
        outputs: [value('again', 'bool', []), value('next', 'f32', row), ...(outputs.length > 1 ? [value('row', 'f32', row)] : [])],
      })},
    }),
  ],
  inputs: [value('n', 'i64', []), value('x', 'f32', [1]), ...inputs],
  outputs: outputs.filter(({shape}) => shape).map(({name, shape}) => value(name, 'f32', shape)),
});
const rounds = (n) => (n < 0n ? 0n : n);

// The scale that a float has room for.
const scaled = (scale) => ({type: 'f32', shape: [scale.length], data: Float32Array.from(scale, Number)});

// Resize to these extents: the element at or before each place's source.
const NEAREST = {coordinate_transformation_mode: 'asymmetric', nearest_mode: 'floor'};
const enlarged = ({data, shape: [rows, columns]}, to) => to && whole(to, (at) => {
  const [height, width] = to.map(Number);
  return data[columns * Math.floor(rows * Math.floor(at / width) / height) + Math.floor(columns * (at % width) / width)];
});

// `bytes`: the model, or `bytes(...numbers)`, where it holds them. `make(...numbers)`: the feeds. `wanted(feeds, numbers)`:
// the shape and the element at each place; undefined where the operator forbids these numbers.
export const MODELS = {
  expand: {
    takes: 2,
    bytes: model({
      nodes: [node('Expand', ['x', 's'], ['y'], {name: 'widen'})],
      inputs: [value('x', 'f32', [1]), value('s', 'i64', [2])], outputs: [value('y', 'f32', ['a', 'b'])],
    }),
    make: (a, b) => [f32(1), i64(a, b)],
    wanted: (_, [a, b]) => (a < 0n || b < 0n ? undefined : whole([a, b], () => -2)),
  },
  // The tensor between is never in memory.
  expand_sum: {
    takes: 3,
    bytes: model({
      nodes: [node('Expand', ['x', 's'], ['wide'], {name: 'widen'}), node('ReduceSum', ['wide'], ['y'], {name: 'sum'})],
      inputs: [value('x', 'f32', [1]), value('s', 'i64', [3])], outputs: [value('y', 'f32', [1, 1, 1])],
    }),
    make: (a, b, c) => [f32(1), i64(a, b, c)],
    wanted: (_, n) => (n.some((each) => each < 0n) ? undefined : {...whole([1n, 1n, 1n], () => -2 * Number(product(n))), work: product(n)}),
  },
  constant: {
    takes: 3,
    bytes: model({
      nodes: [node('ConstantOfShape', ['s'], ['zeros'], {name: 'fill'}), node('Add', ['zeros', 'x'], ['y'], {name: 'add'})],
      inputs: [value('s', 'i64', [3]), value('x', 'f32', [1])], outputs: [value('y', 'f32', ['a', 'b', 'c'])],
    }),
    make: (a, b, c) => [i64(a, b, c), f32(1)],
    wanted: (_, n) => (n.some((each) => each < 0n) ? undefined : whole(n, () => -2)),
  },
  tile: {
    takes: 2,
    bytes: model({
      nodes: [node('Tile', ['x', 'r'], ['y'], {name: 'repeat'})],
      inputs: [value('x', 'f32', [2, 3]), value('r', 'i64', [2])], outputs: [value('y', 'f32', ['a', 'b'])],
    }),
    make: (a, b) => [f32(2, 3), i64(a, b)],
    wanted: (feeds, [a, b]) =>
      a < 0n || b < 0n ? undefined : whole([2n * a, 3n * b], (at) => feeds[0].data[3 * (Math.floor(at / (3 * Number(b))) % 2) + (at % (3 * Number(b))) % 3]),
  },
  range: {
    takes: 1,
    bytes: model({
      nodes: [node('Range', ['from', 'to', 'by'], ['y'], {name: 'count'})],
      inputs: [value('from', 'i64', []), value('to', 'i64', []), value('by', 'i64', [])], outputs: [value('y', 'i64', ['n'])],
    }),
    make: (n) => [scalar(0n), scalar(n), scalar(1n)],
    wanted: (_, [n]) => whole([n < 0n ? 0n : n], (at) => at),
  },
  pad: {
    takes: 2,
    bytes: model({
      nodes: [node('Pad', ['x', 'p'], ['y'], {name: 'border'})],
      inputs: [value('x', 'f32', [2, 3]), value('p', 'i64', [4])], outputs: [value('y', 'f32', ['a', 'b'])],
    }),
    make: (a, b) => [f32(2, 3), i64(a, 0n, 0n, b)],
    wanted: (feeds, [a, b]) =>
      a < -2n || b < -3n ? undefined : whole([2n + a, 3n + b], (at) => {
        const wide = 3 + Number(b);
        const [row, column] = [Math.floor(at / wide) - Number(a), at % wide];
        return row >= 0 && row < 2 && column < 3 ? feeds[0].data[3 * row + column] : 0;
      }),
  },
  concat: {
    takes: 2,
    bytes: model({
      nodes: [
        node('Expand', ['x', 's'], ['left'], {name: 'widen'}), node('Expand', ['x', 't'], ['right'], {name: 'widen too'}),
        node('Concat', ['left', 'right'], ['y'], {name: 'join', integers: {axis: 0}}),
      ],
      inputs: [value('x', 'f32', [1]), value('s', 'i64', [1]), value('t', 'i64', [1])], outputs: [value('y', 'f32', ['n'])],
    }),
    make: (a, b) => [f32(1), i64(a), i64(b)],
    wanted: (_, [a, b]) => (a < 1n || b < 1n ? undefined : whole([a + b], () => -2)),
  },
  slice: {
    takes: 2,
    bytes: model({
      nodes: [node('Slice', ['x', 'from', 'to'], ['y'], {name: 'cut'})],
      inputs: [value('x', 'f32', [8]), value('from', 'i64', [1]), value('to', 'i64', [1])], outputs: [value('y', 'f32', ['n'])],
    }),
    make: (a, b) => [f32(8), i64(a), i64(b)],
    wanted: (feeds, ends) => {
      const [from, to] = ends.map((end) => (end < 0n ? end + 8n : end)).map((end) => (end < 0n ? 0n : end > 8n ? 8n : end));
      return whole([to > from ? to - from : 0n], (at) => feeds[0].data[Number(from) + at]);
    },
  },
  outer: columnAndRow('Add', (a, b) => a + b),
  matmul: columnAndRow('MatMul', (a, b) => a * b),
  conv: {
    takes: 2, fed: 2n ** 17n,
    bytes: model({
      nodes: [node('Conv', ['x', 'w'], ['y'], {name: 'filter'})],
      inputs: [value('x', 'f32', [1, 1, 'n', 1]), value('w', 'f32', ['m', 1, 1, 1])], outputs: [value('y', 'f32', [1, 'm', 'n', 1])],
    }),
    make: (a, b) => [f32(1, 1, Number(a), 1), f32(Number(b), 1, 1, 1)],
    wanted: ([x, w], [n, m]) => (n < 1n || m < 1n ? undefined : whole([1n, m, n, 1n], (at) => x.data[at % Number(n)] * w.data[Math.floor(at / Number(n))])),
  },
  // All rows have their place before the first round.
  loop_rows: {
    takes: 2,
    bytes: loop([node('Identity', ['going'], ['again']), node('Neg', ['now'], ['next']), node('Abs', ['now'], ['row'])], {
      before: [node('Expand', ['x', 's'], ['wide'], {name: 'widen'})], start: 'wide', row: ['m'],
      inputs: [value('s', 'i64', [1])], outputs: [{name: 'last'}, {name: 'y', shape: ['n', 'm']}],
    }),
    make: (n, m) => [scalar(n), f32(1), i64(m)],
    wanted: (_, [n, m]) => (m < 0n ? undefined : {...whole([rounds(n), m], () => 2), work: rounds(n)}),
  },
  // The condition ends it: what huge trip counts are for.
  loop_while: {
    takes: 1,
    bytes: loop([node('Add', ['now', 'x'], ['next']), node('Greater', ['next', 'least'], ['again']), node('Abs', ['now'], ['row'])], {
      row: [1], inputs: [value('least', 'f32', [1])], outputs: [{name: 'last'}, {name: 'y', shape: ['n', 1]}],
    }),
    make: (n) => [scalar(n), f32(1), {type: 'f32', shape: [1], data: Float32Array.of(-9)}],
    wanted: (_, [n]) => whole([rounds(n) < 4n ? rounds(n) : 4n, 1n], (at) => 2 + 2 * at),
  },
  // 2 ** 16 times as long after each round.
  loop_growing: {
    takes: 1,
    bytes: loop([node('Identity', ['going'], ['again']), node('Tile', ['now', 'times'], ['next'], {name: 'again'})], {
      row: ['m'], inputs: [value('times', 'i64', [1])], outputs: [{name: 'y', shape: ['m']}],
    }),
    make: (n) => [scalar(n), f32(1), i64(2n ** 16n)],
    wanted: (_, [n]) => whole([n < 4n ? 2n ** (16n * rounds(n)) : 2n ** 62n], () => -2),
  },
  // Nothing but rounds, which a run time counts in 32 bits.
  loop_rounds: {
    takes: 1,
    bytes: loop([node('Identity', ['going'], ['again']), node('Neg', ['now'], ['next'])], {row: [1], outputs: [{name: 'y', shape: [1]}]}),
    make: (n) => [scalar(n >= 2n ** 15n && n < 2n ** 31n ? 7n : n), f32(1)],
    wanted: ([{data: [n]}]) => ({...whole([1n], () => (n > 0n && n % 2n === 1n ? 2 : -2)), work: rounds(n)}),
  },
  resize: {
    takes: 2,
    bytes: model({
      nodes: [node('Resize', ['x', '', '', 's'], ['y'], {name: 'enlarge', strings: NEAREST})],
      inputs: [value('x', 'f32', [2, 3]), value('s', 'i64', [2])], outputs: [value('y', 'f32', ['a', 'b'])],
    }),
    make: (a, b) => [f32(2, 3), i64(a, b)],
    wanted: (feeds, to) => enlarged(feeds[0], to.some((each) => each < 0n) ? undefined : to),
  },
  // Its places times its extent pass 32 bits long before its elements do.
  resize_line: {
    takes: 2, fed: 2n ** 17n,
    bytes: model({
      nodes: [node('Resize', ['x', '', '', 's'], ['y'], {name: 'enlarge', strings: {mode: 'linear'}})],
      inputs: [value('x', 'f32', ['n']), value('s', 'i64', [1])], outputs: [value('y', 'f32', ['m'])],
    }),
    make: (n, m) => [f32(2 * Number(n) + 1), i64(m)],
    wanted: ([{data, shape: [n]}], [, m]) => whole([m], (at) => {
      const source = ((at + 0.5) * n) / Number(m) - 0.5; // half_pixel
      const from = Math.floor(source);
      const [low, high] = [from, from + 1].map((each) => data[Math.min(Math.max(each, 0), n - 1)]);
      return low + (high - low) * (source - from);
    }),
  },
  // By constant scales, of an extent that is known and of one that a run decides.
  resize_by: {
    takes: 2,
    bytes: (a, b) => model({
      nodes: [node('Resize', ['x', '', 's'], ['y'], {name: 'enlarge', strings: NEAREST})],
      weights: [stored(scaled([a, b]), 's')],
      inputs: [value('x', 'f32', [2, 'n'])], outputs: [value('y', 'f32', ['a', 'b'])],
    }),
    make: () => [f32(2, 3)],
    wanted: (feeds, [a, b]) => enlarged(feeds[0], a < 1n || b < 1n ? undefined : [2n * a, 3n * b]),
  },
};
