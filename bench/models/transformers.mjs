// The encoder of BERT-base and a small GPT-2, node by node as exporters write them.
import {draw, Graph, product, random} from './graph.mjs';

/** Matrix product with weights, and bias. */
function linear(graph, x, width, gain = 1) {
  const fanIn = x.shape.at(-1);
  const shape = [...x.shape.slice(0, -1), width];
  const y = graph.node('MatMul', [x, graph.weight([fanIn, width], fanIn, gain)], shape);
  return graph.node('Add', [y, graph.weight([width], 1, 1e-3)], shape);
}

function layerNorm(graph, x) {
  const width = x.shape.at(-1);
  const scale = draw(graph.weights.length, width, 0.1).map((each) => 1 + each);
  return graph.node('LayerNormalization', [x, graph.constant(scale), graph.weight([width], 1, 1e-3)], x.shape, {axis: -1, epsilon: {float: 1e-5}});
}

function chain(graph, x, steps) {
  return steps.reduce((value, [op, other]) => graph.node(op, other === undefined ? [value] : [value, other], x.shape), x);
}

/** x * (erf(x / sqrt 2) + 1) / 2. */
function gelu(graph, x) {
  const gate = chain(graph, x, [['Div', graph.scalar(Math.SQRT2)], ['Erf'], ['Add', graph.scalar(1)]]);
  return chain(graph, x, [['Mul', gate], ['Mul', graph.scalar(0.5)]]);
}

/** The same by tanh, as GPT-2 has it. */
function geluTanh(graph, x) {
  const inner = chain(graph, x, [['Pow', graph.scalar(3)], ['Mul', graph.scalar(0.044715)], ['Add', x], ['Mul', graph.scalar(Math.sqrt(2 / Math.PI))]]);
  const gate = chain(graph, inner, [['Tanh'], ['Add', graph.scalar(1)]]);
  return chain(graph, x, [['Mul', graph.scalar(0.5)], ['Mul', gate]]);
}

const ints = (...values) => BigInt64Array.from(values, BigInt);

/** [1, length, width] to [1, heads, length, width / heads]; a free length is copied (0) or inferred (-1). */
function splitHeads(graph, x, heads, free) {
  const [, length, width] = x.shape;
  const to = graph.constant(ints(1, free ? -1 : length, heads, width / heads));
  const y = graph.node('Reshape', [x, to], [1, length, heads, width / heads]);
  return graph.node('Transpose', [y], [1, heads, length, width / heads], {perm: [0, 2, 1, 3]});
}

function attention(graph, q, k, v, mask, free) {
  const [, heads, length, depth] = q.shape;
  const past = k.shape[2];
  const turned = graph.node('Transpose', [k], [1, heads, depth, past], {perm: [0, 1, 3, 2]});
  let scores = graph.node('MatMul', [q, turned], [1, heads, length, past]);
  scores = chain(graph, scores, [['Div', graph.scalar(Math.sqrt(depth))], ...(mask ? [['Add', mask]] : [])]);
  const shares = graph.node('Softmax', [scores], scores.shape, {axis: -1});
  const mixed = graph.node('Transpose', [graph.node('MatMul', [shares, v], q.shape)], [1, length, heads, depth], {perm: [0, 2, 1, 3]});
  return graph.node('Reshape', [mixed, graph.constant(ints(1, free ? -1 : length, heads * depth))], [1, length, heads * depth]);
}

/** Devlin et al. 2018, without embeddings; `free`: of any length. */
export function bert({length = 128, layers = 12, width = 768, heads = 12, free = false} = {}) {
  const graph = new Graph(free ? 'bert_free' : 'bert');
  const dims = [1, free ? 'length' : length, width];
  let x = graph.input('x', [1, length, width], random(1, length * width, 1), dims);
  for (let layer = 0; layer < layers; ++layer) {
    const [q, k, v] = [0, 1, 2].map(() => splitHeads(graph, linear(graph, x, width), heads, free));
    const mixed = linear(graph, attention(graph, q, k, v, undefined, free), width);
    x = layerNorm(graph, graph.node('Add', [x, mixed], x.shape));
    const deep = linear(graph, gelu(graph, linear(graph, x, 4 * width)), width);
    x = layerNorm(graph, graph.node('Add', [x, deep], x.shape));
  }
  graph.output(x, dims);
  return graph;
}

