// Steps like ones before are not planned again, and what differs midway is computed as it is written.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {setFlagsFromString} from 'node:v8';
import {runInNewContext} from 'node:vm';

import {detectAnomaly, manualSeed, memory, nn, noGrad, optim, setSpecializeAfter, synchronize, Tensor, tidy} from '../src/index.ts';
import {getRecorder} from '../src/recording.ts';
import {fill, ramp, skip} from './start.ts';

const F = nn.functional;

/** Least squares of a line by gradient descent: the tensors' steps beside plain numbers. */
class Line {
  readonly w = new nn.Parameter(new Tensor([0.5], {dtype: 'f64'}));
  readonly b = new nn.Parameter(new Tensor([-0.25], {dtype: 'f64'}));
  readonly optimizer = new optim.SGD([this.w, this.b], {lr: 0.1});
  #plain = {w: 0.5, b: -0.25};

  /** `cubed`: another branch of the loss; `passes`: gradients summed up. */
  async step(count: number, {cubed = false, passes = 1, lr = 0.1, read = false} = {}): Promise<void> {
    const [group] = this.optimizer.groups;
    if (group) group.lr = lr;
    this.optimizer.zeroGrad();
    const grad = {w: 0, b: 0};
    let [sum, wanted] = [0, 0];
    const losses: Tensor[] = [];
    for (let pass = 0; pass < passes; ++pass) {
      const xs = Float64Array.from({length: count}, (_, at) => Math.sin(at + count + pass));
      const ys = xs.map((x) => 0.3 * x + 0.7);
      const [x, y] = [new Tensor(xs), new Tensor(ys)];
      const loss = tidy(() => {
        const error = x.mul(this.w).add(this.b).sub(y);
        return (cubed ? error.square().mul(error.abs()) : error.square()).mean();
      });
      if (read) sum += await loss.item();
      else losses.push(loss);
      loss.backward();
      const {w, b} = this.#plain;
      xs.forEach((each, at) => {
        const off = w * each + b - (ys[at] ?? 0);
        const slope = (cubed ? 3 * off * Math.abs(off) : 2 * off) / count;
        wanted += (cubed ? Math.abs(off) ** 3 : off ** 2) / count;
        grad.w += slope * each;
        grad.b += slope;
      });
      for (const each of [x, y]) each.dispose();
      if (read) loss.dispose();
    }
    this.optimizer.step();
    for (const loss of losses) {
      sum += await loss.item();
      loss.dispose();
    }
    this.#plain.w -= lr * grad.w;
    this.#plain.b -= lr * grad.b;
    assert.ok(Math.abs(sum - wanted) < 1e-12, `loss ${sum}, wanted ${wanted}`);
  }

