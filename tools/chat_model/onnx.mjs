// The trained network as an ONNX model with caches, whose inputs and outputs have the names that Optimum gives them.
import {block, integer, message, model, stored, value} from '../../tests/cli/models.mjs';
import {rotations} from './network.mjs';

/** An attribute: an integer, or a list of them. */
function attribute(name, content) {
  const isList = Array.isArray(content);
  const numbers = (isList ? content : [content]).map((number) => integer(isList ? 8 : 3, number));
  return block(5, message(block(1, name), numbers, integer(20, isList ? 7 : 2)));
}

const node = (operator, inputs, outputs, attributes = {}) => message(
  inputs.map((input) => block(1, input)), outputs.map((output) => block(2, output)), block(3, outputs[0]), block(4, operator),
  Object.entries(attributes).map(([name, content]) => attribute(name, content)));

/** [rows, columns] as [columns, rows]. */
function transposed({shape: [rows, columns], data}) {
  return {shape: [columns, rows], data: Float32Array.from({length: data.length}, (_, at) => data[(at % rows) * columns + Math.floor(at / rows)])};
}

class Graph {
  nodes = [];
  weights = [];
  #count = 0;

  add(operator, inputs, attributes, output = `${operator.toLowerCase()}_${this.#count++}`) {
    this.nodes.push(node(operator, inputs, [output], attributes));
    return output;
  }

  weight(name, {shape, data}, type = 'f32') {
    this.weights.push(stored({type, shape, data}, name));
    return name;
  }

  integers(name, ...numbers) {
    return this.weight(name, {shape: [numbers.length], data: BigInt64Array.from(numbers, BigInt)}, 'i64');
  }

  scalar(name, number) {
    return this.weight(name, {shape: [], data: Float32Array.of(number)});
  }
}

/** The model's file. `weights`: name to shape and elements, as train() gives them. */
export function onnxModel({shape, weights, context}) {
  const {layers, hidden, heads, epsilon, theta} = shape;
  const width = hidden / heads;
  const words = weights.get('embed').shape[0];
  const graph = new Graph();
  const add = graph.add.bind(graph);
  const inputs = [value('input_ids', 'i64', ['batch', 'sequence']), value('attention_mask', 'i64', ['batch', 'total']), value('position_ids', 'i64', ['batch', 'sequence'])];
  const outputs = [value('logits', 'f32', ['batch', 'sequence', words])];

  const [first, second, last] = [graph.integers('axis_1', 1), graph.integers('axis_0', 0), graph.integers('axis_last', -1)];
  const scalar = (name, number) => graph.weight(name, {shape: [], data: BigInt64Array.of(BigInt(number))}, 'i64');
  const [zero, one] = [scalar('zero', 0), scalar('one', 1)];
  const extent = (tensor) => add('Gather', [add('Shape', [tensor]), one], {axis: 0});

  // A token sees those before it that the mask allows.
  const total = extent('attention_mask');
  const past = add('Sub', [total, extent('input_ids')]);
  const keys = add('Range', [zero, total, one]);
  const queries = add('Unsqueeze', [add('Range', [past, total, one]), first]);
  const isAllowed = add('And', [add('LessOrEqual', [keys, queries]), add('Unsqueeze', [add('Cast', ['attention_mask'], {to: 9}), first])]);
  const mask = add('Unsqueeze', [add('Where', [isAllowed, graph.scalar('allowed', 0), graph.scalar('denied', -1e9)]), first]);

  const {cosines, sines} = rotations(context, width, theta);
  const turn = ([name, data]) => add('Unsqueeze', [add('Gather', [graph.weight(name, {shape: [context, width / 2], data}), 'position_ids'], {axis: 0}), first]);
  const [cosine, sine] = [['cosines', cosines], ['sines', sines]].map(turn);
  const half = graph.integers('half', width / 2);
  const end = graph.integers('end', width);
  const turned = (x) => {
    const a = add('Slice', [x, second, half, last]);
    const b = add('Slice', [x, half, end, last]);
    const left = add('Sub', [add('Mul', [a, cosine]), add('Mul', [b, sine])]);
    return add('Concat', [left, add('Add', [add('Mul', [b, cosine]), add('Mul', [a, sine])])], {axis: -1});
  };

  const small = graph.scalar('epsilon', epsilon);
  const normed = (x, name) => {
    const mean = add('ReduceMean', [add('Mul', [x, x])], {axes: [-1], keepdims: 1});
    return add('Mul', [add('Div', [x, add('Sqrt', [add('Add', [mean, small])])]), graph.weight(name, weights.get(name))]);
  };
  const product = (x, name) => add('MatMul', [x, graph.weight(name, transposed(weights.get(name)))]);
  const apart = graph.integers('apart', 0, 0, heads, width);
  const together = graph.integers('together', 0, 0, hidden);
  const split = (x) => add('Transpose', [add('Reshape', [x, apart])], {perm: [0, 2, 1, 3]});
  const scale = graph.scalar('scale', 1 / Math.sqrt(width));

  let x = add('Gather', [graph.weight('embed', weights.get('embed')), 'input_ids'], {axis: 0});
  for (let at = 0; at < layers; ++at) {
    const of = (name) => `blocks.${at}.${name}`;
    const before = normed(x, of('before.weight'));
    const [q, k, v] = ['q', 'k', 'v'].map((name) => split(product(before, of(name))));
    const [key, values] = [['key', turned(k)], ['value', v]].map(([name, made]) => {
      inputs.push(value(`past_key_values.${at}.${name}`, 'f32', ['batch', heads, 'past', width]));
      outputs.push(value(`present.${at}.${name}`, 'f32', ['batch', heads, 'total', width]));
      return add('Concat', [`past_key_values.${at}.${name}`, made], {axis: 2}, `present.${at}.${name}`);
    });
    const scores = add('MatMul', [add('Mul', [turned(q), scale]), add('Transpose', [key], {perm: [0, 1, 3, 2]})]);
    const attended = add('MatMul', [add('Softmax', [add('Add', [scores, mask])], {axis: -1}), values]);
    const joined = add('Reshape', [add('Transpose', [attended], {perm: [0, 2, 1, 3]}), together]);
    x = add('Add', [x, product(joined, of('o'))]);
    const middle = normed(x, of('middle.weight'));
    const gate = product(middle, of('gate'));
    const silu = add('Mul', [gate, add('Sigmoid', [gate])]);
    x = add('Add', [x, product(add('Mul', [silu, product(middle, of('up'))]), of('down'))]);
  }
  add('MatMul', [normed(x, 'last.weight'), add('Transpose', ['embed'], {perm: [1, 0]})], {}, 'logits');
  return model({nodes: graph.nodes, inputs, outputs, weights: graph.weights});
}
