// Expected numbers: PyTorch 2.15, three steps from [1, -2, 0.5] with the gradients [0.3, -0.1 s, 1.2 - 0.5 s], s = 1, 2, 3.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {memory, nn, optim, synchronize, Tensor} from '../src/index.ts';
import {near, skip} from './start.ts';

type Make = (params: nn.Parameter[]) => {step(): void};
const CASES: readonly [string, Make, readonly number[]][] = [
  ['SGD', (p) => new optim.SGD(p, {lr: 0.1}), [0.91, -1.94, 0.44]],
  ['SGD with momentum and decay', (p) => new optim.SGD(p, {lr: 0.1, momentum: 0.9, weightDecay: 0.01}), [0.826239, -1.893748, 0.299783]],
  ['SGD with dampening', (p) => new optim.SGD(p, {lr: 0.1, momentum: 0.9, dampening: 0.2}), [0.8491, -1.9185, 0.3039]],
  ['SGD as Nesterov', (p) => new optim.SGD(p, {lr: 0.1, momentum: 0.9, nesterov: true}), [0.75853, -1.85441, 0.26207]],
  ['Adam', (p) => new optim.Adam(p, {lr: 0.1}), [0.7, -1.707682, 0.278828]],
  ['Adam with a large epsilon', (p) => new optim.Adam(p, {lr: 0.1, betas: [0.8, 0.9], eps: 0.1, weightDecay: 0.1}), [0.760703, -1.766954, 0.309652]],
  ['AMSGrad', (p) => new optim.Adam(p, {lr: 0.1, betas: [0.5, 0.5], amsgrad: true}), [0.7, -1.707991, 0.338546]],
  ['AdamW', (p) => new optim.AdamW(p, {lr: 0.1}), [0.697303, -1.701984, 0.277614]],
  ['RMSprop', (p) => new optim.RMSprop(p), [0.771087, -1.730117, 0.410816]],
  ['RMSprop, centered', (p) => new optim.RMSprop(p, {lr: 0.1, alpha: 0.9, eps: 0.01, centered: true, momentum: 0.5, weightDecay: 0.1}), [-0.074794, -0.844634, -0.078385]],
  ['Adagrad', (p) => new optim.Adagrad(p, {lr: 0.1, lrDecay: 0.1, weightDecay: 0.01}), [0.787827, -1.754719, 0.405924]],
];

for (const [name, make, wanted] of CASES) {
  test(`${name} goes where PyTorch's goes`, {skip}, async () => {
    const w = new nn.Parameter([1, -2, 0.5]);
    const optimizer = make([w]);
    for (let step = 0; step < 3; ++step) {
      w.grad = new Tensor([0.3, -0.1 * (step + 1), 0.7 - 0.5 * step]);
      optimizer.step();
    }
    await near(w, wanted, 1e-5);
  });
}

test('a step compiles once; each is a program of its own, and nothing piles up', {skip}, async () => {
  const w = new nn.Parameter([1, 2]);
  const optimizer = new optim.Adam([w], {lr: 0.1});
  const step = async (): Promise<void> => {
    using grad = new Tensor([1, 1]);
    w.grad = grad.detach();
    optimizer.step();
    await synchronize();
  };
  await step();
  const {compiled, tensors, bytes} = memory();
  for (let at = 0; at < 50; ++at) await step();
  assert.equal(memory().compiled, compiled);
  assert.equal(memory().tensors, tensors);
  assert.ok(memory().bytes <= bytes + 2 * 2 * 4, `${memory().bytes} bytes after ${bytes}`);
  await near(w, [1 - 5.1, 2 - 5.1], 1e-3);
});

