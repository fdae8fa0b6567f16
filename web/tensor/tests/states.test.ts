// Loops that carry states from step to step: hidden states, losses, running means, target networks. Nothing is read on the way.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {manualSeed, memory, nn, noGrad, optim, Tensor} from '../src/index.ts';
import {near, skip} from './start.ts';

const F = nn.functional;
const STEPS = 12;

test('truncated backpropagation through time', {skip}, async () => {
  const run = async (reads: boolean): Promise<number[]> => {
    manualSeed(3);
    const [rnn, head] = [new nn.LSTM(3, 4), new nn.Linear(4, 1)];
    const optimizer = new optim.Adam([...rnn.parameters(), ...head.parameters()], {lr: 0.05});
    let state: [Tensor, Tensor] | undefined;
    let last: Tensor | undefined;
    for (let step = 0; step < STEPS; ++step) {
      const x = Tensor.randn([5, 2, 3]);
      const [out, next] = rnn.forward(x, state);
      last = F.mseLoss(head.forward(out), x.sum(-1, true));
      optimizer.zeroGrad();
      last.backward();
      optimizer.step();
      state = [next[0].detach(), next[1].detach()];
      if (reads) await Promise.all([...state, last].map((each) => each.data()));
    }
    return [await (last as Tensor).item(), ...(await (state as [Tensor, Tensor])[0].data<Float32Array>())];
  };
  const [read, carried] = [await run(true), await run(false)];
  assert.ok(read.every((each, at) => Math.abs(each - (carried[at] ?? NaN)) < 1e-5), `${read.join(' ')}, not ${carried.join(' ')}`);
});

test('losses are read at the end of an epoch, and sums of them', {skip}, async () => {
  for (const detached of [true, false]) {
    manualSeed(1);
    const model = new nn.Linear(4, 1);
    const optimizer = new optim.SGD(model.parameters(), {lr: 0.05});
    const [losses, reads]: [Tensor[], number[]] = [[], []];
    let total = Tensor.zeros([]);
    let right = Tensor.zeros([], {dtype: 'i32'});
    for (let step = 0; step < STEPS; ++step) {
      const x = Tensor.randn([8, 4]);
      const made = model.forward(x);
      const loss = F.mseLoss(made, x.sum(-1, true));
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      losses.push(detached ? loss.detach() : loss);
      total = total.add(loss.detach());
      right = right.add(made.detach().gt(0).sum().cast('i32'));
      if (step < 2) reads.push(await loss.item());
    }
    const all = await Tensor.stack(losses).detach().data<Float32Array>();
    assert.deepEqual([...all].slice(0, 2), reads);
    await near(total, all.reduce((sum, each) => sum + each, 0), 1e-5);
    assert.ok((await right.item()) > 0);
    assert.ok((all.at(-1) ?? NaN) < (all[0] ?? NaN));
  }
});

test('target networks and running baselines', {skip}, async () => {
  manualSeed(2);
  const make = (): nn.Sequential => new nn.Sequential(new nn.Linear(4, 8), new nn.ReLU(), new nn.Linear(8, 2));
  const [net, target] = [make(), make()];
  target.loadStateDict(net.stateDict());
  const optimizer = new optim.Adam(net.parameters(), {lr: 1e-2});
  let baseline = Tensor.zeros([1]);
  const wanted = (await Promise.all(net.parameters().map((each) => each.data()))) as Float32Array[];
  for (let step = 0; step < STEPS; ++step) {
    const [before, after] = [Tensor.randn([8, 4]), Tensor.randn([8, 4])];
    const q = net.forward(before).gather(1, Tensor.randint(0, 2, [8, 1]));
    const y = noGrad(() => target.forward(after).max(1, true).mul(0.9).sub(baseline));
    const loss = F.smoothL1Loss(q, y);
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    baseline = noGrad(() => baseline.mul(0.9).add(q.mean().mul(0.1)));
    noGrad(() => target.parameters().forEach((each, at) => each.mul_(0.9).add_((net.parameters()[at] as Tensor).mul(0.1))));
  }
  const moved = (await Promise.all(target.parameters().map((each) => each.data()))) as Float32Array[];
  assert.ok(moved.every((data, at) => data.every((each) => Number.isFinite(each)) && data.some((each, place) => each !== wanted[at]?.[place])));
  assert.ok(Number.isFinite(await baseline.item()));
});

test('what is computed without gradients and not read stays bounded', {skip}, async () => {
  let x = Tensor.randn([4, 4]);
  const weight = Tensor.eye(4).mul(0.5);
  for (let step = 0; step < 1500; ++step) x = x.matmul(weight).tanh();
  const {bytes} = memory();
  assert.ok(bytes < 2 ** 22, `${bytes} bytes`);
  await near(x, [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]);
});