/**
 * Radford et al. 2019 with tied embeddings: `length` new tokens after `past` ones whose keys and values are inputs; `free`: one
 * after any number of them. `state` of the graph says which output is which input of the next step.
 */
export function gpt2({length, past, layers = 6, width = 512, heads = 8, vocabulary = 8192, free = false}) {
  const graph = new Graph(free ? 'gpt2_decode' : past ? 'gpt2_step' : 'gpt2_prefill');
  graph.state = {};
  const ids = graph.input('ids', [1, length], BigInt64Array.from({length}, (_, at) => BigInt((at * 37 + 5) % vocabulary)));
  const embedding = graph.constant(draw(1, vocabulary * width, 0.5), [vocabulary, width]);
  const places = graph.constant(draw(2, 256 * width, 0.2), [256, width]);
  let at = graph.constant(ints(...Array.from({length}, (_, place) => past + place)), [1, length]);
  const caches = Array.from({length: past || free ? 2 * layers : 0}, (_, place) => {
    const old = [1, heads, past, width / heads];
    const name = `${place % 2 ? 'v' : 'k'}${Math.floor(place / 2)}`;
    return graph.input(name, old, random(10 + place, product(old), 1), free ? [1, heads, 'past', width / heads] : old);
  });
  if (free) {
    const shape = graph.node('Shape', [caches[0]], [4], {}, {type: 'i64'});
    at = graph.node('Reshape', [graph.node('Gather', [shape, graph.constant(ints(2))], [1], {axis: 0}), graph.constant(ints(1, 1))], [1, 1]);
  }
  const shape = [1, length, width];
  const token = graph.node('Gather', [embedding, ids], shape, {axis: 0});
  let x = graph.node('Add', [token, graph.node('Gather', [places, at], shape, {axis: 0})], shape);
  const hidden = Float32Array.from({length: length * length}, (_, cell) => (cell % length > Math.floor(cell / length) ? -1e9 : 0));
  const mask = length > 1 ? graph.constant(hidden, [1, 1, length, length]) : undefined;
  const kept = [];
  for (let layer = 0; layer < layers; ++layer) {
    const mixed = linear(graph, layerNorm(graph, x), 3 * width);
    const parts = Array.from({length: 3}, () => ({shape, type: 'f32'}));
    const [q, ...kv] = graph.nodeOf('Split', [mixed, graph.constant(ints(width, width, width))], parts, {axis: 2}).map((each) => splitHeads(graph, each, heads));
    const [k, v] = kv.map((each, which) => {
      const before = caches[2 * layer + which];
      if (!before) return each;
      const joined = graph.node('Concat', [before, each], [1, heads, past + length, width / heads], {axis: 2});
      graph.state[before.name] = joined.name;
      return joined;
    });
    kept.push(k, v);
    x = graph.node('Add', [x, linear(graph, attention(graph, q, k, v, mask), width, 0.5)], shape);
    const deep = geluTanh(graph, linear(graph, layerNorm(graph, x), 4 * width));
    x = graph.node('Add', [x, linear(graph, deep, width, 0.5)], shape);
  }
  const turned = graph.node('Transpose', [embedding], [width, vocabulary], {perm: [1, 0]});
  graph.output(graph.node('MatMul', [layerNorm(graph, x), turned], [1, length, vocabulary]));
  for (const each of kept) graph.output(each, free ? [1, heads, 'total', width / heads] : each.shape);
  return graph;
}
