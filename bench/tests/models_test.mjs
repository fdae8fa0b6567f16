// The seeded models: what the writers make reads back, and all of it is as the tables say.
import assert from 'node:assert/strict';
import test from 'node:test';
import {draw, Graph, random} from '../models/graph.mjs';
import {mobilenetv2, networkGraph, resnet18, resnet50, squeezenet} from '../models/networks.mjs';
import {fields} from '../models/onnx_file.mjs';
import {models} from '../models/table.mjs';

const all = (message, number) => message.filter(([field]) => field === number).map(([, value]) => value);
const text = (bytes) => new TextDecoder().decode(bytes);

test('an ONNX file reads back: nodes, attributes, weights, free dimensions, domains', () => {
  const graph = new Graph('g', 17);
  const x = graph.input('x', [2, 3], random(1, 6), ['rows', 3]);
  const w = graph.constant(Uint8Array.of(1, 2, 3), [3]);
  const y = graph.node('Thing', [x, undefined, w], [2, 3], {axis: -1, epsilon: {float: 0.5}, mode: 'up', pads: [0, -1]}, {domain: 'com.microsoft'});
  graph.output(y, ['rows', 3]);
  const model = fields(graph.file());
  const [body] = all(model, 7).map(fields);
  const [node] = all(body, 1).map(fields);
  assert.deepEqual(all(node, 1).map(text), ['x', '', 'w0']);
  assert.deepEqual([text(all(node, 4)[0]), text(all(node, 7)[0])], ['Thing', 'com.microsoft']);
  const attributes = Object.fromEntries(all(node, 5).map(fields).map((each) => [text(all(each, 1)[0]), each]));
  assert.equal(BigInt.asIntN(64, all(attributes.axis, 3)[0]), -1n);
  assert.equal(new DataView(all(attributes.epsilon, 2)[0].slice().buffer).getFloat32(0, true), 0.5);
  assert.equal(text(all(attributes.mode, 4)[0]), 'up');
  assert.deepEqual(all(attributes.pads, 8).map((each) => BigInt.asIntN(64, each)), [0n, -1n]);
  const [weight] = all(body, 5).map(fields);
  assert.deepEqual([all(weight, 2)[0], [...all(weight, 9)[0]]], [2n, [1, 2, 3]]);
  const type = fields(all(fields(all(fields(all(body, 11)[0]), 2)[0]), 1)[0]);
  const dims = all(fields(all(type, 2)[0]), 1).map(fields);
  assert.deepEqual([text(all(dims[0], 2)[0]), all(dims[1], 1)[0]], ['rows', 3n]);
  assert.deepEqual(all(model, 8).map(fields).map((each) => [text(all(each, 1)[0]), all(each, 2)[0]]), [['', 17n], ['com.microsoft', 1n]]);
});

test('values come from seeds: the same everywhere, bounded, weights repeating a block of prime length', () => {
  assert.deepEqual([...random(3, 3, 2)], [...random(3, 3, 2)]);
  assert.notDeepEqual([...random(3, 3)], [...random(4, 3)]);
  const values = draw(5, 10_000, 0.25);
  assert.ok(values.every((each) => Math.abs(each) <= 0.25));
  assert.equal(values[4093], values[0]);
  assert.ok(random(9, 10_000).slice(0, 4).every((each) => each !== 0));
  assert.equal(random(9, 4)[0], random(9, 10_000)[0]);
});

test('networks have the parameters and the arithmetic of their papers', () => {
  const millions = (net) => net.layers.reduce((sum, {weight, bias}) => sum + (weight ? weight.data.length + bias.data.length : 0), 0) / 1e6;
  const known = [[resnet18, 11.68, 3.63], [resnet50, 25.53, 8.18], [mobilenetv2, 3.49, 0.6], [squeezenet, 1.235, 0.7]];
  for (const [make, parameters, gflop] of known) {
    const net = make();
    assert.ok(Math.abs(millions(net) - parameters) < 0.03 * parameters, `${net.name}: ${millions(net)} million`);
    assert.ok(Math.abs(net.flops / 1e9 - gflop) < 0.03 * gflop, `${net.name}: ${net.flops / 1e9} GFLOP`);
    assert.equal(models.find(({name}) => name === net.name).flops / 1e9, gflop);
  }
});

test('the graph of a network names what its layers make, in order', () => {
  const graph = networkGraph(resnet18());
  const made = new Set([...graph.inputs, ...graph.weights].map(({name}) => name));
  for (const {inputs, outputs} of graph.nodes) {
    for (const input of inputs) assert.ok(made.has(input), input);
    for (const output of outputs) {
      assert.ok(!made.has(output), `${output} twice`);
      made.add(output);
    }
  }
});

test('every row makes a graph whose nodes read what was made before, with inputs of their shape', () => {
  for (const model of models.filter(({large, name, training, here, count = 0}) => !large && !training && !here && count < 1e6 && name !== 'matmul4096')) {
    const {nodes, inputs, weights, outputs} = model.graph(model.chained ? 3 : undefined);
    const made = new Set([...inputs, ...weights].map(({name}) => name).concat(''));
    for (const {shape, data, name} of [...inputs, ...weights]) assert.equal(shape.reduce((a, b) => a * b, 1), data.length, `${model.name}: ${name}`);
    for (const node of nodes) {
      for (const input of node.inputs) assert.ok(made.has(input), `${model.name}: ${node.op} reads ${input}`);
      for (const output of node.outputs) assert.ok(!made.has(output) && made.add(output), `${model.name}: ${output} twice`);
    }
    for (const {name} of outputs) assert.ok(made.has(name), `${model.name}: ${name}`);
  }
});
