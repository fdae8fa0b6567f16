// Loops that carry sequences. With fixed shapes every round is compiled by itself and the lengths of sequences are known;
// with open dimensions a run decides both.
const I64 = {type: 'i64'};
const step = (op, inputs, outputs, attributes = {}) => ({op, inputs, outputs: [outputs].flat(), attributes});
const number = (graph, value, shape = []) => graph.constant(BigInt64Array.of(BigInt(value)), shape).name;
const extent = (graph, x, axis) => graph.node('Gather', [graph.node('Shape', [x], [1], {}, I64), graph.constant(BigInt64Array.of(BigInt(axis)), [])], [], {}, I64);

/** A loop of `rounds` whose nodes make "next" from the round "i" and the sequence "list", and the final sequence. */
function loop(graph, rounds, nodes, first = graph.node('SequenceEmpty', [], [], {}, {type: 'f32'})) {
  const body = {nodes: [...nodes, step('Identity', ['again'], 'more')], inputs: ['i', 'again', 'list'], outputs: ['more', 'next']};
  return graph.node('Loop', [rounds, undefined, first], [], {body}, {type: 'f32'});
}

const insert = (element, ...place) => step('SequenceInsert', ['list', element, ...place], 'next');
const rows = [[[3, 4]], [[1, 1]], [[5, 1]], [[7, 9]]];
const over = (make, runs = rows) => ({inputs: [['a', 'b']], runs, make: (graph, [x]) => make(graph, x)});
const joined = (graph, list, attributes) => graph.node('ConcatFromSequence', [list], [1, 1], attributes);

/** x[0 : i + 1] along an axis. */
const prefix = (graph, x, axis) => [
  step('Add', ['i', number(graph, 1)], 'behind'),
  step('Reshape', ['behind', number(graph, 1, [1])], 'end'),
  step('Slice', [x.name, number(graph, 0, [1]), 'end', number(graph, axis, [1])], 'part'),
];
const row = (x) => [step('Gather', [x.name, 'i'], 'one', {axis: 0}), step('Mul', ['one', 'one'], 'part')];

