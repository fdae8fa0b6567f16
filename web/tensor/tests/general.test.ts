// Programs for many shapes: other batches and lengths compile nothing anew, and give what programs of their own give.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {manualSeed, memory, nn, optim, profile, setSpecializeAfter, Tensor} from '../src/index.ts';
import {fill, near, ramp, skip} from './start.ts';

const F = nn.functional;

test('a batch of another size is the same program', {skip}, async () => {
  const before = setSpecializeAfter(Infinity);
  const net = fill(new nn.Sequential(new nn.Linear(3, 4), new nn.Tanh(), new nn.LayerNorm(4), new nn.Linear(4, 2)));
  const grads = async (x: Tensor, t: Tensor): Promise<Tensor[]> => {
    net.zeroGrad();
    F.crossEntropy(net.forward(x), t, {reduction: 'sum'}).backward();
    const made = net.parameters().map(({grad}) => (grad as Tensor).detach());
    await Promise.all(made.map((each) => each.data()));
    return made;
  };
  const classes = (rows: number): Tensor => new Tensor(Int32Array.from({length: rows}, (_, at) => (at * 3) % 2));
  const counts: number[] = [];
  for (const rows of [4, 6, 7, 12, 31]) {
    const [x, t] = [ramp([rows, 3], 7, 11, 5, 4), classes(rows)];
    const compiled = memory().compiled;
    const made = await grads(x, t);
    counts.push(memory().compiled - compiled);
    // The same, row by row.
    const sums: number[][] = [];
    for (let row = 0; row < rows; ++row) {
      for (const [at, each] of (await grads(x.slice([row], [row + 1]), t.slice([row], [row + 1]))).entries()) {
        (await each.data<Float32Array>()).forEach((value, place) => ((sums[at] ??= [])[place] = (sums[at]?.[place] ?? 0) + value));
      }
    }
    for (const [at, each] of made.entries()) await near(each.flatten(), sums[at] as number[], 1e-4, `${rows} rows, parameter ${at}`);
  }
  assert.deepEqual(counts, [1, 1, 0, 0, 0]);
  setSpecializeAfter(before);
});

test('what comes often gets a program of its own', {skip}, async () => {
  const before = setSpecializeAfter(3);
  manualSeed(4);
  const net = new nn.Sequential(new nn.Conv2d(1, 4, 3, {padding: 1}), new nn.ReLU(), new nn.MaxPool2d(2), new nn.Flatten(), new nn.Linear(16, 3));
  const optimizer = new optim.SGD(net.parameters(), {lr: 0.01});
  const step = async (rows: number): Promise<number> => {
    const loss = net.forward(ramp([rows, 1, 4, 4], 13, 17, 8, 8)).square().mean();
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    return loss.item();
  };
  const losses: number[] = [];
  const start = profile().length;
  for (const rows of [2, 5, 8]) for (let at = 0; at < 6; ++at) losses.push(await step(rows));
  losses.push(await step(8));
  assert.ok(losses.every((value, at) => at % 6 === 0 || value < (losses[at - 1] ?? 0)), losses.join());
  const programs = profile().slice(start);
  const general = programs.filter((each) => each.general);
  assert.equal(general.length, 1, JSON.stringify(programs));
  const last = programs.at(-1);
  assert.ok(last && !last.general && last.before === 6 && last.runs === 1 && (last.compileMs ?? 0) > 0, JSON.stringify(programs));
  assert.equal(programs.reduce((sum, each) => sum + each.runs, 0), 19);
  setSpecializeAfter(before);
});

test('lengths that shapes are made of', {skip}, async () => {
  const before = setSpecializeAfter(Infinity);
  const layer = fill(new nn.TransformerEncoderLayer(4, 2, {dimFeedforward: 8, dropout: 0, batchFirst: true})).eval();
  const whole = ramp([2, 9, 4], 7, 11, 5, 4);
  const counts: number[] = [];
  for (const length of [4, 6, 9, 5]) {
    const compiled = memory().compiled;
    const x = whole.slice([0], [length], [1]);
    const {compiled: sliced} = memory();
    assert.equal(sliced, compiled);
    const made = await layer.forward(x, {causal: true}).array();
    counts.push(memory().compiled - compiled);
    // Causal: what comes later changes nothing.
    const wanted = await layer.forward(whole, {causal: true}).slice([0], [length], [1]).array();
    await near(new Tensor(made), wanted, 1e-4, `${length} places`);
  }
  assert.ok(counts.every((count) => count <= 1), counts.join());
  setSpecializeAfter(before);
});
