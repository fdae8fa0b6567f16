// Calls that PyTorch refuses are refused at the call, and noGrad() affects its own calls alone.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {enableGrad, nn, noGrad, Tensor} from '../src/index.ts';
import {near, skip} from './start.ts';

const F = nn.functional;
const places = (...data: number[]): Tensor => new Tensor(data, {dtype: 'i32'});

test('places out of range throw where they are known', {skip}, async () => {
  const x = Tensor.arange(6).cast('f32').reshape(2, 3);
  for (const [call, message] of [
    [() => x.indexSelect(1, places(0, 3)), /indexSelect: place 3 on axis 1; 0 to 2 are allowed/],
    [() => x.indexSelect(1, places(-1)), /indexSelect: place -1/],
    [() => x.gather(1, places(0, 5).reshape(2, 1).detach()), undefined],
    [() => x.gather(1, new Tensor([[0], [5]], {dtype: 'i32'})), /gather: place 5 on axis 1; 0 to 2 are allowed/],
    [() => x.scatter(1, new Tensor([[7]], {dtype: 'i32'}), Tensor.zeros([1, 1])), /scatter: place 7/],
    [() => x.index(places(2)), /index: place 2 on axis 0; -2 to 1 are allowed/],
    [() => new nn.Embedding(4, 2).forward(places(4)), /place 4 on axis 0; 0 to 3 are allowed/],
    [() => F.oneHot(places(3), 3), /oneHot: place 3/],
    [() => F.crossEntropy(x, places(0, 3)), /nllLoss: the target 3 is not a class; 0 to 2 are allowed/],
    [() => F.nllLoss(x, places(0, -1), {ignoreIndex: -100}), /nllLoss: the target -1/],
    [() => x.select(0, 2), /select: place 2 of 2/],
    [() => x.index(0, 5), /index: place 5 of 3/],
  ] as const) {
    if (message) assert.throws(call, {code: 'input', message});
    else assert.doesNotThrow(call); // computed places are not known
  }
  await near(x.index(places(-1)), [[3, 4, 5]]);
});

test('too wide paddings and windows throw', {skip}, () => {
  const x = Tensor.ones([1, 1, 4, 4]);
  for (const [call, message] of [
    [() => F.pad(x, [4, 0], 'reflect'), /pad: 4 and 0 around the 4 of axis 3; mode 'reflect' allows at most 3/],
    [() => F.pad(x, [5, 0], 'circular'), /allows at most 4/],
    [() => F.pad(x, [-3, -2]), /leave less than nothing/],
    [() => F.pad(x, [1]), /pad: 1 numbers for 4 axes/],
    [() => F.maxPool2d(x, 2, 2, 2), /maxPool: a padding of 2; at most half of the window of 2/],
    [() => F.avgPool2d(x, 5), /avgPool: a window of 5 over 4 places of axis 2/],
    [() => F.conv2d(x, Tensor.ones([1, 1, 5, 3])), /conv2d: a window of 5 over 4 places of axis 2, padding included/],
    [() => F.conv2d(x, Tensor.ones([1, 1, 3, 3]), null, {padding: 'same', stride: 2}), /padding 'same' goes with a stride of 1/],
    [() => F.convTranspose2d(x, Tensor.ones([1, 1, 3, 3]), null, {outputPadding: 1}), /an output padding of 1; at most 0 is allowed/],
  ] as const) assert.throws(call, {code: 'input', message});
});

test('the largest of nothing throws, the sum does not', {skip}, async () => {
  const empty = Tensor.zeros([2, 0]);
  for (const name of ['max', 'min', 'amax', 'amin', 'argmax', 'argmin'] as const) {
    assert.throws(() => empty[name](1), {code: 'input', message: /axis 1 of shape \[2, 0\] is empty/}, name);
    assert.throws(() => empty[name](), {code: 'input'}, name);
  }
  assert.deepEqual(empty.amax(0).shape, [0]);
  await near(empty.sum(1), [0, 0]);
});

const traces = (): boolean => new nn.Parameter([1]).mul(2).requiresGrad;

test('noGrad() of an async function affects its own calls', {skip}, async () => {
  const x = new nn.Parameter([1, 2]);
  const order: [string, boolean][] = [];
  const own = async (name: string): Promise<void> => {
    order.push([name, traces()]);
    await x.sum().item();
    order.push([name, traces()]);
    await new Promise((resolve) => setTimeout(resolve, 5));
    order.push([name, traces()]);
    assert.equal(enableGrad(traces), true);
    await Promise.all([x.data(), enableGrad(async () => {
      await x.add(1).data();
      assert.equal(traces(), true);
    })]);
    order.push([name, traces()]);
  };
  const both = [noGrad(() => own('quiet')), own('loud'), noGrad(() => own('quiet'))];
  assert.equal(traces(), true);
  await x.mul(3).data();
  assert.equal(traces(), true);
  await Promise.all(both);
  assert.ok(order.length === 12 && order.every(([name, on]) => on === (name === 'loud')), JSON.stringify(order));
  await assert.rejects(noGrad(async () => {
    await x.data();
    throw new Error('it ends');
  }), /it ends/);
  assert.equal(traces(), true);
});
