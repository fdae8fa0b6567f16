import assert from 'node:assert/strict';
import {test} from 'node:test';

import {perceptron} from '../../compiler/tests/onnx.ts';
import {exportOnnx, grad, memory, noGrad, OnnxModel, optim, synchronize, Tensor} from '../src/index.ts';
import {near, skip} from './start.ts';

// y = relu(x w + b), w = [[1, 2], [3, 4], [5, 6]], b = [0.5, -100]
const rows = (): Tensor => new Tensor([1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 10, 10], {shape: [4, 3]});
const wanted = [[1.5, 0], [3.5, 0], [5.5, 0], [81.5, 2]];
const constant = (value: number, shape: number[]): Tensor => new Tensor(new Float32Array(shape.reduce((all, extent) => all * extent, 1)).fill(value), {shape});
const weightBytes = 4 * 8;

const parameter = (model: OnnxModel, name: string): Tensor => model.namedParameters().find(([each]) => each === name)?.[1] as Tensor;

test('weights that are not learnt are weights of programs', {skip}, async () => {
  const before = memory();
  const model = new OnnxModel(perceptron('n'));
  await near(model.call(rows()), wanted);
  assert.equal(memory().weights - before.weights, weightBytes);
  assert.equal(memory().compiled - before.compiled, 1);
  await near(noGrad(() => model.call(rows())), wanted);
  assert.equal(memory().compiled - before.compiled, 1);
  // Two more extents: the general program has them, too.
  for (const count of [2, 3, 4]) await near(model.call(rows().slice([0], [count])), wanted.slice(0, count));
  // Elements are still there for those who read them.
  await near(parameter(model, 'b'), [0.5, -100]);
  model.dispose();
  await synchronize();
  assert.equal(memory().weights, before.weights);
});

test('a weight that is changed is never computed with as it was', {skip}, async () => {
  const model = new OnnxModel(perceptron('n'));
  const x = rows();
  await near(model.call(x), wanted);
  const recorded = model.call(x);
  const b = parameter(model, 'b');
  const compiled: number[] = [];
  for (let round = 1; round <= 12; ++round) {
    b.assign(constant(round, [2]));
    const sums = [[1, 2], [3, 4], [5, 6], [81, 102]].map((row) => row.map((sum) => sum + round));
    await near(model.call(x), sums);
    compiled.push(memory().compiled);
  }
  // Fed while it changes: one program for all values but those that stayed for 2, 4, 8 calls.
  assert.ok((compiled.at(-1) as number) - (compiled[0] as number) <= 3, String(compiled));
  await near(recorded, wanted); // as it was when it was recorded
  // And a weight again when it stays.
  const fed = memory().weights;
  for (let round = 0; round < 8; ++round) await near(model.call(x), [[13, 14], [15, 16], [17, 18], [93, 114]]);
  assert.ok(memory().weights > fed);
  const state = {w: constant(1, [3, 2]), b: constant(0, [2])};
  model.loadStateDict(state);
  for (let round = 0; round < 8; ++round) await near(model.call(x), [[1, 1], [1, 1], [1, 1], [21, 21]]);
  await model.load(await new OnnxModel(perceptron('n')).save());
  for (let round = 0; round < 8; ++round) await near(model.call(x), wanted);
  await b.set([1], -1);
  for (let round = 0; round < 8; ++round) await near(model.call(x), [[1.5, 1], [3.5, 3], [5.5, 5], [81.5, 101]]);
  model.dispose();
});

test('what is thawed is learnt, and what is frozen again stays as it was learnt', {skip}, async () => {
  const model = new OnnxModel(perceptron('n'));
  const x = rows();
  await near(model.call(x), wanted);
  const [w, b] = [parameter(model, 'w'), parameter(model, 'b')];
  const learnt = [[0.3, 0], [2.3, 0], [4.3, 0], [80.3, 1.7]];
  model.unfreeze((name) => name === 'b');
  const optimizer = new optim.SGD(model.parameters(), {lr: 0.1});
  for (let step = 0; step < 3; ++step) {
    optimizer.zeroGrad();
    model.call(x).sum().backward();
    await near(b.grad as Tensor, [4, 1]); // relu passes rows 0 to 3, and row 3
    optimizer.step();
  }
  await near(b, [0.5 - 1.2, -100 - 0.3]);
  await near(w, [[1, 2], [3, 4], [5, 6]]);
  model.freeze();
  for (let round = 0; round < 3; ++round) await near(model.call(x), learnt);
  // A gradient by what was a weight a moment ago.
  model.unfreeze();
  const y = model.call(x).sum();
  await near(grad(y, [w])[0] as Tensor, [[2, 1], [11, 10], [11, 10]]);
  assert.ok((await exportOnnx(model, [x])).length > weightBytes);
  const again = new OnnxModel(await exportOnnx(model, [x]));
  await near(again.call(x), learnt);
  for (const each of [model, again]) each.dispose();
});

test('models that come and go leave nothing behind', {skip}, async () => {
  const [weights, programs, bytes]: number[][] = [[], [], []];
  for (let round = 0; round < 6; ++round) {
    const model = new OnnxModel(perceptron('n'));
    const [x, y] = [rows(), model.call(rows())];
    await near(y, wanted);
    await near(model.call(x), wanted);
    for (const each of [x, y, model]) each.dispose();
    await synchronize();
    const now = memory();
    weights?.push(now.weights);
    programs?.push(now.programs);
    bytes?.push(now.bytes);
  }
  for (const list of [weights, programs]) assert.deepEqual(new Set(list).size, 1, String(list));
});
