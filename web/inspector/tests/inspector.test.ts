import assert from 'node:assert/strict';
import {test} from 'node:test';

import {costsOf, type TargetCosts} from '../src/costs.ts';
import {type GraphNode, parseView} from '../src/document.ts';
import {evaluate, print, shapeText} from '../src/expressions.ts';
import {Graph} from '../src/graph.ts';
import {Layouts} from '../src/layout.ts';
import {timelineOf} from '../src/memory.ts';
import {withView} from '../src/saved.ts';
import {Tree} from '../src/scopes.ts';
import {fromFragment, START, toFragment} from '../src/state.ts';
import {bytesText, msText, opsText, percentText} from '../src/units.ts';
import {node, small, value, view} from './views.ts';

test('expressions are evaluated for dimensions and printed as people write them', () => {
  const dims = new Map([['batch', 8], ['n', 7]]);
  assert.equal(evaluate(['+', ['*', 4, 'batch'], 1], dims), 33);
  assert.equal(evaluate(['//', ['+', 'n', 3], 4], dims), 2);
  assert.equal(evaluate(['//', ['-', 1, 'n'], 4], dims), -2);
  assert.equal(evaluate(['%', ['-', 0, 'n'], 4], dims), 1);
  assert.equal(evaluate(['//', 'n', 0], dims), 0);
  assert.equal(evaluate(['?', ['>', 'n', 5], 1, 2], dims), 1);
  assert.equal(evaluate(['-', 'n'], dims), -7);
  assert.equal(evaluate(['round', 2.5], dims), 2);
  assert.equal(evaluate(['min', 'n', 'seen in a run'], dims), undefined);
  assert.equal(evaluate(null, dims), undefined);
  assert.equal(print(['*', ['+', 'a', 1], ['-', 'b', ['-', 'c', 2]]]), '(a + 1) * (b - (c - 2))');
  assert.equal(print(['+', ['*', 4, 'batch'], ['min', 'n', 2]]), '4 * batch + min(n, 2)');
  assert.equal(shapeText(['batch', ['*', 2, 'other'], 3], dims), '[8, 2 * other, 3]');
  assert.equal(shapeText(undefined, dims), '[unknown]');
});

test('numbers have units', () => {
  assert.deepEqual([0, 999, 1000, 12_345, 2_500_000_000].map(bytesText), ['0 B', '999 B', '1.00 KB', '12.3 KB', '2.50 GB']);
  assert.deepEqual([0, 640, 12_300_000].map(opsText), ['0 op', '640 op', '12.3 Mop']);
  assert.deepEqual([0.0042, 0.25, 3.14159, 250].map(msText), ['4.2 µs', '250 µs', '3.14 ms', '250 ms']);
  assert.deepEqual([0.034, 0.5].map(percentText), ['3.4 %', '50 %']);
  assert.equal(bytesText(undefined), 'not known');
});

test('a state survives the address, and nonsense in it is left out', () => {
  const state = {...START, tab: 'graph' as const, target: 'wasm', item: 12, step: 3, sort: 'Time', find: 'a b&c', dims: new Map([['batch', 8]]), folds: new Set([3, 1])};
  assert.deepEqual(fromFragment(`#${toFragment(state)}`), state);
  assert.equal(toFragment(START), '');
  assert.deepEqual(fromFragment('#tab=nothing&item=x&dim.n=-1&folds=..'), START);
});

test('costs follow the dimensions, and belong to nodes', () => {
  const document = small();
  const costs = costsOf(document, new Map([['batch', 8]]), []);
  assert.deepEqual([...costs.keys()], ['webgpu']);
  const webgpu = costs.get('webgpu') as TargetCosts;
  const [conv, softmax] = webgpu.run;
  assert.deepEqual([conv?.nodes, conv?.main, conv?.operations, conv?.bytes], [[0, 1], 0, 8 * 4 * 8, 4 * (32 + 16 + 32)]);
  assert.deepEqual([softmax?.onSide, softmax?.reason], [true, 'f64 is computed by the CPU']);
  assert.equal(webgpu.sum([0, 1, 2], 'bytes'), webgpu.total.bytes);
  assert.equal(webgpu.sum([1], 'bytes'), 0);
  assert.deepEqual(webgpu.of([1]).map(({at}) => at), [0]);
});

test('a profile gives launches their times, rounds of loops added', () => {
  const launches = [0, 1, 1].map((kernel) => ({kernel, name: '', origin: kernel === 0 ? 'Conv "a/conv" + Relu "a/relu"' : 'Softmax "b/softmax"', ms: 1 + kernel}));
  const profile = {device: 'webgpu', adapter: 'some', runMs: 9, kernelMs: 5, launches};
  const webgpu = costsOf(small(), new Map(), [profile]).get('webgpu');
  assert.deepEqual(webgpu?.run.map(({ms}) => ms), [1, 4]);
  assert.equal(webgpu?.total.ms, 5);
  // Times of another batch are not shown.
  const ofTwo = {...profile, dims: {batch: 2}};
  const timesFor = (batch: number): unknown => costsOf(small(), new Map([['batch', batch]]), [ofTwo]).get('webgpu')?.total.ms;
  assert.deepEqual([timesFor(2), timesFor(8)], [5, undefined]);
});

