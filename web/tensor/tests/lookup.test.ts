// Shapes that elements decide. Expected numbers: PyTorch's nonzero, masked_select, unique on the same elements.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {memory, Tensor} from '../src/index.ts';
import {near, skip} from './start.ts';

test('places of what is not 0', {skip}, async () => {
  const x = new Tensor([[0, 3, 0], [-1, 0, 2]]);
  const places = await x.mul(2).nonzero();
  assert.equal(places.dtype, 'i32');
  await near(places, [[0, 1], [1, 0], [1, 2]]);
  await near((await x.gt(5).nonzero()).sum(0), [0, 0]);
  assert.deepEqual((await x.gt(5).nonzero()).shape, [0, 2]);
  assert.deepEqual((await new Tensor(4).nonzero()).shape, [1, 0]);
  assert.deepEqual((await new Tensor(0).nonzero()).shape, [0, 0]);
});

test('a mask takes elements, and gradients go back there', {skip}, async () => {
  const x = new Tensor([[1, -2, 3], [-4, 5, -6]], {requiresGrad: true});
  const positive = await x.maskedSelect(x.gt(0));
  await near(positive, [1, 3, 5]);
  positive.square().sum().backward();
  await near(x.grad as Tensor, [[2, 0, 6], [0, 10, 0]]);
  await near(await x.maskedSelect(new Tensor([true, false, true])), [1, 3, -4, -6]);
  await assert.rejects(x.maskedSelect(new Tensor([true, false])), /maskedSelect: shapes \[2, 3\] and \[2\] do not fit/);
});

test('different elements, in order', {skip}, async () => {
  const {values, inverse, counts} = await new Tensor([[3, 1], [1, 2]], {dtype: 'i32'}).unique();
  assert.deepEqual([values.dtype, inverse.dtype, counts.dtype], ['i32', 'i32', 'i32']);
  await near(values, [1, 2, 3]);
  await near(inverse, [[2, 0], [0, 1]]);
  await near(counts, [2, 1, 1]);
  const rows = await new Tensor([[2, 1], [0, 5], [2, 1]]).unique(0);
  await near(rows.values, [[0, 5], [2, 1]]);
  await near(rows.inverse, [1, 0, 1]);
});

test('nothing stays of what was looked up', {skip}, async () => {
  using x = Tensor.arange(10);
  const look = async (): Promise<void> => {
    using places = await x.nonzero();
    await places.data();
  };
  await look();
  const {bytes, compiled} = memory();
  for (let at = 0; at < 20; ++at) await look();
  assert.equal(memory().compiled, compiled);
  assert.ok(memory().bytes <= bytes + 20 * 200, `${memory().bytes} bytes after ${bytes}`);
});

test('sums and products of integers are i64', {skip}, async () => {
  const x = new Tensor([2 ** 30, 2 ** 30, 2 ** 30], {dtype: 'i32'});
  const sum = x.sum();
  assert.equal(sum.dtype, 'i64');
  assert.equal(await sum.item(), 3 * 2 ** 30);
  assert.equal(await new Tensor([2 ** 20, 2 ** 20], {dtype: 'i32'}).prod().item(), 2 ** 40);
  assert.equal(await new Tensor([200, 100], {dtype: 'u8'}).sum().item(), 300);
  assert.equal(await new Tensor([true, false, true]).sum().item(), 2);
  await near(new Tensor([1, 2, 3], {dtype: 'i8'}).cumsum(0), [1, 3, 6]);
});

test('gradients at kinks are PyTorch\'s', {skip}, async () => {
  const at = async (values: number[], compute: (x: Tensor) => Tensor, wanted: number[], what: string): Promise<void> => {
    const x = new Tensor(values, {requiresGrad: true});
    compute(x).sum().backward();
    await near(x.grad as Tensor, wanted, 1e-6, what);
  };
  await at([-2, -1, 0, 1, 2], (x) => x.clamp(-1, 1), [0, 1, 1, 1, 0], 'clamp');
  await at([-1, 0, 1], (x) => x.clamp(0), [0, 1, 1], 'clamp from below');
  await at([-1, 0, 1], (x) => x.clamp(null, 0), [1, 1, 0], 'clamp from above');
  await at([-1, 0, 1], (x) => x.relu(), [0, 0, 1], 'relu');
  await at([0, 3, 6], (x) => x.relu6(), [0, 1, 0], 'relu6');
  await at([-1, 0, 1], (x) => x.abs(), [-1, 0, 1], 'abs');
  await at([1, 2, 3], (x) => x.maximum(new Tensor([2, 2, 2])), [0, 0.5, 1], 'maximum');
  await at([1, 2, 3], (x) => x.maximum(2), [0, 0.5, 1], 'maximum with a number');
  await at([1, 2, 3], (x) => x.minimum(2), [1, 0.5, 0], 'minimum with a number');
  const huge = new Tensor([3.4e38, -Infinity, NaN, 1], {requiresGrad: true});
  assert.deepEqual(await huge.maximum(3.4e38).array(), [Math.fround(3.4e38), Math.fround(3.4e38), NaN, Math.fround(3.4e38)]);
  await at([1, 2, 3], (x) => x.minimum(new Tensor([2, 2, 2])), [1, 0.5, 0], 'minimum');
  await at([3, 1, 3], (x) => x.amax(), [0.5, 0, 0.5], 'amax');
  await at([-3, 0, 3], (x) => x.hardSigmoid(), [0, 1 / 6, 0], 'hardSigmoid');
  const x = new Tensor([NaN, 1], {requiresGrad: true});
  assert.deepEqual(await x.clamp(0, 2).array(), [NaN, 1]);
});