export const SEQUENCES = {
  sequence_stacked: over((graph, x) => joined(graph, loop(graph, extent(graph, x, 0), [...row(x), insert('part')]), {axis: 1, new_axis: 1})),
  sequence_side_by_side: over((graph, x) => graph.node('Unsqueeze', [joined(graph, loop(graph, extent(graph, x, 0), [...row(x), insert('part')]), {axis: 0}), graph.constant(BigInt64Array.of(0n))], [1, 1])),
  sequence_first: over((graph, x) => joined(graph, loop(graph, extent(graph, x, 0), [...row(x), insert('part', number(graph, 0))]), {axis: 0, new_axis: 1})),
  sequence_ragged: over((graph, x) => joined(graph, loop(graph, extent(graph, x, 0), [...prefix(graph, x, 0), insert('part')]), {axis: 0})),
  sequence_ragged_columns: over((graph, x) => joined(graph, loop(graph, extent(graph, x, 1), [...prefix(graph, x, 1), insert('part')]), {axis: 1})),
  sequence_ragged_first: over((graph, x) => joined(graph, loop(graph, extent(graph, x, 0), [...prefix(graph, x, 0), insert('part', number(graph, 0))]), {axis: 0})),
  sequence_ragged_at: over((graph, x) => graph.node('SequenceAt', [
    loop(graph, extent(graph, x, 1), [...prefix(graph, x, 1), insert('part')]),
    graph.node('Div', [extent(graph, x, 1), graph.constant(BigInt64Array.of(2n), [])], [], {}, I64)], [1, 1])),
  sequence_erased: over((graph, x) => {
    const list = loop(graph, extent(graph, x, 0), [...prefix(graph, x, 0), insert('part')]);
    const less = graph.node('SequenceErase', [list, graph.node('Sub', [extent(graph, x, 0), graph.constant(BigInt64Array.of(2n), [])], [], {}, I64)], [], {});
    return joined(graph, less, {axis: 0});
  }, [[[3, 4]], [[2, 1]], [[7, 9]]]),
  sequence_last: over((graph, x) => joined(graph, loop(graph, extent(graph, x, 0), [
    ...row(x), step('SequenceAt', ['list', number(graph, -1)], 'last'), step('Add', ['last', 'part'], 'sum'), insert('sum'),
  ], graph.node('SequenceConstruct', [graph.node('ReduceMax', [x], [1], {axes: [0], keepdims: 0})], [])), {axis: 0, new_axis: 1})),
  // Every other row: a branch makes a longer sequence, the other one does not.
  sequence_branches: over((graph, x) => joined(graph, loop(graph, extent(graph, x, 0), [
    ...row(x), step('Mod', ['i', number(graph, 2)], 'odd'), step('Equal', ['odd', number(graph, 0)], 'even'),
    step('If', ['even'], 'next', {
      then_branch: {nodes: [step('SequenceInsert', ['list', 'part'], 'longer')], inputs: [], outputs: ['longer']},
      else_branch: {nodes: [step('Identity', ['list'], 'same')], inputs: [], outputs: ['same']},
    }),
  ]), {axis: 0, new_axis: 1})),
  sequence_split: over((graph, x) => {
    const parts = graph.node('SplitToSequence', [x, graph.constant(BigInt64Array.of(2n), [])], [], {axis: 1});
    const length = graph.node('SequenceLength', [parts], [], {}, I64);
    return joined(graph, loop(graph, length, [step('SequenceAt', [parts.name, 'i'], 'one'), step('Neg', ['one'], 'part'), insert('part')]), {axis: 1});
  }),
  sequence_slices: over((graph, x) => {
    const parts = graph.node('SplitToSequence', [x], [], {axis: 1, keepdims: 0});
    const body = {nodes: [step('Mul', ['one', 'one'], 'square')], inputs: ['one'], outputs: ['square']};
    return joined(graph, graph.node('SequenceMap', [parts], [], {body}), {axis: 0, new_axis: 1});
  }),
  // As PyTorch exports EmbeddingBag: rows from one offset to the next, zeros where there are none.
  sequence_bags: over((graph, x) => {
    const counts = graph.node('Cast', [graph.node('ReduceMax', [x], [1], {axes: [1], keepdims: 0})], [1], {to: 7}, I64);
    const ends = graph.node('CumSum', [counts, graph.constant(BigInt64Array.of(0n), [])], [1], {}, I64);
    const offsets = graph.node('Concat', [graph.constant(BigInt64Array.of(0n)), ends], [1], {axis: 0}, I64);
    const last = graph.node('Reshape', [graph.node('Gather', [ends, graph.constant(BigInt64Array.of(-1n), [])], [], {}, I64), graph.constant(BigInt64Array.of(1n))], [1], {}, I64);
    const size = graph.node('Concat', [last, graph.constant(BigInt64Array.of(1n))], [2], {axis: 0}, I64);
    const table = graph.node('Add', [graph.node('Expand', [graph.scalar(0.5), size], [1, 1]), graph.node('ReduceMax', [x], [1, 1], {axes: [0], keepdims: 1})], [1, 1]);
    const zeros = graph.node('Mul', [graph.node('ReduceMax', [x], [1, 1], {axes: [0], keepdims: 1}), graph.scalar(0)], [1, 1]);
    const at = (behind, name) => [
      step('Add', ['i', number(graph, behind)], `${name}.at`), step('Add', ['i', number(graph, behind + 1)], `${name}.next`),
      step('Reshape', [`${name}.at`, number(graph, -1, [1])], `${name}.from`), step('Reshape', [`${name}.next`, number(graph, -1, [1])], `${name}.to`),
      step('Slice', [offsets.name, `${name}.from`, `${name}.to`], name),
    ];
    return joined(graph, loop(graph, extent(graph, x, 0), [
      ...at(0, 'start'), ...at(1, 'end'), step('Equal', ['start', 'end'], 'empty'),
      step('If', ['empty'], 'bag', {
        then_branch: {nodes: [step('Identity', [zeros.name], 'none')], inputs: [], outputs: ['none']},
        else_branch: {
          nodes: [step('Slice', [table.name, 'start', 'end'], 'some'), step('ReduceSum', ['some', number(graph, 0, [1])], 'sum')],
          inputs: [], outputs: ['sum'],
        },
      }),
      insert('bag'),
    ]), {axis: 0});
  }),
};