test('memory over the run has its peak where most is alive', () => {
  const webgpu = costsOf(small(), new Map([['batch', 8]]), []).get('webgpu') as TargetCosts;
  const {kept, used, peak, at, allocated, tensors} = timelineOf(webgpu);
  assert.deepEqual([kept, used, peak, at, allocated], [64, [64 + 2 * 128, 64 + 2 * 128], 64 + 2 * 128, 0, 3 * 4096 + 64]);
  assert.deepEqual(tensors.map(({name, from, to}) => [name, from, to]), [['x', 0, 0], ['h', 0, 1], ['y', 1, 1]]);
});

test('nodes fold by the names of their scopes', () => {
  const tree = new Tree(new Graph(small()));
  const names = tree.root.members.map((member) => (typeof member === 'object' ? member.title : tree.graph.titleOf(member)));
  // A scope with one node is that node.
  assert.deepEqual(names, ['a', 'Softmax', 'x', 'y']);
  assert.deepEqual(tree.pathOf(0).map((scope) => tree.nameOf(scope)), ['', 'a']);
});

const chain = (count: number, name: (at: number) => string, more: (at: number) => Partial<GraphNode> = () => ({})): GraphNode[] =>
  Array.from({length: count}, (_, at) => node(at % 3 === 0 ? 'MatMul' : 'Add', name(at), [at], [at + 1], more(at)));

test('nodes without scopes fold by the names of their weights, else in parts', () => {
  const count = 60;
  const weights = Array.from({length: count / 3}, (_, at) => value(`layers.${Math.floor(at / 4)}.proj.weight`, [4, 4], {bytes: 64}));
  const values = [...Array.from({length: count + 1}, (_, at) => value(`v${at}`, [4])), ...weights];
  const nodes = chain(count, (at) => `MatMul_${at}`).map((each, at) => (at % 3 === 0 ? {...each, inputs: [...each.inputs, count + 1 + at / 3]} : each));
  const tree = new Tree(new Graph(view({values, nodes, inputs: [0], outputs: [count]})));
  const [layers] = tree.root.members;
  assert.ok(typeof layers === 'object' && layers.name === 'layers');
  assert.deepEqual(layers.members.map((member) => typeof member === 'object' && member.title), ['layers.0.proj', 'layers.1.proj', 'layers.2.proj', 'layers.3.proj', 'layers.4.proj']);
  assert.equal(tree.count(layers), count);

  const flat = new Tree(new Graph(view({values, nodes: chain(count * 20, (at) => `n${at}`), inputs: [0], outputs: []})));
  assert.ok(flat.root.members.length <= 72);
  assert.equal(flat.count(flat.root), count * 20 + 1);
});

test('regions of a node are in a group of its own', () => {
  const nodes = [node('If', 'choice', [0], [1]), node('Add', 'then/add', [0], [2], {parent: 0, region: 'then_branch'}), node('Neg', 'then/neg', [2], [3], {parent: 0, region: 'then_branch'}), node('Mul', 'else/mul', [0], [4], {parent: 0, region: 'else_branch'})];
  const tree = new Tree(new Graph(view({values: [0, 1, 2, 3, 4].map((at) => value(`v${at}`, [1])), nodes, inputs: [0], outputs: [1]})));
  const [group] = tree.root.members;
  assert.ok(typeof group === 'object' && group.node === 0);
  assert.deepEqual(group.members.map((member) => (typeof member === 'object' ? member.name : tree.graph.titleOf(member))), ['then_branch', 'Mul']);
});

test('boxes do not overlap, open scopes contain theirs, and thousands of nodes are laid out quickly', () => {
  const count = 3000;
  const values = Array.from({length: count + 1}, (_, at) => value(`v${at}`, [4]));
  const tree = new Tree(new Graph(view({values, nodes: chain(count, (at) => `/model/layers.${Math.floor(at / 100)}/block/n${at}`), inputs: [0], outputs: [count]})));
  const layouts = new Layouts(tree, () => [100, 44]);
  const open = tree.openAtFirst();
  const {boxes, lines} = layouts.picture(open);
  assert.ok(boxes.length > 20 && boxes.length < 200, `${boxes.length} boxes`);
  assert.ok(lines.length > 20);
  const closed = boxes.filter((box) => !box.open);
  for (const [at, a] of closed.entries()) {
    for (const b of closed.slice(at + 1)) assert.ok(a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y, 'two boxes overlap');
  }
  for (const outer of boxes.filter((box) => box.open)) {
    const {member} = outer;
    const inner = boxes.filter((box) => typeof member === 'object' && member.members.includes(box.member));
    for (const box of inner) assert.ok(box.x >= outer.x && box.y >= outer.y && box.x + box.width <= outer.x + outer.width && box.y + box.height <= outer.y + outer.height, 'a box is outside of its group');
  }
  // Everything open at once.
  const all = layouts.picture(new Set(tree.scopes.map(({id}) => id)));
  assert.ok(all.boxes.length >= count);
});

test('documents of other kinds and versions are refused, and a saved page cannot be ended by a name', () => {
  assert.throws(() => parseView('{}'), /not a document of the inspector/);
  assert.throws(() => parseView(JSON.stringify({format: 'gossamer-view', version: 9})), /version 9/);
  const html = withView('<script type="application/json" id="view"></script>', view({name: '</script><b>'}));
  assert.ok(!html.includes('</script><b>'));
  const text = /id="view">(.*)<\/script>/.exec(html)?.[1] ?? '';
  assert.equal(parseView(text).name, '</script><b>');
  assert.throws(() => withView('nothing', view({})), /no place/);
});