  async check(): Promise<void> {
    const [w, b] = [await this.w.item(), await this.b.item()];
    assert.ok(Math.abs(w - this.#plain.w) + Math.abs(b - this.#plain.b) < 1e-12, `${w}, ${b}: ${JSON.stringify(this.#plain)}`);
  }
}

test('a step like one before asks compiler.wasm nothing', {skip}, async () => {
  manualSeed(3);
  const net = fill(new nn.Sequential(new nn.Linear(3, 8), new nn.ReLU(), new nn.Dropout(0.5), new nn.Linear(8, 4)));
  const optimizer = new optim.AdamW(net.parameters(), {lr: 0.01});
  const schedule = new optim.CosineAnnealingLR(optimizer, 50);
  const recorder = getRecorder();
  const asked: number[] = [];
  for (let at = 0; at < 12; ++at) {
    const before = recorder.asked;
    const [x, y] = [ramp([6, 3], 7, 11, 5, 4), new Tensor(Int32Array.from({length: 6}, (_, row) => row % 4))];
    optimizer.zeroGrad();
    const loss = F.crossEntropy(net.forward(x), y);
    loss.backward();
    optimizer.step();
    schedule.step();
    await loss.item();
    for (const each of [x, y, loss]) each.dispose();
    asked.push(recorder.asked - before);
  }
  assert.ok((asked[0] ?? 0) > 0, 'the first step is new');
  assert.deepEqual(asked.slice(3), new Array<number>(9).fill(0));
});

test('steps that differ midway go on as they are written', {skip}, async () => {
  const specialize = setSpecializeAfter(Infinity);
  const line = new Line();
  const recorder = getRecorder();
  const kinds = [
    {}, {cubed: true}, {}, {lr: 0.03}, {passes: 2}, {}, {read: true}, {passes: 3, cubed: true}, {cubed: true, read: true}, {lr: 0.2},
  ];
  const round = async (): Promise<void> => {
    for (const [at, kind] of kinds.entries()) await line.step(at % 3 === 2 ? 7 : 4, kind);
    await line.check();
  };
  for (let at = 0; at < 3; ++at) await round();
  const [{asked}, {compiled}] = [recorder, memory()];
  for (let at = 0; at < 3; ++at) await round();
  assert.equal(recorder.asked, asked, 'all these steps have been before');
  assert.equal(memory().compiled, compiled);
  await line.step(5, {cubed: true, passes: 2});
  await line.check();
  assert.ok(recorder.asked > asked);
  setSpecializeAfter(specialize);
});

test('what goes wrong within a step is said as ever, and steps go on', {skip}, async () => {
  const line = new Line();
  for (let at = 0; at < 4; ++at) await line.step(4);
  const wrong = (): Tensor => new Tensor([1, 2, 3], {dtype: 'f64'}).add(new Tensor([1, 2], {dtype: 'f64'}));
  for (let at = 0; at < 2; ++at) assert.throws(wrong, /Add\(f64 \[3\], f64 \[2\]\).*\[Add\]/);
  const gone = new Tensor([1]);
  gone.dispose();
  assert.throws(() => gone.mul(2), /was disposed/);
  await line.step(4);
  const before = detectAnomaly();
  try {
    const bad = new Tensor([-1], {dtype: 'f64'}).log().mul(line.w).sum();
    await assert.rejects(bad.item(), /Log.*gave NaN/);
    await line.step(4);
  } finally {
    detectAnomaly(before);
  }
  await line.step(4);
  await line.check();
});

test('what a step leaves is let go of, whoever holds parts of it', {skip}, async () => {
  const line = new Line();
  for (let at = 0; at < 3; ++at) await line.step(4);
  await synchronize();
  const before = memory();
  // Parts of steps that are kept: computed later from what the step had.
  const kept: Tensor[] = [];
  for (let at = 0; at < 40; ++at) {
    const x = new Tensor(Float64Array.of(1, 2, 3, at));
    if (at % 10 === 0) kept.push(tidy(() => noGrad(() => x.mul(2).add(1))));
    x.dispose();
    await line.step(4);
  }
  for (const [at, each] of kept.entries()) assert.deepEqual(await each.array(), [3, 5, 7, 20 * at + 1]);
  kept.forEach((each) => each.dispose());
  for (let at = 0; at < 3; ++at) await line.step(4);
  await synchronize();
  assert.equal(memory().tensors, before.tensors);
  assert.ok(memory().bytes <= before.bytes, `${memory().bytes} bytes, before ${before.bytes}`);
});

test('gradients are read after their loss and after others', {skip}, async () => {
  const w = new nn.Parameter([3, -2]);
  const optimizer = new optim.SGD([w], {lr: 0.25});
  const lossOf = () => w.square().sum();
  for (const first of [true, false]) {
    optimizer.zeroGrad();
    const loss = lossOf();
    const other = lossOf();
    loss.backward();
    optimizer.step();
    // Reading something else forgets nothing; reading with the loss computes both.
    await other.item();
    if (first) {
      const [, grad] = await Promise.all([loss.item(), w.grad?.array()]);
      assert.deepEqual(grad, [6, -4]);
      assert.deepEqual(await w.grad?.array(), [6, -4]);
      continue;
    }
    // The loss was computed with it, and its gradient still goes through it.
    await loss.item();
    assert.deepEqual(await w.grad?.array(), [3, -2]);
    optimizer.zeroGrad();
    lossOf().backward();
    assert.deepEqual(await w.grad?.array(), (await w.array() as number[]).map((value) => 2 * value));
  }
});

test('what is read between backward() and the step changes no gradient', {skip}, async () => {
  const w = new nn.Parameter([3, -2]);
  const optimizer = new optim.SGD([w], {lr: 0.25});
  for (const wanted of [[1.5, -1], [0.75, -0.5]]) {
    optimizer.zeroGrad();
    const loss = w.square().sum();
    loss.backward();
    await loss.item();
    optimizer.step();
    assert.deepEqual(await w.array(), wanted);
  }
});

test('what is due of an optimizer that was disposed of is computed no more', {skip}, async () => {
  const w = new nn.Parameter([3, -2]);
  const optimizer = new optim.Adam([w], {lr: 0.25});
  w.square().sum().backward();
  optimizer.step();
  optimizer.dispose();
  assert.deepEqual(await new Tensor([1, 2]).add(1).array(), [2, 3]);
  assert.deepEqual(await w.array(), [2.75, -1.75]);
});

test('tensors that nobody disposes of are let go of', {skip}, async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const before = memory().tensors;
  for (let at = 0; at < 200; ++at) await new Tensor([at]).add(1).item();
  for (let turn = 0; turn < 500 && memory().tensors > before; ++turn) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    collect();
  }
  assert.ok(memory().tensors <= before, `${memory().tensors} tensors, before ${before}`);
});