test('state of an optimizer is kept and taken', {skip}, async () => {
  const run = (optimizer: optim.Adam, w: nn.Parameter): void => {
    w.grad = new Tensor([1, -3]);
    optimizer.step();
  };
  const [a, b] = [new nn.Parameter([1, 2]), new nn.Parameter([1, 2])];
  const first = new optim.Adam([a], {lr: 0.1});
  run(first, a);
  const second = new optim.Adam([b], {lr: 0.1});
  assert.throws(() => second.loadStateDict({tensors: {}, steps: [1]}), /lacks 0\.expAvg/);
  second.loadStateDict(first.stateDict());
  b.assign(a.detach());
  for (const [optimizer, w] of [[first, a], [second, b]] as const) run(optimizer, w);
  assert.deepEqual(await a.data(), await b.data());
});

test('learning rates over time', {skip}, () => {
  const rates = (make: (optimizer: optim.SGD) => {step(): void}): number[] => {
    const optimizer = new optim.SGD([new nn.Parameter([0])], {lr: 1});
    const schedule = make(optimizer);
    return Array.from({length: 6}, () => {
      const {lr} = optimizer.groups[0] as {lr: number};
      schedule.step();
      return Math.round(lr * 1e6) / 1e6;
    });
  };
  assert.deepEqual(rates((o) => new optim.StepLR(o, 2, 0.5)), [1, 1, 0.5, 0.5, 0.25, 0.25]);
  assert.deepEqual(rates((o) => new optim.MultiStepLR(o, [1, 4], 0.5)), [1, 0.5, 0.5, 0.5, 0.25, 0.25]);
  assert.deepEqual(rates((o) => new optim.ExponentialLR(o, 0.9)), [1, 0.9, 0.81, 0.729, 0.6561, 0.59049]);
  assert.deepEqual(rates((o) => new optim.CosineAnnealingLR(o, 5, 0.1)), [1, 0.914058, 0.689058, 0.410942, 0.185942, 0.1]);
  assert.deepEqual(rates((o) => new optim.LinearLR(o, {totalSteps: 4})), [0.333333, 0.5, 0.666667, 0.833333, 1, 1]);
  assert.deepEqual(rates((o) => new optim.OneCycleLR(o, 2, 7)), [0.08, 1.961113, 1.838089, 1.345368, 0.715478, 0.198594]);
  const losses = [5, 4, 4, 4, 4, 4];
  assert.deepEqual(rates((o) => {
    const plateau = new optim.ReduceLROnPlateau(o, {patience: 1});
    return {step: () => plateau.step(losses.shift() ?? 0)};
  }), [1, 1, 1, 1, 0.1, 0.1]);
});

test('gradients are clipped', {skip}, async () => {
  const [a, b] = [new nn.Parameter([0, 0]), new nn.Parameter([0])];
  const set = (): void => {
    a.grad = new Tensor([3, 4]);
    b.grad = new Tensor([12]);
  };
  set();
  await near(optim.clipGradNorm([a, b], 1), 13);
  await near(a.grad as unknown as Tensor, [0.230769, 0.307692], 1e-5);
  await near(b.grad as unknown as Tensor, [0.923077], 1e-5);
  set();
  optim.clipGradValue([a, b], 3.5);
  await near(a.grad as unknown as Tensor, [3, 3.5]);
});

test('what an optimizer cannot work on is refused', {skip}, () => {
  const w = new nn.Parameter([1]);
  assert.throws(() => new optim.SGD([]), /no parameters/);
  assert.throws(() => new optim.SGD([w, w]), /given twice/);
  assert.throws(() => new optim.SGD([w.mul(2)]), /must be a leaf/);
  assert.throws(() => new optim.SGD([w], {lr: NaN}), /learning rate of NaN/);
  assert.throws(() => new optim.SGD([w], {nesterov: true}), /Nesterov needs momentum/);
});

test('regularisation: sums over all parameters, and their gradients', {skip}, async () => {
  const [a, b] = [new nn.Parameter(new Tensor([1, -2])), new nn.Parameter(new Tensor([[3]]))];
  await near(new optim.L1Regularization([a, b], 0.5).forward(), 3);
  const squares = new optim.L2Regularization([a, b], 0.5).forward();
  await near(squares, 7);
  squares.backward();
  await near(a.grad as Tensor, [1, -2]);
  assert.throws(() => new optim.L2Regularization([], 1).forward(), /there are no parameters/);
});
